"""How a model itself writes text that a grammar forces, where that is not as its tokenizer would."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

from scansion.generation.predictions import FreeSpace

__all__ = ["LikePlace", "SpanHabits"]

_HABITS = 6
"""Tokens remembered for each of the tokenizer's."""
_SAME_BYTES = 4
"""So many bytes to come make a place of forced text the same as an earlier one."""
_MAX_PLACES = 16_384
_PUNCTUATION = frozenset(b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ \t\r\n")


class LikePlace(NamedTuple):
    """A token, and what the place it was written in has in common with others."""

    token: int
    after: Hashable
    """The token before, or the kind of its last character."""
    marks: bytes
    """The punctuation marks that were to come."""


class SpanHabits:
    """What was written where, the latest counting.

    A model writes ``{`` and ``"`` where the tokenizer has ``{"``, or ``gr``, ``ee`` after an ``a`` it has just chosen: mostly
    the same way in the same place. Remembered is what was written

    - after a token where the same bytes were to come,
    - after a token, or after one that ends in the same kind of character, where the same punctuation marks were to come
      before whatever else,
    - where the tokenizer had another token,
    - after a token where white space alone was free.
    """

    def __init__(self, token_bytes: Callable[[int], bytes | None]) -> None:
        self._token_bytes = token_bytes
        self._places: dict[Hashable, int] = {}
        self._instead: dict[int, list[int]] = {}

    def learn(self, before: int | None, forced: bytes, expected: int | None, token: int) -> None:
        """With ``forced`` to come, ``token`` was written after ``before``, where the tokenizer has ``expected``.

        ``before`` is None where the answer starts: what is written first there is a habit as well."""
        self._remember((before, forced[:_SAME_BYTES]), token)
        marks = _marks(forced)
        if marks and len(self._token_bytes(token) or b"") <= len(marks):
            self._remember(("marks", before, marks), token)
            self._remember(("marks", self._ending(before), marks), token)
        if expected is not None:
            tokens = self._instead.setdefault(expected, [])
            if token in tokens:
                tokens.remove(token)
            tokens.insert(0, token)
            del tokens[_HABITS:]

    def learn_space(self, space: FreeSpace, token: int) -> None:
        """In this place, where white space alone is free, ``token`` was written."""
        self._remember(("space", space), token)

    def written(self, before: int | None, forced: bytes) -> int | None:
        """The token written last time in the same place, if it writes the beginning of ``forced``."""
        token = self._places.get((before, forced[:_SAME_BYTES]))
        return token if token is not None and self._writes(token, forced) else None

    def written_like(self, before: int | None, forced: bytes) -> LikePlace | None:
        """The token written last where the same marks were to come, after ``before`` or else after something that ends like it."""
        marks = _marks(forced)
        for after in (before, self._ending(before)) if marks else ():
            token = self._places.get(("marks", after, marks))
            if token is not None:
                return LikePlace(token, after, marks)
        return None

    def in_place_of(self, expected: int, forced: bytes) -> int | None:
        """The token last written where the tokenizer has ``expected``, if it writes the beginning of ``forced``."""
        return next((token for token in self._instead.get(expected, ()) if self._writes(token, forced)), None)

    def space(self, space: FreeSpace) -> int | None:
        """The token written last in this place, where white space alone is free."""
        return self._places.get(("space", space))

    def _remember(self, place: Hashable, token: int) -> None:
        if self._places.get(place) == token:
            return
        self._places[place] = token
        if len(self._places) > _MAX_PLACES:
            del self._places[next(iter(self._places))]  # the one that came first

    def _writes(self, token: int, forced: bytes) -> bool:
        """Whether a token writes the beginning of a text."""
        data = self._token_bytes(token) or None
        return data is not None and forced.startswith(data)

    def _ending(self, token: int | None) -> str:
        """The kind of a token's last character: itself where it is a mark."""
        data = None if token is None else self._token_bytes(token)
        if not data:
            return "nothing"
        last = data[-1:]
        return "digit" if last.isdigit() else chr(last[0]) if last[0] in _PUNCTUATION else "letter"


def _marks(forced: bytes) -> bytes:
    """The punctuation marks a forced text begins with, as many as make a place the same."""
    count = 0
    while count < min(len(forced), _SAME_BYTES) and forced[count] in _PUNCTUATION:
        count += 1
    return forced[:count]
