"""Where draft tokens come from: spans the grammar leaves no choice about, and text that was there before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from scansion.models.base import LanguageModel

__all__ = ["ForcedSpans", "PromptLookup", "SpanHabits", "SpanSource", "whole_characters"]

_SEAM_TOKENS = 8
"""How many tokens before a forced span are tokenized again with it, to see where the tokenizer would cut."""
_HABITS = 6
"""Tokens remembered for each of the tokenizer's."""
_SAME_BYTES = 4
"""So many bytes to come make a place of forced text the same as an earlier one."""
_MAX_PLACES = 16_384
_LONGEST_MATCH = 4
_LONGEST_COMPARED = 16
_SHORTEST_MATCH = 2


class SpanSource(Protocol):
    """What knows which bytes must come: a ``Matcher``, or a tracker of one."""

    def forced_bytes(self, limit: int = 4096) -> bytes: ...

    def forced_token(self) -> int | None: ...


class ForcedSpans:
    """Turns forced bytes into the tokens the model's tokenizer would write them with."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._vocabulary = model.vocabulary

    def propose(self, forced: bytes, before: Sequence[int], limit: int) -> list[int]:
        """Tokens of the forced span, at most ``limit``.

        Args:
            forced: the span, in whole characters.
            before: the tokens of the answer so far; the last few decide how the span is cut.
            limit: the most tokens wanted.

        The last token is a guess where the span ends inside a token: what follows may be written with it.
        """
        return self._cut(forced, before)[:limit] if forced else []

    def _cut(self, forced: bytes, before: Sequence[int]) -> list[int]:
        seam: list[bytes] = []
        for token in reversed(before[-_SEAM_TOKENS:]):
            piece = self._vocabulary.token_bytes(token)
            if piece is None:
                break  # a special token: nothing is ever joined across it
            seam.append(piece)
        head = b"".join(reversed(seam))
        start = _first_character(head)
        tokens = self._after(head[start:], forced)
        if tokens is None and head:
            # The tokenizer would have joined the seam, but the model wrote it apart: the span is cut on its own.
            tokens = self._after(b"", forced)
        if tokens is None:
            tokens = self._vocabulary.tokenize_greedy(forced)
        return tokens or []

    def _after(self, head: bytes, forced: bytes) -> list[int] | None:
        """The tokens of ``head + forced`` that make up ``forced``; None where no token ends between the two."""
        tokens = self._model.tokenize(head + forced)
        position = 0
        for index, token in enumerate(tokens):
            if position == len(head):
                return tokens[index:] if self._spells(tokens[index:], forced) else None
            piece = self._vocabulary.token_bytes(token)
            if piece is None:
                return None
            position += len(piece)
            if position > len(head):
                return None
        return None

    def _spells(self, tokens: Sequence[int], text: bytes) -> bool:
        # Tokenizers that put a space before every text would otherwise slip one in.
        pieces = [self._vocabulary.token_bytes(token) for token in tokens]
        return None not in pieces and b"".join(piece or b"" for piece in pieces) == text


class SpanHabits:
    """How the model itself cuts forced text, where that is not as its tokenizer would.

    A model writes ``{`` and ``"`` where the tokenizer has ``{"``, or ``gr``, ``ee`` after an ``a`` it has just chosen: mostly
    the same way in the same place. Two tables remember it: what was written after a token where the same bytes were to come,
    and what was written where the tokenizer had another token.
    """

    def __init__(self, token_bytes: Callable[[int], bytes | None]) -> None:
        self._token_bytes = token_bytes
        self._places: dict[tuple[int | None, bytes], int] = {}
        self._instead: dict[int, list[int]] = {}

    def learn(self, before: int | None, forced: bytes, expected: int | None, token: int) -> None:
        """With ``forced`` to come, ``token`` was written after ``before``, where the tokenizer has ``expected``.

        ``before`` is None where the answer starts: what is written first there is a habit as well."""
        place = (before, forced[:_SAME_BYTES])
        self._places.pop(place, None)  # the latest last
        self._places[place] = token
        if len(self._places) > _MAX_PLACES:
            del self._places[next(iter(self._places))]
        if expected is not None:
            tokens = self._instead.setdefault(expected, [])
            if token in tokens:
                tokens.remove(token)
            tokens.insert(0, token)
            del tokens[_HABITS:]

    def written(self, before: int | None, forced: bytes) -> int | None:
        """The token written last time in the same place, if it writes the beginning of ``forced``."""
        token = self._places.get((before, forced[:_SAME_BYTES]))
        return None if token is None else self._fitting([token], forced)

    def in_place_of(self, expected: int, forced: bytes) -> int | None:
        """The token last written where the tokenizer has ``expected``, if it writes the beginning of ``forced``."""
        return self._fitting(self._instead.get(expected, ()), forced)

    def _fitting(self, candidates: Sequence[int], forced: bytes) -> int | None:
        for token in candidates:
            data = self._token_bytes(token)
            if data and forced.startswith(data):
                return token
        return None


class PromptLookup:
    """Drafts by looking where the last tokens stood before, in prompt and answer, and going on as the text did there.

    (Prompt lookup decoding, Saxena 2023.) An index from the last tokens to where they ended keeps it constant time.
    """

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens: list[int] = []
        self._ends: dict[tuple[int, ...], int] = {}
        for token in tokens:
            self.append(token)

    def append(self, token: int) -> None:
        """The text goes on with ``token``."""
        # The gram that ends right before the token is entered now, so a lookup never finds the end of the text itself.
        tokens = self._tokens
        for length in range(_SHORTEST_MATCH, _LONGEST_MATCH + 1):
            if len(tokens) >= length:
                self._ends[tuple(tokens[-length:])] = len(tokens)
        tokens.append(token)

    def propose(self, ahead: Sequence[int], limit: int) -> tuple[list[int], int]:
        """What followed the last time the text had these last tokens.

        Args:
            ahead: tokens already drafted after the text.
            limit: the most tokens wanted.

        Returns:
            The tokens, and how many tokens before them were the same in both places, up to 16.
        """
        tokens = self._tokens
        tail = tokens[-_LONGEST_COMPARED:] + list(ahead)
        for length in range(min(_LONGEST_MATCH, len(tail)), _SHORTEST_MATCH - 1, -1):
            end = self._ends.get(tuple(tail[-length:]))
            if end is not None:
                longest = min(_LONGEST_COMPARED, len(tail), end)
                while length < longest and tokens[end - length - 1] == tail[-length - 1]:
                    length += 1
                return tokens[end : end + limit], length
        return [], 0


def whole_characters(data: bytes) -> bytes:
    """``data`` without an unfinished UTF-8 sequence at its end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return data
        if byte >= 0xC0:
            need = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data if back >= need else data[:-back]
    return data


def _first_character(data: bytes) -> int:
    """Where the first whole character of ``data`` starts."""
    start = 0
    while start < len(data) and 0x80 <= data[start] < 0xC0:
        start += 1
    return start
