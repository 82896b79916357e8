"""The content rule: whatever stands around a value, its pieces join to the value alone."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

import pytest

import scansion
from scansion.generation.content import ContentReader
from scansion.generation.events import Delta
from scansion.generation.partial import NOTHING, partial_value, partial_values

BYTES = scansion.Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=[256])

VALUES = [
    {"a": 1},
    {"name": 'é😀\n\\"', "list": [1, [2.5, None], {}], "t": True},
    [],
    [{"text": "```json\n{}\n```"}, "</think>", "<think>"],
    {"long": "x y  z " * 20, "empty": "", "n": -1.5e-7},
]
BEFORE = [
    "",
    "\n",
    "```json\n",
    "```\n",
    "Here is the answer:\n",
    "Sure! ",
    "<think>\n2 + 2 {is} `4`\n</think>\n\n",
    "<think></think>```json\n",
    "\n<think>é</think>Answer: ",
]
AFTER = ["", "\n", "\n```", "\n```\nI hope this helps {you}.", " \n\n", " trailing"]


def answers() -> list[tuple[str, str]]:
    """500 recorded answers: raw text and the value in it."""
    rng = random.Random(0)
    recorded = []
    while len(recorded) < 500:
        value = rng.choice(VALUES)
        style = rng.choice([{"ensure_ascii": True}, {"ensure_ascii": False}, {"indent": 2}, {"separators": (",", ":")}])
        text = json.dumps(value, **style)
        recorded.append((rng.choice(BEFORE) + text + rng.choice(AFTER), text))
    return recorded


@pytest.fixture(scope="module")
def constraint() -> scansion.Constraint:
    return scansion.Grammar.from_json_schema(
        {"type": ["object", "array"]}, whitespace="flexible", property_order="any", spelling="any"
    ).compile(BYTES)


def test_every_prefix_gives_pieces_that_join_to_the_value(constraint: scansion.Constraint) -> None:
    rng = random.Random(1)
    for raw, value in answers():
        data = raw.encode()
        reader = ContentReader(constraint)
        shown, start = "", 0
        while start < len(data):
            end = start + rng.choice([1, 1, 2, 3, 5, 17])
            piece = reader.feed(data[start:end])
            shown += piece
            assert value.startswith(shown)
            start = end
        assert shown + reader.finish() == value, raw
        assert reader.complete and not reader.broken


def test_prefixes_byte_by_byte_never_split_escapes_or_characters(constraint: scansion.Constraint) -> None:
    raw = '```json\n{"k": "\\u00e9\\ud83d\\ude00é😀\\n"}\n```'
    reader = ContentReader(constraint)
    shown = ""
    for byte in raw.encode():
        piece = reader.feed(bytes([byte]))
        assert "\ufffd" not in piece
        shown += piece
        if shown.count('"') == 3:
            json.loads(shown + '"}')
    assert shown + reader.finish() == raw[8:-4]


def test_reasoning_is_kept_apart(constraint: scansion.Constraint) -> None:
    reader = ContentReader(constraint)
    assert reader.feed(b"<thi") == "" and not reader.started
    assert reader.feed(b"nk> so {} </th") == ""
    assert reader.feed(b"ink>[1") == "[1"
    assert reader.reasoning == " so {} "
    assert not reader.complete
    assert reader.feed(b"]") == "]" and reader.complete


def test_a_text_that_leaves_the_grammar_stops(constraint: scansion.Constraint) -> None:
    reader = ContentReader(constraint)
    assert reader.feed(b'{"a": oops}') == '{"a": '
    assert reader.broken and not reader.complete
    assert reader.feed(b"{}") == "" and reader.finish() == ""


def test_scalars_end_where_the_line_does() -> None:
    numbers = scansion.Grammar.from_json_schema({"type": "integer"}).compile(BYTES)
    reader = ContentReader(numbers)
    assert reader.feed(b"The answer is\n12") == "12"
    assert reader.feed(b"3\n") == "3"
    assert reader.feed(b"4") == "" and reader.complete
    assert reader.finish() == ""


# -- partial values ----------------------------------------------------------------------------------------------------


def is_part(part: object, whole: object) -> bool:
    """``part`` can grow into ``whole``."""
    if isinstance(whole, dict):
        return isinstance(part, dict) and all(key in whole and is_part(value, whole[key]) for key, value in part.items())
    if isinstance(whole, list):
        return isinstance(part, list) and len(part) <= len(whole) and all(map(is_part, part, whole))
    if isinstance(whole, str):
        return isinstance(part, str) and whole.startswith(part)
    return part == whole


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("style", [{}, {"indent": 1}, {"ensure_ascii": False, "separators": (",", ":")}])
def test_partial_values_grow_into_the_value(value: object, style: dict[str, object]) -> None:
    text = json.dumps(value, **style)
    for end in range(len(text) + 1):
        part = partial_value(text[:end])
        assert part is NOTHING or is_part(part, value), text[:end]
    assert partial_value(text) == value


def test_partial_values_in_detail() -> None:
    for text, expected in (
        ("", NOTHING),
        ("{", {}),
        ('{"a', {}),
        ('{"a"', {}),
        ('{"a":', {}),
        ('{"a":1', {}),
        ('{"a":1,', {"a": 1}),
        ('{"a":tr', {}),
        ('{"a":true}', {"a": True}),
        ('{"a":"x\\', {"a": "x"}),
        ('{"a":"x\\u00', {"a": "x"}),
        ('{"a":"x\\ud83d', {"a": "x"}),
        ('{"a":"x\\\\', {"a": "x\\"}),
        ("[1,[2", [1, []]),
        ('["a","b', ["a", "b"]),
        ("12", 12),
        ("tru", NOTHING),
        ('"ab', "ab"),
    ):
        assert partial_value(text) == expected or partial_value(text) is expected, text


def deltas(text: str, size: int) -> list[Delta]:
    return [Delta(text[start : start + size]) for start in range(0, len(text), size)]


def test_partial_values_of_a_pydantic_model() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Town(pydantic.BaseModel):
        name: str = pydantic.Field(min_length=5)
        people: int | None
        country: str = pydantic.Field(alias="in")

    class Trip(pydantic.BaseModel):
        towns: list[Town]
        best: Town | None = None

    text = '{"towns": [{"name": "Oslo S", "people": 7, "in": "Norway"}, {"name": "Rome 1", "people": null, "in": "Italy"}], "best": null}'
    whole = Trip.model_validate_json(text)
    seen = list(partial_values(deltas(text, 3), Trip))
    assert all(isinstance(value, Trip) for value in seen) and seen[-1] == whole
    names = [value.towns[0].name for value in seen if value.towns]
    assert names[0] is None and all("Oslo S".startswith(name or "") for name in names) and "Os" in "".join(name or "" for name in names)
    assert all(isinstance(town, Town) for value in seen for town in value.towns or [])
    half = next(value for value in seen if value.towns and value.towns[0].people == 7)
    assert half.towns[0].country is None and half.towns[0].model_fields_set == {"name", "people"}
    assert seen[0].towns is None


def test_partial_values_of_dataclasses_and_interrupted_answers() -> None:
    pytest.importorskip("pydantic")
    seen = list(partial_values(deltas('[{"x": 1, "y": 2}, {"x": 3', 4), list[Point]))
    assert seen[-1][0] == Point(1, 2) and seen[-1][1].x is None
    whole = list(partial_values(deltas('[{"x": 1, "y": 2}]', 4), list[Point]))
    assert whole[-1] == [Point(1, 2)]


@dataclass(frozen=True)
class Point:
    x: int
    y: int
