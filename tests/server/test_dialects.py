"""What each kind of upstream is sent, and how its streams are read."""

from __future__ import annotations

import json

import pytest

from scansion.models.upstream import UpstreamError
from scansion.server.backend import Constrained, Job, Sent
from scansion.server.errors import ApiError
from scansion.server.extension import Extension
from scansion.server.recipes import Recipe
from scansion.server.upstream_dialects import check_sampling, read_line, request_for

MESSAGES = [{"role": "user", "content": "hi"}]


def job(form="", text="", **more):
    constraint = None
    if form:
        constraint = Constrained(Recipe("json_schema", "{}"), None, "p", sent=Sent(form, text, None))
    return Job("id", "model", MESSAGES, None, 10, constraint=constraint, **more)


def test_llama_server():
    wire = request_for("llama-server", job("gbnf", "root ::= x", sampling={"penalty_last_n": 3, "logit_bias": {5: float("-inf")}}, seed=7))
    assert wire.path == "/v1/chat/completions"
    assert wire.body["grammar"] == "root ::= x"
    assert wire.body["repeat_last_n"] == 3
    assert wire.body["logit_bias"] == {"5": -100.0}
    assert wire.body["chat_template_kwargs"] == {"enable_thinking": False}
    assert wire.body["reasoning_format"] == "none"
    assert "response_format" not in wire.body


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("schema", '{"type": "integer"}', {"json": {"type": "integer"}}),
        ("json", "", {"json_object": True}),
        ("gbnf", "root ::= x", {"grammar": "root ::= x"}),
        ("regex", "a+", {"regex": "a+"}),
        ("choice", '["a"]', {"choice": ["a"]}),
    ],
)
def test_vllm(form, text, expected):
    assert request_for("vllm", job(form, text)).body["structured_outputs"] == expected


def test_ollama():
    wire = request_for("ollama", job("schema", '{"type": "integer"}', sampling={"temperature": 0.5}, stop=("x",), seed=3, think=0.5))
    assert wire.path == "/api/chat"
    assert wire.body["format"] == {"type": "integer"}
    assert wire.body["options"] == {"temperature": 0.5, "seed": 3, "num_predict": 10, "stop": ["x"]}
    assert wire.body["think"] is True
    raw = request_for("ollama", Job("id", "model", None, "text", None))
    assert (raw.path, raw.body["raw"]) == ("/api/generate", True)


def test_any_openai_server():
    body = request_for("openai", job("schema", '{"type": "integer"}', template_arguments={"a": 1})).body
    assert body["response_format"]["json_schema"]["schema"] == {"type": "integer"}
    assert "chat_template_kwargs" not in body


def test_parameters_an_upstream_has_not():
    for kind, name in (("openai", "top_k"), ("vllm", "mirostat"), ("ollama", "logit_bias")):
        with pytest.raises(ApiError) as caught:
            check_sampling(kind, job(sampling={name: 1}))
        assert caught.value.param == name
    with pytest.raises(ApiError):
        check_sampling("llama-server", job(extension=Extension(mode="assist")))


def test_reading():
    chunk = read_line("llama-server", 'data: {"choices": [{"delta": {"content": "a", "reasoning_content": "r"}, "finish_reason": null}]}')
    assert (chunk.content, chunk.reasoning) == ("a", "r")
    assert read_line("llama-server", ": ping") is None
    assert read_line("llama-server", "") is None
    assert read_line("vllm", "data: [DONE]").done
    line = {"message": {"content": "a"}, "done": True, "done_reason": "length", "eval_count": 4}
    ended = read_line("ollama", json.dumps(line))
    assert (ended.content, ended.finish_reason, ended.tokens, ended.done) == ("a", "length", 4, True)
    for kind, bad in (
        ("llama-server", 'data: {"error": {"message": "boom"}}'),
        ("llama-server", 'error: {"code": 500, "message": "boom"}'),
        ("llama-server", "data: not json"),
        ("ollama", '{"error": "boom"}'),
        ("ollama", "[]"),
    ):
        with pytest.raises(UpstreamError) as caught:
            read_line(kind, bad)
        assert not caught.value.before_answer


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("llama-server", {"choices": 5}),
        ("llama-server", {"choices": {"0": {}}}),
        ("vllm", {"choices": [{"delta": "text"}]}),
        ("vllm", {"choices": [{"delta": {"content": ["text"]}}]}),
        ("openai", {"choices": [{"delta": {"content": {"text": "x"}}}]}),
        ("openai", {"choices": [], "usage": {"prompt_tokens": "many"}}),
        ("openai", {"choices": [], "usage": [1]}),
        ("vllm", {"choices": [{"delta": {}, "logprobs": {"content": [5]}}]}),
        ("vllm", {"choices": [{"delta": {}, "logprobs": {"content": [{"token": "a", "bytes": [999], "logprob": -1}]}}]}),
        ("ollama", {"message": [1], "done": False}),
        ("ollama", {"message": {"content": 3}, "done": False}),
        ("ollama", {"done": True, "eval_count": {}}),
    ],
)
def test_lines_of_another_shape(kind, value):
    with pytest.raises(UpstreamError) as caught:
        read_line(kind, ("" if kind == "ollama" else "data: ") + json.dumps(value))
    assert caught.value.code == "upstream_stream_broken"


def test_what_is_absent_or_null_is_no_fault():
    for kind, value in (
        ("openai", {"choices": None, "usage": None}),
        ("openai", {"choices": [{"delta": None, "logprobs": None}]}),
        ("vllm", {"choices": [{"delta": {"content": None}, "logprobs": {"content": [{"token": "a", "logprob": None}]}}]}),
        ("ollama", {"message": None, "done": True, "eval_count": None}),
    ):
        assert read_line(kind, ("" if kind == "ollama" else "data: ") + json.dumps(value)).content == ""
    endless = 'data: {"choices": [{"delta": {"content": "a"}, "logprobs": {"content": [{"token": "a", "logprob": -Infinity}]}}]}'
    assert read_line("vllm", endless).logprobs[0].logprob == -9999.0
