"""What is refused, and with which words: malformed and unsatisfiable schemas, and the limits."""

from __future__ import annotations

import json
import time

import pytest
from tests.json_schema.judge import byte_vocabulary

import scansion

MALFORMED = [
    ("{", "line 1, column 2"),
    ('{"a": 1,\n "b" 2}', "line 2, column 6"),
    ('{"a": NaN}', "NaN"),
    ('{"type": "string", "type": "null"}', "'type' twice"),
    ("[1]", "not an array"),
    ("3", "not a number"),
    (3, "not a number"),
    (None, "not null"),
    ({"type": "strin"}, "#/type: 'strin'"),
    ({"type": 3}, "#/type"),
    ({"properties": {"a/b": {"minLength": -1}}}, "#/properties/a~1b/minLength"),
    ({"properties": []}, "#/properties"),
    ({"items": {"items": 3}}, "#/items/items"),
    ({"allOf": []}, "#/allOf"),
    ({"anyOf": [1]}, "#/anyOf/0"),
    ({"required": "a"}, "#/required"),
    ({"required": [1]}, "#/required"),
    ({"enum": 3}, "#/enum"),
    ({"minimum": "3"}, "#/minimum"),
    ({"multipleOf": 0}, "#/multipleOf"),
    ({"maxItems": 1.5}, "#/maxItems"),
    ({"uniqueItems": 1}, "#/uniqueItems"),
    ({"pattern": "(a"}, "#/pattern"),
    ({"patternProperties": {"[": {}}}, "#/patternProperties"),
    ({"format": 1}, "#/format"),
    ({"dependentRequired": {"a": "b"}}, "#/dependentRequired"),
    # What a parsed schema can hold and JSON cannot.
    ({"enum": ["a", object()]}, "#/enum: enum must be a JSON value, not a Python object"),
    ({"const": b"a"}, "#/const: const must be a JSON value, not a Python bytes"),
    ({"enum": [float("nan")]}, "not nan"),
    ({"minimum": float("inf")}, "#/minimum: minimum must be a number, not inf"),
    ({"maximum": b"3"}, "not a Python bytes"),
    ({"properties": {"a": {"properties": {1: {}}}}}, "#/properties/a/properties: the key 1 is a number, not a string"),
    ({"const": {"a": {2: 3}}}, "#/const/a: the key 2 is a number, not a string"),
]


@pytest.mark.parametrize(("schema", "words"), MALFORMED, ids=[str(schema)[:40] for schema, _ in MALFORMED])
def test_malformed_schemas_are_refused_with_their_place(schema, words):
    with pytest.raises(scansion.GrammarError) as caught:
        scansion.Grammar.from_json_schema(schema)
    assert words in str(caught.value)


UNSATISFIABLE = [
    (False, ""),
    ({"type": "string", "enum": [1]}, ""),
    ({"type": "object", "properties": {"level": {"enum": []}}, "required": ["level"]}, "/properties/level"),
    ({"allOf": [{"type": "string"}, {"type": "integer"}]}, ""),
    ({"type": "integer", "minimum": 3, "maximum": 2}, ""),
    ({"type": "string", "pattern": "^a$", "minLength": 2}, ""),
    ({"type": "string", "minLength": 2, "maxLength": 1}, ""),
    ({"type": "array", "items": False, "minItems": 1}, ""),
    ({"type": "array", "items": {"const": 1}, "uniqueItems": True, "minItems": 2}, ""),
    ({"type": "array", "contains": {"type": "string"}, "items": {"type": "integer"}}, ""),
    ({"type": "object", "minProperties": 2, "properties": {"a": {}}, "additionalProperties": False}, ""),
    ({"type": "object", "required": ["a", "b"], "maxProperties": 1}, ""),
    ({"type": "object", "required": ["a"], "not": {"required": ["a"]}}, ""),
    (
        {
            "type": "object",
            "properties": {"r": {"type": "number"}, "w": {"type": "number"}},
            "required": ["r", "w"],
            "oneOf": [{"required": ["r"]}, {"required": ["w"]}],
        },
        "",
    ),
]


@pytest.mark.parametrize(("schema", "pointer"), UNSATISFIABLE, ids=[str(schema)[:50] for schema, _ in UNSATISFIABLE])
def test_unsatisfiable_schemas_are_refused_with_the_cause(schema, pointer):
    with pytest.raises(scansion.UnsatisfiableError) as caught:
        scansion.Grammar.from_json_schema(schema)
    assert caught.value.pointer == pointer
    assert caught.value.hint


def nested(keyword, depth):
    schema = True
    for _ in range(depth):
        schema = {keyword: schema}
    return schema


@pytest.mark.parametrize("keyword", ["items", "not", "additionalProperties", "contains"])
def test_deep_nesting_is_a_limit_and_not_a_crash(keyword):
    with pytest.raises(scansion.LimitError):
        scansion.Grammar.from_json_schema(nested(keyword, 10_000))


def test_a_text_nested_too_deep_is_a_limit():
    with pytest.raises(scansion.LimitError):
        scansion.Grammar.from_json_schema('{"items":' * 100_000 + "true" + "}" * 100_000)


def test_two_hundred_levels_compile():
    schema = {"type": "integer"}
    for _ in range(200):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": False}
    assert scansion.Grammar.from_json_schema(schema)


def test_products_of_overlapping_alternatives_are_a_limit_soon():
    def either(i):
        return {
            "anyOf": [{"properties": {f"a{i}": {"type": "string"}}}, {"properties": {f"b{i}": {"minimum": 3}}, "maxProperties": 30 + i}]
        }

    started = time.perf_counter()
    with pytest.raises(scansion.LimitError) as caught:
        scansion.Grammar.from_json_schema({"type": "object", "allOf": [either(i) for i in range(20)]})
    assert caught.value.limit == "alternatives"
    assert "/allOf" in str(caught.value)
    assert time.perf_counter() - started < 5


LARGE = {
    "5,000 enum strings": {"enum": [f"value number {i}" for i in range(5_000)]},
    "1,000 optional properties": {"properties": {f"property_{i}": {"type": "string"} for i in range(1_000)}, "additionalProperties": False},
    "a hundred thousand items": {"items": {"type": "integer"}, "maxItems": 100_000},
    "a million characters": {"type": "string", "maxLength": 1_000_000},
    "forty branches": {
        "oneOf": [{"properties": {"kind": {"const": f"k{i}"}, "value": {"maximum": i}}, "required": ["kind"]} for i in range(40)]
    },
}


@pytest.mark.parametrize("name", LARGE)
def test_large_schemas_compile_fast(name):
    text = json.dumps(LARGE[name])
    started = time.perf_counter()
    scansion.Grammar.from_json_schema(json.loads(text))
    assert time.perf_counter() - started < 1  # a tenth of this on a quiet machine


def test_a_number_too_large_to_write_out_is_a_limit():
    with pytest.raises(scansion.LimitError):
        scansion.Grammar.from_json_schema('{"minimum": 1e999999999}')


def test_explanations_say_what_a_value_must_be():
    schema = {"type": "object", "properties": {"items": {"items": {"properties": {"price": {"type": "number", "maximum": 100}}}}}}
    grammar = scansion.Grammar.from_json_schema(schema)
    labels = grammar.program.labels
    assert "/properties/items/items/properties/price must be of type number, at most 100 (maximum)" in labels
    matcher = grammar.compile(byte_vocabulary()).matcher()
    assert matcher.accept_bytes(b'{"items":[{"price":100')
    assert "at most 100" in str(matcher.explain(ord("1")))


FEW = {
    "containers": ({"items": {"const": {"a": []}}}, 2),
    "kinds of values": ({"items": {"enum": [[], {"a": 1}, 1]}}, 4),
    "null": ({"items": {"type": "null"}}, 2),
    "1 is 1.0": ({"items": {"enum": [1, 1.0]}}, 2),
    "in containers too": ({"items": {"anyOf": [{"const": [1]}, {"const": [1.0]}]}}, 2),
    "zeros": ({"items": {"enum": [0, -0.0]}}, 2),
    "integers": ({"items": {"type": "integer", "minimum": 1, "maximum": 3}}, 4),
    "by position": ({"prefixItems": [{"enum": [1, 2]}] * 3}, 3),
    "the empty object": ({"items": {"type": "object", "maxProperties": 0}}, 2),
    "closed objects": ({"items": {"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": False}}, 4),
    "short arrays": ({"items": {"type": "array", "items": {"type": "null"}, "maxItems": 2}}, 4),
    "the empty string": ({"items": {"type": "string", "maxLength": 0}}, 2),
}


@pytest.mark.parametrize("spelling", ["canonical", "any"])
@pytest.mark.parametrize("name", FEW)
def test_more_different_items_than_there_are_values_is_unsatisfiable(name, spelling):
    schema, size = FEW[name]
    schema = {"type": "array", "uniqueItems": True, **schema}
    with pytest.raises(scansion.UnsatisfiableError):
        scansion.Grammar.from_json_schema({**schema, "minItems": size}, spelling=spelling)
    matcher = scansion.Grammar.from_json_schema({**schema, "minItems": size - 1}, spelling=spelling).compile(byte_vocabulary()).matcher()
    assert matcher.shortest_completion() is not None


def test_different_items_that_count_must_be_there():
    with pytest.raises(scansion.UnsatisfiableError):
        scansion.Grammar.from_json_schema({"type": "array", "uniqueItems": True, "contains": {"const": 1}, "minContains": 2})


CONFLICTS = [
    ({"type": "integer", "minimum": 3, "maximum": 2}, "#/minimum and #/maximum contradict each other"),
    ({"type": "string", "enum": [1]}, "#/type and #/enum contradict each other"),
    ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "#/allOf/0 and #/allOf/1 contradict each other"),
    ({"enum": []}, "nothing satisfies #/enum"),
    (
        {"required": ["a"], "type": "object", "properties": {"a": {"$ref": "#/$defs/s", "type": "null"}}, "$defs": {"s": {"const": 1}}},
        "#/properties/a/$ref and #/properties/a/type contradict each other",
    ),
    ({"items": {"const": 1}, "uniqueItems": True, "minItems": 2, "type": "array"}, "#/items, #/uniqueItems and #/minItems contradict"),
]


@pytest.mark.parametrize(("schema", "words"), CONFLICTS)
def test_unsatisfiable_schemas_name_the_keywords_that_conflict(schema, words):
    with pytest.raises(scansion.UnsatisfiableError) as caught:
        scansion.Grammar.from_json_schema(schema)
    assert words in str(caught.value)


def test_obligations_need_keys_that_there_may_be():
    unmet = {"patternProperties": {"b$": {"type": "null"}}, "properties": {"ab": False}}
    with pytest.raises(scansion.UnsatisfiableError):
        scansion.Grammar.from_json_schema({"maxProperties": 0, "not": unmet})
    both = {
        "maxProperties": 1,
        "not": {"anyOf": [{"patternProperties": {"^a": {"type": "null"}}}, {"patternProperties": {"b$": {"type": "null"}}}]},
    }
    matcher = scansion.Grammar.from_json_schema(both, property_order="any").compile(byte_vocabulary()).matcher()
    assert matcher.accept_bytes(b'{"ab":1}')
    with pytest.raises(scansion.UnsatisfiableError):
        scansion.Grammar.from_json_schema({**both, "propertyNames": {"pattern": "^(a|b)$"}})
