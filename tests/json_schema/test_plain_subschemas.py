"""Subschemas written straight from their keywords: the same program as by way of their normal forms."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.json_schema.judge import instances
from tests.json_schema.random_schemas import random_schema

import scansion
from scansion.json_schema import SchemaOptions, compile_schema, lower
from scansion.json_schema.shapes import ANY

WRITTEN = {
    "a type": {"type": "string"},
    "types": {"type": ["string", "null", "integer"]},
    "every type": {"type": ["null", "boolean", "number", "string", "object", "array"], "minLength": 1, "minItems": 1, "required": ["a"]},
    "keywords without a type": {"minLength": 2, "minimum": 3, "required": ["a"], "maxItems": 4},
    "keywords of other types": {"type": "object", "minLength": -1, "minimum": "no"},
    "words": {"enum": ["a", "b", "a"]},
    "words beside types": {"type": ["string", "null"], "enum": ["a", "\N{GREEK SMALL LETTER ALPHA}"]},
    "words of another type": {"type": "integer", "enum": ["a"]},
    "no words": {"enum": []},
    "one word": {"const": "a"},
    "constants of two keywords": {"enum": ["a", "b"], "const": "b"},
    "mixed constants": {"enum": ["a", 1, None, {"a": 1}]},
    "words with a length": {"enum": ["a", "bb"], "minLength": 2},
    "bounds": {"type": "integer", "minimum": 2, "exclusiveMaximum": 9, "multipleOf": 3},
    "a format": {"type": "string", "format": "date", "maxLength": 12},
    "a pattern": {"type": "string", "pattern": "^a+$", "minLength": 2},
    "an object": {"type": "object", "properties": {"a": {"type": "string"}, "b/~": {"maxLength": 1}}, "required": ["b/~", "c", "c"]},
    "a closed object": {"type": "object", "properties": {"a": True, "b": False}, "required": ["a"], "additionalProperties": False},
    "a required key that cannot be": {"properties": {"o": {"type": "object", "required": ["x"], "additionalProperties": False}}},
    "members of one kind": {"type": "object", "additionalProperties": {"type": "array", "items": {"minimum": 1}}},
    "an array": {"type": "array", "items": {"type": "string", "maxLength": 3}, "minItems": 1, "maxItems": 3, "uniqueItems": True},
    "an empty array": {"type": "array", "items": {"type": "string"}, "maxItems": 0},
    "no items": {"type": "array", "items": False},
    "older prefix": {"type": "array", "items": [{"type": "string"}], "minItems": 1},
    "more items than allowed": {"properties": {"a": {"type": "array", "minItems": 3, "maxItems": 2}}},
    "references": {
        "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}, "m": {"$ref": "#/$defs/n"}}}},
        "$ref": "#/$defs/n",
    },
    "references to booleans": {
        "$defs": {"t": True, "f": False},
        "properties": {n: {"$ref": f"#/$defs/{n[0]}"} for n in ("t", "f", "t2", "f2")},
    },
}
REFUSED = {
    "a bound": {"properties": {"a": {"type": "string", "minLength": -1}}},
    "a type": {"properties": {"a": {"type": "text"}}},
    "a list of names": {"properties": {"a": {"type": "object", "required": ["b", 1]}}},
    "half a character": {"properties": {"a": {"enum": ["\ud800"]}}},
    "half a character in a key": {"type": "object", "properties": {"\ud800": True}},
    "half a character in required": {"type": "object", "required": ["\ud800"]},
    "a key that is no string": {"type": "object", "properties": {1: {"type": "string"}}},
    "a flag": {"items": {"type": "array", "uniqueItems": 1}},
    "a pattern": {"items": {"type": "string", "pattern": "("}},
    "a step": {"items": {"type": "number", "multipleOf": 357093}},
    "nothing left": {"type": "array", "items": False, "minItems": 1},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "declared": {},
    "any order": {"property_order": "any", "integers": "any"},
    "any spelling": {"spelling": "any", "formats": "annotate"},
    "lenient": {"lenient": {"minLength", "required"}},
    "types left out": {"lenient": {"type"}},
}


def compiled(schema: Any, options: dict[str, Any]) -> Any:
    """Everything a program says, its labels in words; or what is refused, in words."""
    try:
        program, dropped = compile_schema(schema, SchemaOptions(**options))
    except scansion.ScansionError as error:
        return type(error), str(error)
    labels = [*program.labels, None]
    arguments = list(program.arguments())
    arguments[4] = [(*spec[:6], labels[spec[6]]) for spec in program.objects]
    arguments[5] = [(*spec[:6], labels[spec[6]]) for spec in program.arrays]
    arguments[11] = [labels[index] for index in program.node_labels]
    return arguments, dropped


def by_normal_forms(schema: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(lower, "written_plainly", lambda *_: False)
        patch.setattr(lower, "write_anything", lambda lowering, rule: lowering._write(rule, (), ANY))
        return compiled(schema, options)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("schema", [*WRITTEN.values(), *REFUSED.values()], ids=[*WRITTEN, *(f"refused: {name}" for name in REFUSED)])
def test_the_program_is_the_one_of_the_normal_form(schema, options, monkeypatch):
    for around in (schema, {"type": "object", "properties": {"p": schema, "q": {"anyOf": [schema, {"type": "null"}]}}}):
        assert compiled(around, options) == by_normal_forms(around, options, monkeypatch)


@pytest.mark.parametrize("schema", REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_refused(schema):
    with pytest.raises(scansion.ScansionError):
        scansion.Grammar.from_json_schema(schema)


def test_random_schemas_give_the_program_of_their_normal_forms(monkeypatch):
    rng = random.Random(11)
    written = 0
    for number in range(250):
        schema = random_schema(rng, 3)
        options = list(OPTIONS.values())[number % len(OPTIONS)]
        found = compiled(schema, options)
        assert found == by_normal_forms(schema, options, monkeypatch), schema
        written += isinstance(found[0], list)
    assert written > 100


def test_a_reference_beside_a_dynamic_one_does_not_replace_it():
    schema = {
        "$defs": {"text": {"type": "string"}, "short": {"$dynamicAnchor": "short", "maxLength": 2}},
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/text", "$dynamicRef": "#short"}},
    }
    instances(schema, [{}, {"x": "ab"}], [{"x": "abc"}, {"x": 1}])
