"""The public Grammar: immutable, comparable, picklable, cached by text."""

from __future__ import annotations

import pickle

import pytest
from tests.json_schema.judge import byte_vocabulary

import scansion
from scansion.languages.structural_tags import StructuralTag

TEXT = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'


def test_the_same_text_and_options_give_the_same_grammar():
    grammar = scansion.Grammar.from_json_schema(TEXT)
    assert scansion.Grammar.from_json_schema(TEXT) is grammar
    assert scansion.Grammar.from_json_schema(TEXT, whitespace="compact") is not grammar


def test_grammars_compare_by_content():
    one = scansion.Grammar.from_json_schema({"enum": [1, 2]})
    two = scansion.Grammar.from_json_schema({"enum": [1, 2]})
    assert one is not two
    assert one == two
    assert hash(one) == hash(two)
    assert one != scansion.Grammar.from_json_schema({"enum": [1, 3]})


def test_a_grammar_cannot_be_changed():
    grammar = scansion.Grammar.json()
    with pytest.raises(AttributeError):
        grammar.kind = "other"


def test_a_grammar_pickles():
    grammar = scansion.Grammar.from_json_schema(TEXT)
    copy = pickle.loads(pickle.dumps(grammar))
    assert copy == grammar
    matcher = copy.compile(byte_vocabulary()).matcher()
    assert matcher.accept_bytes(b'{"a": 1}')
    assert matcher.is_complete


def test_compiling_twice_gives_one_constraint():
    grammar = scansion.Grammar.from_json_schema(TEXT)
    assert grammar.compile(byte_vocabulary()) is grammar.compile(byte_vocabulary())


@pytest.mark.parametrize("text", ["null", "-0.5e3", '"\\u00e9"', "[[], {}]", '{"a": {"b": [1, "x", true]}}'])
def test_any_json(text):
    matcher = scansion.Grammar.json().compile(byte_vocabulary()).matcher()
    assert matcher.accept_bytes(text.encode())
    assert matcher.is_complete


def test_regex_and_choices():
    matcher = scansion.Grammar.from_regex("[a-c]{2}").compile(byte_vocabulary()).matcher()
    assert matcher.accept_bytes(b"ab")
    assert matcher.is_complete
    matcher = scansion.Grammar.from_choices(["yes", "no"]).compile(byte_vocabulary()).matcher()
    assert not matcher.accept_bytes(b"maybe")
    assert matcher.accept_bytes(b"no")


@pytest.mark.parametrize("source", [scansion.Grammar.from_gbnf, scansion.Grammar.from_lark, scansion.Grammar.from_regex])
def test_grammar_texts_must_be_text(source):
    with pytest.raises(scansion.GrammarError):
        source(b"bytes")


def test_structural_tags():
    tag = StructuralTag("<call>", {"type": "integer"}, "</call>")
    matcher = scansion.Grammar.from_structural_tags([tag], at_least_one=True).compile(byte_vocabulary()).matcher()
    assert matcher.accept_bytes(b"well, ")
    assert not matcher.is_complete
    assert not matcher.accept_bytes(b"<call>x")
    assert matcher.accept_bytes(b"<call>12</call>")
    assert matcher.is_complete
