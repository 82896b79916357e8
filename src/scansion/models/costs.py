"""What a forward pass of n tokens costs on this model and machine, learned from the passes that were run."""

from __future__ import annotations

from bisect import bisect_left

__all__ = ["ForwardCosts"]

_FORGET = 1.02
"""A recorded best time grows by this factor per later pass of the same size, so that a slower machine is noticed."""


class ForwardCosts:
    """Seconds per forward pass by number of tokens in it, up to ``longest``; sizes never run are interpolated.

    Times are near-minimum rather than averages: a pass delayed by another process says nothing about the model.
    """

    def __init__(self, longest: int = 64) -> None:
        self._longest = longest
        self._best: dict[int, float] = {}
        self._sizes: list[int] = []

    def record(self, n_tokens: int, seconds: float) -> None:
        """Learn from a pass. Passes over more than ``longest`` tokens (prompts) are not kept."""
        if not 1 <= n_tokens <= self._longest or seconds <= 0:
            return
        best = self._best.get(n_tokens)
        if best is None:
            self._sizes.insert(bisect_left(self._sizes, n_tokens), n_tokens)
            self._best[n_tokens] = seconds
        else:
            self._best[n_tokens] = min(seconds, best * _FORGET)

    def estimate(self, n_tokens: int) -> float | None:
        """Seconds a pass over ``n_tokens`` would take; None until two different sizes have been run."""
        sizes = self._sizes
        if len(sizes) < 2:
            return None
        if n_tokens in self._best:
            return self._best[n_tokens]
        place = bisect_left(sizes, n_tokens)
        # Outside what was measured, the line through the two nearest sizes goes on.
        low, high = sizes[max(0, min(place - 1, len(sizes) - 2))], sizes[max(1, min(place, len(sizes) - 1))]
        slope = (self._best[high] - self._best[low]) / (high - low)
        return max(self._best[low] + slope * (n_tokens - low), 1e-9)

    def best_length(self, chances: list[float]) -> int:
        """How many of the drafted tokens to send, for the most expected tokens per second.

        Args:
            chances: for each drafted token in order, the chance that it is accepted if all before it were.

        Returns:
            0 to ``len(chances)``; all of them while costs are still unknown.
        """
        single = self.estimate(1)
        if single is None:
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
