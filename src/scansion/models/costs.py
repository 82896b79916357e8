"""What a forward pass of n tokens costs on this model and machine, learned from the passes that were run."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

__all__ = ["ForwardCosts"]

_SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 49)
"""Passes are told apart by the smallest of these that holds them: drafts of neighbouring lengths teach each other."""
_TRUSTED = 2
"""Passes of a size before its time is believed; until then it is tried."""
_FORGET = 1.02
"""A recorded best time grows by this factor per later pass of the same size, so that a slower machine is noticed."""


class ForwardCosts:
    """Seconds per forward pass by number of tokens in it.

    Times are near-minimum rather than averages: a pass delayed by another process says nothing about the model.
    """

    def __init__(self) -> None:
        self._best: dict[int, float] = {}
        self._count: dict[int, int] = {}

    def record(self, n_tokens: int, seconds: float) -> None:
        """Learn from a pass in which the logits of every token were wanted. Longer ones than drafts make are not kept."""
        size = _size(n_tokens)
        if size is None or seconds <= 0:
            return
        # Put down as the time of a full pass of this size.
        seconds *= size / n_tokens
        best = self._best.get(size)
        self._best[size] = seconds if best is None else min(seconds, best * _FORGET)
        self._count[size] = self._count.get(size, 0) + 1

    def estimate(self, n_tokens: int) -> float | None:
        """Seconds a pass over ``n_tokens`` would take; None where no such pass has been tried often enough."""
        size = _size(n_tokens)
        if size is None or self._count.get(size, 0) < _TRUSTED:
            return None
        return self._best[size] * n_tokens / size

    def best_length(self, chances: Sequence[float]) -> int:
        """How many of the drafted tokens to send, for the most expected tokens per second.

        Args:
            chances: for each drafted token in order, the chance that it is accepted if all before it were.

        Returns:
            0 to ``len(chances)``; all of them where passes of that length have not been tried yet and they are likelier
            right than not.
        """
        single = self.estimate(1)
        if single is None or self.estimate(len(chances) + 1) is None:
            for index, chance in enumerate(chances):
                if chance < 0.5:
                    return index
            return len(chances)
        best, best_rate = 0, 1.0 / single
        expected, reach = 1.0, 1.0
        for length, chance in enumerate(chances, start=1):
            reach *= chance
            expected += reach
            seconds = self.estimate(length + 1)
            if seconds is not None and expected / seconds > best_rate:
                best, best_rate = length, expected / seconds
        return best


def _size(n_tokens: int) -> int | None:
    place = bisect_left(_SIZES, n_tokens)
    return _SIZES[place] if n_tokens >= 1 and place < len(_SIZES) else None
