"""Do two grammars have the same texts? Judged on random texts of both, whole and changed.

A text is a list of tokens over a vocabulary made for the purpose: the bytes, an end, and one token that is no text for each token
the grammars name and for each range of ids they tell apart.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from scansion.matching import allocate_bitmask
from scansion.vocabulary import Vocabulary

if TYPE_CHECKING:
    from scansion.grammar import Grammar
    from scansion.matching import Constraint, Matcher
    from scansion.program import ProgramData

__all__ = ["differing_text"]

_STEPS = 200  # tokens of a random text before it is brought to its end the shortest way
_OFTEN = b'"{}[](),:;= \n09az\\'
_END = 256
_NAMED = -2  # marks of tokens with a name are this and less: see scansion.grammar.token_sets
_Ranges = list[tuple[int, int]]


def differing_text(first: Grammar, second: Grammar, *, texts: int = 50, seed: int = 0, more: bool = False) -> str | None:
    """A text that one grammar has or can go on with and the other has not or cannot, with tokens as ``<name>`` and ``<[id]>``; None
    where none was found.

    Args:
        first, second: the grammars.
        texts: random texts drawn from each; each is also tried with a token changed.
        seed: of the random numbers.
        more: whether ``second`` may have texts that ``first`` has not.
    """
    tokens = _TokensOfBoth(first, second)
    one, two = tokens.compiled(first), tokens.compiled(second)
    draw = random.Random(seed)
    for _ in range(texts):
        for source in (one,) if more else (one, two):
            text = _random_text(source, draw)
            changed = list(text)
            if changed:
                changed[draw.randrange(len(changed))] = draw.choice([draw.randrange(256), *_OFTEN, *tokens.special])
            for sample in (text, changed):
                (far, whole), (other_far, other_whole) = _verdict(one, sample), _verdict(two, sample)
                if far > other_far or whole > other_whole or (not more and (far < other_far or whole < other_whole)):
                    return tokens.spelled(sample)
    return None


class _TokensOfBoth:
    """A vocabulary in which two grammars can be compared: ids they do not tell apart are one token."""

    def __init__(self, first: Grammar, second: Grammar) -> None:
        programs = first.program, second.program
        pieces = [piece for program in programs for ranges in program.token_sets for piece in ranges]
        names = {
            program.labels[_NAMED - low] for program in programs for ranges in program.token_sets for low, _ in ranges if low <= _NAMED
        }
        cuts = sorted({cut for low, high in pieces if low >= 0 for cut in (low, high + 1)})
        self.names = dict(zip(sorted(names), range(_END + 1, _END + 1 + len(names)), strict=True))
        begin = _END + 1 + len(names)
        self.classes = dict(zip(cuts, range(begin, begin + len(cuts)), strict=True))  # the ids from a cut up to the next one
        self.special = [*self.names.values(), *self.classes.values()]
        special_tokens = {**self.names, **{f"<[{cut}]>": number for cut, number in self.classes.items()}}
        self.spellings = {number: name for name, number in special_tokens.items()}
        texts = [*(bytes([byte]) for byte in range(256)), *[None] * (1 + len(self.special))]
        self.vocabulary = Vocabulary(texts, eos_token_ids=[_END], special_tokens=special_tokens)

    def compiled(self, grammar: Grammar) -> Constraint:
        from scansion.grammar import Grammar

        program: ProgramData = grammar.program
        if not program.token_sets:
            return grammar.compile(self.vocabulary)
        return Grammar(grammar.kind, program.with_token_sets(list(map(self.here, program.token_sets)))).compile(self.vocabulary)

    def here(self, ranges: _Ranges) -> _Ranges:
        """A set of ids as tokens of this vocabulary. Marks stay as they are."""
        return [(low, high) if low < 0 else (self.classes[low], self.classes[high + 1] - 1) for low, high in ranges]

    def spelled(self, sample: list[int]) -> str:
        pieces = [self.spellings[token].encode() if token in self.spellings else bytes([token]) for token in sample]
        return b"".join(pieces).decode("utf-8", "backslashreplace")


def _random_text(source: Constraint, draw: random.Random) -> list[int]:
    matcher = source.matcher()
    text: list[int] = []
    for _ in range(_STEPS):
        following = _following(matcher, source.vocabulary.size)
        if not following or (matcher.is_complete and draw.random() < 0.1):
            return text
        plain = [token for token in following if 0x20 <= token < 0x7F or token > _END]
        token = draw.choice(plain) if plain and draw.random() < 0.8 else draw.choice(following)
        matcher.accept(token)
        text.append(token)
    return text + list(matcher.shortest_completion() or b"")


def _following(matcher: Matcher, size: int) -> list[int]:
    mask = allocate_bitmask(1, size)
    matcher.fill_bitmask(mask)
    found = np.flatnonzero(np.unpackbits(mask[0].view(np.uint8), bitorder="little")[:size])
    return [int(token) for token in found if token != _END]


def _verdict(constraint: Constraint, sample: list[int]) -> tuple[int, bool]:
    """How far a text is the beginning of one, and whether it is whole."""
    matcher = constraint.matcher()
    for count, token in enumerate(sample):
        if not matcher.accept(token):
            return count, False
    return len(sample), matcher.is_complete
