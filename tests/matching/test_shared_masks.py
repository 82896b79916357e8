"""One mask serves many states: whichever of them is asked first, each gets its own answer."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import scansion

BYTES = [bytes([b]) for b in range(256)]


def vocabulary(*tokens: bytes) -> scansion.Vocabulary:
    return scansion.Vocabulary([*BYTES, None, *tokens], eos_token_ids=[256])


def check(constraint: scansion.Constraint, size: int, text: str) -> set[int]:
    """The tokens the mask allows after ``text``, each held against stepping it."""
    matcher = constraint.matcher()
    for byte in text.encode():
        assert matcher.accept(byte)
    mask = scansion.allocate_bitmask(1, size)
    matcher.fill_bitmask(mask, 0)
    allowed = set(np.flatnonzero(np.unpackbits(mask[0].view(np.uint8), bitorder="little")[:size]).tolist())
    assert allowed == {token for token in range(size) if matcher.allows(token)}, text
    return allowed


def inner(name: str, value: dict[str, Any]) -> dict[str, Any]:
    integer = {"type": "integer"}
    properties = {name: integer, "ab1": value, "ab2": integer, "ab3": integer, "z": integer}
    return {"type": "object", "properties": properties, "additionalProperties": False}


@pytest.mark.parametrize("turned", [False, True])
def test_a_key_used_outside_is_doubted_in_masks_made_for_another_state(turned: bool) -> None:
    tokens = vocabulary(b'b":1},"x":', b'b":1},"y":', b'b":1}', b'b":')
    a = {"type": "object", "properties": {"p": inner("ab", {"type": "integer"})}, "additionalProperties": {"type": "integer"}}
    b = {"type": "object", "properties": {"p": inner("ac", {"const": 1})}, "additionalProperties": {"const": 5}}
    texts = ['{"p":{"ab1":1,"ab2":1,"ab3":1,"a', '{"p":{"ab1":2,"ab2":1,"ab3":1,"a', '{"x":1,"p":{"a']
    grammar = scansion.Grammar.from_json_schema({"anyOf": [b, a] if turned else [a, b]}, property_order="any", whitespace="compact")
    for order in permutations(texts):
        constraint = grammar.compile(tokens)
        for text in order:
            allowed = check(constraint, tokens.size, text)
            assert (257 in allowed) == (text != texts[2])  # a second "x"


def test_a_text_that_stands_for_others_does_not_make_their_keys_equal() -> None:
    tokens = vocabulary(b'a":1},"x', b'z":1,"z":1')
    grammar = scansion.Grammar.from_json_schema({"additionalProperties": {"properties": {"na": {}, "a": {}}}}, whitespace="flexible")
    for order in permutations(['{"":{"n', '{"":{"', '{"":{"z']):
        constraint = grammar.compile(tokens)
        for text in order:
            assert (258 in check(constraint, tokens.size, text)) == (text != '{"":{"')  # "z" twice, or "nz" and "z"
