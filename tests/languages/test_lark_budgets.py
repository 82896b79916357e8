"""Lark's ``max_tokens``: what it ends, what it leaves, and how it goes through conversions."""

from __future__ import annotations

import pickle
import random

import pytest
from tests.kernel.budget_recogniser import random_grammar
from tests.languages.texts import BYTES

from scansion import Grammar, Matcher, UnsatisfiableError, UnsupportedError, Vocabulary, allocate_bitmask

LONGER = Vocabulary([*(bytes([byte]) for byte in range(256)), b"ab", b"ba", b"aa", b"bb", b"aba", b"a!", None], eos_token_ids=[262])


def following(matcher: Matcher, vocabulary: Vocabulary = BYTES) -> set[int]:
    mask = allocate_bitmask(1, vocabulary.size)
    matcher.fill_bitmask(mask)
    return {token for token in range(vocabulary.size) if int(mask[0][token // 32]) >> token % 32 & 1}


# Grammar, a text taken a byte at a time, the bytes that may follow (\0: the end).
CUTS = {
    "a word": ('start: a "!"\na[max_tokens=2]: "abc"', "ab", "!"),
    "a word that is not over": ('start: a "!"\na[max_tokens=2]: "abc"', "a", "b"),
    "the text itself": ('start[max_tokens=2]: "a" start | "b"', "aa", "\0"),
    "nothing": ('start: a "!"\na[max_tokens=0]: "abc"', "", "!"),
    "the text itself, of nothing": ('start[max_tokens=0]: "a"', "", "\0"),
    "a suffix": ('start: a "!"\na[max_tokens=2, suffix="."]: /x*/', "xx", "!"),
    "a rule of rules": ('start: a "!"\na[max_tokens=3]: b c\nb: /x+/\nc: "yyy" | b', "xxy", "!"),
    "left recursion inside": ('start: a "!"\na[max_tokens=3]: a "," b | b\nb: /x/', "x,x", "!"),
    "left recursion and spaces": ('start: a "!"\na[max_tokens=3]: a "," b | b\nb: /x/\n%ignore " "', "x ,", " !"),
    "inside another": ('start: a "!"\na[max_tokens=4]: "(" b ")" "..."\nb[max_tokens=2]: /x*/', "(xx", ")"),
    "over with another": ('start: a "!"\na[max_tokens=3]: "(" b ")" "..."\nb[max_tokens=2]: /x*/', "(xx", "!"),
    "a parametric rule": ('start: a::3\na::_[max_tokens=2]: "x" a::decr(_) %if gt(_, 0)\n | "." %if eq(_, 0)', "xx", "\0"),
    "an embedded json": ('start: a "!"\na[max_tokens=3]: %json {"type": "array", "uniqueItems": true}', "[1,", "!"),
    "a key of an object": ('start: a "!"\na[max_tokens=3]: %json {"properties": {"name": true}, "required": ["name"]}', '{"n', "!"),
    "not inside an escape": ('start: a "!"\na[max_tokens=2]: %json {"type": "string", "pattern": "^[\\u0001]"}', '"\\', "u"),
    "nor of two halves": ('start: a "!"\na[max_tokens=2]: %json {"type": "string", "pattern": "^😀$"}', '"\\ud83d', "\\"),
    "after an escape": ('start: a "!"\na[max_tokens=2]: %json {"type": "string", "pattern": "^[\\u0001]"}', '"\\u0001', "!"),
    "not inside a key's escape": (
        'start: a "!"\na[max_tokens=3]: %json {"type": "object", "properties": {"\\u0001": true}, "required": ["\\u0001"]}',
        '{"\\u00',
        "0",
    ),
    "after a key's escape": (
        'start: a "!"\na[max_tokens=3]: %json {"type": "object", "properties": {"\\u0001": true}, "required": ["\\u0001"]}',
        '{"\\u0001',
        "!",
    ),
    "spaces before": ('start: "." a "!"\na[max_tokens=2]: /x+/\n%ignore " "', ".   xx", " !"),
    "spaces before rules": ('start: "." a "!"\na[max_tokens=2]: b? c\nb: "y"\nc: /x+/\n%ignore " "', ".   yx", " !"),
    "spaces before what may be empty": ('start: "." a? "!"\na[max_tokens=2]: /x*/\n%ignore " "', ".  ", " !x"),
    "a comment before": ('start: "." a "!"\na[max_tokens=2]: /x+/ | "\\n"\n%ignore /#[^\\n]*/', ".#x\n", "!"),
    "no space before json": ('start: "." a "!"\na[max_tokens=2]: %json {"const": 1}\n%ignore " "', ".", "1"),
}


@pytest.mark.parametrize("name", CUTS)
def test_a_rule_ends_where_its_tokens_do(name: str) -> None:
    grammar, text, expected = CUTS[name]
    matcher = Grammar.from_lark(grammar).compile(BYTES).matcher()
    assert all(map(matcher.accept, text.encode())), text
    bytes_that_follow = {"\0" if token == BYTES.eos_token_ids[0] else chr(token) for token in following(matcher)}
    assert bytes_that_follow == set(expected)


def test_a_rule_ends_with_a_whole_character() -> None:
    matcher = Grammar.from_lark('start: a "!"\na[max_tokens=2]: /[あ-ん]+/').compile(BYTES).matcher()
    assert all(map(matcher.accept, "あ".encode()))
    assert following(matcher) == {ord("!")}


def test_a_token_that_begins_before_the_rule_counts() -> None:
    matcher = Grammar.from_lark('start: "b" a "!"\na[max_tokens=2]: /[ab]+/').compile(LONGER).matcher()
    assert matcher.accept(LONGER.tokenize_greedy(b"ba")[0]) and matcher.accept(ord("a"))
    assert following(matcher, LONGER) == {ord("!")}


def test_texts_without_tokens_meet_no_bound() -> None:
    constraint = Grammar.from_lark('start: a "!"\na[max_tokens=2]: /[a-c]{4}/').compile(BYTES)
    for text, whole in ((b"abca!", True), (b"ab!", False), (b"abcab!", False)):
        matcher = constraint.matcher()
        assert (matcher.accept_bytes(text) and matcher.is_complete) == whole


def test_what_is_read_is_named() -> None:
    matcher = Grammar.from_lark('start: "<" inner ">"\ninner[max_tokens=9]: /[a-z]+/').compile(BYTES).matcher()
    assert all(map(matcher.accept, b"<ab"))
    assert "inner" in matcher.expectation().where


def test_left_recursion_through_another_rule_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="line 3, column 1: the rule 'b' begins with 'a'") as caught:
        Grammar.from_lark('start: a "!"\na[max_tokens=4]: b "x" | "y"\nb: a "z" | "q"')
    assert caught.value.construct == "max_tokens"


def test_gbnf_cannot_say_it() -> None:
    grammar = Grammar.from_lark('start: "a" | x\nx[max_tokens=3]: /[xy]+/')
    with pytest.raises(UnsupportedError, match="at most 3 tokens") as caught:
        grammar.to_gbnf()
    assert caught.value.construct == "max_tokens"


def test_written_as_lark_it_is_an_attribute_again() -> None:
    grammar = Grammar.from_lark('start: a ";" a\na[max_tokens=3]: /[a-c]+/')
    assert "[max_tokens=3]: /[a-c]+/\n" in grammar.to_lark()
    assert pickle.loads(pickle.dumps(grammar)) == grammar
    assert grammar != Grammar.from_lark('start: a ";" a\na[max_tokens=4]: /[a-c]+/')


def test_grammars_written_as_lark_and_read_back_are_over_at_the_same_tokens() -> None:
    compared = 0
    for seed in range(500):
        draw = random.Random(seed)
        made = random_grammar(draw)
        if made is None:
            continue
        try:
            grammar = Grammar.from_lark(made.lark())
        except UnsatisfiableError:
            continue
        first = grammar.compile(LONGER).matcher()
        second = Grammar.from_lark(grammar.to_lark()).compile(LONGER).matcher()
        for _ in range(8):
            allowed = following(first, LONGER)
            assert allowed == following(second, LONGER), (seed, made.lark())
            compared += 1
            choices = sorted(allowed - {262})
            if not choices:
                break
            token = draw.choice(choices)
            assert first.accept(token) and second.accept(token)
    assert compared > 300
