"""Predicted tokens, in the order in which they would come."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from scansion.generation.chances import Chances

__all__ = ["Ahead", "Draft", "FreeSpace"]

_LEAST_CHANCE = 0.05
"""Nothing is predicted behind what is less likely than this, however cheap drafts are."""
_SEEN_BEFORE = 8


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
    """Predictions behind each other, each with its chance if all before it come true.

    Attributes:
        drafts: the predictions.
        tokens: theirs.
        chances: the chance of each.
        certain: places of those that cannot but come true.
        before: the last tokens of the answer, and those predicted: what comes before the next prediction.
        room: how many more are wanted.
    """

    def __init__(self, limit: int, answer: Sequence[int], chances: Mapping[str, Chances], least_chance: float) -> None:
        """
        Args:
            limit: the most predictions wanted.
            answer: the tokens so far.
            chances: those of predictions, by source.
            least_chance: nothing is wanted behind what is less likely than this to come true as a whole.
        """
        self.drafts: list[Draft] = []
        self.tokens: list[int] = []
        self.chances: list[float] = []
        self.certain: list[int] = []
        self.before: list[int] = [*answer[-_SEEN_BEFORE:]]
        self._limit = limit
        self._chances = chances
        self._least_chance = max(least_chance, _LEAST_CHANCE)
        self._reach = 1.0
        self.room = max(0, limit) if self._least_chance <= 1 else 0

    def add(self, draft: Draft, *, certain: bool = False) -> None:
        if certain:
            chance = 1.0
            self.certain.append(len(self.drafts))
        else:
            chance = self._chances[draft.source].estimate(draft.kind, draft.guess, draft.item)
        self.drafts.append(draft)
        self.tokens.append(draft.token)
        self.before.append(draft.token)
        self.chances.append(chance)
        self._reach *= chance
        self.room = max(0, self._limit - len(self.drafts)) if self._reach >= self._least_chance else 0
