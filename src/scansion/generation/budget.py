"""Answers that always finish: a token is taken only if what it leads to can still be completed within the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scansion.errors import RequestError
from scansion.generation.completions import completion_in_tokens, fewest_tokens

if TYPE_CHECKING:
    from scansion.matching import Matcher
    from scansion.vocabulary import Vocabulary

__all__ = ["BudgetedMatcher"]

_SPARE_FACTOR = 2
_SPARE = 64
"""With this many times the estimated bytes and this many more tokens left, the estimate is believed."""
_MAX_SEARCHED = 4096


class _Way(NamedTuple):
    """A text that completes the answer, and tokens that write it."""

    text: bytes
    tokens: list[int]


class BudgetedMatcher:
    """A matcher that also refuses tokens after which the answer could not end in time.

    Tests, cheapest first, each only where the ones before do not decide:

    1. the kernel's estimate of the bytes left; it is a lower bound, so it decides only with much room to spare,
    2. the completion found earlier, if the token is its beginning, or it still completes the text: inside a string it usually does,
    3. the shortest completion from here, cut greedily into tokens,
    4. the same cut into as few tokens as it can be,
    5. a completion with more bytes but fewer tokens, looked for under a bound on steps.

    ``_way`` is known to complete the answer within the budget, or None where the estimate sufficed. Following it stays
    possible whatever is drawn, so there is always a way out. The budget counts tokens of text: ending needs no token.

    Where rules of the grammar have budgets of their own, what may follow depends on the tokens and not only on the text: ways are
    followed token by token then, and where a rule has ended early go on with what is left from there, which is never more.
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
        self._ends = frozenset(vocabulary.eos_token_ids)
        self._remaining = remaining
        self._way: _Way | None = None
        self._tokens_matter = matcher.counts_tokens
        self._searched: dict[tuple[int, int], _Way | None] = {}
        if remaining is not None and not self._fits(remaining):
            raise RequestError(
                f"a budget of {remaining} tokens is too small: the shortest answer has {self.least_tokens()} tokens; raise max_tokens"
            )

    def accept(self, token_id: int) -> bool:
        """Take the token if the grammar allows it and the answer can still end in time."""
        matcher = self.matcher
        if not matcher.accept(token_id):
            return False
        if self._remaining is None or (token_id in self._ends and matcher.is_finished):
            return True
        before = self._way
        if not self._fits(self._remaining - 1, token_id):
            matcher.rollback(1)
            self._way = before
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
        way = self._way
        if way is None:
            text = self.matcher.shortest_completion()
            way = None if text is None else self._cut(text, 0)  # its first token is always allowed
        if way is None:
            return None
        return way.tokens[0] if way.tokens else self._vocabulary.eos_token_ids[0]

    def accept_bytes(self, data: bytes) -> bool:
        """Take the answer's first bytes, which came in a token that is spent elsewhere, if the answer can still end in time."""
        if not self.matcher.accept_bytes(data):
            return False
        before = self._way
        if self._remaining is None or self._fits(self._remaining - 1):
            return True
        self.matcher.rollback(1)
        self._way = before
        return False

    def spend(self, n_tokens: int) -> None:
        """Tokens were used elsewhere (on thinking)."""
        if self._remaining is None:
            return
        self._remaining -= n_tokens
        if self._way is not None and len(self._way.tokens) > self._remaining:
            self._fits(self._remaining)  # what was found while there was more room has too many tokens now

    def least_tokens(self) -> int:
        """Tokens with which the answer can certainly be completed from here."""
        text = self.matcher.shortest_completion()
        way = None if text is None else self._way_of(text, 0)
        if way is None:
            return self.matcher.shortest_cost()
        while len(way.tokens) > 1 and (fewer := self._within(len(way.tokens) - 1)) is not None:
            way = fewer
        return len(way.tokens)

    def _fits(self, remaining: int, token_id: int | None = None) -> bool:
        """Whether the matcher's state can be completed with ``remaining`` tokens.

        With a ``token_id`` it is the state after that token, and what completed the text before may still do."""
        before, self._way = self._way, None
        estimate = self.matcher.shortest_cost()
        if estimate < 0 or remaining < 0:
            return False
        if remaining >= _SPARE_FACTOR * estimate + _SPARE:
            return True
        if before is not None and token_id is not None:
            left = self._follow(before, token_id, remaining)
            if left is not None and (not self._tokens_matter or [token_id, *left.tokens] == before.tokens or self._completes(left)):
                self._way = left
                return True
        text = self.matcher.shortest_completion()
        if text is None:  # not plain text (token terminals): each item is a token
            return estimate <= remaining
        way = self._way_of(text, remaining)
        if way is None or len(way.tokens) > remaining:
            way = self._with_fewer_tokens(remaining)
        self._way = way
        return way is not None

    def _with_fewer_tokens(self, remaining: int) -> _Way | None:
        # The same few states come up again and again while draws are refused near the end of a budget.
        key = (self.matcher.state_id, remaining)
        if key not in self._searched:
            if len(self._searched) >= _MAX_SEARCHED:
                self._searched.clear()
            self._searched[key] = self._within(remaining)
        return self._searched[key]

    def _within(self, most: int) -> _Way | None:
        """A completion of at most ``most`` tokens, where the search finds one."""
        tokens = completion_in_tokens(self.matcher, self._vocabulary, most)
        if tokens is None:
            return None
        text = b"".join(self._vocabulary.token_bytes(token) or b"" for token in tokens)
        return _Way(text, tokens) if self._tokens_matter else self._cut(text, 0)

    def _completes(self, way: _Way) -> bool:
        ahead = self.matcher.fork()
        return all(map(ahead.accept, way.tokens)) and ahead.is_complete

    def _way_of(self, text: bytes, enough: int) -> _Way | None:
        """Tokens that write a completion, or its beginning and then a completion from where a rule has ended early."""
        way = self._cut(text, enough)
        if way is None or not self._tokens_matter:
            return way
        ahead = self.matcher.fork()
        tokens: list[int] = []
        wanted: _Way | None = way
        while wanted is not None:
            followed = len(tokens)
            for token in wanted.tokens:
                if not ahead.accept(token):
                    break
                tokens.append(token)
            if ahead.is_complete:
                return _Way(b"".join(self._vocabulary.token_bytes(token) or b"" for token in tokens), tokens)
            rest = ahead.shortest_completion()
            wanted = None if rest is None or len(tokens) == followed else self._cut(rest, 0)
        return None

    def _follow(self, way: _Way, token_id: int, remaining: int) -> _Way | None:
        """What still completes the answer, after a token, of a text that did before it; None where that is not seen or does not fit."""
        data = self._vocabulary.token_bytes(token_id)
        left: _Way | None = way
        if data and way.tokens and way.tokens[0] == token_id:
            left = _Way(way.text[len(data) :], way.tokens[1:])
        elif data and way.text.startswith(data):
            left = self._without(way, len(data))
            if left is None or len(left.tokens) > remaining:
                left = self._cut(way.text[len(data) :], remaining)
        else:
            # None of its bytes inside a string, the quote if the token was white space and a quote, the digit if it was another one.
            done = self.matcher.bytes_replaced(way.text)
            if done is None:
                return None
            if done:
                left = self._without(way, done)
        return left if left is not None and len(left.tokens) <= remaining else None

    def _without(self, way: _Way, done: int) -> _Way | None:
        """The completion without its first bytes; of its tokens only the one that is cut in two is written anew."""
        whole, covered = 0, 0
        while covered < done:
            covered += len(self._vocabulary.token_bytes(way.tokens[whole]) or b"")
            whole += 1
        text = way.text[done:]
        first = self._vocabulary.tokenize_greedy(text[: covered - done]) if covered > done else []
        return None if first is None else _Way(text, first + way.tokens[whole:])

    def _cut(self, text: bytes, enough: int) -> _Way | None:
        """The text in as few tokens as it can be, or in any number found quickly that is at most ``enough``."""
        tokens = self._vocabulary.tokenize_greedy(text)
        if tokens is None or len(tokens) > enough:
            tokens = fewest_tokens(text, self._vocabulary)
        return None if tokens is None else _Way(text, tokens)
