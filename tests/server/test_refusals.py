"""Two hundred malformed requests: each is a 4xx that names the parameter, the same way in both APIs."""

from __future__ import annotations

import json

import httpx
import pytest

USER = [{"role": "user", "content": "hi"}]
CHAT = {"model": "m", "messages": USER}
TEXT = {"model": "m", "prompt": "hi"}
INPUT = {"model": "m", "input": "hi"}


def wrong(base, name, *values, status=400, param=None):
    """The base with each of some values under a name."""
    return [({**base, name: value}, status, param or name) for value in values]


def schema_case(schema, status=400, param="response_format.json_schema.schema"):
    return ({**CHAT, "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}}, status, param)


def tool_case(function, param, status=400, **more):
    return ({**CHAT, "tools": [{"type": "function", "function": function}], **more}, status, param)


FUNCTION = {"name": "f", "parameters": {"type": "object", "properties": {}}}
TOOLS = [{"type": "function", "function": FUNCTION}]

CHAT_CASES = [
    ({"model": "m"}, 400, "messages"),
    *wrong(CHAT, "messages", None, "hi", {}, [], 5),
    *wrong(CHAT, "messages", [1], ["hi"], [None], [[]], param="messages.0"),
    *wrong(CHAT, "messages", [{}], [{"content": "hi"}], [{"role": "robot", "content": "hi"}], [{"role": 3}], param="messages.0.role"),
    *wrong(CHAT, "messages", [{"role": "user"}], [{"role": "user", "content": 4}], param="messages.0.content"),
    *wrong(CHAT, "messages", [{"role": "user", "content": {}}], param="messages.0.content"),
    *wrong(CHAT, "messages", [{"role": "assistant"}], [{"role": "system", "content": None}], param="messages.0.content"),
    *wrong(CHAT, "messages", [*USER, {"role": "user", "content": [3]}], param="messages.1.content.0"),
    *wrong(
        CHAT,
        "messages",
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}],
        [{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}],
        [{"role": "user", "content": [{}]}],
        param="messages.0.content.0.type",
    ),
    *wrong(CHAT, "messages", [{"role": "user", "content": [{"type": "text", "text": 1}]}], param="messages.0.content.0.text"),
    *wrong(CHAT, "messages", [{"role": "assistant", "tool_calls": 1}], param="messages.0.tool_calls"),
    *wrong(CHAT, "messages", [{"role": "assistant", "tool_calls": [{}]}], param="messages.0.tool_calls.0.function.name"),
    *wrong(CHAT, "model", 1, [], {}, True),
    *wrong(CHAT, "stream", "yes", 1, [], {}),
    *wrong(CHAT, "temperature", "hot", -1, 1000, [], True, {}),
    *wrong(CHAT, "top_p", -0.1, 1.1, "1", []),
    *wrong(CHAT, "top_k", 1.5, "40", -2),
    *wrong(CHAT, "min_p", 2, "x"),
    *wrong(CHAT, "frequency_penalty", 3, -3, "0"),
    *wrong(CHAT, "presence_penalty", 2.5, True),
    *wrong(CHAT, "repeat_penalty", 0, "1.1"),
    *wrong(CHAT, "mirostat", 3, 0.5),
    *wrong(CHAT, "seed", "1", 1.5, [], 2**70),
    *wrong(CHAT, "n", 0, -1, 17, "2", 1.5),
    *wrong(CHAT, "max_tokens", 0, -2, "10", 1.5, 10**9),
    *wrong(CHAT, "max_completion_tokens", 0, "10"),
    ({**CHAT, "max_tokens": 5, "max_completion_tokens": 6}, 400, "max_tokens"),
    *wrong(CHAT, "stop", 5, {}, [1], ["a", None], ["x"] * 17, "x" * 5000),
    *wrong(CHAT, "logprobs", 1, "true"),
    *wrong({**CHAT, "logprobs": True}, "top_logprobs", 21, -1, "5"),
    *wrong(CHAT, "top_logprobs", 3),
    *wrong(CHAT, "logit_bias", [], {"x": 1}, {"1": 101}, {"1": "a"}, {"-1": 1}, {"1": True}),
    *wrong(CHAT, "stream_options", {"include_usage": True}, 1),
    ({**CHAT, "stream": True, "stream_options": {"include_usge": True}}, 400, "stream_options.include_usge"),
    ({**CHAT, "stream": True, "stream_options": {"include_usage": 1}}, 400, "stream_options.include_usage"),
    *wrong(CHAT, "reasoning_effort", "huge", 1),
    *wrong(CHAT, "chat_template_kwargs", 1),
    *wrong(CHAT, "chat_template_kwargs", {"messages": 1}, param="chat_template_kwargs.messages"),
    *wrong(CHAT, "chat_template_kwargs", {"a b": 1}, param="chat_template_kwargs.a b"),
    *wrong(CHAT, "functions", [FUNCTION]),
    *wrong(CHAT, "function_call", "auto"),
    *wrong(CHAT, "audio", {"voice": "x"}),
    *wrong(CHAT, "modalities", ["audio"], "text"),
    *wrong(CHAT, "web_search_options", {}),
    *wrong(CHAT, "temprature", 1),
    *wrong(CHAT, "max_token", 1),
    *wrong(CHAT, "response_fromat", {}),
    *wrong(CHAT, "zzz", 1),
    *wrong(CHAT, "scansion", 1, [], "x"),
    ({**CHAT, "scansion": {"nope": 1}}, 400, "scansion.nope"),
    ({**CHAT, "scansion": {"mode": "assist"}}, 400, "scansion.mode"),
    # tools
    *wrong(CHAT, "tools", {}, "f", 1),
    *wrong(CHAT, "tools", [1], [None], param="tools.0"),
    *wrong(CHAT, "tools", [{"type": "function"}], [{"type": "function", "function": []}], param="tools.0.function"),
    ({**CHAT, "tools": [{"type": "web_search"}]}, 422, "tools.0.type"),
    tool_case({}, "tools.0.function.name"),
    tool_case({"name": ""}, "tools.0.function.name"),
    tool_case({"name": "a b"}, "tools.0.function.name"),
    tool_case({"name": "x" * 65}, "tools.0.function.name"),
    tool_case({"name": "f", "description": 1}, "tools.0.function.description"),
    tool_case({"name": "f", "strict": "yes"}, "tools.0.function.strict"),
    tool_case({"name": "f", "parameters": []}, "tools.0.function.parameters"),
    tool_case({"name": "f", "parameters": "{}"}, "tools.0.function.parameters"),
    tool_case({"name": "f", "parameters": {"type": "string"}}, "tools.0.function.parameters.type"),
    tool_case({"name": "f", "parameters": {"type": "object", "properties": {"a": {"minimum": "x"}}}}, "tools.0.function.parameters"),
    tool_case({"name": "f", "parameters": {"type": "object", "properties": {"a": {"$ref": "#/$defs/no"}}}}, "tools.0.function.parameters"),
    tool_case(
        {"name": "f", "parameters": {"type": "object", "properties": {"a": False}, "required": ["a"]}}, "tools.0.function.parameters"
    ),
    ({**CHAT, "tools": [*TOOLS, *TOOLS]}, 400, "tools.1.function.name"),
    ({**CHAT, "tools": TOOLS * 129}, 400, "tools"),
    *wrong({**CHAT, "tools": TOOLS}, "tool_choice", "any", "requird", 5, []),
    ({**CHAT, "tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "g"}}}, 400, "tool_choice.function.name"),
    ({**CHAT, "tools": TOOLS, "tool_choice": {"type": "function"}}, 400, "tool_choice.name"),
    ({**CHAT, "tools": TOOLS, "tool_choice": {"type": "custom"}}, 400, "tool_choice.type"),
    ({**CHAT, "tools": TOOLS, "tool_choice": {"type": "allowed_tools"}}, 400, "tool_choice.allowed_tools"),
    ({**CHAT, "tool_choice": "required"}, 400, "tools"),
    ({**CHAT, "tools": TOOLS, "parallel_tool_calls": "no"}, 400, "parallel_tool_calls"),
    ({**CHAT, "tools": TOOLS, "grammar": 'root ::= "a"'}, 400, "grammar"),
    ({**CHAT, "tools": TOOLS, "response_format": {"type": "regex", "pattern": "a"}}, 400, "response_format"),
    # constraints that reach the compiler
    schema_case({"type": "strin"}),
    schema_case({"minimum": "3"}),
    schema_case({"properties": []}),
    schema_case({"required": "a"}),
    schema_case({"pattern": "("}),
    schema_case({"$ref": "#/$defs/missing"}),
    schema_case({"$ref": "http://127.0.0.1:1/schema.json"}),
    schema_case({"$ref": "file:///etc/passwd"}),
    schema_case({"enum": []}),
    schema_case({"type": "integer", "minimum": 3, "maximum": 2}),
    schema_case({"not": {}}),
    schema_case(False),
    schema_case([{"type": "string"}]),
    schema_case("string"),
    schema_case(7),
    *wrong(CHAT, "grammar", "root", 'root ::= "', "root ::= nope", 'rot ::= "a"', 'root ::= [a', 'root ::= ("a"'),
    *wrong(CHAT, "grammar", 5, ["x"], "%llguidance {}\nstart: nope"),
    ({**CHAT, "response_format": {"type": "regex", "pattern": "(a"}}, 400, "response_format.pattern"),
    ({**CHAT, "response_format": {"type": "regex", "pattern": "[z-a]"}}, 400, "response_format.pattern"),
    ({**CHAT, "response_format": {"type": "lark", "grammar": "start: ("}}, 400, "response_format.grammar"),
    ({**CHAT, "structured_outputs": {"choice": [1]}}, 400, "structured_outputs.choice"),
    ({**CHAT, "guided_regex": "*"}, 400, "guided_regex"),
    ({**CHAT, "guided_json": "{"}, 400, None),
]  # fmt: skip

OTHER_CASES = [
    ("/v1/completions", {"model": "m"}, 400, "prompt"),
    *[("/v1/completions", body, status, param) for body, status, param in wrong(TEXT, "prompt", 5, {}, [], [1, 2], [{}], ["x"] * 17)],
    *[("/v1/completions", body, status, param) for body, status, param in wrong(TEXT, "logprobs", True, 21, "5")],
    ("/v1/completions", {**TEXT, "echo": True}, 400, "echo"),
    ("/v1/completions", {**TEXT, "best_of": 2}, 400, "best_of"),
    ("/v1/completions", {**TEXT, "suffix": "x"}, 400, "suffix"),
    ("/v1/completions", {**TEXT, "max_tokens": 0}, 400, "max_tokens"),
    ("/v1/completions", {**TEXT, "messages": USER}, 400, "messages"),
    ("/v1/responses", {"model": "m"}, 400, "input"),
    *[("/v1/responses", body, status, param) for body, status, param in wrong(INPUT, "input", 5, {}, [])],
    ("/v1/responses", {**INPUT, "input": [1]}, 400, "input.0"),
    ("/v1/responses", {**INPUT, "input": [{"type": "file_search_call"}]}, 400, "input.0.type"),
    ("/v1/responses", {**INPUT, "previous_response_id": "resp_1"}, 400, "previous_response_id"),
    ("/v1/responses", {**INPUT, "background": True}, 400, "background"),
    ("/v1/responses", {**INPUT, "reasoning": {"effort": "huge"}}, 400, "reasoning.effort"),
    ("/v1/responses", {**INPUT, "include": ["everything"]}, 400, "include"),
    ("/v1/responses", {**INPUT, "text": {"format": {"type": "json_schema", "name": "n"}}}, 400, "text.format.schema"),
    ("/v1/responses", {**INPUT, "max_output_tokens": 0}, 400, "max_output_tokens"),
    ("/v1/responses", {**INPUT, "response_format": {}}, 400, "response_format"),
    ("/v1/responses", {**INPUT, "tools": [{"type": "function"}]}, 400, "tools.0.name"),
    ("/api/chat", {}, 400, "model"),
    ("/api/chat", {**CHAT, "format": "yaml"}, 400, "format"),
    ("/api/chat", {**CHAT, "format": [{}]}, 400, "format"),
    ("/api/chat", {**CHAT, "format": 3}, 400, "format"),
    ("/api/chat", {**CHAT, "format": True}, 400, "format"),
    ("/api/chat", {**CHAT, "options": []}, 400, "options"),
    ("/api/chat", {**CHAT, "options": {"temprature": 1}}, 400, "options.temprature"),
    ("/api/chat", {**CHAT, "options": {"num_predict": "x"}}, 400, "options.num_predict"),
    ("/api/chat", {**CHAT, "options": {"stop": 4}}, 400, "options.stop"),
    ("/api/chat", {**CHAT, "think": "huge"}, 400, "think"),
    ("/api/chat", {**CHAT, "messages": [{"role": "user", "content": "x", "images": ["aGk="]}]}, 400, "messages.0.images"),
    ("/api/chat", {**CHAT, "response_format": {}}, 400, "response_format"),
    ("/api/generate", {**TEXT, "prompt": 5}, 400, "prompt"),
    ("/api/generate", {**TEXT, "suffix": "x"}, 400, "suffix"),
    ("/api/generate", {**TEXT, "images": ["aGk="]}, 400, "images"),
    ("/api/generate", {**TEXT, "context": [1, 2]}, 400, "context"),
    ("/api/generate", {**TEXT, "raw": True, "system": "x"}, 400, "system"),
    ("/api/show", {}, 400, "model"),
]

CASES = [*[("/v1/chat/completions", *case) for case in CHAT_CASES], *OTHER_CASES]


def test_there_are_two_hundred():
    assert len(CASES) >= 200


@pytest.mark.parametrize(("path", "body", "status", "param"), CASES, ids=[f"{i}" for i in range(len(CASES))])
def test_refused(stand_in, path, body, status, param):
    answer = httpx.post(stand_in.url + path, json=body, timeout=30)
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    told = answer.json() if path.startswith("/api/") else error
    message = error if path.startswith("/api/") else error["message"]
    assert isinstance(message, str)
    assert len(message) > 10
    assert isinstance(told["type"], str)
    assert isinstance(told["code"], str)
    assert told["param"] == param or (param is not None and status == 400 and told["param"].startswith(param))


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "empty_body"),
        (b"  ", "empty_body"),
        (b"{", "invalid_json"),
        (b"[]", "invalid_json"),
        (b"null", "invalid_json"),
        (b'"x"', "invalid_json"),
        (b"{} {}", "invalid_json"),
        (b"\xff{}", "invalid_json"),
        (b'{"temperature": NaN}', "invalid_json"),
        (b'{"temperature": Infinity}', "invalid_json"),
        (b'{"seed": ' + b"9" * 5000 + b"}", "invalid_json"),
        (b'{"model": "m", "model": "n"}', "duplicate_key"),
        (b'{"messages": [{"role": "user", "content": "\\ud800"}]}', "invalid_json"),
        (b'{"a": ' + b"[" * 600 + b"]" * 600 + b"}", "nesting_limit"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nesting_limit"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/chat"])
def test_bodies_that_are_none(stand_in, path, body, code):
    answer = httpx.post(stand_in.url + path, content=body)
    assert answer.status_code == 400
    told = answer.json() if path.startswith("/api/") else answer.json()["error"]
    assert told["code"] == code


def test_too_large(stand_in):
    answer = httpx.post(stand_in.url + "/v1/chat/completions", content=b" " * (5 << 20))
    assert answer.status_code == 413
    big = {**CHAT, "grammar": "root ::= " + '"a" ' * 300_000}
    answer = httpx.post(stand_in.url + "/v1/chat/completions", json=big)
    assert answer.status_code == 413
    assert answer.json()["error"]["param"] == "grammar"


def test_paths_and_methods(stand_in):
    for path, status in (("/nothing", 404), ("/v1/chat/completions", 405), ("/v1/models/nope", 404)):
        answer = httpx.get(stand_in.url + path)
        assert answer.status_code == status
        assert answer.json()["error"]["code"]
    answer = httpx.get(stand_in.url + "/api/chat")
    assert answer.status_code == 405
    assert isinstance(answer.json()["error"], str)


def test_accepted_parameters_change_nothing(stand_in):
    idle = {"user": "u", "metadata": {"a": "b"}, "store": True, "service_tier": "auto", "prompt_cache_key": "k", "verbosity": "low"}
    answer = httpx.post(stand_in.url + "/v1/chat/completions", json={**CHAT, **idle})
    assert answer.status_code == 200
    scheduling = {"num_ctx": 4096, "num_gpu": 1, "num_thread": 2, "use_mmap": True, "num_keep": 4, "num_batch": 8}
    answer = httpx.post(stand_in.url + "/api/chat", json={**CHAT, "stream": False, "keep_alive": "5m", "options": scheduling})
    assert answer.status_code == 200


def test_a_schema_that_is_right_and_cannot_be_enforced(stand_in):
    body = {**CHAT, "json_schema": {"type": "string", "pattern": "^(a)\\1$"}}
    answer = httpx.post(stand_in.url + "/v1/chat/completions", json=body)
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["param"] == "json_schema"
    assert error["keyword"]
    assert "pointer" in error
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": body["json_schema"]}}}}
    error = httpx.post(stand_in.url + "/v1/chat/completions", json={**CHAT, "tools": [tool]}).json()["error"]
    assert error["tool"] == "f"
    assert error["pointer"].startswith("/properties/x")
    assert error["keyword"]
    assert json.dumps(error["message"])


@pytest.mark.parametrize(
    ("number", "words"),
    [("1e999", "not one too large to compute with"), ("9" * 400, "not one too large to compute with"), ('"1"', "not a string")],
)
def test_what_was_given_instead_of_a_number(stand_in, number, words):
    body = f'{{"messages": [{{"role": "user", "content": "x"}}], "temperature": {number}}}'
    error = httpx.post(stand_in.url + "/v1/chat/completions", content=body).json()["error"]
    assert error["message"] == f"temperature must be a number, {words}"
