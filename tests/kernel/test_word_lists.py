"""Lists of words: their masks come from looking the words up in the vocabulary, and tokens inside a word are read in one go."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from tests.kernel.walks import byte_vocabulary, check_masks_on_a_walk, mask_of

from scansion._kernel import LEX, RET, TEXT, Constraint, Language, Matcher
from scansion.program import ProgramBuilder, ProgramData

LISTS = {
    "strings": ['"red"', '"reddish"', '"re"', '"green blue"', '""'],
    "strings of many scripts": ['"é"', '"è"', '"日本"', '"日"', '"\U0001f600"', '"e"'],
    "strings with escapes": [r'"a\"b"', r'"a\\"', r'"a\n"', '"a"'],
    "literals": ["true", "false", "null"],
    "one word": ["Europe/Berlin"],
    "one begins another": ["1", "10", "100", "2"],
    "with the empty word": ["", "ab", "abc"],
    "bytes that end sequences": ["\x7f", "\u0080", "\u07ff", "\u0800", "\uffff", "\U00010000"],
}


def _program(words: list[str], behind: Language) -> ProgramData:
    """start ::= (words | "rest") behind"""
    builder = ProgramBuilder(canonical_keys=True)
    last = builder.node(LEX, builder.lexeme(behind, TEXT), builder.node(RET, 0, 0))
    start = builder.new_rule()
    either = [builder.node(LEX, builder.lexeme(language, TEXT), last) for language in (Language.literals(words), Language.literal("rest"))]
    builder.set_rule(start, builder.alt(either))
    return builder.finish(start)


def _tokens(draw: random.Random, words: list[str], count: int) -> list[bytes]:
    """Pieces of the words and of what is around them, cut anywhere."""
    text = "".join(draw.choice([*words, "!", "?", "rest"]) for _ in range(200)).encode()
    places = [draw.randrange(len(text)) for _ in range(count)]
    return sorted({text[at : at + draw.randint(2, 12)] for at in places})


@pytest.mark.parametrize("name", LISTS)
def test_masks_of_words(name: str, rounds: Callable[[int], int]) -> None:
    draw = random.Random(name)
    words = LISTS[name]
    for _ in range(rounds(3)):
        vocabulary = byte_vocabulary(_tokens(draw, words, 150))
        for behind in (Language.literals(["!", "!!?", "?"]), Language.char_class([(33, 63)]).repeat(0)):
            constraint = Constraint(_program(words, behind).kernel(), vocabulary)
            for _ in range(4):
                check_masks_on_a_walk(constraint, vocabulary, draw, length=12, merged=draw.choice([0.2, 0.8]))


@pytest.mark.parametrize("name", LISTS)
def test_words_read_by_tokens_and_by_bytes_lead_to_one_place(name: str) -> None:
    draw = random.Random(name)
    words = LISTS[name]
    vocabulary = byte_vocabulary(_tokens(draw, words, 300))
    ids = {token: number for number in range(vocabulary.size) if (token := vocabulary.token_bytes(number)) is not None}
    program = _program(words, Language.literals(["!", "?"])).kernel()
    for word in words:
        text = word.encode() + b"!"
        for _ in range(12):
            by_tokens, by_bytes = Matcher(Constraint(program, vocabulary)), Matcher(Constraint(program, vocabulary))
            at = 0
            while at < len(text):
                token = draw.choice([text[at:end] for end in range(at + 1, len(text) + 1) if text[at:end] in ids])
                assert by_tokens.accept(ids[token])
                assert all(by_bytes.accept(byte) for byte in token)
                at += len(token)
                assert mask_of(by_tokens, vocabulary.size) == mask_of(by_bytes, vocabulary.size), text[:at]
            assert by_tokens.is_complete
