"""Sets of token ids in a program that does not know its vocabulary yet.

A grammar may name a token (``<think>``) or exclude some (``!<think>``); which ids these are depends on the vocabulary the
grammar is compiled for. Until then a token set holds marks: negative numbers, which the kernel refuses, so that a program
that was never bound cannot be run by mistake.

    (-1, -1)            first in a set: every token that is not in the rest of the set and is no end token
    (-2 - k, -2 - k)    the token named by label k
    (low, high)         ids, inclusive
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scansion.errors import GrammarError, VocabularyError
from scansion.grammar.nodes import Tokens
from scansion.program import ProgramBuilder, ProgramData

if TYPE_CHECKING:
    from scansion.vocabulary import Vocabulary

__all__ = ["bind_tokens", "encode_token_set", "needs_binding"]

_NEGATED = (-1, -1)
_FIRST_NAME = -2
_NO_TOKEN = (2**31 - 1, 2**31 - 1)


def encode_token_set(builder: ProgramBuilder, tokens: Tokens) -> int:
    """Add a set to a builder, with marks for what only a vocabulary can tell."""
    ranges = [*tokens.ranges]
    for name in tokens.names:
        mark = _FIRST_NAME - builder.label(name)
        ranges.append((mark, mark))
    return builder.token_set([_NEGATED, *ranges] if tokens.negated else ranges)


def needs_binding(program: ProgramData) -> bool:
    """Whether any token set holds a mark."""
    return any(first < 0 for ranges in program.token_sets for first, _ in ranges)


def bind_tokens(program: ProgramData, vocabulary: Vocabulary, *, never: Sequence[int] = ()) -> ProgramData:
    """The program with ids in place of marks, for one vocabulary; the program itself where it has none.

    Args:
        program: of a grammar.
        vocabulary: what it is compiled for.
        never: ids to leave out of all sets.

    Raises:
        GrammarError: the vocabulary has no token of a name.
    """
    if not needs_binding(program) and not never:
        return program
    return program.with_token_sets([_bound(program, ranges, vocabulary, never) for ranges in program.token_sets])


def _bound(program: ProgramData, ranges: Sequence[tuple[int, int]], vocabulary: Vocabulary, never: Sequence[int]) -> list[tuple[int, int]]:
    negated = bool(ranges) and tuple(ranges[0]) == _NEGATED
    found: list[tuple[int, int]] = []
    for first, last in ranges[1:] if negated else ranges:
        if first >= 0:
            found.append((first, last))
            continue
        name = program.labels[_FIRST_NAME - first]
        try:
            number = vocabulary.token_id(name)
        except VocabularyError:
            raise GrammarError(
                f"the vocabulary has no token {name[:200]}",
                construct=name,
                hint="special tokens are named as the tokenizer names them; text in double quotes is matched as text",
            ) from None
        found.append((number, number))
    if negated:
        ends = [(end, end) for end in (*vocabulary.eos_token_ids, *never)]
        return _outside([*found, *ends], vocabulary.size)
    if not never:
        return found
    left_out = set(never)
    kept = [token for first, last in found for token in range(first, min(last, vocabulary.size) + 1) if token not in left_out]
    return [(token, token) for token in kept] or [_NO_TOKEN]


def _outside(ranges: Sequence[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    following = 0
    for first, last in sorted(ranges):
        if first > following:
            kept.append((following, min(first, size) - 1))
        following = max(following, last + 1)
    if following < size:
        kept.append((following, size - 1))
    return [piece for piece in kept if piece[0] <= piece[1]]
