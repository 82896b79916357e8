"""What is said about a text that leaves its schema: byte offset, value, requirement and schema pointer, for every keyword."""

from __future__ import annotations

import json
import random

import jsonschema
import pytest
from tests.json_schema.judge import byte_vocabulary
from tests.json_schema.random_schemas import random_instance, random_schema

import scansion
from scansion.json_schema.evaluation import Evaluator
from scansion.json_schema.options import SchemaOptions

PRICES = {"properties": {"items": {"items": {"properties": {"price": {"type": "number", "maximum": 100}}}}}}
SHAPES = [
    {"properties": {"kind": {"const": "text"}, "value": {"type": "string"}}, "required": ["kind"]},
    {"properties": {"kind": {"const": "size"}, "value": {"type": "number"}}, "required": ["kind"]},
]
DRAFT_4 = "http://json-schema.org/draft-04/schema#"

# name: schema, text, offset, instance, what the requirement says, pointer
CASES = {
    "the issue's own": (PRICES, '{"items": [{}, {}, {}, {"price": 105.5}]}', 35, "/items/3/price", "must be at most 100", None),
    "a text cut there": (PRICES, '{"items": [{}, {}, {}, {"price": 105', 35, "/items/3/price", "must be at most 100", None),
    "type": ({"type": "integer"}, '"a"', 0, "", "must be an integer, not a string", "/type"),
    "types": ({"type": ["string", "null"]}, "3", 0, "", "must be a string or null, not a number", "/type"),
    "a fraction": ({"type": "integer"}, "1.5", 1, "", "must be an integer, not 1.5", "/type"),
    "enum": ({"enum": ["x", "y", 3]}, '"z"', 1, "", 'must be one of "x", "y", 3', "/enum"),
    "const": ({"const": {"a": 1}}, '{"a":2}', 5, "", 'must be exactly {"a": 1}', "/const"),
    "minimum": ({"minimum": 5}, "3", 1, "", "must be at least 5", "/minimum"),
    "maximum": ({"items": {"maximum": 5}}, "[3, 7]", 5, "/1", "must be at most 5", "/items/maximum"),
    "exclusiveMinimum": ({"exclusiveMinimum": 5}, "5", 1, "", "must be above 5", "/exclusiveMinimum"),
    "exclusiveMaximum": ({"exclusiveMaximum": 5}, "5", 1, "", "must be below 5", "/exclusiveMaximum"),
    "draft 4": ({"$schema": DRAFT_4, "maximum": 5, "exclusiveMaximum": True}, "5", 1, "", "must be below 5", "/maximum"),
    "multipleOf": ({"multipleOf": 5}, "12", 2, "", "must be a multiple of 5", "/multipleOf"),
    "minLength": ({"minLength": 2}, '"a"', 2, "", "must be at least 2 characters long", "/minLength"),
    "maxLength": ({"maxLength": 1}, '"ab"', 2, "", "must be at most 1 character long", "/maxLength"),
    "pattern": ({"pattern": "^a", "minLength": 3}, '"b', 1, "", "must match the pattern ^a", "/pattern"),
    "format": ({"format": "date"}, '"2020-02-30"', 9, "", "must be a valid date", "/format"),
    "required": ({"required": ["a", "b"]}, '{"a":1}', 6, "", 'must have the key "b"', "/required"),
    "additionalProperties": (
        {"properties": {"a": {}}, "additionalProperties": False},
        '{"b":1}',
        2,
        "/b",
        'must not be there: no other key is allowed (the keys are "a")',
        "/additionalProperties",
    ),
    "additionalProperties as a schema": (
        {"additionalProperties": {"type": "null"}},
        '{"b":1}',
        5,
        "/b",
        "must be null, not a number",
        "/additionalProperties/type",
    ),
    "a false property": ({"properties": {"a": False}}, '{"a":1}', 3, "/a", "must not be there", "/properties/a"),
    "patternProperties": (
        {"patternProperties": {"^x": {"type": "null"}}},
        '{"xy":1}',
        6,
        "/xy",
        "must be null",
        "/patternProperties/^x/type",
    ),
    "propertyNames": ({"propertyNames": {"pattern": "^a"}}, '{"b":1}', 2, "/b", "has a name that must match", "/propertyNames/pattern"),
    "minProperties": ({"minProperties": 2}, '{"a":1}', 6, "", "must have at least 2 keys", "/minProperties"),
    "maxProperties": ({"maxProperties": 1}, '{"a":1,"b":2}', 6, "", "must have at most 1 key", "/maxProperties"),
    "dependentRequired": (
        {"dependentRequired": {"a": ["b"]}},
        '{"a":1}',
        6,
        "",
        'must have the key "b", as it has "a"',
        "/dependentRequired/a",
    ),
    "dependentSchemas": (
        {"dependentSchemas": {"a/b": {"minProperties": 2}}},
        '{"a/b":1}',
        8,
        "",
        "at least 2 keys",
        "/dependentSchemas/a~1b/minProperties",
    ),
    "dependencies": ({"dependencies": {"a": ["b"]}}, '{"a":1}', 6, "", 'must have the key "b"', "/dependencies/a"),
    "items": ({"items": {"type": "null"}}, "[null, 1]", 7, "/1", "must be null, not a number", "/items/type"),
    "prefixItems": ({"prefixItems": [{"type": "null"}]}, "[1]", 1, "/0", "must be null, not a number", "/prefixItems/0/type"),
    "no more items": ({"prefixItems": [True], "items": False}, "[1, 2]", 2, "/1", "no other item is allowed", "/items"),
    "additionalItems": ({"items": [True], "additionalItems": False}, "[1, 2]", 2, "/1", "no other item is allowed", "/additionalItems"),
    "minItems": ({"minItems": 2}, "[1]", 2, "", "must have at least 2 items", "/minItems"),
    "maxItems": ({"maxItems": 1}, "[1,", 2, "", "must have at most 1 item", "/maxItems"),
    "uniqueItems": ({"uniqueItems": True}, "[1, 2, 1]", 8, "/2", "must differ from item 0", "/uniqueItems"),
    "contains": ({"contains": {"type": "string"}}, "[1]", 2, "", "must contain at least 1 item that must be a string", "/contains"),
    "minContains": ({"contains": {"const": 1}, "minContains": 2}, "[1]", 2, "", "must contain at least 2 items", "/minContains"),
    "maxContains": ({"contains": {"const": 1}, "maxContains": 1}, "[1, 1]", 5, "", "must contain at most 1 item", "/maxContains"),
    "unevaluatedProperties": (
        {"properties": {"a": {}}, "unevaluatedProperties": False},
        '{"a":1,"c":2}',
        6,
        "/c",
        "no other key is allowed",
        "/unevaluatedProperties",
    ),
    "unevaluatedItems": ({"prefixItems": [True], "unevaluatedItems": False}, "[1,2]", 2, "/1", "no other item", "/unevaluatedItems"),
    "allOf": ({"allOf": [{}, {"maximum": 3}]}, "4", 1, "", "must be at most 3", "/allOf/1/maximum"),
    "anyOf": ({"anyOf": [{"type": "null"}, {"type": "string"}]}, "4", 0, "", "must satisfy one of the 2 schemas of anyOf", "/anyOf"),
    "a branch of oneOf": (
        {"oneOf": SHAPES},
        '{"kind":"text","value":5}',
        23,
        "/value",
        "must be a string, not a number",
        "/oneOf/0/properties/value/type",
    ),
    "no branch of oneOf": ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, "null", 0, "", "one of the 2 schemas of oneOf", "/oneOf"),
    "two branches of oneOf": (
        {"type": "number", "oneOf": [{"type": "integer"}, {"minimum": 3}]},
        "5",
        1,
        "",
        "must satisfy exactly one schema of oneOf, and satisfies those numbered 0 and 1",
        "/oneOf",
    ),
    "not": ({"not": {"type": "string"}}, '"a"', 0, "", "must not be a string", "/not"),
    "then": ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, '{"a":1}', 6, "", 'must have the key "b"', "/then/required"),
    "else": ({"if": {"type": "string"}, "else": {"maximum": 3}}, "4", 1, "", "must be at most 3", "/else/maximum"),
    "$ref": ({"$defs": {"n": {"maximum": 3}}, "items": {"$ref": "#/$defs/n"}}, "[4]", 2, "/0", "must be at most 3", "/$defs/n/maximum"),
    "false": ({"items": False}, "[4]", 1, "/0", "must not be there", "/items"),
    "a key twice": ({}, '{"a":1,"a":2}', None, "/a", "must not come twice", None),
    "no further key": (
        {"properties": {"a": {}}, "additionalProperties": False},
        '{"a":1,',
        6,
        "",
        "must have no further key",
        "/additionalProperties",
    ),
}


def violation(schema, text, **options):
    """What is said of the first byte that does not fit."""
    options = {"property_order": "any", "whitespace": "flexible", "spelling": "any", **options}
    constraint = scansion.Grammar.from_json_schema(schema, **options).compile(byte_vocabulary())
    data = text.encode()
    matcher = constraint.matcher()
    fitting = matcher.bytes_accepted(data)
    assert fitting < len(data) or not matcher.accept_bytes(data) or not matcher.is_complete, "the text is an instance"
    return constraint.program.source.explain(data, fitting)


@pytest.mark.parametrize("name", CASES)
def test_every_keyword_says_what_it_asks_where(name):
    schema, text, offset, instance, words, pointer = CASES[name]
    found = violation(schema, text)
    assert found is not None
    assert words in found.requirement
    assert found.instance == instance
    if offset is not None:
        assert found.offset == offset
    if pointer is not None:
        assert found.pointer == pointer
        assert f"(`{pointer}`)" in str(found)


def test_the_sentence_of_the_issue():
    expected = "at byte 35: `/items/3/price` must be at most 100 (`/properties/items/items/properties/price/maximum`)"
    assert str(violation(PRICES, CASES["the issue's own"][1])) == expected


def test_a_branch_says_that_there_are_others():
    found = violation({"oneOf": SHAPES}, '{"kind":"text","value":5}')
    assert found.alternative_to == "/oneOf"
    assert str(found).endswith("; or another schema of `/oneOf` must hold")


POLICIES = [
    ({"properties": {"a": {}, "b": {}}, "additionalProperties": False}, '{"b":1,"a":1}', "/a", 'property_order="declared"'),
    ({"properties": {"a": {}, "b": {}}, "required": ["a"]}, '{"b":1,"a":1}', "/b", 'property_order="declared"'),
    (True, '{"a": 1}', "/a", 'whitespace="compact"'),
    ({"type": "integer"}, "1.0", "", 'integers="plain"'),
    ({"const": "ab"}, '"\\u0061b"', "", 'spelling="canonical"'),
    ({"properties": {"ab": {}}}, '{"\\u0061b":1}', "/ab", 'spelling="canonical"'),
]


@pytest.mark.parametrize(("schema", "text", "instance", "option"), POLICIES)
def test_a_valid_instance_that_breaks_a_policy_names_the_option(schema, text, instance, option):
    found = violation(schema, text, property_order="declared", whitespace="compact", spelling="canonical")
    assert (found.instance, found.keyword, found.pointer) == (instance, option, None)


@pytest.mark.parametrize("text", ['{"a" 1}', "[1", "", "tru", '{"a":', "x", '"\\q"'])
def test_what_is_no_json_is_left_to_the_bytes_expected(text):
    assert violation(True, text) is None


def test_explain_names_the_value_where_the_text_is_given():
    matcher = scansion.Grammar.from_json_schema(PRICES).compile(byte_vocabulary()).matcher()
    written = b'{"items":[{"price":10'
    assert matcher.accept_bytes(written)
    explanation = matcher.explain(ord("5"), text=written)
    assert explanation.violation.instance == "/items/0/price"
    assert explanation.violation.offset == len(written)
    assert "must be at most 100" in str(explanation)
    assert matcher.explain(ord("5")).violation is None
    assert matcher.explain(ord("5"), text=written.decode()) == explanation


def test_explain_of_what_is_no_token_is_an_error_of_ours():
    matcher = scansion.Grammar.json().compile(byte_vocabulary()).matcher()
    with pytest.raises(scansion.VocabularyError, match="a token id is an integer, not 'a'"):
        matcher.explain("a")


def test_explanations_survive_deep_and_large_texts():
    found = violation({"items": {"$ref": "#"}, "maxItems": 1}, "[" * 5_000 + "1,2")
    assert found is None or found.keyword == "maxItems"
    found = violation({"items": {"type": "integer"}}, "[" + "1," * 50_000 + '"x"]')
    assert found.instance == "/50000"


def test_the_evaluation_agrees_with_jsonschema(rounds):
    for seed in range(rounds(100)):
        rng = random.Random(f"evaluation {seed}")
        schema = random_schema(rng, 3, references=2)
        if isinstance(schema, dict):
            schema["$defs"] = {"d0": random_schema(rng, 2, 0), "d1": {"properties": {"a": {"$ref": "#/$defs/d1"}}}}
        validator, evaluator = jsonschema.Draft202012Validator(schema), Evaluator(schema, SchemaOptions())
        for _ in range(20):
            value = random_instance(rng, 2)
            assert validator.is_valid(value) == (not evaluator.findings(value)), json.dumps(schema)


def test_every_refusal_of_a_random_instance_has_a_reason(rounds):
    explained = refused = 0
    for seed in range(rounds(100)):
        rng = random.Random(f"reasons {seed}")
        schema = random_schema(rng, 2, references=0)
        try:
            constraint = scansion.Grammar.from_json_schema(schema, property_order="any", whitespace="spaced").compile(byte_vocabulary())
        except (scansion.UnsatisfiableError, scansion.UnsupportedError, scansion.LimitError):
            continue
        for _ in range(10):
            data = json.dumps(random_instance(rng, 2)).encode()
            matcher = constraint.matcher()
            fitting = matcher.bytes_accepted(data)
            if fitting == len(data) and matcher.accept_bytes(data) and matcher.is_complete:
                continue
            refused += 1
            explained += constraint.program.source.explain(data, fitting) is not None
    assert refused > 50
    assert explained == refused
