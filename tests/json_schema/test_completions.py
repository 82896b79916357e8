"""The way to finish a text is found where it is long and where most ways lead astray, and it is an instance."""

from __future__ import annotations

import json

import jsonschema
import pytest

import scansion

VOCABULARY = scansion.Vocabulary([bytes((byte,)) for byte in range(256)] + [None], eos_token_ids=[256])
WORDS = ["name", "names", "namesake", "number", "numbers", "serviceName", "serviceType", "service", "services", "isActive", "isHome", "isHomeless"]
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
        {"type": "array", "minItems": 700, "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name", "uri"]}},
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
