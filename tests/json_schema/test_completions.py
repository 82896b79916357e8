"""The way to finish a text is found where it is long and where most ways lead astray, and it is an instance."""

from __future__ import annotations

import json

import jsonschema
import pytest

import scansion

VOCABULARY = scansion.Vocabulary([bytes((byte,)) for byte in range(256)] + [None], eos_token_ids=[256])
WORDS = [
    "name",
    "names",
    "namesake",
    "number",
    "numbers",
    "serviceName",
    "serviceType",
    "service",
    "services",
    "isActive",
    "isHome",
    "isHomeless",
]
MANY = [f"{word}{suffix}" for suffix in ("", "OfWeek", "OfMonth") for word in WORDS]
CASES = {
    # Thousands of sets of keys read so far, and additional keys that begin as declared ones do.
    "many required keys": (
        {
            "type": "object",
            "properties": {key: {"type": ["boolean", "number"]} for key in [*MANY, "created", "createdAt", "createdBy"]},
            "required": MANY,
        },
        [b"", b'{"', b'{"created', b'{"created":1,', b'{"created":1,"createdA', b'{ "isHome":true,"isHomeless"'],
    ),
    # Longer than any search over states may last.
    "many items": (
        {
            "type": "array",
            "minItems": 700,
            "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name", "uri"]},
        },
        [b"", b"[{", b'[{"name":"a"'],
    ),
    # After a comma the member that a condition asks for is the one that must come.
    "a condition": (
        {
            "type": "object",
            "properties": {"license": {"type": "string"}, "template": {"type": "string"}, "text": {"type": "string"}},
            "if": {"properties": {"license": {"const": "none"}}},
            "else": {"required": ["template", "text"]},
            "required": ["license"],
        },
        [b'{"license": "P,0, w%9&|sX3<>', b'{"license":"a",', b'{"license":"none"'],
    ),
}


@pytest.mark.parametrize("order", ["declared", "any"])
@pytest.mark.parametrize("name", CASES)
def test_every_beginning_is_finished(name, order):
    schema, beginnings = CASES[name]
    constraint = scansion.Grammar.from_json_schema(schema, property_order=order).compile(VOCABULARY)
    tried = 0
    for beginning in beginnings:
        matcher = constraint.matcher()
        if not matcher.accept_bytes(beginning):
            continue  # out of the declared order
        tried += 1
        rest = matcher.shortest_completion()
        assert rest is not None, beginning
        assert len(rest) == matcher.shortest_cost(), beginning
        assert matcher.accept_bytes(rest) and matcher.is_complete
        jsonschema.validate(json.loads(beginning + rest), schema)
    assert tried >= 2


def test_long_strings_are_finished():
    for schema, length in (
        ({"type": "string", "pattern": "^a{16000}$"}, 16_000),
        ({"type": "string", "minLength": 30_000, "pattern": "^[a-f]*$"}, 30_000),
    ):
        matcher = scansion.Grammar.from_json_schema(schema).compile(VOCABULARY).matcher()
        rest = matcher.shortest_completion()
        assert rest is not None
        assert len(json.loads(rest)) == length


@pytest.mark.parametrize(
    ("beginning", "goes_on"),
    [
        (b"[0,0e", False),  # zero whatever follows
        (b"[false,-0,1,0e7", False),
        (b"[0.00,0E+", False),
        (b"[0,[0e", True),
        (b"[5,0e1", True),
        (b"[0,1e0", True),
        (b'[{"a":0},{"a":0e', True),  # by another member
    ],
)
def test_a_zero_is_no_new_item_by_its_exponent(beginning, goes_on):
    schema = {"type": "array", "uniqueItems": True}
    vocabulary = scansion.Vocabulary([bytes((byte,)) for byte in range(256)] + [b"0e", b",0e", b"0e1", b"e", None], eos_token_ids=[260])
    matcher = scansion.Grammar.from_json_schema(schema, property_order="any").compile(vocabulary).matcher()
    before = max(beginning.rfind(b"e"), beginning.rfind(b"E"))
    assert matcher.accept_bytes(beginning[:before])
    mask = scansion.allocate_bitmask(1, vocabulary.size)
    matcher.fill_bitmask(mask, 0)
    for token in range(vocabulary.size - 1):
        assert bool(mask[0, token // 32] >> (token % 32) & 1) == matcher.allows(token), vocabulary.token_bytes(token)
    assert matcher.accept_bytes(beginning[before:]) == goes_on
    if goes_on:
        rest = matcher.shortest_completion()
        assert rest is not None
        values = json.loads(beginning + rest)
        jsonschema.validate(values, schema)
