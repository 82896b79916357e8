"""Masks of hand-made JSON programs on vocabularies made to hurt: tokens that close a key, open a value and begin the next one."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from tests.kernel.walks import allowed_one_by_one, byte_vocabulary, check_masks_on_a_walk, mask_of, random_tokens

from scansion._kernel import ARRAY, JSON_STRING, OBJECT, TEXT, Constraint, Language, Matcher, Vocabulary
from scansion.program import WHITESPACE_POLICIES, ProgramBuilder, ProgramData

_PIECES = [
    *(b"{", b"}", b'"', b":", b",", b"a", b"ab", b"b", b"[", b"]", b"1", b" ", b"\n"),
    *(b"\\u0061", b"\\", b"u00", b"\xc3", b"\xa9", b"true", b"x"),
]
_SEAMS = [b'"a":1,"', b'":1,"a":', b'{"a":1,"ab":', b',"":1,"":', b'":"","', b',"b":1,"b":1', b'"ab":{"']

_ANY_CHARACTER = Language.char_class([(0, 0x10FFFF)])
_AB = Language.literal("a").repeat(0, 1)
_LETTERS_OR_DIGITS = Language.char_class([(48, 49), (97, 122)]).repeat(0)
_BOUNDED = [
    _ANY_CHARACTER.repeat(1, 3),
    Language.intersection(
        [Language.concat([_AB, _LETTERS_OR_DIGITS, Language.literal("b"), Language.anything()]), _ANY_CHARACTER.repeat(0, 7)]
    ),
    Language.char_class([(97, 98), (200, 300)]).repeat(2, 6),
    _ANY_CHARACTER.repeat(20, 40),
    Language.literals(["a", "ab", "b", "\\", '"', "é"]),
]
_KEYS = [
    Language.anything(),
    Language.union([Language.literal("a"), Language.concat([Language.literal("b"), Language.anything()])]),
    Language.literals(["a", "ab", "b", "ba"]),
    Language.concat([Language.literal("a").repeat(0), Language.literals(["b", "ba"])]),
]


def any_json(draw: random.Random) -> ProgramData:
    """A program for JSON values with every option of containers drawn at random."""
    builder = ProgramBuilder(whitespace=draw.choice(sorted(WHITESPACE_POLICIES)), canonical_keys=draw.random() < 0.5)
    value = builder.new_rule()

    def limit(*options: int) -> int:
        return draw.choice(options)

    named = builder.object(
        limit(0, 1),
        [("a", value, draw.random() < 0.4), ("ab", value, False), ("b", -1, False)],
        [(draw.choice(_KEYS[:2]), value)] if draw.random() < 0.8 else [],
        0,
        limit(-1, 2, 3),
    )
    loose = builder.object(
        limit(0, 1), [("x", value, False)] if draw.random() < 0.6 else [], [(draw.choice(_KEYS), value)], limit(0, 1), limit(-1, 4)
    )
    free = builder.array([], value, 0, -1)
    tuple_like = builder.array([value], value, limit(0, 1), limit(2, -1))
    words = Language.literals(["true", "false", "null"])
    ways = [
        builder.lex(Language.anything(), JSON_STRING),
        builder.lex(draw.choice(_BOUNDED), JSON_STRING),
        builder.lex(Language.char_class([(48, 57)]).repeat(1), TEXT),
        builder.lex(words, TEXT),
        builder.node(OBJECT, named, builder.ret),
        builder.node(OBJECT, loose, builder.ret),
        builder.node(ARRAY, free, builder.ret),
        builder.node(ARRAY, tuple_like, builder.ret),
    ]
    builder.set_rule(value, builder.alt(ways[draw.randint(0, 1) :]))
    return builder.finish(builder.json_root(value))


def seam_vocabulary(draw: random.Random) -> Vocabulary:
    seams = [draw.choice(_SEAMS) + draw.choice(_PIECES) for _ in range(60)]
    return byte_vocabulary(random_tokens(draw, _PIECES, 400, 8) + seams)


def test_masks_say_what_each_token_does(rounds: Callable[[int], int]) -> None:
    for seed in range(rounds(60)):
        draw = random.Random(seed)
        vocabulary = seam_vocabulary(draw)
        constraint = Constraint(any_json(draw).kernel(), vocabulary)
        for _ in range(12):
            check_masks_on_a_walk(constraint, vocabulary, draw, length=22)


@pytest.mark.parametrize("longest_token", [2, 40])
def test_masks_do_not_depend_on_what_was_asked_before(longest_token: int) -> None:
    """A constraint that has seen much gives the masks of one that has seen nothing."""
    draw = random.Random(longest_token)
    vocabulary = byte_vocabulary(random_tokens(draw, _PIECES, 500, longest_token // 2 + 1))
    program = any_json(draw).kernel()
    used = Constraint(program, vocabulary)
    texts = [check_masks_on_a_walk(used, vocabulary, draw, length=12)[0] for _ in range(40)]
    for text in texts[::4]:
        fresh, known = Matcher(Constraint(program, vocabulary)), Matcher(used)
        for byte in text:
            assert mask_of(fresh, vocabulary.size) == mask_of(known, vocabulary.size)
            if not known.accept(byte):
                break
            assert fresh.accept(byte)


def _keys_in_escapes() -> tuple[Constraint, Vocabulary]:
    vocabulary = byte_vocabulary([b'61"', b'61":', b'0061":1', b'u0061":', b'62":', b'61b":'])
    builder = ProgramBuilder(whitespace="compact")
    one = builder.new_rule()
    builder.set_rule(one, builder.lex(Language.literal("1"), TEXT))
    root = builder.new_rule()
    builder.set_rule(root, builder.node(OBJECT, builder.object(0, [("b", one, False)], [(Language.anything(), one)]), builder.ret))
    return Constraint(builder.finish(root).kernel(), vocabulary), vocabulary


@pytest.mark.parametrize("prefix", [rb'{"a":1,"\u00', rb'{"a":1,"\u', b'{"a":1,"\\', rb'{"\u00'])
def test_a_key_taken_is_noticed_inside_an_escape(prefix: bytes) -> None:
    constraint, vocabulary = _keys_in_escapes()
    matcher = Matcher(constraint)
    assert matcher.accept_bytes(prefix)
    assert mask_of(matcher, vocabulary.size) == allowed_one_by_one(matcher, vocabulary.size)


def test_no_escape_that_only_a_key_taken_can_finish() -> None:
    builder = ProgramBuilder(whitespace="compact")
    one, root = builder.new_rule(), builder.new_rule()
    builder.set_rule(one, builder.lex(Language.literal("1"), TEXT))
    keys = Language.union([Language.literal("a"), Language.concat([Language.literal("é"), Language.anything()])])
    builder.set_rule(root, builder.node(OBJECT, builder.object(0, [], [(keys, one)]), builder.ret))
    matcher = Matcher(Constraint(builder.finish(root).kernel(), byte_vocabulary()))
    assert matcher.accept_bytes(rb'{"a":1,"\u00')
    assert not matcher.accept_bytes(b"6")
