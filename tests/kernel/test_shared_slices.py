"""Counts far from their bounds and patterns any text may still match: one slice serves many states, and no token may notice."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
from tests.kernel.walks import byte_vocabulary, check_masks_on_a_walk, random_tokens

from scansion._kernel import JSON_STRING, LEX, OBJECT, RET, TEXT, Constraint, Language
from scansion.program import ProgramBuilder, ProgramData

_ANY = Language.anything()
_ANY_CHARACTER = Language.char_class([(0, 0x10FFFF)])
_A, _B, _SPACE, _AT, _DOT = (Language.literal(c) for c in "ab @.")
_WORD = Language.char_class([(97, 112)])
_LABEL = Language.concat([_WORD, Language.char_class([(45, 45), (97, 112)]).repeat(0, 30)])
_WORDS = Language.concat([Language.concat([_WORD.repeat(1), _SPACE.repeat(1)]).repeat(0, 16), _WORD.repeat(1)])
_ADDRESS = Language.concat([_WORD.repeat(1, 33), _AT, _LABEL, Language.concat([_DOT, _LABEL]).repeat(1, 40)])
_DIGITS = Language.char_class([(48, 57)])
_DATE = Language.concat([_DIGITS.repeat(4, 4), Language.literal("-"), _DIGITS.repeat(2, 2)])
_INSIDE = Language.concat([_ANY, _DATE, _ANY])

_PAIR = Language.concat([_WORD.repeat(1), _SPACE.repeat(1)])  # as in _WORDS
_FEW = _PAIR.repeat(0, 5)  # so near that tokens go round to the end of it
_EITHER = Language.union([Language.literal("a "), _B])
_SEPARATOR = Language.char_class([(32, 32), (45, 46)])

PATTERNS = {
    "word": _WORD.repeat(1, 40),
    "few of a": _A.repeat(1, 30),
    "words": _WORDS,
    "words, bounded": Language.intersection([_WORDS, _ANY_CHARACTER.repeat(0, 60)]),
    "words of an even length": Language.intersection([_WORDS, _ANY_CHARACTER.repeat(2, 2).repeat(0)]),
    "address": _ADDRESS,
    "address, bounded": Language.intersection([_ADDRESS, _ANY_CHARACTER.repeat(0, 55)]),
    "a date anywhere": _INSIDE,
    "a date or many words": Language.union([_INSIDE, _WORDS]),
    "no word": Language.complement(_WORD.repeat(1, 40)),
    "no word and no date": Language.intersection([Language.complement(_WORD.repeat(1, 26)), Language.complement(_INSIDE)]),
    "no words, bounded": Language.intersection([Language.complement(_WORDS), _ANY_CHARACTER.repeat(0, 45)]),
    "long": Language.intersection([_INSIDE, _ANY_CHARACTER.repeat(28, 34)]),
    "exactly": Language.concat([_WORD.repeat(25, 25), _SPACE, _WORD.repeat(0, 27)]),
    "few words": Language.concat([_FEW, _WORD.repeat(1)]),
    "few words or none": Language.union([Language.literal(""), Language.concat([_FEW, _WORD.repeat(1)])]),
    "few words and anything behind": Language.concat([_FEW, _A, _ANY]),
    "few words and a dot": Language.concat([_FEW, _DOT]),
    "few words, then as many": Language.concat([_FEW, _AT, _FEW, _B]),
    "few words, then many": Language.concat([_FEW, _DOT, _PAIR.repeat(0), _B]),
    "few words, again and again": Language.concat([Language.concat([_FEW, _DOT]).repeat(1), _A]),
    "few words, then as many, and nothing between": Language.concat([_FEW, _DOT.repeat(0, 1), _FEW, _WORD]),
    "few words twice in a branch": Language.union([Language.concat([_FEW, _DOT]), Language.concat([_FEW, _AT, _FEW, _B])]),
    "few words twice around": Language.concat([_WORD.repeat(0), _FEW, _AT.repeat(0)]).repeat(0, 2),
    "few of two": Language.concat([_EITHER.repeat(0, 3), _DOT.repeat(0, 1), _EITHER.repeat(0, 3)]),
    "few words of different kinds": Language.union([Language.concat([_FEW, _A]), Language.concat([_PAIR.repeat(0, 3), _B])]),
    "one to few words": Language.concat([_PAIR.repeat(1, 6), _WORD]),
    "few words, not too short": Language.intersection([Language.concat([_FEW, _WORD.repeat(1)]), _ANY_CHARACTER.repeat(9)]),
    "few words, bounded far off": Language.intersection([Language.concat([_FEW, _WORD.repeat(1)]), _ANY_CHARACTER.repeat(0, 300)]),
    "few words but one": Language.intersection([Language.concat([_FEW, _WORD.repeat(1)]), Language.complement(Language.literal("ab ab"))]),
    "few ambiguous words": Language.concat([Language.concat([_WORD.repeat(1, 2), _SPACE.repeat(0, 1)]).repeat(0, 6), _DOT]),
    "few labels": Language.concat([_LABEL, Language.concat([_SEPARATOR, _LABEL]).repeat(0, 4)]),
    "few optional words": Language.concat([Language.union([Language.literal(""), _PAIR]).repeat(0, 4), _A]),
    "rounds of rounds": Language.concat([Language.concat([_A.repeat(1, 25), _B]).repeat(0, 28), _SPACE]),
}
_PIECES = [
    b"a",
    b"b",
    b"ab",
    b" ",
    b"-",
    b"@",
    b".",
    b"2024-1",
    b"20",
    b'"',
    b'",',
    b"\\n",
    b"\xc3\xa9",
    b"a" * 9,
    b"ab " * 6,
    b"b." * 7,
    b"a b",
    b"b a ",
    b"\xc3",
    b"\\u00",
]


def _program(pattern: Language, kind: str) -> ProgramData:
    builder = ProgramBuilder(canonical_keys=True)
    end = builder.node(RET, 0, 0)
    plain = builder.new_rule()
    builder.set_rule(plain, builder.node(LEX, builder.lexeme(_A.repeat(0), JSON_STRING), end))
    start = builder.new_rule()
    if kind == "keys":
        known = [("ab", plain, False), ("a" * 25, plain, False)]
        builder.set_rule(start, builder.node(OBJECT, builder.object(0, known, [(pattern, plain)], 0, -1), end))
    else:
        builder.set_rule(start, builder.node(LEX, builder.lexeme(pattern, TEXT if kind == "text" else JSON_STRING), end))
    return builder.finish(start)


@pytest.mark.parametrize("kind", ["string", "keys", "text"])
@pytest.mark.parametrize("name", PATTERNS)
def test_masks_near_and_far_from_bounds(name: str, kind: str, rounds: Callable[[int], int]) -> None:
    draw = random.Random(f"{name} {kind}")
    for _ in range(rounds(2)):
        long_tokens = (
            [b"a b c d e f", b"b a b ", b"a.b-a.b a", b'b a b"', b'a b a b a","', b"a" * 140]
            + [b"a" * n for n in (24, 25, 26, 30, 39, 40, 41)]
            + [b"ab " * n for n in (8, 12, 15)]
            + [b'"' + b"ab" * 12 + b'":"']
        )
        vocabulary = byte_vocabulary([*random_tokens(draw, _PIECES, 60, 4), *random_tokens(draw, _PIECES, 30, 12), *long_tokens])
        constraint = Constraint(_program(PATTERNS[name], kind).kernel(), vocabulary)
        for _ in range(3):
            check_masks_on_a_walk(constraint, vocabulary, draw, length=24, merged=draw.choice([0.2, 0.5, 0.9]))


@pytest.mark.parametrize("name", [name for name in PATTERNS if name.startswith(("few", "one to", "words"))])
def test_every_short_token_near_the_end_of_a_count(name: str, rounds: Callable[[int], int]) -> None:
    """What a token makes of a count is looked up, and only tokens that go round too often are tried: so all there are."""
    draw = random.Random(name)
    letters = [b"a", b"b", b" ", b".", b"@", b'"', b"\\u0020", b"\xc3"]
    tokens = [b"".join(text) for size in range(2, 9) for text in itertools.product(*[[b"a", b" "]] * size)]
    either = [b"".join(text) for size in range(2, 7) for text in itertools.product(*[[b"a ", b"b"]] * size)]
    tokens += [text + between + end for text in either for between in (b"", b".", b"@") for end in (b"", b"b", b"a b")]
    tokens += [text + end for text in tokens[:200] for end in (b'"', b"\xc3", b"\\", b"\\u00", b"\\u006", b".")]
    tokens += [b"".join(text) for size in (2, 3) for text in itertools.product(letters, repeat=size)]
    vocabulary = byte_vocabulary(tokens)
    constraint = Constraint(_program(PATTERNS[name], "string").kernel(), vocabulary)
    for _ in range(rounds(3)):
        check_masks_on_a_walk(constraint, vocabulary, draw, length=30, merged=draw.choice([0.0, 0.3]))


@pytest.mark.parametrize("bound", [None, 1, 2, 4])
def test_digits_behind_a_number(bound: int | None, rounds: Callable[[int], int]) -> None:
    """Tokens of digits may leave a number, and what follows may begin with a digit."""
    draw = random.Random(bound)
    number = Language.concat([Language.char_class([(49, 57)]), _DIGITS.repeat(0, bound)])
    follows = {"digits": _DIGITS.repeat(1, 3), "a letter": _A, "either": Language.union([_A, Language.concat([_DIGITS, _B])])}
    for behind in follows.values():
        builder = ProgramBuilder(canonical_keys=True)
        last = builder.node(LEX, builder.lexeme(behind, TEXT), builder.node(RET, 0, 0))
        start = builder.new_rule()
        builder.set_rule(start, builder.node(LEX, builder.lexeme(number, TEXT), last))
        program = builder.finish(start).kernel()
        for _ in range(rounds(2)):
            digits = [str(draw.randrange(10**places)).encode() for places in (2, 3, 5) for _ in range(60)]
            vocabulary = byte_vocabulary(sorted({*digits, *random_tokens(draw, [b"1", b"20", b"a", b"7b"], 60, 4)}))
            constraint = Constraint(program, vocabulary)
            for _ in range(3):
                check_masks_on_a_walk(constraint, vocabulary, draw, length=8, merged=0.7)
