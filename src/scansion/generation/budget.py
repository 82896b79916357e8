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
_SPARE_FACTOR = 2
_SPARE = 64
"""With this many times the estimated bytes and this many more tokens left, the estimate is believed."""


class BudgetedMatcher:
    """A matcher that also refuses tokens after which the answer could not end in time.

    Tests, cheapest first, each only where the ones before do not decide:

    1. the kernel's estimate of the bytes left; it is a lower bound, so it decides only with much room to spare,
    2. the completion found earlier, if it still completes the text: inside a string it usually does,
    3. the shortest completion from here, cut greedily into tokens,
    4. the same cut into as few tokens as it can be.

    ``_completion`` is a text known to complete the answer within the budget, or None where the estimate sufficed. Following
    it stays possible whatever is drawn, so there is always a way out. The budget counts tokens of text: ending needs no token.
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
        self._completion: bytes | None = None
        if remaining is not None and not self._fits(remaining, None):
            raise RequestError(
                f"a budget of {remaining} tokens is too small: the shortest answer has {self.least_tokens()} tokens; raise max_tokens"
            )

    def accept(self, token_id: int) -> bool:
        """Take the token if the grammar allows it and the answer can still end in time."""
        matcher = self.matcher
        if not matcher.accept(token_id):
            return False
        if self._remaining is None or matcher.is_finished:
            return True
        before = self._completion
        expected = before
        if before is not None:
            data = self._vocabulary.token_bytes(token_id) or b""
            expected = before[len(data) :] if before.startswith(data) else before
        if not self._fits(self._remaining - 1, expected):
            matcher.rollback(1)
            self._completion = before
            return False
        self._remaining -= 1
        return True

    def fill_bitmask(self, mask: NDArray[np.int32], row: int = 0) -> None:
        """The grammar's mask; tokens that lead too far are refused when drawn."""
        self.matcher.fill_bitmask(mask, row)

    def way_out(self) -> int | None:
        """The first token of a completion that fits, or an end token where the answer is complete."""
        if self._remaining is None:
            return None
        text = self.matcher.shortest_completion() if self._completion is None else self._completion
        tokens = None if text is None else fewest_tokens(text, self._vocabulary)
        if tokens is None:
            return None
        return tokens[0] if tokens else self._vocabulary.eos_token_ids[0]

    def spend(self, n_tokens: int) -> None:
        """Tokens were used elsewhere (on thinking)."""
        if self._remaining is not None:
            self._remaining -= n_tokens

    def least_tokens(self) -> int:
        """Tokens with which the answer can certainly be completed from here."""
        text = self.matcher.shortest_completion()
        tokens = None if text is None else fewest_tokens(text, self._vocabulary)
        return self.matcher.shortest_cost() if tokens is None else len(tokens)

    def _fits(self, remaining: int, expected: bytes | None) -> bool:
        """Whether the matcher's state can be completed with ``remaining`` tokens. ``expected`` may be a completion."""
        self._completion = None
        estimate = self.matcher.shortest_cost()
        if estimate < 0 or remaining < 0:
            return False
        if remaining >= _SPARE_FACTOR * estimate + _SPARE:
            return True
        if expected is not None and self._completes(expected) and self._token_count(expected, remaining) <= remaining:
            self._completion = expected
            return True
        text = self.matcher.shortest_completion()
        if text is None:  # not plain text (token terminals): each item is a token
            return estimate <= remaining
        if self._token_count(text, remaining) <= remaining:
            self._completion = text
            return True
        return False

    def _completes(self, text: bytes) -> bool:
        ahead = self.matcher.fork()
        return ahead.accept_bytes(text) and ahead.is_complete

    def _token_count(self, text: bytes, enough: int) -> int:
        """Tokens the text needs: exactly, or any number found quickly that is at most ``enough``."""
        greedy = self._vocabulary.tokenize_greedy(text)
        if greedy is not None and len(greedy) <= enough:
            return len(greedy)
        tokens = fewest_tokens(text, self._vocabulary)
        return _UNBOUNDED if tokens is None else len(tokens)


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
