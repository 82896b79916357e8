"""Unions and choices of thousands of branches: answered at once and rightly, or refused at once."""

from __future__ import annotations

import json
import time

import pytest
from tests.json_schema.judge import byte_vocabulary, instances

import scansion
from scansion.json_schema.formulas import conjunction, decide, disjunction, exactly_one, has, negation
from scansion.program import ProgramBuilder


def record(number, **more):
    return {"type": "object", "properties": {f"k{number}": {"type": "integer"}}, "required": [f"k{number}"], **more}


# Schema, texts that are instances, texts that are not.
WORKS = {
    "anyOf of open objects": ({"anyOf": [record(i) for i in range(3_000)]}, ['{"k7":1}', '{"k7":1,"k8":""}'], ['{"k7":""}', "{}"]),
    "anyOf of closed objects": (
        {"anyOf": [record(i, additionalProperties=False) for i in range(3_000)]},
        ['{"k2999":1}'],
        ['{"k7":1,"k8":2}', '{"k3000":1}'],
    ),
    "anyOf of required keys": ({"anyOf": [{"required": [f"k{i}"]} for i in range(1_500)]}, ['{"k1499":1}', "3"], ["{}", '{"k":1}']),
    "oneOf by a const": (
        {"oneOf": [{"properties": {"t": {"const": f"t{i}"}, "v": {"minimum": i}}, "required": ["t"]} for i in range(2_000)]},
        ['{"t":"t7","v":7}'],
        ['{"t":"t7","v":6}', '{"t":"t2000"}', "{}"],
    ),
    "oneOf by shared values": (
        {"oneOf": [{"properties": {"t": {"enum": [i, i + 1]}, "v": {"minimum": i}}, "required": ["t"]} for i in range(50)]},
        ['{"t":0}', '{"t":7,"v":6}'],
        ['{"t":7,"v":7}', '{"t":51}', '{"t":7,"v":5}'],
    ),
    "oneOf of strings": ({"oneOf": [{"enum": [f"s{i}", f"s{i + 1}"]} for i in range(0, 3_000, 2)]}, ['"s0"', '"s2999"'], ['"s3000"', "1"]),
    "oneOf of strings that overlap": ({"oneOf": [{"enum": [f"s{i}", f"s{i + 1}"]} for i in range(500)]}, ['"s0"', '"s500"'], ['"s1"']),
    "oneOf of numbers": ({"oneOf": [{"const": i} for i in range(3_000)]}, ["0", "2999"], ["3000", '"0"']),
    "oneOf of numbers beside a range": (
        {"oneOf": [*({"const": i} for i in range(0, 1_000, 7)), {"type": "number", "minimum": 500}]},
        ["7", "500", "994.5"],
        ["8", "994", "504"],
    ),
    "oneOf of ranges": (
        {"oneOf": [{"type": "integer", "minimum": 10 * i, "maximum": 10 * i + 10} for i in range(300)]},
        ["0", "7", "3000"],
        ["10", "2990", "3001", "-1"],
    ),
    "oneOf of required keys": (
        {"type": "object", "oneOf": [{"required": [f"k{i}"]} for i in range(150)]},
        ['{"k7":1}', '{"k149":1,"x":1}'],
        ['{"k7":1,"k8":1}', "{}"],
    ),
}


@pytest.mark.parametrize("order", ["declared", "any"])
@pytest.mark.parametrize("name", WORKS)
def test_many_branches_compile_fast_and_mean_what_they_say(name, order):
    schema, good, bad = WORKS[name]
    started = time.perf_counter()
    grammar = scansion.Grammar.from_json_schema(schema, property_order=order)
    matcher = grammar.compile(byte_vocabulary()).matcher()
    assert matcher.next_bytes()
    assert time.perf_counter() - started < 5  # well under one second on a quiet machine
    for text in good + bad:
        matcher.reset()
        data = text.encode()
        taken = matcher.bytes_accepted(data) == len(data) and matcher.accept_bytes(data) and matcher.is_complete
        assert taken == (text in good), text


REFUSED = {
    "oneOf without a discriminator": ({"oneOf": [record(i) for i in range(5_000)]}, "alternatives", "#/oneOf"),
    "conditions on too many keys": ({"anyOf": [{"required": [f"k{i}"]} for i in range(9_000)]}, "condition_keys", "#"),
}


@pytest.mark.parametrize("order", ["declared", "any"])
@pytest.mark.parametrize("name", REFUSED)
def test_too_many_branches_are_refused_at_once(name, order):
    schema, limit, where = REFUSED[name]
    started = time.perf_counter()
    with pytest.raises(scansion.LimitError, match=where) as caught:
        scansion.Grammar.from_json_schema(schema, property_order=order)
    assert time.perf_counter() - started < 5
    assert caught.value.limit == limit


def test_exactly_one_of_few_branches():
    few = {"oneOf": [{"required": ["a"]}, {"required": ["b", "c"]}, {"required": ["d"]}]}
    instances(
        few, [{"a": 1}, {"b": 1, "c": 1}, {"a": 1, "b": 1}, {"d": 1, "c": 1}], [{}, {"a": 1, "d": 1}, {"a": 1, "b": 1, "c": 1}, {"b": 1}]
    )
    instances({"not": few, "type": "object"}, [{}, {"a": 1, "d": 1}, {"b": 1}], [{"a": 1}, {"d": 1}])


@pytest.mark.parametrize("names", [("a", "b", "c"), ("c", "a", "b")])
def test_diagrams_agree_with_the_formulas_they_are_made_of(names):
    a, b, c = map(has, names)
    formulas = [
        exactly_one((a, b, c)),
        negation(exactly_one((a, conjunction((b, c)), negation(c)))),
        disjunction((conjunction((a, negation(b))), exactly_one((b, c)), False)),
        conjunction((disjunction((a, b)), negation(conjunction((b, c))))),
        exactly_one((True, a, b)),
        exactly_one((True, True, a)),
    ]
    builder = ProgramBuilder("bounded", True)
    for formula in formulas:
        node = decide(builder, formula, {a: 0, b: 1, c: 2}, "#")
        for bits in range(8):
            held = {leaf: bool(bits >> index & 1) for index, leaf in enumerate((a, b, c))}
            at = node
            while at > 1:
                event, no, yes = builder.condition_entry(at)
                at = yes if bits >> event & 1 else no
            assert bool(at) == truth(formula, held), (formula, held)


def truth(formula, held):
    if formula is True or formula is False:
        return formula
    kind, body = formula
    if kind == "has":
        return held[formula]
    if kind == "not":
        return not truth(body, held)
    values = [truth(part, held) for part in body]
    return all(values) if kind == "and" else any(values) if kind == "or" else values.count(True) == 1


def test_a_key_that_an_obligation_needs_and_a_condition_forbids_is_unsatisfiable():
    schema = {
        "type": "object",
        "properties": {"a": False, "x": {"const": "b"}},
        "additionalProperties": False,
        "dependentRequired": {"x": ["ab"]},
        "not": {"properties": {"x": {"const": 1}}},
    }
    with pytest.raises(scansion.UnsatisfiableError):
        scansion.Grammar.from_json_schema(json.loads(json.dumps(schema)))


def linked(number):
    """Resources that all refer to each other, under one dynamic anchor."""
    names = {f"p{i}": {"$ref": f"r{i}"} for i in range(number)}
    parts = {f"d{i}": {"$id": f"r{i}", "$dynamicAnchor": "n", "properties": {"z": {"$dynamicRef": "#n"}, **names}} for i in range(number)}
    return {"$id": "http://example.com/", "$ref": "r0", "$defs": parts}


FAST = {
    "resources that refer to each other": (linked(12), None),
    "patterns that have nothing in common": ({"patternProperties": {f"^{i}_": {"minimum": i} for i in range(300)}}, None),
    "more patterns than are told apart": ({"patternProperties": {f"^{i}_": {"minimum": i} for i in range(1_000)}}, "key_regions"),
    "objects listed": ({"enum": [{"a": i} for i in range(30_000)]}, "constants"),
    "objects listed and forbidden": ({"not": {"enum": [{"a": i, "b": [i]} for i in range(1_000)]}}, "member_alternatives"),
    "bounds nothing reaches": ({"maxLength": 10**30, "maxItems": 10**30, "maxProperties": 10**30, "maxContains": 10**12}, None),
    "more characters than are written": ({"minLength": 10**30}, "least_count"),
    "more items than are written": ({"items": {"minItems": 1e12}}, "least_count"),
    "items that differ at their far end": (
        {
            "$defs": {f"a{i}": {"items": {"$ref": f"#/$defs/a{i + 1}"}, "minItems": 1, "maxItems": 1, "type": "array"} for i in range(300)}
            | {"a300": {"enum": ["x", "y"]}},
            "type": "array",
            "uniqueItems": True,
            "minItems": 2,
            "maxItems": 3,
            "items": {"$ref": "#/$defs/a0"},
        },
        None,
    ),
    "too many items that differ": ({"type": "array", "uniqueItems": True, "minItems": 100_000}, "unique_items"),
    "a count of many digits": ('{"minLength": 1e999999999}', "exponent"),
    "a whole number of many digits": (f'{{"const": {"9" * 100_000}}}', "exponent"),
    "a Python number of many digits": ({"properties": {"a": {"const": 10**5_000}}}, "exponent"),
    "groups in groups": ({"properties": {"a": {"pattern": "(" * 500}}}, "group_depth"),
}


@pytest.mark.parametrize("name", FAST)
def test_hostile_schemas_are_answered_at_once(name):
    schema, limit = FAST[name]
    started = time.perf_counter()
    if limit is None:
        assert scansion.Grammar.from_json_schema(schema).compile(byte_vocabulary()).matcher().next_bytes()
    else:
        with pytest.raises(scansion.LimitError) as caught:
            scansion.Grammar.from_json_schema(schema)
        assert caught.value.limit == limit
        assert isinstance(schema, str) or str(caught.value).startswith("#")
    assert time.perf_counter() - started < 5  # around one second on a quiet machine


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ('{"const": "\\ud800"}', "#/const"),
        ('{"enum": [1, "a\\udc00"]}', "#/enum"),
        ('{"not": {"const": "\\ud800"}}', "#/not/const"),
        ('{"required": ["\\ud800"]}', "#/required"),
        ('{"properties": {"\\ud800": {}}}', "#/properties"),
    ],
)
def test_half_a_character_is_refused_where_it_stands(schema, where):
    with pytest.raises(scansion.GrammarError, match=f"{where}: half of a surrogate pair"):
        scansion.Grammar.from_json_schema(schema)


def test_unique_items_are_negated_where_that_comes_to_nothing():
    secret = {
        "oneOf": [{"type": "string"}, {"type": "object", "properties": {"secure": {"type": "string"}}, "additionalProperties": False}]
    }
    several = {"oneOf": [secret, {"type": "array", "uniqueItems": True, "minItems": 1, "items": secret}]}
    schema = {"oneOf": [several, {"type": "object", "required": ["on"]}]}  # only the objects of the two branches meet
    instances(schema, [["a"], ["a", {}], {"on": 1}, {"secure": "a"}], [["a", "a"], [], {"secure": 1}, 1])
    instances({"type": "array", "uniqueItems": True, "not": {"uniqueItems": True, "minItems": 1}}, [[]], [[1], [1, 1]])
    for schema in ({"type": "array", "not": {"uniqueItems": True}}, {"not": {"uniqueItems": True}, "unevaluatedItems": {"type": "null"}}):
        with pytest.raises(scansion.UnsupportedError, match="#/not/uniqueItems"):
            scansion.Grammar.from_json_schema(schema)
