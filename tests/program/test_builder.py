"""The program builder and its value."""

from __future__ import annotations

import pickle

import pytest
from tests.oracles.program_recogniser import accepts

import scansion
from scansion._kernel import ALT, CALL, LEX, TEXT, Language
from scansion.program import WHITESPACE_POLICIES, ProgramBuilder


def program(*words):
    builder = ProgramBuilder()
    rule = builder.new_rule()
    builder.set_rule(rule, builder.alt([builder.lex(Language.literal(word), TEXT) for word in words]))
    return builder.finish(rule)


def test_lexemes_labels_and_token_sets_are_interned():
    builder = ProgramBuilder()
    first = builder.lexeme(Language.literal("a"), TEXT)
    assert builder.lexeme(Language.literal("a"), TEXT) == first
    assert builder.lexeme(Language.literal("b"), TEXT) == first + 1
    assert builder.label("x") == builder.label("x") == 0
    assert builder.token_set([(1, 2)]) == builder.token_set([(1, 2)]) == 0


def test_alternatives_of_one_and_of_none_need_no_node():
    builder = ProgramBuilder()
    node = builder.lex(Language.literal("a"), TEXT)
    assert builder.alt([node]) == node
    assert builder.alt([]) == builder.fail
    two = builder.alt([node, builder.ret], builder.label("both"))
    assert builder.nodes[3 * two] == ALT
    assert builder.node_labels[two] == 0


def test_conditions_are_reduced_and_interned():
    builder = ProgramBuilder()
    assert builder.condition(0, 1, 1) == 1
    node = builder.condition(0, 0, 1)
    assert node == builder.condition(0, 0, 1) == 2
    assert builder.condition_entry(node) == (0, 0, 1)


def test_a_rule_may_be_called_before_it_is_written():
    builder = ProgramBuilder()
    outer, inner = builder.new_rule(), builder.new_rule()
    builder.set_rule(outer, builder.lex(Language.literal("<"), TEXT, builder.node(CALL, inner, builder.lex(Language.literal(">"), TEXT))))
    builder.set_rule(inner, builder.alt([builder.ret, builder.node(CALL, outer, builder.ret)]))
    data = builder.finish(outer)
    assert accepts(data, "<<>>")
    assert not accepts(data, "<<>")


def test_repeats_are_counted():
    builder = ProgramBuilder()
    rule, letter = builder.new_rule(), builder.new_rule()
    builder.set_rule(letter, builder.node(LEX, builder.lexeme(Language.literal("ab"), TEXT)))
    builder.set_rule(rule, builder.repeat(letter, 2, 3))
    data = builder.finish(rule)
    assert [count for count in range(6) if accepts(data, "ab" * count)] == [2, 3]


def test_a_program_is_a_value():
    data = program("a", "b")
    assert data == program("a", "b")
    assert hash(data) == hash(program("a", "b"))
    assert data.digest == program("a", "b").digest
    assert data != program("a", "c")
    assert data.digest != program("a", "c").digest
    copy = pickle.loads(pickle.dumps(data))
    assert copy == data
    assert accepts(copy, "b")
    assert data.kernel() is data.kernel()


@pytest.mark.parametrize("policy", WHITESPACE_POLICIES)
def test_every_policy_has_its_punctuation(policy):
    builder = ProgramBuilder(policy)
    rule = builder.new_rule()
    builder.set_rule(rule, builder.ret)
    data = builder.finish(rule)
    assert len(data.punctuation) == 9
    assert data.kernel()


def test_unknown_policies_are_refused_by_name():
    with pytest.raises(scansion.GrammarError, match="bounded, flexible, spaced, compact"):
        ProgramBuilder("wide")
