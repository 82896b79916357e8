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
_PACE = 0.2
"""How much one pass moves the running pace of the machine."""
_SLOWEST_LEARNING = 0.03
"""How much one pass moves what is known of its size once many were run."""
_OUTLIER = 1.5
"""A pass that took more than this many times what was expected counts as having taken that: somebody else's doing."""


class ForwardCosts:
    """Seconds per forward pass by number of tokens in it; sizes that were not run are interpolated.

    How a pass of four compares with a pass of one belongs to the model and hardly changes; how fast the machine is just now
    may change within a second. So passes of all sizes together tell the pace, and each one what its size costs at that pace.
    """

    def __init__(self) -> None:
        self._at_pace: dict[int, float] = {}
        self._runs: dict[int, int] = {}
        self._pace = 1.0

    def record(self, n_tokens: int, seconds: float) -> None:
        """Learn from a pass in which the logits of every token were wanted. Longer ones than drafts make are not kept."""
        size = _size(n_tokens)
        if size is None or seconds <= 0:
            return
        if size != n_tokens:  # put down as the time of a full pass of this size
            full, this = self.estimate(size), self.estimate(n_tokens)
            seconds *= size / n_tokens if full is None or this is None else full / this
        runs = self._runs[size] = self._runs.get(size, 0) + 1
        if runs == 1:
            self._at_pace[size] = seconds / self._pace
            return
        surprise = seconds / (self._at_pace[size] * self._pace)
        surprise = min(max(surprise, 1 / _OUTLIER), _OUTLIER) - 1
        self._at_pace[size] *= 1 + surprise * max(1 / runs, _SLOWEST_LEARNING)
        if runs > 2:  # what is hardly known says nothing about the machine
            self._pace *= 1 + surprise * _PACE

    def estimate(self, n_tokens: int) -> float | None:
        """Seconds a pass over ``n_tokens`` would take; None until a pass over a single token has been run."""
        known = self._at_pace
        if 1 not in known:
            return None
        if n_tokens in known:
            return known[n_tokens] * self._pace
        sizes = sorted(known)
        if len(sizes) == 1:
            return known[1] * self._pace * (1 + _GUESSED_SLOPE * (n_tokens - 1))
        place = min(max(bisect_left(sizes, n_tokens), 1), len(sizes) - 1)  # beyond what was run, the last line goes on
        low, high = sizes[place - 1], sizes[place]
        slope = (known[high] - known[low]) / (high - low)
        return max(known[low] + slope * (n_tokens - low), known[1]) * self._pace

    def best_length(self, chances: Sequence[float], *, each: float = 0.0) -> int:
        """How many of the drafted tokens to send, for the most expected tokens per second.

        Args:
            chances: for each drafted token in order, the chance that it is accepted if all before it were.
            each: seconds it takes to make one of them, where they are not made yet.

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
            if seconds is not None and expected / (seconds + each * length) > best_rate:
                best, best_rate = length, expected / (seconds + each * length)
        return best


def _size(n_tokens: int) -> int | None:
    place = bisect_left(_SIZES, n_tokens)
    return _SIZES[place] if n_tokens >= 1 and place < len(_SIZES) else None
