"""Predicted tokens, in the order in which they would come."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

__all__ = ["Ahead", "Draft", "FreeSpace"]

_LEAST_REACH = 0.05
"""Nothing is predicted behind what is less likely than this to come true as a whole."""


class FreeSpace(NamedTuple):
    """A place where only white space is free."""

    before: int | None
    """The token before it; None where the answer starts."""
    following: bytes
    """The bytes that may come."""
    line: int | None
    """The token the line began with, which has its indentation; None in the first line."""


class Draft(NamedTuple):
    """A predicted token."""

    token: int
    source: str
    kind: str
    """Predictions of one kind share a chance."""
    guess: float
    """The chance of the kind before anything is known."""
    item: Hashable = None
    """Those of one item too, where they have one: it is worth more than the kind once it was seen."""
    expected: int | None = None
    """In a forced span: what the tokenizer has in this place."""
    rest: bytes = b""
    """In a forced span: what is to come from this place on."""
    space: FreeSpace | None = None
    """Where only white space is free: the place."""


class Ahead:
    """Predictions behind each other, each with its chance if all before it come true."""

    def __init__(self, limit: int, chance: Callable[[Draft], float]) -> None:
        """
        Args:
            limit: the most predictions wanted.
            chance: the chance of one.
        """
        self.drafts: list[Draft] = []
        self.chances: list[float] = []
        self._limit = limit
        self._chance = chance
        self._reach = 1.0

    @property
    def room(self) -> int:
        """How many more are wanted: none where what is there already is not going to come true."""
        return max(0, self._limit - len(self.drafts)) if self._reach >= _LEAST_REACH else 0

    @property
    def tokens(self) -> list[int]:
        return [draft.token for draft in self.drafts]

    def add(self, draft: Draft) -> None:
        chance = self._chance(draft)
        self.drafts.append(draft)
        self.chances.append(chance)
        self._reach *= chance
