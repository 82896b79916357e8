"""Requests from public bug reports of other servers, each with what should happen (the report's address stands with each)."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

pytestmark = pytest.mark.model

ASK = [{"role": "user", "content": "Fill in the form."}]
CHAT = "/v1/chat/completions"
FORM = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "km": {"type": "integer"}},
    "required": ["city", "km"],
    "additionalProperties": False,
}


def named(schema):
    return {"type": "json_schema", "json_schema": {"name": "out", "schema": schema}}


def is_form(text):
    value = json.loads(text)
    return set(value) == {"city", "km"} and isinstance(value["city"], str) and isinstance(value["km"], int)


def test_json_schema_without_its_schema(post):
    """github.com/ggml-org/llama.cpp/pull/18963"""
    answer = post(
        CHAT, {"model": "m", "messages": ASK, "response_format": {"type": "json_schema", "json_schema": {"name": "out", "strict": True}}}
    )
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["type"], error["param"]) == ("invalid_request_error", "response_format.json_schema.schema")


@pytest.mark.parametrize("form", ["", None])
def test_empty_format_is_free_text(post, form):
    """github.com/ollama/ollama/issues/8126"""
    body = {"model": "m", "stream": False, "messages": ASK, "format": form, "options": {"num_predict": 8}}
    answer = post("/api/chat", body)
    assert answer.status_code == 200
    assert answer.json()["x_scansion"]["constraint"] == "none"


@pytest.mark.parametrize("form", [json.dumps(FORM), [FORM], True, 3])
def test_format_that_is_no_object(post, form):
    """github.com/jakubburkiewicz/node-red-contrib-ollama/issues/22"""
    answer = post("/api/chat", {"model": "m", "stream": False, "messages": ASK, "format": form})
    assert answer.status_code == 400
    message = answer.json()["error"]
    assert '"json" or a JSON Schema object' in message
    if isinstance(form, str):
        assert "string" in message


def test_an_incomplete_document_never_stops(post):
    """github.com/kekzl/imp/issues/1199"""
    for budget in (1, 2, 4, 8, 16, 64):
        body = {"model": "m", "messages": ASK, "response_format": named(FORM), "max_tokens": budget}
        choice = post(CHAT, body).json()["choices"][0]
        if choice["finish_reason"] == "stop":
            assert is_form(choice["message"]["content"])
        else:
            assert choice["finish_reason"] == "length"
        answer = post(
            "/api/chat", {"model": "m", "stream": False, "messages": ASK, "format": FORM, "options": {"num_predict": budget}}
        ).json()
        assert answer["done_reason"] == "length" or is_form(answer["message"]["content"])
    stopped = post(CHAT, {"model": "m", "messages": ASK, "response_format": named(FORM), "stop": ["km"]}).json()["choices"][0]
    assert stopped["finish_reason"] == "length"


def test_enums_in_tool_arguments_carry_no_quotes(post):
    """github.com/ggml-org/llama.cpp/issues/22240"""
    parameters = {
        "type": "object",
        "properties": {"s": {"anyOf": [{"enum": ["open", "done"]}, {"const": "gone"}]}},
        "required": ["s"],
        "additionalProperties": False,
    }
    tool = {"type": "function", "function": {"name": "set_state", "parameters": parameters}}
    choice = {"type": "function", "function": {"name": "set_state"}}
    answer = post(CHAT, {"model": "m", "messages": ASK, "tools": [tool], "tool_choice": choice}).json()
    (call,) = answer["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"])["s"] in ("open", "done", "gone")


def test_required_tools_are_called_at_any_temperature(post):
    """github.com/sgl-project/sglang-jax/issues/1272"""
    parameters = {
        "type": "object",
        "properties": {"id": {"type": "integer", "minimum": 1}},
        "required": ["id"],
        "additionalProperties": False,
    }
    body = {
        "model": "m",
        "messages": ASK,
        "tools": [{"type": "function", "function": {"name": "lookup", "parameters": parameters}}],
        "tool_choice": "required",
        "temperature": 2.0,
    }
    for seed in range(4):
        choice = post(CHAT, {**body, "seed": seed}).json()["choices"][0]
        calls = choice["message"]["tool_calls"]
        assert calls
        assert choice["finish_reason"] == "tool_calls"
        for call in calls:
            assert json.loads(call["function"]["arguments"])["id"] >= 1
    answer = post(CHAT, {**body, "tool_choice": {"type": "function", "function": {"name": "look"}}})
    assert answer.status_code == 400


def test_tools_beside_a_response_format(post):
    """github.com/modelship-ai/modelship/pull/71"""
    tool = {
        "type": "function",
        "function": {"name": "t", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}},
    }
    body = {"model": "m", "messages": ASK, "response_format": named(FORM), "tools": [tool], "tool_choice": "auto"}
    message = post(CHAT, body).json()["choices"][0]["message"]
    assert message.get("tool_calls") or is_form(message["content"])
    message = post(CHAT, {**body, "tool_choice": "required", "parallel_tool_calls": False}).json()["choices"][0]["message"]
    (call,) = message["tool_calls"]
    assert call["function"]["name"] == "t"
    assert json.loads(call["function"]["arguments"]) == {}


def test_parallel_requests_do_not_leak_into_each_other(post):
    """github.com/sgl-project/sglang/issues/2414"""
    bodies = [
        {"model": "m", "messages": ASK, "response_format": named(FORM), "max_tokens": 40},
        {"model": "m", "messages": ASK, "response_format": named({"enum": ["a", "b"]})},
        {"model": "m", "messages": ASK, "max_tokens": 12, "temperature": 0},
    ]
    alone = post(CHAT, bodies[2]).json()["choices"][0]["message"]["content"]
    with ThreadPoolExecutor(6) as pool:
        for _ in range(10):
            answers = list(pool.map(lambda body: post(CHAT, body).json(), bodies * 2))
            for index, answer in enumerate(answers):
                content = answer["choices"][0]["message"]["content"]
                if index % 3 == 0:
                    assert is_form(content)
                elif index % 3 == 1:
                    assert json.loads(content) in ("a", "b")
                else:
                    assert content[:8] == alone[:8]
                    assert answer["x_scansion"]["enforced_by"] == "nothing"


@pytest.mark.parametrize(
    ("schema", "keyword", "pointer"),
    [
        (
            {"type": "object", "properties": {"ok": {"type": "boolean"}, "level": {"enum": []}}, "required": ["ok", "level"]},
            "enum",
            "/properties/level",
        ),
        (
            {
                "type": "object",
                "properties": {"f": {"type": "array", "items": {"$ref": "#/$defs/Flt", "$defs": {"Flt": {"type": "string"}}}}},
            },
            "$ref",
            "/properties/f/items",
        ),
    ],
)
def test_schemas_that_cannot_be_met(post, schema, keyword, pointer):
    """github.com/mlc-ai/xgrammar/issues/639 and github.com/Epistates/turbovault/issues/51, also inside a tool"""
    answer = post(CHAT, {"model": "m", "messages": ASK, "response_format": named(schema)})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["keyword"] == keyword
    assert error["pointer"].startswith(pointer)
    tool = {"type": "function", "function": {"name": "fill", "parameters": schema}}
    error = post(CHAT, {"model": "m", "messages": ASK, "tools": [tool]}).json()["error"]
    assert error["tool"] == "fill"
    assert error["keyword"] == keyword
    assert "fill" in error["message"]


def test_both_members_required_and_exactly_one(post):
    """github.com/guidance-ai/jsonschemabench/issues/16"""
    schema = {
        "type": "object",
        "properties": {"r": {"type": "number"}, "w": {"type": "number"}},
        "required": ["r", "w"],
        "oneOf": [{"required": ["r"]}, {"required": ["w"]}],
    }
    answer = post(CHAT, {"model": "m", "messages": ASK, "response_format": named(schema)})
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["code"] in ("unsatisfiable_constraint", "unsupported_constraint")
