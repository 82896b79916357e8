"""Where draft tokens come from: spans the grammar leaves no choice about, and text that was there before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scansion.models.base import LanguageModel

__all__ = ["ForcedSpans", "PromptLookup", "whole_characters"]

_SEAM_TOKENS = 8
"""How many tokens before a forced span are tokenized again with it, to see where the tokenizer would cut."""
_LONGEST_MATCH = 4
_LONGEST_COMPARED = 16
_SHORTEST_MATCH = 2


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


class PromptLookup:
    """Drafts by looking where the last tokens stood before, in prompt and answer, and going on as the text did there.

    (Prompt lookup decoding, Saxena 2023.) An index from the last tokens to where they ended keeps it constant time.
    """

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens: list[int] = [*tokens]
        self._ends: dict[tuple[int, ...], int] = {}
        self._entered = _SHORTEST_MATCH - 1
        """Grams that end here or before are in the index."""
        self.append = self._tokens.append
        """The text goes on with a token."""

    def _enter(self) -> None:
        """Bring the index up to the last token but one, so that a lookup never finds the end of the text itself."""
        tokens, ends = self._tokens, self._ends
        for end in range(self._entered + 1, len(tokens)):
            for length in range(_SHORTEST_MATCH, min(_LONGEST_MATCH, end) + 1):
                ends[tuple(tokens[end - length : end])] = end
        self._entered = max(self._entered, len(tokens) - 1)

    def propose(self, ahead: Sequence[int], limit: int) -> tuple[list[int], int]:
        """What followed the last time the text had these last tokens.

        Args:
            ahead: tokens already drafted after the text.
            limit: the most tokens wanted.

        Returns:
            The tokens, and how many tokens before them were the same in both places, up to 16.
        """
        self._enter()
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
