"""Options: property order, white space, spelling, formats, integers, lenient keywords."""

from __future__ import annotations

import pytest
from tests.json_schema.judge import takes

import scansion

ABC = {"properties": {"a": {}, "b": {}, "c": {}}, "required": ["b", "z"]}


def test_declared_order_is_the_schema_line_by_line():
    assert takes(ABC, '{"a": 1, "b": 2, "c": 3, "z": 4, "other": 5}')
    assert takes(ABC, '{"b": 2, "z": 4}')
    assert not takes(ABC, '{"b": 2, "a": 1, "z": 4}')
    assert not takes(ABC, '{"z": 4, "b": 2}')
    assert takes(ABC, '{"z": 4, "b": 2}', property_order="any")


def test_the_order_of_first_appearance_holds_for_all_branches_and_each_has_its_own_beside():
    schema = {
        "oneOf": [
            {"properties": {"k": {"const": 1}, "x": {}, "y": {}}, "required": ["k", "x", "y"]},
            {"properties": {"y": {}, "x": {}, "k": {"const": 2}}, "required": ["k", "x", "y"]},
        ]
    }
    assert takes(schema, '{"k": 2, "x": 0, "y": 0}')
    assert takes(schema, '{"y": 0, "x": 0, "k": 2}')
    assert not takes(schema, '{"y": 0, "x": 0, "k": 1}')
    assert not takes(schema, '{"y": 0, "k": 2, "x": 0}')
    assert not takes(schema, '{"x": 0, "y": 0, "k": 2}')


def test_a_branch_is_read_with_what_is_beside_it():
    schema = {
        "properties": {"id": {}},
        "anyOf": [
            {"properties": {"text": {}, "type": {"const": "text"}}, "required": ["type"]},
            {"properties": {"data": {}, "type": {"const": "data"}}, "required": ["type"]},
        ],
    }
    assert takes(schema, '{"id": 1, "data": 0, "type": "data"}')
    assert takes(schema, '{"id": 1, "type": "data", "data": 0}')
    assert not takes(schema, '{"data": 0, "id": 1, "type": "data"}')
    assert not takes(schema, '{"id": 1, "type": "text", "text": 0}')


def test_conjoined_schemas_have_one_order():
    schema = {"allOf": [{"properties": {"a": {}, "b": {}}}, {"properties": {"b": {}, "a": {}}}]}
    assert takes(schema, '{"a": 0, "b": 0}')
    assert not takes(schema, '{"b": 0, "a": 0}')


def test_applicators_come_where_they_are_written():
    schema = {
        "allOf": [{"properties": {"first": {}}}],
        "properties": {"second": {}},
        "anyOf": [{"properties": {"third": {"type": "integer"}}}],
    }
    assert takes(schema, '{"first": 0, "second": 0, "third": 0}')
    assert not takes(schema, '{"second": 0, "first": 0}')


PAIR = {"properties": {"a": {"items": {}}, "b": {}}, "required": ["a"], "additionalProperties": False}
SPACED = '{"a": [1, 2], "b": {}}'
COMPACT = '{"a":[1,2],"b":{}}'
INDENTED = '{\n  "a": [\n    1,\n    2\n  ],\n  "b": {}\n}'
WILD = ' { "a" :\t[ 1 , 2 ]\r\n,"b":{ } } '


@pytest.mark.parametrize(
    ("policy", "taken"),
    [
        ("bounded", [SPACED, COMPACT, INDENTED]),
        ("flexible", [SPACED, COMPACT, INDENTED, WILD]),
        ("spaced", [SPACED]),
        ("compact", [COMPACT]),
    ],
)
def test_white_space_policies(policy, taken):
    for text in (SPACED, COMPACT, INDENTED, WILD):
        assert takes(PAIR, text, whitespace=policy) == (text in taken)


@pytest.mark.parametrize("text", ['{"a":[1],  "b":0}', '{"a":[1],\n\n"b":0}', '{"a":[1]}\n', '{"a":[1],"b": ' + " " * 9 + "0}"])
def test_bounded_white_space_has_an_end(text):
    assert not takes(PAIR, text, whitespace="bounded")


def test_spelling():
    schema = {"properties": {"name": {"enum": ["\u00e9", 1]}}, "additionalProperties": False}
    plain = ['{"name": "\u00e9"}', '{"name": 1}']
    other = ['{"n\\u0061me": "\u00e9"}', '{"name": "\\u00e9"}', '{"name": 1.0}', '{"name": 1e0}']
    for text in plain + other:
        assert takes(schema, text) == (text in plain)
        assert takes(schema, text, spelling="any")


def test_keys_are_compared_by_value():
    schema = {"properties": {"name": {"type": "integer"}}}
    assert not takes(schema, '{"n\\u0061me": "x"}')
    assert not takes(schema, '{"n\\u0061me": "x"}', spelling="any")
    assert not takes({}, '{"a": 1, "\\u0061": 2}')


def test_integers():
    for text in ("1.0", "1e2", "-0.0"):
        assert not takes({"type": "integer"}, text)
        assert takes({"type": "integer"}, text, integers="any")
    assert not takes({"type": "integer"}, "1.5", integers="any")
    assert not takes({"type": "integer"}, "15e-1", integers="any")
    assert takes({"type": "integer", "enum": [1.0]}, "1")


def test_formats():
    schema = {"format": "date"}
    assert takes(schema, '"2024-02-29"')
    assert not takes(schema, '"2023-02-29"')
    assert takes(schema, '"2023-02-29"', formats="annotate")
    assert takes({"format": "colour"}, '"x"')
    with pytest.raises(scansion.UnsupportedError) as caught:
        scansion.Grammar.from_json_schema({"items": {"format": "colour"}}, formats="strict")
    assert caught.value.pointer == "/items/format"


def test_lenient_keywords_are_dropped_and_reported():
    schema = {"items": {"uniqueItems": True, "minItems": 1}}
    grammar = scansion.Grammar.from_json_schema(schema, lenient=["uniqueItems"])
    assert grammar.report == (("uniqueItems", "/items/uniqueItems"),)
    assert takes(schema, "[[1, 1]]", lenient=["uniqueItems"])
    assert not takes(schema, "[[]]", lenient=["uniqueItems"])
    assert scansion.Grammar.from_json_schema(schema).report == ()


@pytest.mark.parametrize(
    "options",
    [
        {"whitespace": "none"},
        {"property_order": "sorted"},
        {"spelling": "free"},
        {"formats": "yes"},
        {"integers": "int"},
        {"lenient": ["$id"]},
        {"lenient": "type"},
        {"resources": 3},
    ],
)
def test_unknown_options_are_refused_by_name(options):
    (name,) = options
    with pytest.raises(scansion.GrammarError) as caught:
        scansion.Grammar.from_json_schema({}, **options)
    assert caught.value.construct == name
    assert caught.value.hint


def test_numbers_of_a_schema_text_keep_their_digits():
    text = '{"minimum": 0.1000000000000000000001, "maximum": 0.1000000000000000000003}'
    assert takes(text, "0.1000000000000000000002")
    assert not takes(text, "0.1")


def test_whole_numbers_of_an_enum_may_lose_their_fraction():
    assert takes({"enum": [2.0, 0.5]}, "2.0")
    assert takes({"enum": [2.0, 0.5]}, "2")
    assert not takes({"enum": [2]}, "2.0")
    assert not takes({"enum": [2.0]}, "2.00")
    assert takes('{"const": 20.0}', "20")
    assert not takes({"oneOf": [{"const": 2.0}, {"enum": [2, 3]}]}, "2")
