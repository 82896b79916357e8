"""Completions counted in tokens: a text cut into as few as possible, and completions that are longer in bytes but need fewer."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from scansion.matching import allocate_bitmask

if TYPE_CHECKING:
    from scansion.matching import Matcher
    from scansion.vocabulary import Vocabulary

__all__ = ["completion_in_tokens", "fewest_tokens"]

_UNREACHED = 1 << 60
_MOST_STEPS = 6_000
"""Tokens tried in one search: some milliseconds."""
_WIDEST = 1_000
"""Where more tokens are allowed than this (inside free text), only those that write the shortest completion are tried."""


def fewest_tokens(text: bytes, vocabulary: Vocabulary) -> list[int] | None:
    """The least number of tokens whose bytes make up ``text``, or None where some byte has no token.

    A shortest path over byte positions. Candidate tokens at a position are the prefixes of the longest match there,
    found by asking the vocabulary for ever shorter pieces; quadratic in the longest token, linear in the text.
    """
    best: list[int] = [0] + [_UNREACHED] * len(text)
    came: list[tuple[int, int]] = [(0, -1)] * (len(text) + 1)
    for start in range(len(text)):
        if best[start] == _UNREACHED:
            continue
        for token, length in _prefix_tokens(text[start:], vocabulary):
            if best[start] + 1 < best[start + length]:
                best[start + length] = best[start] + 1
                came[start + length] = (start, token)
    if best[len(text)] == _UNREACHED:
        return None
    path: list[int] = []
    place = len(text)
    while place:
        place, token = came[place]
        path.append(token)
    return path[::-1]


def completion_in_tokens(matcher: Matcher, vocabulary: Vocabulary, most: int) -> list[int] | None:
    """At most ``most`` tokens that complete the answer, found breadth first; the matcher does not move.

    ``["a b c", "information"]`` is the case it is for: the choice with more bytes may have fewer tokens. Bounded, so None does
    not prove that there are none.
    """
    mask = allocate_bitmask(1, vocabulary.size)
    ends = frozenset(vocabulary.eos_token_ids)
    seen = {matcher.state_id}
    queue: deque[tuple[Matcher, list[int]]] = deque([(matcher.fork(), [])])
    steps = 0
    while queue:
        place, path = queue.popleft()
        if place.is_complete:
            return path
        if len(path) == most:
            continue
        place.fill_bitmask(mask, 0)
        tokens: list[int] = np.flatnonzero(np.unpackbits(mask[0].view(np.uint8), bitorder="little")).tolist()
        if len(tokens) > _WIDEST:
            shortest = place.shortest_completion()
            tokens = [] if shortest is None else [token for token, _ in _prefix_tokens(shortest, vocabulary)]
        for token in tokens:
            if vocabulary.token_bytes(token) is None or token in ends or not place.accept(token):
                continue
            steps += 1
            ahead = place.fork()
            place.rollback(1)
            if ahead.is_complete:
                return [*path, token]
            if ahead.state_id not in seen:
                seen.add(ahead.state_id)
                queue.append((ahead, [*path, token]))
            if steps >= _MOST_STEPS:
                return None
    return None


def _prefix_tokens(text: bytes, vocabulary: Vocabulary) -> list[tuple[int, int]]:
    """Tokens that write the beginning of ``text``, with their lengths, longest first."""
    found: list[tuple[int, int]] = []
    first = vocabulary.tokenize_greedy(text)
    length = len(text) if first is None else len(vocabulary.token_bytes(first[0]) or b"") if first else 0
    for end in range(length, 0, -1):
        tokens = vocabulary.tokenize_greedy(text[:end])
        if tokens is not None and len(tokens) == 1:
            found.append((tokens[0], end))
    return found
