"""Structural tags: free text, and regions that a trigger opens."""

from __future__ import annotations

import pytest
from tests.languages.texts import check_texts, is_prefix

from scansion import Grammar, GrammarError, UnsatisfiableError
from scansion.grammar.grammar import _lower
from scansion.grammar.nodes import Rules
from scansion.languages.gbnf import parse_gbnf
from scansion.languages.structural_tags import StructuralTag, structural_tags

NUMBER = parse_gbnf("root ::= [0-9]+")
NESTED = parse_gbnf('root ::= "(" root ")" | "x"')
TAGS = [StructuralTag("<f=a>", NUMBER, "</f>"), StructuralTag("<f=b>", NESTED, "</f>"), StructuralTag("[call]", NUMBER, "!")]


def grammar(rules: Rules) -> Grammar:
    return Grammar("structural_tags", _lower(rules))


def test_text_and_regions_in_any_order_and_number() -> None:
    tags = grammar(structural_tags(TAGS, triggers=["<f=", "[call]"]))
    check_texts(
        tags,
        ["", "hello <f", "<f=a>12</f>", "x<f=b>((x))</f>y[call]7!z", "<f=a>1</f><f=a>2</f>"],
        ["<f=", "<f=c>", "a <f=a>x</f>", "<f=a>1", "[call]", "[call]7"],
    )
    assert not is_prefix(tags, "a<f=c")
    assert is_prefix(tags, "a<f=a>1")


def test_whole_beginnings_are_the_triggers_by_default() -> None:
    check_texts(grammar(structural_tags(TAGS)), ["<f=c>", "<f=a>1</f>"], ["<f=a>x</f>"])


def test_at_least_one_and_only_one() -> None:
    check_texts(grammar(structural_tags(TAGS, at_least_one=True)), ["a<f=a>1</f>b", "[call]1!"], ["", "hello"])
    check_texts(grammar(structural_tags(TAGS, stop_after_first=True)), ["hello", "a<f=a>1</f>"], ["<f=a>1</f>b"])
    check_texts(grammar(structural_tags(TAGS, at_least_one=True, stop_after_first=True)), ["a<f=a>1</f>"], ["", "hello", "<f=a>1</f>b"])


def test_a_trigger_inside_another_is_served_first() -> None:
    tags = [StructuralTag("ab", NUMBER, "."), StructuralTag("b", NESTED, ".")]
    check_texts(grammar(structural_tags(tags)), ["a", "ab1.", "abx.", "bx.", "cb(x)."], ["ab", "b1."])


def test_json_regions() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"], "additionalProperties": False}
    tags = Grammar.from_structural_tags([StructuralTag("<tool_call>", schema, "</tool_call>")])
    check_texts(
        tags, ['one moment <tool_call>{"q":"metre"}</tool_call> done', "none"], ['<tool_call>{"q":1}</tool_call>', '<tool_call>{"q":"x"}']
    )


def test_faults_are_named() -> None:
    with pytest.raises(GrammarError, match="no tag begins"):
        structural_tags(TAGS, triggers=["<f=", "[call]", "<g="])
    with pytest.raises(GrammarError, match="begins with no trigger"):
        structural_tags(TAGS, triggers=["<f="])
    with pytest.raises(GrammarError, match="at least one character"):
        structural_tags([StructuralTag("", NUMBER)])
    with pytest.raises(UnsatisfiableError):
        structural_tags([], at_least_one=True)
