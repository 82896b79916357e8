"""Tool calls are taken out of a text the same way however it is cut into pieces."""

from __future__ import annotations

import json

import pytest

from scansion.server.json_mode import ValueText
from scansion.server.reasoning import ReasoningSplit, after_reasoning
from scansion.server.tool_stream import CallArguments, CallStart, TextPart, ToolStream

ONE = '<tool_call>\n{"name": "f", "arguments": {"a": "</tool_call> \\" }", "b": [1, {}]}}\n</tool_call>'
TWO = '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>'


def read(pieces):
    stream = ToolStream()
    events = [event for piece in pieces for event in stream.feed(piece)] + list(stream.finish())
    text = "".join(event.text for event in events if isinstance(event, TextPart))
    names = [event.name for event in events if isinstance(event, CallStart)]
    arguments = [""] * len(names)
    for event in events:
        if isinstance(event, CallArguments):
            arguments[event.number] += event.text
    return text, names, arguments, stream


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    ("whole", "text", "names"),
    [
        ("just text", "just text", []),
        ("a < b, <tool_cal", "a < b, <tool_cal", []),
        (ONE, "", ["f"]),
        (f"First. {ONE}\n{TWO}", "First. ", ["f", "g"]),
        (f"{TWO}\n{TWO}\n", "", ["g", "g"]),
    ],
)
def test_pieces_of_any_size(whole, size, text, names):
    found, called, arguments, stream = read([whole[start : start + size] for start in range(0, len(whole), size)])
    assert (found, called) == (text, names)
    assert not stream.open
    for name, value in zip(called, arguments, strict=True):
        assert json.loads(value) == ({"a": '</tool_call> " }', "b": [1, {}]} if name == "f" else {})
        assert value == value.strip()


def test_a_cut_call_is_open():
    _, names, arguments, stream = read([ONE[:50]])
    assert names == ["f"]
    assert arguments[0].startswith('{"a": "')
    assert stream.open
    assert stream.calls == 0


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize(
    ("whole", "value"),
    [
        ('```json\n{"a": {"b": "}"}}\n```', '{"a": {"b": "}"}}'),
        (' \n{"a": "\\"}"} ', '{"a": "\\"}"}'),
        ('{"a": [', '{"a": ['),
        ("```js", ""),
    ],
)
def test_json_mode_gives_the_value_alone(whole, value, size):
    text = ValueText()
    assert "".join(text.feed(whole[start : start + size]) for start in range(0, len(whole), size)) == value


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize(
    ("whole", "reasoning", "answer"),
    [
        ("<think>\nhm < 3</think>\n\n{}", "hm < 3", "{}"),
        ("no mark at first</think>{}", "no mark at first", "{}"),
        ("<think></think>x</think>", "", "x</think>"),
        ("cut short", "cut short", ""),
    ],
)
def test_reasoning_and_answer_in_one_text(whole, reasoning, answer, size):
    split = ReasoningSplit()
    parts = [split.feed(whole[start : start + size]) for start in range(0, len(whole), size)]
    assert "".join(part[0] for part in parts) + split.finish() == reasoning
    assert "".join(part[1] for part in parts) == answer


def test_a_grammar_after_reasoning():
    from tests.server.stand_in_backend import BYTES

    import scansion

    grammar = scansion.Grammar.from_gbnf(after_reasoning('root ::= "[" root? "]" | "root" thought-2\nthought-2 ::= [root]\n'))

    def accepts(text):
        matcher = grammar.compile(BYTES).matcher()
        return matcher.accept_bytes(text.encode()) and matcher.is_complete

    assert accepts("<think>a <</think </think>\n[[]]")
    assert accepts("</think>rootr")
    assert not accepts("<think>a</think>b</think>[]")
    assert not accepts("[]")
    assert not accepts("x</think>answer")
