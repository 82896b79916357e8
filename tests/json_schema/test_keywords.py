"""Each keyword, alone and with its neighbours: instances that must be taken, and others that must not."""

from __future__ import annotations

import pytest
from tests.json_schema.judge import instances

RED = {"const": "red"}
CLOSED = {"additionalProperties": False}

CASES = {
    "anything": ({}, [None, True, 0, -1.5, "", [], {"a": [{}]}], []),
    "true": (True, [1, {}], []),
    "type string": ({"type": "string"}, ["", 'a\n\u20ac\U0001f600"\\'], [1, None, [], {}]),
    "type integer": ({"type": "integer"}, [0, -12, 10**30], [1.5, "1", True]),
    "type number": ({"type": "number"}, [0, -1.25, 1e300, 1e-7], ["1", None]),
    "type boolean": ({"type": "boolean"}, [True, False], [0, "true", None]),
    "type list": ({"type": ["null", "integer"]}, [None, 3], [True, 3.5, "", []]),
    "enum of all kinds": (
        {"enum": [None, True, 1, 2.5, "x", [1, {"a": 2}], {"k": [None], "l": 0}]},
        [None, True, 1, 2.5, "x", [1, {"a": 2}], {"k": [None], "l": 0}, {"l": 0, "k": [None]}],
        [False, 2, "y", [1], [1, {"a": 3}], {"k": [None]}, {"k": [None], "l": 0, "m": 1}, {}],
    ),
    "const object": ({"const": {"a": 1}}, [{"a": 1}], [{}, {"a": 2}, {"a": 1, "b": 1}, 1]),
    "enum and type": ({"enum": [1, "a", None], "type": "string"}, ["a"], [1, None]),
    "enum and pattern": ({"enum": ["ab", "b", "bc"], "pattern": "^b"}, ["b", "bc"], ["ab", "bd"]),
    "length in characters": ({"minLength": 2, "maxLength": 3}, ["ab", "\U0001f600\U0001f601", 7], ["a", "abcd", "\U0001f600"]),
    "pattern is a search": ({"type": "string", "pattern": "b+"}, ["b", "abba"], ["", "ac"]),
    "pattern and length": ({"type": "string", "pattern": "^[ab]*$", "maxLength": 2}, ["", "ab"], ["aba", "c"]),
    "bounds": ({"minimum": -1, "maximum": 2.5}, [-1, 0.25, 2.5, "x"], [-1.01, 2.51, 3]),
    "exclusive bounds": ({"exclusiveMinimum": 0, "exclusiveMaximum": 1}, [0.5, 0.001], [0, 1, -0.5]),
    "draft 4 exclusive": ({"minimum": 0, "exclusiveMinimum": True}, [0.1], [0]),
    "multipleOf decimal": ({"multipleOf": 0.05}, [0.15, 1, -0.05, 0], [0.16, 0.051]),
    "integer bounds": ({"type": "integer", "minimum": 3, "maximum": 12}, [3, 9, 10, 12], [2, 13, 30, 3.5]),
    "properties": ({"properties": {"a": {"type": "integer"}}}, [{}, {"a": 1}, {"b": "x"}, {"b": 0, "a": 1}, 3], [{"a": "x"}]),
    "required": ({"required": ["a", "b"]}, [{"a": 1, "b": 2}, {"b": 1, "c": 0, "a": 1}, []], [{}, {"a": 1}]),
    "closed": ({"properties": {"a": {}}, **CLOSED}, [{}, {"a": 1}], [{"b": 1}, {"a": 1, "b": 1}]),
    "additional schema": ({"properties": {"a": {}}, "additionalProperties": {"type": "null"}}, [{"a": 1, "b": None}], [{"b": 1}]),
    "forbidden key": ({"properties": {"a": False}}, [{}, {"b": 1}], [{"a": 1}]),
    "pattern properties": (
        {"patternProperties": {"^a": {"type": "integer"}, "z$": {"minimum": 5}}},
        [{"a": 1, "z": 6, "az": 7, "b": "x"}],
        [{"a": "x"}, {"z": 4}, {"az": 4}, {"az": 5.5}],
    ),
    "pattern over a name": (
        {"properties": {"ab": {"minimum": 2}}, "patternProperties": {"^a": {"type": "integer"}}, **CLOSED},
        [{"ab": 3, "ac": 0}],
        [{"ab": 1}, {"ab": 2.5}, {"b": 1}],
    ),
    "property names": (
        {"propertyNames": {"maxLength": 2}, "additionalProperties": {"type": "integer"}},
        [{"ab": 1}],
        [{"abc": 1}, {"a": "x"}],
    ),
    "property counts": ({"minProperties": 1, "maxProperties": 2}, [{"a": 1}, {"a": 1, "b": 2}, 3], [{}, {"a": 1, "b": 2, "c": 3}]),
    "few keys by pattern": (
        {"patternProperties": {"^[ab]$": {}}, **CLOSED, "minProperties": 2},
        [{"b": 0, "a": 0}],
        [{"a": 0}, {"a": 0, "c": 0}],
    ),
    "dependentRequired": (
        {"dependentRequired": {"a": ["b"]}},
        [{}, {"b": 1}, {"a": 1, "b": 1}, {"b": 1, "a": 1}],
        [{"a": 1}, {"a": 1, "c": 1}],
    ),
    "dependencies": (
        {"dependencies": {"a": ["b"], "c": {"required": ["d"]}}},
        [{"a": 1, "b": 1}, {"c": 1, "d": 1}, {}],
        [{"a": 1}, {"c": 1}],
    ),
    "dependentSchemas": (
        {"dependentSchemas": {"a": {"properties": {"b": {"type": "integer"}}}}},
        [{"b": "x"}, {"a": 1, "b": 1}, {"a": 1}, 3],
        [{"a": 1, "b": "x"}, {"b": "x", "a": 1}],
    ),
    "items": ({"items": {"type": "integer"}}, [[], [1, 2], "x"], [["x"], [1, None]]),
    "item counts": ({"minItems": 1, "maxItems": 2}, [[1], [1, 2]], [[], [1, 2, 3]]),
    "prefix": ({"prefixItems": [{"type": "integer"}, RED], "items": False}, [[], [1], [1, "red"]], [["x"], [1, "x"], [1, "red", 0]]),
    "older prefix": ({"items": [{"type": "integer"}], "additionalItems": RED}, [[1], [1, "red", "red"]], [[1, 2]]),
    "closed by false prefix": ({"prefixItems": [True, False, True]}, [[], [1]], [[1, 2]]),
    "contains": ({"contains": RED}, [["red"], [1, "red", 2], {}], [[], [1, "blue"]]),
    "contains counted": ({"contains": RED, "minContains": 2, "maxContains": 2}, [["red", 0, "red"]], [["red"], ["red", "red", "red"]]),
    "contains of none": ({"contains": RED, "minContains": 0}, [[], [1]], []),
    "contains objects": (
        {"items": {"type": "object"}, "contains": {"required": ["a"]}, "maxContains": 1},
        [[{"a": 1}], [{"b": 1}, {"a": 1}]],
        [[], [{}], [{"a": 1}, {"a": 2, "b": 0}]],
    ),
    "allOf": ({"allOf": [{"required": ["a"]}, {"properties": {"a": {"minimum": 2}}}]}, [{"a": 2}], [{}, {"a": 1}]),
    "allOf keeps closure apart": (
        {"allOf": [{"properties": {"a": {}}, **CLOSED}], "properties": {"b": {}}},
        [{}, {"a": 1}],
        [{"b": 1}, {"a": 1, "b": 1}],
    ),
    "anyOf": ({"anyOf": [{"type": "string"}, {"minimum": 3}]}, ["x", 3, None], [2]),
    "anyOf of required": ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, [{"a": 1}, {"c": 1, "b": 1}, 5], [{}, {"c": 1}]),
    "siblings of $ref": (
        {"$defs": {"s": {"type": "string"}}, "$ref": "#/$defs/s", "maxLength": 1},
        ["", "a"],
        ["ab", 1],
    ),
    "if then else": (
        {"if": {"properties": {"k": {"const": 1}}, "required": ["k"]}, "then": {"required": ["a"]}, "else": {"required": ["b"]}},
        [{"k": 1, "a": 0}, {"a": 0, "k": 1}, {"k": 2, "b": 0}, {"b": 0}],
        [{"k": 1}, {"k": 1, "b": 0}, {"k": 2, "a": 0}, {}],
    ),
    "if on scalars": ({"type": "integer", "if": {"minimum": 10}, "then": {"multipleOf": 5}}, [3, 9, 10, 15], [11, 12]),
    "unevaluated through allOf": (
        {"allOf": [{"properties": {"a": {}}}], "properties": {"b": {}}, "unevaluatedProperties": False},
        [{"a": 1, "b": 1}, {}],
        [{"c": 1}, {"a": 1, "c": 1}],
    ),
    "unevaluated is not fooled by cousins": (
        {"allOf": [{"properties": {"a": {}}}, {"unevaluatedProperties": False}]},
        [{}],
        [{"a": 1}, {"b": 1}],
    ),
    "unevaluated by branches": (
        {"anyOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 1}}}], "unevaluatedProperties": False},
        [{"a": 1, "b": 1}, {"a": 1}, {"b": 1}, {}],
        [{"a": 2, "b": 2}, {"a": 1, "b": 2}, {"c": 1}],
    ),
    "unevaluated items": (
        {"prefixItems": [True], "anyOf": [{"prefixItems": [True, RED]}, True], "unevaluatedItems": {"type": "null"}},
        [[1], [1, "red"], [1, "red", None], [1, None]],
        [[1, 2], [1, "red", 2]],
    ),
    "contains evaluates": ({"contains": RED, "unevaluatedItems": {"type": "null"}}, [["red"], ["red", None, "red"]], [["red", 1], [None]]),
}


@pytest.mark.parametrize("name", CASES)
def test_keyword(name):
    schema, good, bad = CASES[name]
    instances(schema, good, bad)


UNIQUE = {
    "unique": (
        {"uniqueItems": True},
        [[], [1, 2, "1", True, None], [[1], [2], {"a": 1}, {"a": 2}]],
        [[1, 1], [1, 2, 1.0], [{"a": 1, "b": 2}, {"b": 2, "a": 1}]],
    ),
    "unique strings": ({"items": {"type": "string"}, "uniqueItems": True}, [["a", "b", "ab"]], [["a", "a"], ["a", "b", "a"]]),
    "unique enum": (
        {"items": {"enum": ["r", "g"]}, "uniqueItems": True, "minItems": 2},
        [["r", "g"], ["g", "r"]],
        [["r"], ["r", "r"], ["r", "g", "r"]],
    ),
    "unique in members": (
        {"additionalProperties": {"uniqueItems": True}},
        [{"x": [1, 2], "y": [1, 2]}],
        [{"x": [1, 1]}, {"x": [], "y": [3, 3]}],
    ),
}


@pytest.mark.parametrize("name", UNIQUE)
def test_unique_items(name):
    schema, good, bad = UNIQUE[name]
    instances(schema, good, bad)
