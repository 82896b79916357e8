"""Random walks: whatever a model does under the masks, it ends, and what it wrote is an instance.

Each step draws one of the allowed tokens, more and more often one of the shortest completion so that the walk ends. No mask may be
empty, and the finished text must satisfy ``jsonschema`` and have no key twice.
"""

from __future__ import annotations

import json
import random
import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache

import jsonschema
import pytest
from tests.json_schema.test_keywords import CASES, UNIQUE
from tests.json_schema.test_negation import DEFS, NOT, ONE_OF

import scansion

SCHEMAS = {
    **{name: case[0] for name, case in {**CASES, **UNIQUE}.items() if name not in ("dependencies", "older prefix", "draft 4 exclusive")},
    **{f"not {name}": {"not": case[0], "$defs": DEFS} for name, case in NOT.items()},
    **{f"one of {name}": {"oneOf": case[0]} for name, case in ONE_OF.items()},
    "a tree": {
        "$defs": {
            "n": {
                "type": "object",
                "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
                "required": ["v"],
            }
        },
        "$ref": "#/$defs/n",
    },
    "formats": {
        "type": "object",
        "properties": {name: {"type": "string", "format": name} for name in ("date", "time", "uuid", "ipv4", "email", "hostname")},
        "required": ["date", "uuid", "ipv4"],
        "additionalProperties": False,
    },
    "counts and names": {"type": "object", "propertyNames": {"pattern": "^[ab]{1,2}$"}, "minProperties": 3, "maxProperties": 5},
    "few of many": {"properties": {"a": {}, "b": {}, "c": {}}, "additionalProperties": False, "minProperties": 2, "type": "object"},
    "dependencies in order": {
        "type": "object",
        "properties": {name: {"type": "null"} for name in "abcd"},
        "additionalProperties": False,
        "dependentRequired": {"d": ["a"], "b": ["c"], "c": ["d"]},
        "minProperties": 1,
    },
}

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
PIECES = [
    '"',
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    ": ",
    ", ",
    '": ',
    '", "',
    '"a',
    '"a"',
    "a",
    "b",
    "red",
    "1",
    "2",
    "12",
    "0",
    ".5",
    "-",
    "e",
    "true",
    "null",
    "\\",
    '":',
    "},",
    "]}",
    " ",
    "\n",
    "\u00e9",
    "k",
    "x",
    "v",
]


def held_by_a_float(number):
    try:
        return Decimal(number) == Decimal(repr(float(number)))
    except InvalidOperation:  # an exponent beyond what Decimal can hold
        return False


@lru_cache(maxsize=1)
def vocabulary():
    tokens = [bytes([byte]) for byte in range(256)] + [piece.encode() for piece in PIECES if len(piece.encode()) > 1]
    return scansion.Vocabulary([*tokens, None], eos_token_ids=[len(tokens)])


def pairs_without_repetition(pairs):
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"keys twice: {keys}"
    return dict(pairs)


def walk(grammar, rng):
    """The text of one walk."""
    vocab = vocabulary()
    matcher = grammar.compile(vocab).matcher()
    mask = scansion.allocate_bitmask(1, vocab.size)
    written = b""
    steps = 0
    while True:
        matcher.fill_bitmask(mask, 0)
        allowed = [token for token in range(vocab.size) if mask[0, token // 32] >> (token % 32) & 1]
        assert allowed, f"an empty mask after {written!r}"
        if vocab.size - 1 in allowed and (steps > 20 or rng.random() < 0.3):
            return written.decode()
        steps += 1
        if steps > 40:
            rest = matcher.shortest_completion()
            assert rest is not None, f"no completion after {written!r}"
            assert matcher.accept_bytes(rest), f"the completion {rest!r} is not allowed after {written!r}"
            assert matcher.is_complete
            return (written + rest).decode()
        ends = [token for token in allowed if token != vocab.size - 1]
        plain = [token for token in ends if vocab.token_bytes(token).isascii()]
        token = rng.choice(plain or ends or allowed)
        if token == vocab.size - 1:
            return written.decode()
        assert matcher.accept(token), f"{vocab.token_bytes(token)!r} is in the mask and not accepted after {written!r}"
        written += vocab.token_bytes(token)


@pytest.mark.parametrize("order", ["declared", "any"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_every_walk_ends_in_an_instance(name, order, rounds):
    schema = SCHEMAS[name]
    try:
        grammar = scansion.Grammar.from_json_schema(schema, property_order=order)
    except scansion.UnsatisfiableError:
        pytest.fail(f"unsatisfiable: {schema}")
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    rng = random.Random(f"{name} {order}")
    for _ in range(rounds(6)):
        text = walk(grammar, rng)
        value = json.loads(text, object_pairs_hook=pairs_without_repetition)
        if not all(map(held_by_a_float, NUMBER.findall(text))):
            continue  # jsonschema cannot judge it
        errors = [error.message for error in validator.iter_errors(value)]
        assert not errors, f"{text}: {errors[0]}"
