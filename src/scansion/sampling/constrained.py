"""The draw comes first; only a refused one pays for a whole mask.

Most tokens a model draws under a grammar it was prompted for are legal, and checking one token is far cheaper than
computing which of all tokens are. So: draw, check the one token, and only where it is refused compute the mask and draw
again from the same generator (the order in which llama.cpp's server draws). The distribution this gives is p(t) for a
legal t drawn at once plus (1 - p(legal)) times the masked distribution: more weight on likely tokens than mask-first
sampling gives where truncating samplers are on, the same without them up to that mixture.
"""

from __future__ import annotations

from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scansion.errors import DeadEndError
from scansion.matching import apply_bitmask
from scansion.sampling.chain import Drawer, GreedyDrawer

__all__ = ["ConstrainedDraws", "Constraining"]

_NEVER = np.float32(-np.inf)
_MAX_REDRAWS = 24
_VERY_FEW = 24
"""So many words of a mask are looked at one by one."""


class Constraining(Protocol):
    """What can refuse tokens: a ``Matcher``, or something around one."""

    def accept(self, token_id: int) -> bool:
        """Take the token, or return False and change nothing."""

    def fill_bitmask(self, mask: NDArray[np.int32], row: int = 0) -> None:
        """Set bit ``id % 32`` of word ``id // 32`` of a row for every token that may be accepted.

        May promise too much: a token that ``accept`` then refuses is drawn again without it."""

    def way_out(self) -> int | None:
        """A token that is certainly accepted, for the case that all draws were refused; None where nothing is known."""


class ConstrainedDraws:
    """Draws tokens under a constraint and counts what that cost.

    Attributes:
        draws: tokens drawn.
        redraws: how many of them were refused and paid for a mask.
        seconds: time spent on the constraint for each token: check, and where needed mask and its application.
        friction: where asked for, the probability (of the model's own distribution, at temperature 1) that the
            constraint took away at each token.
    """

    def __init__(self, drawer: Drawer, vocabulary_size: int, *, measure_friction: bool = False) -> None:
        self.drawer = drawer
        self.draws = 0
        self.redraws = 0
        self.seconds: list[float] = []
        self.friction: list[float] = []
        self._measure_friction = measure_friction
        self._size = vocabulary_size
        self._mask = np.zeros((1, (vocabulary_size + 31) // 32), np.int32)
        self._words = self._mask[0].view(np.uint32)

    def at_once(self, rows: NDArray[np.float32]) -> list[int]:
        """The first draw of every row, shape (rows, vocabulary size), where draws depend on nothing but their own row; else nothing."""
        return rows.argmax(axis=1).tolist() if isinstance(self.drawer, GreedyDrawer) else []

    def draw(self, logits: NDArray[np.float32], constraint: Constraining | None, drawn: int | None = None) -> int:
        """The next token, accepted by the constraint and by the samplers. ``logits`` may be changed.

        Args:
            logits: shape (vocabulary size,).
            constraint: what may refuse tokens.
            drawn: the first draw, where ``at_once`` has told it already.

        Raises:
            DeadEndError: the constraint allows nothing.
        """
        self.draws += 1
        drawer = self.drawer
        if self._measure_friction:
            self.friction.append(self._removed_probability(logits, constraint) if constraint is not None else 0.0)
        token = drawer.draw(logits) if drawn is None else drawn
        if constraint is not None:
            started = perf_counter()
            accepted = constraint.accept(token)
            spent = perf_counter() - started
            if not accepted:
                self.redraws += 1
                token, spent_again = self._redraw(logits, constraint, token)
                spent += spent_again
            self.seconds.append(spent)
        drawer.accept(token)
        return token

    def take(self, token: int, constraint: Constraining) -> None:
        """Go on with the only token the constraint allows, without a draw.

        Raises:
            DeadEndError: it is refused.
        """
        self.draws += 1
        started = perf_counter()
        if not constraint.accept(token):
            raise DeadEndError(f"the constraint takes none but token {token} here, and not that one either: please report the grammar")
        self.seconds.append(perf_counter() - started)
        self.drawer.accept(token)

    def _redraw(self, logits: NDArray[np.float32], constraint: Constraining, refused: int) -> tuple[int, float]:
        started = perf_counter()
        constraint.fill_bitmask(self._mask, 0)
        words = self._words
        words[refused >> 5] &= ~np.uint32(1 << (refused & 31))
        some: list[int] = words.nonzero()[0].tolist()
        few: list[int] = []
        if isinstance(self.drawer, GreedyDrawer) and len(some) <= _VERY_FEW:
            # The largest of a few logits is found without touching all of them; the least id among equals, as always.
            few = [*_tokens(words, some), refused]
            logits[refused] = _NEVER
        else:
            apply_bitmask(logits, self._mask[0])
        spent = perf_counter() - started
        for _ in range(_MAX_REDRAWS):
            token = max(few, key=logits.__getitem__) if few else self.drawer.draw(logits)
            if logits[token] == _NEVER:
                break  # nothing is left
            started = perf_counter()
            accepted = constraint.accept(token)
            spent += perf_counter() - started
            if accepted:
                return token, spent
            # Drawing without replacement until one fits leaves the fitting tokens their proportions.
            logits[token] = _NEVER
        way_out = constraint.way_out()
        if way_out is None or not constraint.accept(way_out):
            count = int(np.unpackbits(words.view(np.uint8)).sum())
            raise DeadEndError(f"the constraint allows no token here ({count} in its mask): please report the grammar")
        return way_out, spent

    def _removed_probability(self, logits: NDArray[np.float32], constraint: Constraining) -> float:
        weights = np.exp(logits.astype(np.float64) - float(logits.max()))
        constraint.fill_bitmask(self._mask, 0)
        return float(weights[~_allowed(self._words, self._size)].sum() / weights.sum())


def _allowed(words: NDArray[np.uint32], size: int) -> NDArray[np.bool_]:
    """A mask's row as one truth value for each token."""
    return np.unpackbits(words.view(np.uint8), bitorder="little", count=size).view(np.bool_)


def _tokens(words: NDArray[np.uint32], some: list[int]) -> list[int]:
    """The tokens of a mask's row, ascending, given the words that have any."""
    tokens: list[int] = []
    for place in some:
        bits = int(words[place])
        while bits:
            low = bits & -bits
            tokens.append(place * 32 + low.bit_length() - 1)
            bits ^= low
    return tokens
