"""``not``, ``oneOf`` and friends: the complement of every keyword, and exactly one of several."""

from __future__ import annotations

import pytest
from tests.json_schema.judge import instances

import scansion

NOT = {
    "type": ({"type": "string"}, [1, None, [], {}], ["", "a"]),
    "integer": ({"type": "integer"}, [1.5, "1"], [1, 0, -3]),
    "const number": ({"const": 3}, [4, 3.5, "3"], [3]),
    "enum": ({"enum": ["a", 1, None]}, ["b", 2, True], ["a", 1, None]),
    "enum of containers": ({"enum": [{"a": 1}, [1, 2]]}, [{}, {"a": 2}, {"a": 1, "b": 0}, [1], [1, 3], [1, 2, 3]], [{"a": 1}, [1, 2]]),
    "length": ({"minLength": 2}, ["", "a"], ["ab", 1, {}]),
    "pattern": ({"pattern": "^a"}, ["", "ba"], ["a", "ab", 3]),
    "bounds": ({"minimum": 2, "maximum": 5}, [1, 5.5], [2, 3.3, 5, "x"]),
    "multipleOf": ({"multipleOf": 3}, [1, 2.5, -4], [0, 3, -9, "x"]),
    "required": ({"required": ["a", "b"]}, [{}, {"a": 1}, {"b": 1, "c": 1}], [{"a": 1, "b": 1}, 3]),
    "properties": ({"properties": {"a": {"type": "string"}}}, [{"a": 1}, {"b": 0, "a": None}], [{}, {"a": "x"}, {"b": 1}, 1]),
    "several properties": (
        {"properties": {"a": {"const": 1}, "b": {"const": 1}, "c": {"const": 1}, "d": {"const": 1}}},
        [{"a": 2}, {"a": 1, "d": 2}],
        [{}, {"a": 1, "b": 1, "c": 1, "d": 1}, {"e": 5}],
    ),
    "closed": ({"properties": {"a": {}}, "additionalProperties": False}, [{"b": 1}, {"a": 1, "b": 1}], [{}, {"a": 1}]),
    "additional": ({"additionalProperties": {"type": "integer"}}, [{"a": "x"}, {"a": 1, "b": None}], [{}, {"a": 1}]),
    "patterns": ({"patternProperties": {"^x": {"minimum": 3}}}, [{"x": 1}, {"a": 0, "xy": 2}], [{}, {"x": 3}, {"a": 1}]),
    "names": ({"propertyNames": {"pattern": "^a"}}, [{"b": 1}, {"a": 1, "b": 1}], [{}, {"a": 1}]),
    "counts": ({"minProperties": 1, "maxProperties": 1}, [{}, {"a": 1, "b": 1}], [{"a": 1}]),
    "dependentRequired": ({"dependentRequired": {"a": ["b"]}}, [{"a": 1}], [{}, {"a": 1, "b": 1}, {"b": 1}]),
    "dependentSchemas": ({"dependentSchemas": {"a": {"minProperties": 2}}}, [{"a": 1}], [{}, {"a": 1, "b": 1}, {"b": 1}]),
    "items": ({"items": {"type": "integer"}}, [["x"], [1, None]], [[], [1], "x"]),
    "prefix": ({"prefixItems": [{"type": "integer"}, {"type": "string"}]}, [["x"], [1, 2], [1, 2, 3]], [[], [1], [1, "x"], [1, "x", 0]]),
    "closed prefix": ({"prefixItems": [True], "items": False}, [[1, 2]], [[], [1]]),
    "rest": ({"prefixItems": [True], "items": {"type": "null"}}, [[1, 2], [1, None, 3]], [[], [1], [1, None]]),
    "item counts": ({"minItems": 2, "maxItems": 2}, [[], [1], [1, 2, 3]], [[1, 2]]),
    "contains": ({"contains": {"const": 1}}, [[], [2, 3]], [[1], [2, 1], 5]),
    "contains counted": ({"contains": {"const": 1}, "minContains": 2, "maxContains": 2}, [[1], [2], [1, 1, 1]], [[1, 1], [1, 2, 1]]),
    "allOf": ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, [2, 3.5, "x"], [3, 4]),
    "anyOf": ({"anyOf": [{"type": "string"}, {"required": ["a"], "type": "object"}]}, [1, {}, {"b": 1}], ["", {"a": 1}]),
    "oneOf": ({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}, [1, 6, "x"], [2, 3, 4]),
    "not": ({"not": {"type": "string"}}, ["x"], [1, None]),
    "if": ({"if": {"minimum": 5}, "then": {"maximum": 8}, "else": {"maximum": 2}}, [9, 3, 4], [5, 8, 1, "x"]),
    "reference": (
        {"$ref": "#/$defs/n"},
        [{"v": "x"}, {"next": {"v": "x"}}, {"next": {"next": {"v": None}}}],
        [{"v": 1}, {"next": {"v": 2}}, 3],
    ),
    "false": (False, [1, {}], []),
    "unevaluated": ({"properties": {"a": {}}, "unevaluatedProperties": False}, [{"b": 1}, {"a": 0, "b": 1}], [{}, {"a": 1}, 3]),
}
DEFS = {"n": {"properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/n"}}}}


@pytest.mark.parametrize("name", NOT)
def test_negated(name):
    schema, good, bad = NOT[name]
    instances({"not": schema, "$defs": DEFS}, good, bad)


@pytest.mark.parametrize("name", [name for name in NOT if name != "false"])
def test_negated_twice_is_the_schema(name):
    schema, good, bad = NOT[name]
    instances({"not": {"not": schema}, "$defs": DEFS}, bad, good)


ONE_OF = {
    "types": ([{"type": "string"}, {"type": "integer"}], ["x", 1], [1.5, None]),
    "overlapping numbers": ([{"type": "integer"}, {"minimum": 2}], [1, 2.5, "x"], [3, 1.5]),
    "overlapping strings": ([{"type": "string", "maxLength": 2}, {"type": "string", "pattern": "^a"}], ["b", "abc"], ["a", "ab", "bcd"]),
    "overlapping enums": ([{"enum": ["a", "b", 1]}, {"enum": ["b", "c", 1, 2]}], ["a", "c", 2], ["b", 1]),
    "enum in a language": ([{"enum": ["a", "b"]}, {"type": "string", "pattern": "^[bc]$"}], ["a", "c"], ["b", "d"]),
    "required": (
        [{"required": ["a"]}, {"required": ["b"]}, {"required": ["c"]}],
        [{"a": 1}, {"c": 1, "d": 0}],
        [{}, {"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 1}],
    ),
    "discriminator": (
        [
            {"properties": {"k": {"const": "x"}, "v": {"type": "integer"}}, "required": ["k"]},
            {"properties": {"k": {"const": "y"}, "v": {"type": "string"}}, "required": ["k"]},
        ],
        [{"k": "x", "v": 1}, {"v": "s", "k": "y"}, {"k": "x"}],
        [{"k": "x", "v": "s"}, {"k": "y", "v": 1}, {"k": "z"}, {}],
    ),
    "optional discriminator": (
        [{"properties": {"k": {"const": "x"}, "v": {"type": "integer"}}}, {"properties": {"k": {"const": "y"}, "v": {"type": "string"}}}],
        [{"k": "x", "v": 1}, {"k": "y", "v": "s"}, {"v": 1}, {"v": "s"}, {"k": "x"}],
        [{}, {"k": "x", "v": "s"}, {"k": "z"}, {"v": None}],
    ),
    "arrays": ([{"type": "array", "items": {"type": "integer"}}, {"type": "array", "minItems": 2}], [[], [1], [1, "x"]], [["x"], [1, 2]]),
    "open and closed": (
        [{"properties": {"a": {}}, "additionalProperties": False}, {"properties": {"b": {}}, "additionalProperties": False}],
        [{"a": 1}, {"b": 1}],
        [{}, {"a": 1, "b": 1}, {"c": 1}],
    ),
}


@pytest.mark.parametrize("name", ONE_OF)
def test_exactly_one(name):
    branches, good, bad = ONE_OF[name]
    instances({"oneOf": branches}, good, bad)
    instances({"not": {"oneOf": branches}}, bad, good)


def test_a_chain_of_conditions_stays_small():
    def rule(kind):
        return {"if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]}, "then": {"required": [f"{kind}_value"]}}

    kinds = [f"k{i}" for i in range(30)]
    schema = {"properties": {"kind": {"enum": kinds}}, "required": ["kind"], "allOf": [rule(kind) for kind in kinds]}
    instances(schema, [{"kind": "k3", "k3_value": 1}, {"k29_value": 0, "kind": "k29"}], [{"kind": "k3"}, {"kind": "k3", "k4_value": 1}])


def test_conditions_on_presence_are_not_expanded():
    schema = {"allOf": [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(20)]}
    whole = {f"{'ab'[i % 2]}{i}": i for i in range(20)}
    instances(schema, [whole], [{}, {key: value for key, value in whole.items() if key != "a4"}])


def test_lengths_far_apart_are_told_apart_without_counting_there():
    long = {"type": "string", "maxLength": 100_000}
    schema = {"properties": {"a": {"type": "string", "maxLength": 50}}, "required": ["a"], "not": {"properties": {"a": long}}}
    with pytest.raises(scansion.UnsatisfiableError):
        scansion.Grammar.from_json_schema({"type": "object", **schema})
    instances({"not": long}, [1], ["", "a" * 100])
