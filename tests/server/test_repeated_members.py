"""Members an upstream repeats are left out, and nothing else is touched."""

from __future__ import annotations

import json
import random

import httpx
import pytest
from tests.server.stand_in_upstream import KINDS, StandInUpstream

from scansion.server.application import create_application
from scansion.server.repeated_members import RepeatedMembers
from scansion.server.upstream_backend import UpstreamBackend

CHAT = "/v1/chat/completions"
OPEN = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def pieces_of(text, rng):
    while text:
        length = rng.randint(1, 6)
        yield text[:length]
        text = text[length:]


@pytest.mark.parametrize(
    ("text", "left", "count"),
    [
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 2}', 0),
        ('{"a": 1, "b": 2, "b": 3}', '{"a": 1, "b": 2}', 1),
        ('{"a": 1,\n  "a": {"x": [1, {"y": "}"}], "z": 2},\n  "c": 3\n}', '{"a": 1,\n  "c": 3\n}', 1),
        ('{"a": 1, "\\u0061": "x,\\"}]", "a": -1.5e3, "a": null\n}', '{"a": 1\n}', 3),
        ('{"a": {"a": 1, "a": 2}, "b": [{"a": 1}, {"a": 1, "a": []}], "a": 0}', '{"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]}', 3),
        ('["a", "a", {"a": "a, \\"a\\": 1"}]', '["a", "a", {"a": "a, \\"a\\": 1"}]', 0),
        ('{"": 1, "": 2}', '{"": 1}', 1),
        ('{"a": 1 , "a" : 2 , "b": 3 }', '{"a": 1  , "b": 3 }', 1),
        ("17", "17", 0),
        ('"{\\"a\\": 1, \\"a\\": 1}"', '"{\\"a\\": 1, \\"a\\": 1}"', 0),
        ('{"a": 1, "a', '{"a": 1, "a', 0),  # cut before the key is whole
        ('{"a": 1, "a": 2', '{"a": 1', 1),
        ('{"a": 1,', '{"a": 1,', 0),
    ],
)
def test_however_the_text_is_cut(text, left, count):
    for seed in range(30):
        members = RepeatedMembers()
        written = "".join(map(members.feed, pieces_of(text, random.Random(seed)))) + members.finish()
        assert written == left
        assert members.left_out == count


@pytest.mark.parametrize(
    ("text", "left", "begins"),
    [
        ('Say {"a": 1, "a": 2}', 'Say {"a": 1, "a": 2}', False),
        ('Say "<<tool_call>{"a": {"b": 1, "b": 2}}</tool_call>, {"a",', 'Say "<<tool_call>{"a": {"b": 1}}</tool_call>, {"a",', False),
        (
            '<tool_call>\n{"a": 1, "a": 2}\n</tool_call>\n<tool_call>\n{"a": 1}',
            '<tool_call>\n{"a": 1}\n</tool_call>\n<tool_call>\n{"a": 1}',
            True,
        ),
        ('{"a": 1, "a": 2}', '{"a": 1}', True),
    ],
)
def test_beside_other_text(text, left, begins):
    for seed in range(30):
        members = RepeatedMembers(mark="<tool_call>", begins=begins)
        assert "".join(map(members.feed, pieces_of(text, random.Random(seed)))) + members.finish() == left


def test_what_is_left_means_what_the_first_members_mean():
    rng = random.Random(5)

    def value(depth):
        kind = rng.randrange(4 if depth else 2)
        if kind == 0:
            return rng.choice([1, -2.5, True, None])
        if kind == 1:
            return rng.choice(['"', "a,", "}{", "\\", ""])
        if kind == 2:
            return [value(depth - 1) for _ in range(rng.randrange(4))]
        return [("member", rng.choice(["a", "b", 'c"']), value(depth - 1)) for _ in range(rng.randrange(5))] or {}

    def spelled(node):
        if isinstance(node, list) and node and isinstance(node[0], tuple):
            return "{" + ", ".join(f"{json.dumps(key)}: {spelled(inner)}" for _, key, inner in node) + "}"
        if isinstance(node, list):
            return "[" + ",".join(map(spelled, node)) + "]"
        return json.dumps(node)

    def first(pairs):
        return dict(reversed(pairs))

    def different(pairs):
        assert len(pairs) == len(dict(pairs))

    for _ in range(300):
        text = spelled(value(4))
        members = RepeatedMembers()
        written = "".join(map(members.feed, pieces_of(text, rng))) + members.finish()
        assert json.loads(written) == json.loads(text, object_pairs_hook=first)
        json.loads(written, object_pairs_hook=different)


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_with_a_repeated_member_is_not_lost(running, kind):
    upstream = StandInUpstream(kind)
    script = json.dumps({"pieces": ['{"a": 1, "b"', ': 2, "b": [3], ', '"c": 4}']})
    body = {"messages": [{"role": "user", "content": script}], "response_format": {"type": "json_schema", "schema": OPEN}}
    with running(upstream.application) as other, running(create_application(UpstreamBackend([other.url]))) as front:
        answer = httpx.post(front.url + CHAT, json=body, timeout=20)
        stream = httpx.post(front.url + CHAT, json={**body, "stream": True}, timeout=20)
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["message"]["content"] == '{"a": 1, "b": 2, "c": 4}'
    assert answer.json()["choices"][0]["finish_reason"] == "stop"
    assert answer.json()["x_scansion"]["repeated_members_left_out"] == 1
    events = [json.loads(line[6:]) for line in stream.text.splitlines() if line.startswith("data: {")]
    assert "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"]) == '{"a": 1, "b": 2, "c": 4}'


@pytest.mark.parametrize(
    ("schema", "begun", "end"),
    [
        (OPEN, '{"a": 1, "b": 2', "}"),
        ({"type": "array", "items": OPEN}, '[{"a": 1}, {"a": 1, "b": [2]', "}]"),
        # Nothing may be made up: here the outer object lacks a key.
        ({"type": "object", "properties": {"x": OPEN, "y": {"type": "integer"}}, "required": ["x", "y"]}, '{"x": {"a": 1, "b": 2', None),
    ],
)
def test_a_model_that_goes_in_circles_is_ended_where_the_answer_can_end(running, schema, begun, end):
    upstream = StandInUpstream("llama-server")
    script = json.dumps({"pieces": [begun, *[', "b": 2'] * 50], "finish": "length"})
    body = {"messages": [{"role": "user", "content": script}], "response_format": {"type": "json_schema", "schema": schema}}
    with running(upstream.application) as other, running(create_application(UpstreamBackend([other.url]))) as front:
        answer = httpx.post(front.url + CHAT, json=body, timeout=20).json()
    choice, report = answer["choices"][0], answer["x_scansion"]
    if end is None:
        assert (choice["message"]["content"], choice["finish_reason"], report["complete"]) == (begun, "length", False)
    else:
        assert (choice["message"]["content"], choice["finish_reason"], report["complete"]) == (begun + end, "stop", True)
        assert report["repeated_members_left_out"] == 3
        assert answer["usage"]["completion_tokens"] == 4
