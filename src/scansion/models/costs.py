"""What a forward pass of n tokens costs on this model and machine, learned from the passes that were run."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["ForwardCosts"]

_SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 49)
"""Passes are told apart by the smallest of these that holds them: drafts of neighbouring lengths teach each other."""
_SIZE_OF = (1, *(next(size for size in _SIZES if n <= size) for n in range(1, _SIZES[-1] + 1)))
_GUESSED_SLOPE = 0.15
"""What each further token is taken to add to a pass, as a share of a single-token pass, before any was measured. A hopeful
guess: it makes the first drafts be sent, and they tell."""
_PACE = 0.2
"""How much one pass moves the running pace of the machine."""
_SLOWEST_LEARNING = 0.03
"""How much one pass moves what is known of its size once many were run."""
_OUTLIER = 1.5
"""A pass that took more than this many times what was expected counts as having taken that: somebody else's doing."""
_BELIEVED = 2
"""Passes of a size before it may say that it costs more than its neighbours let expect; the faster of them counts."""
_SURE = 0.8
_DOUBTFUL = 0.97
_PACE_AFTER_MISS = 0.65
"""What a token costs where nothing is known of the text any more, in passes over one token."""
_TRY_AGAIN = 64
"""After so many times that drafts as sure as this did not seem to pay, a few are sent to see whether that is still so."""
_TRIAL = 3


class ForwardCosts:
    """Seconds per forward pass by number of tokens in it; sizes that were not run are interpolated.

    How a pass of four compares with a pass of one belongs to the model and hardly changes; how fast the machine is just now
    may change within a second. So passes of all sizes together tell the pace, and each one what its size costs at that pace.
    """

    def __init__(self) -> None:
        self._at_pace: dict[int, float] = {}
        self._runs: dict[int, int] = {}
        self._pace = 1.0
        self._declined = 0
        # Straight lines between the sizes that are believed, ascending, and what a further token adds on each of them. Passes
        # change costs little by little and the sizes rarely, so what every pass asks is kept.
        self._corners: list[int] = []
        self._slopes: list[float] = []

    def record(self, n_tokens: int, seconds: float) -> None:
        """Learn from a pass in which the logits of every token were wanted. Longer ones than drafts make are not kept."""
        if not 1 <= n_tokens < len(_SIZE_OF) or seconds <= 0:
            return
        size = _SIZE_OF[n_tokens]
        if size != n_tokens:  # put down as the time of a full pass of this size
            full, this = self.estimate(size), self.estimate(n_tokens)
            seconds *= size / n_tokens if full is None or this is None else full / this
        runs = self._runs[size] = self._runs.get(size, 0) + 1
        if runs <= _BELIEVED and size > 1:
            self._learn_anew(size, seconds / self._pace, runs)
            self._draw_lines()
            return
        if runs == 1:
            self._at_pace[size] = seconds / self._pace
            self._draw_lines()
            return
        surprise = seconds / (self._at_pace[size] * self._pace)
        surprise = min(max(surprise, 1 / _OUTLIER), _OUTLIER) - 1
        self._at_pace[size] *= 1 + surprise * max(1 / runs, _SLOWEST_LEARNING)
        if runs > 2:  # what is hardly known says nothing about the machine
            self._pace *= 1 + surprise * _PACE
        corner = self._corners.index(size)
        if corner:
            self._draw_line(corner - 1)
        if corner < len(self._slopes):
            self._draw_line(corner)

    def _draw_lines(self) -> None:
        """A size is believed now, or is no longer."""
        self._corners = sorted(size for size in self._at_pace if size == 1 or self._runs[size] >= _BELIEVED)
        self._slopes = [0.0] * max(0, len(self._corners) - 1)
        for place in range(len(self._slopes)):
            self._draw_line(place)

    def _draw_line(self, place: int) -> None:
        low, high = self._corners[place], self._corners[place + 1]
        self._slopes[place] = (self._at_pace[high] - self._at_pace[low]) / (high - low)

    def _learn_anew(self, size: int, cost: float, runs: int) -> None:
        """One of the first passes of a size, or of the first since it was given up: others may have run in between."""
        old, single = self._at_pace.get(size), self._at_pace.get(1)
        self._at_pace[size] = cost if runs == 1 or old is None else min(cost, old)
        if runs == 1 and old is not None and single is not None and old > single > 0:
            # What changed for this size has changed for those that were not tried.
            change = max(cost - single, 0.0) / (old - single)
            for other in self._at_pace:
                if other not in (1, size):
                    self._at_pace[other] = single + (self._at_pace[other] - single) * change

    def estimate(self, n_tokens: int) -> float | None:
        """Seconds a pass over ``n_tokens`` would take; None until a pass over a single token has been run."""
        return self._line(n_tokens)[-1] if 1 in self._at_pace else None

    def least_chance(self) -> float:
        """A draft less likely than this to be reached and right brings less than a pass of its own would, however many more follow it:
        the least that any further token was measured to add to a pass, in passes over one token. 0 while little is known."""
        if not self._slopes or self._corners[0] != 1:
            return 0.0
        return max(0.0, min(self._slopes) / self._at_pace[1])

    def _line(self, most: int) -> list[float]:
        """Estimates for 1 to ``most`` tokens: straight lines between the sizes that are believed, the last one going on."""
        known, single, pace = self._at_pace, self._at_pace[1], self._pace
        line = [single * pace]
        slope = _GUESSED_SLOPE * single
        low = 1
        for high, slope in zip(self._corners[1:], self._slopes, strict=True):
            if len(line) >= most:
                break
            cost = known[low]
            for n in range(low + 1, min(high, most) + 1):
                at = cost + slope * (n - low)
                line.append((at if at > single else single) * pace)
            low = high
        line += [max(known[low] + slope * (n - low), single) * pace for n in range(low + 1, most + 1)]
        if len(self._corners) < len(known):
            for size, cost in known.items():
                if size <= most and self._runs[size] < _BELIEVED:
                    line[size - 1] = min(line[size - 1], cost * pace)
        return line

    def best_length(self, chances: Sequence[float], *, each: float = 0.0, stays: Sequence[bool] = ()) -> int:
        """How many of the drafted tokens to send, for the most expected tokens per second.

        Args:
            chances: for each drafted token in order, the chance that it is accepted if all before it were.
            each: seconds it takes to make one of them, where they are not made yet.
            stays: for each drafted token whether those behind it can be drafted again where it proves wrong: the text is known, only
                how it is cut into tokens is not.

        Returns:
            0 to ``len(chances)``. While nothing is known of costs, all up to the first that is more likely wrong than right.
        """
        if not chances:
            return 0
        if 1 not in self._at_pace:
            return next((index for index, chance in enumerate(chances) if chance < 0.5), len(chances))
        line = self._line(len(chances) + 1)
        best, best_rate = 0, 1.0 / line[0]
        expected, reach = 1.0, 1.0
        for length, chance in enumerate(chances, start=1):
            reach *= chance
            expected += reach
            rate = expected / (line[length] + each * length)
            if rate > best_rate:
                best, best_rate = length, rate
        if best and stays and min(chances[:best]) < _DOUBTFUL:
            best = self._without_gambling(chances[:best], stays, line)
        if best:
            self._declined = 0
        elif not each and chances[0] >= _SURE:
            best = self._another_trial(len(chances))
        return best

    def _without_gambling(self, chances: Sequence[float], stays: Sequence[bool], line: Sequence[float]) -> int:
        """How many of the drafted tokens to send to have all of them written soonest.

        Tokens behind a doubtful one may be sent for nothing, while a pass that ends before it settles it, and they follow in the next
        one. Worked out from the last token back: what is left to do after j tokens takes ``ahead[j]`` seconds at best."""
        last = len(chances)
        ahead = [0.0] * last + [line[0]]
        # By place: what is left to do where the token before it proves wrong, and where one more is drawn behind it.
        missed_at = [0.0] * (last + 1)
        rest = [0.0] * (last + 1)
        first = 0
        for done in range(last - 1, -1, -1):
            behind = done + 1
            missed_at[behind] = ahead[behind] if stays[done] else (last - done) * _PACE_AFTER_MISS * line[0]
            rest[done] = chances[done] * ahead[behind] + (1 - chances[done]) * missed_at[behind]
            missed, reach = 0.0, 1.0
            soonest, first = line[0] + rest[done], 0
            for sent in range(1, last - done + 1):
                chance = chances[done + sent - 1]
                missed += reach * (1 - chance) * missed_at[done + sent]
                reach *= chance
                takes = line[sent] + missed + reach * rest[done + sent]
                if takes < soonest:
                    soonest, first = takes, sent
            ahead[done] = soonest
        return first

    def _another_trial(self, most: int) -> int:
        """Sure drafts do not seem to pay. Now and then some are sent all the same: the machine may have been busy when they last were."""
        self._declined += 1
        if self._declined < _TRY_AGAIN:
            return 0
        self._declined = 0
        length = min(_TRIAL, most)
        self._runs[_SIZE_OF[length + 1]] = 0
        self._draw_lines()
        return length
