"""A compilation leaves no cycles: what it made goes when it ends, without the garbage collector."""

from __future__ import annotations

import gc

import scansion


def test_nothing_is_left_for_the_collector() -> None:
    schema = {
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        "oneOf": [{"$ref": "#/$defs/node"}, {"type": "array", "items": {"$ref": "#/$defs/node"}}],
        "dependentRequired": {"a": ["b"]},
    }
    scansion.Grammar.from_json_schema(schema)  # what is loaded and cached once
    gc.collect()
    gc.disable()
    try:
        scansion.Grammar.from_json_schema(schema)
        assert gc.collect() == 0
    finally:
        gc.enable()
