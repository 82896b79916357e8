"""JSON mode and the request that used to fail: against a real llama-server on the same model."""

from __future__ import annotations

import json

import httpx
import pytest

from scansion import Grammar
from scansion.server.json_mode import JSON_MODE_GBNF

pytestmark = pytest.mark.model

CHAT = "/v1/chat/completions"
PROMPTS = [
    "Give me a person with name and age in JSON.",
    "A cat, as JSON",
    "JSON of a chess move",
    "List three fruits as JSON",
    "Tell me about the moon in JSON with two keys",
    "A config file with port and host",
    "A recipe for tea as JSON",
    "JSON for a book with title and author",
    "Weather in Oslo, as JSON",
    "A JSON object with a boolean and a number",
    "Describe a car in JSON",
    "A shopping list in JSON",
    "Return the capital of France as JSON",
    "A user profile in JSON with email",
    "JSON describing a triangle",
    "An invoice with two lines, as JSON",
    "Three colours with hex codes as JSON",
    "A train timetable entry in JSON",
    "Translate hello into Spanish, answer in JSON",
    "A to-do list as JSON with priorities",
]
ODDS_APART = 0.6
"""Nats by which two builds of llama.cpp may disagree about the odds of two tokens: up to 0.45 was seen on the 4-bit model, for
tokens it gives about the same probability. Elsewhere a disagreement of that size changes no token."""


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_same_tokens_as_llama_server(post, llama_server, embedded, prompt):
    """Token by token; where the two part, both servers are asked how likely they find either token."""
    body = {
        "messages": [{"role": "user", "content": prompt}],
        "response_format": {"type": "json_object"},
        "max_tokens": 40,
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": 20,
    }
    theirs = httpx.post(llama_server + CHAT, json=body, timeout=120).json()["choices"][0]
    ours = post(CHAT, {**body, "scansion": {"finish": False}}).json()["choices"][0]
    grammar = Grammar.from_gbnf(JSON_MODE_GBNF).compile(embedded.service.backend._model.vocabulary).matcher()
    for our, their in zip(ours["logprobs"]["content"], theirs["logprobs"]["content"], strict=False):
        mine, other = bytes(our["bytes"]), bytes(their["bytes"])
        if not grammar.accept_bytes(other):
            return  # llama-server left its own grammar
        if mine != other:
            apart = _odds(our, mine, other) + _odds(their, other, mine)
            assert 0 <= apart < ODDS_APART, f"{mine!r} here, {other!r} there: {apart:.2f} nats are no near tie"
            return
    assert ours["message"]["content"] == theirs["message"]["content"]
    assert ours["finish_reason"] == theirs["finish_reason"]


def _odds(entry, first, second):
    """By how many nats a server finds one token likelier than another; both must be among the likeliest it names."""
    likelihood = {bytes(top["bytes"]): top["logprob"] for top in entry["top_logprobs"]}
    return likelihood[first] - likelihood[second]


def test_content_is_the_value_alone(post):
    for prompt in PROMPTS[:3]:
        body = {
            "messages": [{"role": "user", "content": prompt}],
            "response_format": {"type": "json_object"},
            "max_tokens": 90,
            "temperature": 0,
        }
        choice = post(CHAT, body).json()["choices"][0]
        assert choice["message"]["content"].startswith("{")
        if choice["finish_reason"] == "stop":
            assert isinstance(json.loads(choice["message"]["content"]), dict)
        lines = [line for line in post(CHAT, {**body, "stream": True}).text.splitlines() if line.startswith("data: {")]
        pieces = [choice["delta"].get("content", "") for line in lines for choice in json.loads(line[6:])["choices"]]
        assert "".join(pieces) == choice["message"]["content"]


def test_an_answer_cut_before_the_value_comes_raw(post):
    body = {
        "messages": [{"role": "user", "content": "Describe Oslo as JSON."}],
        "response_format": {"type": "json_object"},
        "max_tokens": 2,
        "temperature": 0,
        "scansion": {"finish": False},
    }
    whole = post(CHAT, body).json()["choices"][0]
    assert whole["finish_reason"] == "length"
    assert whole["message"]["content"]
    assert "{" not in whole["message"]["content"]
    streamed = post(CHAT, {**body, "stream": True}).text
    assert '"content":"`' not in streamed


FORMATS = [
    {"type": "json_object"},
    {
        "type": "json_schema",
        "schema": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False},
    },
    {
        "type": "json_schema",
        "json_schema": {
            "name": "repair",
            "schema": {
                "type": "object",
                "properties": {
                    "repairable": {"type": "boolean"},
                    "call": {
                        "type": "object",
                        "properties": {
                            "tool": {"enum": ["search", "open"]},
                            "arguments": {"type": "object", "additionalProperties": False},
                        },
                        "required": ["tool", "arguments"],
                        "additionalProperties": False,
                    },
                },
                "required": ["repairable", "call"],
                "additionalProperties": False,
            },
        },
    },
]


@pytest.mark.slow
def test_the_request_that_failed_succeeds_a_hundred_times(gateway):
    with httpx.Client(base_url=gateway.url, timeout=120) as client:
        for round_number in range(34):
            for form in FORMATS[: 1 if round_number == 33 else 3]:
                body = {
                    "messages": [{"role": "user", "content": "Can this call be repaired?"}],
                    "response_format": form,
                    "max_tokens": 24 if form["type"] == "json_object" else 250,
                    "temperature": round_number % 2,
                    "seed": round_number,
                }
                answer = client.post(CHAT, json=body)
                assert answer.status_code == 200, answer.text
                choice = answer.json()["choices"][0]
                if form["type"] == "json_schema":
                    assert choice["finish_reason"] == "stop"
                    assert set(json.loads(choice["message"]["content"])) in ({"ok"}, {"repairable", "call"})


def test_a_tokenizer_that_writes_a_space_nobody_asked_for():
    """The fault itself: the only token for ``assistant`` is one with a space before it. What is written before the answer
    goes to the grammar as bytes, never as tokens turned back into text, so the space is never seen."""
    import numpy as np
    from tests.generation.stand_ins import StandInModel

    import scansion

    tokens = [None, None, *[bytes([byte]) for byte in range(256)], b" assistant", b'{"']
    vocabulary = scansion.Vocabulary(tokens, eos_token_ids=[0], special_tokens={"<|im_start|>": 1})
    space_assistant = tokens.index(b" assistant")

    class Faulty(StandInModel):
        def __init__(self):
            super().__init__(context_size=256)
            self.vocabulary = vocabulary

        def tokenize(self, text, *, special=False):
            ids = []
            for number, part in enumerate(text.split(b"<|im_start|>")):
                ids += [1] if number else []
                ids += [space_assistant] if part.startswith(b"assistant") else []
                ids += [byte + 2 for byte in part.removeprefix(b"assistant")]
            return ids

        def chat_prompt(self, messages, **_):
            return f"<|im_start|>user\n{messages[-1]['content']}\n<|im_start|>assistant\n"

        def logits(self, tokens):
            return np.resize(super().logits(tokens), vocabulary.size).astype(np.float32)

    model = Faulty()
    assert b"".join(vocabulary.token_bytes(token) or b"" for token in model.prompt_tokens(model.chat_prompt([{"content": "x"}]))).endswith(
        b" assistant\n"
    )
    for schema in (FORMATS[1]["schema"], FORMATS[2]["json_schema"]["schema"]):
        grammar = scansion.Grammar.from_json_schema(schema)
        for prefill in ("", '{"'):
            answer = scansion.generate(model, "x", grammar=grammar, prefill=prefill, max_tokens=120)
            assert answer.complete
            json.loads(answer.content)
