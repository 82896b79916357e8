"""Unions of intersections of many patterns are handed to the kernel side by side, and mean what their union means."""

from __future__ import annotations

import pytest

import scansion
from scansion.json_schema.scalars import MAX_APART, StringSet
from scansion.languages.regex import parse_ecma

_WORDS = ["ab12", "ba21", "xyxy", "ab", "", "a1b2", "yx"]


def _product(*patterns: str) -> StringSet:
    found = StringSet({}, parse_ecma(patterns[0]))
    for pattern in patterns[1:]:
        found = found.intersect(StringSet({}, parse_ecma(pattern)))
    return found


_FIRST = ("a", "b", "1", "2")
_SECOND = ("x", "y", "^.{4}$", "xy")


def test_costly_products_are_kept_apart() -> None:
    united = _product(*_FIRST).union(_product(*_SECOND))
    assert len(united.apart) == 2
    narrowed = united.intersect(_product("^ab", "2$"))
    assert len(narrowed.apart) == 2
    for word in _WORDS:
        expected = word in united and word.startswith("ab") and word.endswith("2")
        assert (word in narrowed) == any(part.matches(word) for part in narrowed.parts) == expected


def test_simple_languages_are_united() -> None:
    assert not _product("a", "b").union(_product("x")).apart
    assert not _product(*_FIRST).union(_product("x")).apart


def test_products_of_unions_stay_few() -> None:
    union = _product(*_FIRST).union(_product(*_SECOND))
    found = union
    for letter in "cdefg":
        found = found.intersect(_product(letter, "p", "q", "r").union(_product(letter, "s", "t", "u")))
    assert len(found.apart) <= MAX_APART


@pytest.mark.parametrize("word", _WORDS)
def test_instances(word: str) -> None:
    schema = {"type": "string", "anyOf": [{"allOf": [{"pattern": pattern} for pattern in ways]} for ways in (_FIRST, _SECOND)]}
    vocabulary = scansion.Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=[256])
    matcher = scansion.Grammar.from_json_schema(schema).compile(vocabulary).matcher()
    accepted = matcher.accept_bytes(f'"{word}"'.encode()) and matcher.is_complete
    assert accepted == (all(letter in word for letter in "ab12") or ("xy" in word and len(word) == 4))


def test_one_of_looks_for_overlaps_within_the_schema_around_it() -> None:
    branches = [{"properties": {"kind": {"const": kind}, "more": {"type": type_}}} for kind, type_ in (("n", "number"), ("s", "string"))]
    schema = {"type": "object", "required": ["kind"], "oneOf": branches}
    program = scansion.Grammar.from_json_schema(schema).program
    assert not program.conditions  # the key that tells the branches apart is required: no value has both
    vocabulary = scansion.Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=[256])
    constraint = scansion.Grammar.from_json_schema(schema).compile(vocabulary)
    for text, valid in (('{"kind": "n", "more": 1}', True), ('{"kind": "s", "more": 1}', False), ('{"kind": "x"}', False), ("{}", False)):
        matcher = constraint.matcher()
        assert (matcher.accept_bytes(text.encode()) and matcher.is_complete) == valid
