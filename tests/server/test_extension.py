"""The gateway's own options on the embedded model: drafts only, friction, reasoning, budgets."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.model

CHAT = "/v1/chat/completions"
ASK = [{"role": "user", "content": "Name a city and how far away it is."}]
FORM = {
    "type": "object",
    "properties": {"city": {"enum": ["Oslo", "Bergen"]}, "km": {"type": "integer", "minimum": 1, "maximum": 99}},
    "required": ["city", "km"],
    "additionalProperties": False,
}
NDJSON = 'root ::= (line "\\n")+\nline ::= "{\\"id\\": " [0-9]+ ", \\"ok\\": true}"'


def is_form(text):
    value = json.loads(text)
    return set(value) == {"city", "km"} and value["city"] in ("Oslo", "Bergen") and 1 <= value["km"] <= 99


def test_drafts_only_change_nothing(post):
    free = {"messages": ASK, "temperature": 0, "max_tokens": 24}
    plain = post(CHAT, free).json()
    assisted = post(CHAT, {**free, "grammar": NDJSON, "scansion": {"mode": "assist", "draft_max": 24}}).json()
    assert assisted["choices"][0]["message"]["content"] == plain["choices"][0]["message"]["content"]
    report = assisted["x_scansion"]
    assert (report["mode"], report["enforced_by"], report["constraint"]) == ("assist", "nothing", "gbnf")


def test_drafts_and_friction_are_reported(post):
    body = {"messages": ASK, "json_schema": FORM, "temperature": 0, "max_tokens": 60}
    report = post(CHAT, {**body, "scansion": {"draft": ["grammar"], "friction": True}}).json()["x_scansion"]
    assert 0 <= report["friction"]["mean"] <= report["friction"]["max"] <= 1
    assert report["forced_tokens"] > 0
    none = post(CHAT, {**body, "scansion": {"draft": []}}).json()["x_scansion"]
    assert none["drafts"] == {}


@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high"])
def test_the_constraint_holds_for_every_effort(post, effort):
    body = {"messages": ASK, "json_schema": FORM, "reasoning_effort": effort, "max_tokens": 80, "temperature": 0}
    message = post(CHAT, body).json()["choices"][0]["message"]
    assert is_form(message["content"])
    assert "<think>" not in message["content"]
    assert bool(message.get("reasoning_content")) == (effort != "none")


def test_streamed_reasoning_comes_apart(post):
    body = {"messages": ASK, "json_schema": FORM, "reasoning_effort": "low", "max_tokens": 80, "temperature": 1, "seed": 2, "stream": True}
    content = reasoning = ""
    for line in post(CHAT, body).text.splitlines():
        if line.startswith("data: {"):
            for choice in json.loads(line[6:])["choices"]:
                content += choice["delta"].get("content") or ""
                reasoning += choice["delta"].get("reasoning_content") or ""
    assert is_form(content)
    assert reasoning


@pytest.mark.parametrize("think", [True, False, "low"])
def test_ollama_think(post, think):
    body = {
        "model": "m",
        "messages": ASK,
        "format": FORM,
        "think": think,
        "stream": False,
        "options": {"num_predict": 80, "temperature": 0},
    }
    message = post("/api/chat", body).json()["message"]
    assert is_form(message["content"])
    assert bool(message.get("thinking")) == bool(think)


def test_answers_finish_within_their_budget(post):
    body = {"messages": ASK, "json_schema": {"type": "array", "items": {"type": "string"}, "minItems": 2}, "temperature": 1}
    for budget in (16, 24, 40):
        choice = post(CHAT, {**body, "max_tokens": budget, "seed": budget}).json()["choices"][0]
        assert choice["finish_reason"] == "stop"
        assert len(json.loads(choice["message"]["content"])) >= 2


def test_whitespace_option(post):
    body = {"messages": ASK, "json_schema": FORM, "temperature": 0, "max_tokens": 40, "scansion": {"whitespace": "compact"}}
    content = post(CHAT, body).json()["choices"][0]["message"]["content"]
    assert " " not in content
    assert is_form(content)


def test_structural_tags(post):
    tag = {"begin": "<trip>", "schema": FORM, "end": "</trip>"}
    form = {
        "type": "structural_tag",
        "format": {
            "type": "triggered_tags",
            "triggers": ["<trip>"],
            "tags": [{"type": "tag", "begin": "<trip>", "content": {"type": "json_schema", "json_schema": FORM}, "end": "</trip>"}],
            "at_least_one": True,
            "stop_after_first": True,
        },
    }
    answer = post(CHAT, {"messages": ASK, "response_format": form, "temperature": 0, "max_tokens": 120}).json()
    content = answer["choices"][0]["message"]["content"]
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert is_form(content[content.index("<trip>") + 6 : -len("</trip>")])
    older = {"type": "structural_tag", "structures": [tag], "triggers": ["<trip>"]}
    assert post(CHAT, {"messages": ASK, "response_format": older, "temperature": 0, "max_tokens": 8}).status_code == 200


def test_a_prompt_that_does_not_fit(post):
    answer = post(CHAT, {"messages": [{"role": "user", "content": "word " * 5000}]})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "context_length_exceeded"


def test_odd_but_legal_sampling(post):
    odd = [
        {"seed": 2**62},
        {"seed": -1},
        {"temperature": 100, "top_k": 1},
        {"mirostat": 2, "temperature": 1},
        {"dry_multiplier": 1.5, "repeat_penalty": 1.3, "repeat_last_n": -1},
        {"xtc_probability": 1, "temperature": 1},
        {"top_p": 0, "min_p": 1, "typical_p": 0},
        {"n": 2, "stop": ["o", "O"]},
    ]
    for more in odd:
        answer = post(CHAT, {"messages": ASK, "max_tokens": 6, "json_schema": FORM, "scansion": {"finish": False}, **more})
        assert answer.status_code == 200, (more, answer.text)
    answer = post(CHAT, {"messages": ASK, "max_tokens": 6, "logit_bias": {"999999999": 5}})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "logit_bias")


def test_an_error_in_one_of_several_answers_ends_all(running):
    import httpx
    from tests.server.stand_in_backend import StandInBackend

    from scansion.server.application import create_application
    from scansion.server.errors import ApiError

    class Failing(StandInBackend):
        async def generate(self, job, client, pool):
            if len(self.jobs) == 1:
                self.jobs.append(job)
                raise ApiError(502, "the upstream broke off here", code="upstream_stream_broken")
            async for piece in super().generate(job, client, pool):
                yield piece

    backend = Failing(pause=5)
    with running(create_application(backend)) as server:
        answer = httpx.post(server.url + CHAT, json={"messages": ASK, "n": 3}, timeout=4)
        assert answer.status_code == 502
        assert backend.running == 0
        assert server.service.queue.held == 0
