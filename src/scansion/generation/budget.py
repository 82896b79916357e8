"""Answers that always finish: a token is taken only if what it leads to can still be completed within the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scansion.errors import RequestError

if TYPE_CHECKING:
    from scansion.matching import Matcher
    from scansion.vocabulary import Vocabulary

__all__ = ["BudgetedMatcher", "fewest_tokens"]

_UNBOUNDED = 1 << 60


class BudgetedMatcher:
    """A matcher that also refuses tokens after which the answer could not end in time.

    A completion of n bytes needs at most n tokens wherever every byte of it is a token, so the cheap test is by bytes; only
    where that fails is the shortest completion cut into tokens. ``_plan`` is a completion in tokens known to fit: whatever
    is drawn, following the plan stays possible, so there is always a way out.

    The budget counts tokens of text: ending needs no token of its own.
    """

    def __init__(self, matcher: Matcher, vocabulary: Vocabulary, remaining: int | None) -> None:
        """Wrap a matcher.

        Args:
            matcher: where the answer stands.
            vocabulary: the matcher's.
            remaining: tokens the rest of the answer may have; None sets no bound.

        Raises:
            RequestError: nothing that completes the answer fits.
        """
        self.matcher = matcher
        self._vocabulary = vocabulary
        self._remaining = remaining
        self._plan: list[int] | None = None
        self._missing: bytes | None = None
        self._cuts: dict[int, list[int] | None] = {}
        if remaining is not None and not self._fits(remaining):
            plan = self._cut()
            needed = f"{len(plan)} tokens" if plan is not None else f"{matcher.shortest_cost()} bytes"
            raise RequestError(f"a budget of {remaining} tokens is too small: the shortest answer has {needed}; raise max_tokens")

    def accept(self, token_id: int) -> bool:
        """Take the token if the grammar allows it and the answer can still end in time."""
        matcher = self.matcher
        if not matcher.accept(token_id):
            return False
        if self._remaining is None or matcher.is_finished:
            return True
        left = self._remaining - 1
        plan = self._plan
        if plan is not None and plan and plan[0] == token_id:
            self._plan = plan[1:]
        elif self._fits(left):
            pass
        else:
            matcher.rollback(1)
            self._plan = plan
            return False
        self._remaining = left
        return True

    def fill_bitmask(self, mask: NDArray[np.int32], row: int = 0) -> None:
        """The grammar's mask; tokens that lead too far are refused when drawn."""
        self.matcher.fill_bitmask(mask, row)

    def way_out(self) -> int | None:
        """The first token of a completion that fits."""
        if self._remaining is None:
            return None
        if self._plan is None:
            self._plan = self._cut()
        if self._plan is None:
            return None
        return self._plan[0] if self._plan else self._vocabulary.eos_token_ids[0]

    def spend(self, n_tokens: int) -> None:
        """Tokens were used elsewhere (on thinking)."""
        if self._remaining is not None:
            self._remaining -= n_tokens

    def least_tokens(self) -> int:
        """Tokens with which the answer can certainly be completed from here."""
        plan = self._cut()
        return self.matcher.shortest_cost() if plan is None else len(plan)

    def _fits(self, remaining: int) -> bool:
        """Whether the matcher's state can be completed; where only the cut into tokens fits, that becomes the plan."""
        if remaining < 0:
            return False
        self._plan = None
        if self.matcher.shortest_cost() <= remaining and self._is_single_bytes(self.matcher.shortest_completion()):
            return True
        plan = self._cut()
        if plan is None or len(plan) > remaining:
            return False
        self._plan = plan
        return True

    def _cut(self) -> list[int] | None:
        """The shortest completion from the current state in few tokens; None where it is not plain text."""
        state = self.matcher.state_id
        if state not in self._cuts:
            text = self.matcher.shortest_completion()
            self._cuts[state] = None if text is None else fewest_tokens(text, self._vocabulary)
        return self._cuts[state]

    def _is_single_bytes(self, text: bytes | None) -> bool:
        """Every byte of the text is a token, so that it takes at most as many tokens as it has bytes."""
        if text is None:
            return False
        if self._missing is None:
            self._missing = bytes(byte for byte in range(256) if self._vocabulary.tokenize_greedy(bytes([byte])) is None)
        return not self._missing or len(text.translate(None, self._missing)) == len(text)


def fewest_tokens(text: bytes, vocabulary: Vocabulary) -> list[int] | None:
    """The least number of tokens whose bytes make up ``text``, or None where some byte has no token.

    A shortest path over byte positions. Candidate tokens at a position are the prefixes of the longest match there,
    found by asking the vocabulary for ever shorter pieces; quadratic in the longest token, linear in the text.
    """
    best: list[int] = [0] + [_UNBOUNDED] * len(text)
    came: list[tuple[int, int]] = [(0, -1)] * (len(text) + 1)
    for start in range(len(text)):
        if best[start] == _UNBOUNDED:
            continue
        first = vocabulary.tokenize_greedy(text[start:])
        if first is None:
            end = len(text)
        else:
            piece = vocabulary.token_bytes(first[0])
            end = start + len(piece or b"")
        while end > start:
            tokens = vocabulary.tokenize_greedy(text[start:end])
            if tokens is not None and len(tokens) == 1 and best[start] + 1 < best[end]:
                best[end] = best[start] + 1
                came[end] = (start, tokens[0])
            end -= 1
    if best[len(text)] == _UNBOUNDED:
        return None
    path: list[int] = []
    place = len(text)
    while place:
        place, token = came[place]
        path.append(token)
    return path[::-1]
