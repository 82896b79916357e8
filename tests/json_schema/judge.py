"""Decides whether a schema's grammar takes a text: by the kernel's matcher, byte by byte, and by the slow recogniser; both must agree."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from tests.oracles.program_recogniser import accepts

import scansion

__all__ = ["byte_vocabulary", "instances", "takes"]


@lru_cache(maxsize=1)
def byte_vocabulary() -> scansion.Vocabulary:
    """One token for each byte, and an end token."""
    return scansion.Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=[256])


def takes(schema: Any, text: str, **options: Any) -> bool:
    """Whether the text is an instance as the options ask it to be written."""
    options.setdefault("whitespace", "flexible")
    grammar = scansion.Grammar.from_json_schema(schema, **options)
    expected = accepts(grammar.program, text)
    matcher = grammar.compile(byte_vocabulary()).matcher()
    data = text.encode()
    taken = matcher.bytes_accepted(data) == len(data) and matcher.accept_bytes(data) and matcher.is_complete
    assert taken == expected, f"kernel says {taken}, recogniser {expected}: {json.dumps(schema)} {text}"
    return taken


def instances(schema: Any, good: list[Any], bad: list[Any], **options: Any) -> None:
    """Assert that the good values are instances and the bad ones are not, in any property order."""
    options.setdefault("property_order", "any")
    for value in good:
        assert takes(schema, json.dumps(value, ensure_ascii=False), **options), f"refuses {value!r} for {json.dumps(schema)}"
    for value in bad:
        assert not takes(schema, json.dumps(value, ensure_ascii=False), **options), f"takes {value!r} for {json.dumps(schema)}"
