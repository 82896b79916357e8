"""What a forward pass of n tokens costs on this model and machine, learned from the passes that were run."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

__all__ = ["ForwardCosts"]

_SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 49)
"""Passes are told apart by the smallest of these that holds them: drafts of neighbouring lengths teach each other."""
_GUESSED_SLOPE = 0.15
"""What each further token is taken to add to a pass, as a share of a single-token pass, before any was measured. A hopeful
guess: it makes the first drafts be sent, and they tell."""
_FORGET = 1.02
"""A recorded best time grows by this factor per later pass of the same size, so that a slower machine is noticed."""


class ForwardCosts:
    """Seconds per forward pass by number of tokens in it; sizes that were not run are interpolated.

    Times are near-minimum rather than averages: a pass delayed by another process says nothing about the model.
    """

    def __init__(self) -> None:
        self._best: dict[int, float] = {}

    def record(self, n_tokens: int, seconds: float) -> None:
        """Learn from a pass in which the logits of every token were wanted. Longer ones than drafts make are not kept."""
        size = _size(n_tokens)
        if size is None or seconds <= 0:
            return
        seconds *= size / n_tokens  # put down as the time of a full pass of this size
        best = self._best.get(size)
        self._best[size] = seconds if best is None else min(seconds, best * _FORGET)

    def estimate(self, n_tokens: int) -> float | None:
        """Seconds a pass over ``n_tokens`` would take; None until a pass over a single token has been run."""
        best = self._best
        if 1 not in best:
            return None
        if n_tokens in best:
            return best[n_tokens]
        sizes = sorted(best)
        if len(sizes) == 1:
            return best[1] * (1 + _GUESSED_SLOPE * (n_tokens - 1))
        place = min(max(bisect_left(sizes, n_tokens), 1), len(sizes) - 1)  # beyond what was run, the last line goes on
        low, high = sizes[place - 1], sizes[place]
        slope = (best[high] - best[low]) / (high - low)
        return max(best[low] + slope * (n_tokens - low), best[1])

    def best_length(self, chances: Sequence[float]) -> int:
        """How many of the drafted tokens to send, for the most expected tokens per second.

        Args:
            chances: for each drafted token in order, the chance that it is accepted if all before it were.

        Returns:
            0 to ``len(chances)``. While nothing is known of costs, all up to the first that is more likely wrong than right.
        """
        single = self.estimate(1)
        if single is None:
            return next((index for index, chance in enumerate(chances) if chance < 0.5), len(chances))
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
