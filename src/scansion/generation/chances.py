"""How likely a prediction is to come true, learned from how those like it fared."""

from __future__ import annotations

from collections.abc import Hashable

__all__ = ["Chances"]

_FORGET = 0.9
"""Weight of what was seen before at each new outcome: about the last ten count."""
_WEIGHT_OF_KIND = 2.0
"""Outcomes the first guess for a kind is worth."""
_MAX_ITEMS = 16_384
_WEIGHT_OF_ITEM = 1.0
"""Outcomes of its kind are worth that many of an item's own."""


class Chances:
    """Running shares of predictions that came true, by kind and, where an item is named, by item.

    A kind starts from a first guess and an item from the kind it is asked with; both move with what is seen and forget what
    is long past. Predictions of several kinds may share an item.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[float, float]] = {}
        self._items: dict[Hashable, tuple[float, float]] = {}

    def estimate(self, kind: str, first_guess: float, item: Hashable = None) -> float:
        """The chance of the next prediction of this kind (and item), strictly between 0 and 1 for guesses that are."""
        hits, seen = self._kinds.get(kind, (0.0, 0.0))
        chance = (hits + _WEIGHT_OF_KIND * first_guess) / (seen + _WEIGHT_OF_KIND)
        if item is None:
            return chance
        hits, seen = self._items.get(item, (0.0, 0.0))
        return (hits + _WEIGHT_OF_ITEM * chance) / (seen + _WEIGHT_OF_ITEM)

    def learn(self, kind: str, hit: bool, item: Hashable = None) -> None:
        """A prediction came true, or another token was drawn in its place."""
        hits, seen = self._kinds.get(kind, (0.0, 0.0))
        self._kinds[kind] = (hits * _FORGET + hit, seen * _FORGET + 1)
        if item is not None:
            hits, seen = self._items.pop(item, (0.0, 0.0))
            self._items[item] = (hits * _FORGET + hit, seen * _FORGET + 1)  # the latest last
            if len(self._items) > _MAX_ITEMS:
                del self._items[next(iter(self._items))]
