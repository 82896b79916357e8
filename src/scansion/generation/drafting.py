"""Which drafts to send along with the next forward pass, learned from how earlier ones fared.

Every prediction is compared with what is then drawn, also predictions that were not sent: a source that does not pay goes
quiet by itself, costs nothing while quiet, and comes back when its predictions have become right again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from scansion.generation.draft_sources import ForcedSpans, PromptLookup, SpanHabits, SpanSource, whole_characters
from scansion.generation.events import DraftFigures
from scansion.models.base import LanguageModel

__all__ = ["Draft", "Drafting"]

_MEMORY = 0.9
"""Weight of the past in a source's running acceptance."""
_FIRST_CHANCE = {"grammar": 0.95, "ngram": 0.6}
_BYTES_PER_TOKEN = 16
"""How far to look ahead for forced bytes, for each token wanted."""
_LAST_OF_SPAN = 0.4
"""Chance of a token at the end of a forced span before anything is known about it."""


class Draft(NamedTuple):
    """A predicted token."""

    token: int
    source: str
    ends_span: bool = False
    """It ends a forced span, where the model may write more into the same token."""
    by_tokenizer: bool = False
    """It is the tokenizer's choice, not the model's own of earlier."""


class Probe(Protocol):
    """Something that takes tokens under a grammar without touching the answer: a fork of a matcher."""

    def accept(self, token_id: int) -> bool: ...


class Drafting:
    """The drafts of one answer."""

    def __init__(
        self,
        model: LanguageModel,
        *,
        sources: Sequence[str],
        longest: int,
        prompt: Sequence[int],
    ) -> None:
        """
        Args:
            model: whose tokens and measured forward costs count.
            sources: from ``grammar`` and ``ngram``.
            longest: the most tokens sent at once.
            prompt: tokens before the answer.
        """
        self.figures = {source: DraftFigures() for source in sources}
        self._costs = model.costs
        self._longest = longest
        self._forced = ForcedSpans(model) if "grammar" in sources else None
        self._habits = SpanHabits(model.vocabulary.token_bytes)
        self._forced_left = b""
        self._last: int | None = None
        self._token_bytes = model.vocabulary.token_bytes
        self._lookup = PromptLookup(prompt) if "ngram" in sources else None
        self._chance = dict(_FIRST_CHANCE)
        self._last_of_span: dict[int, float] = {}
        self._predicted: list[Draft] = []
        self._sent = 0

    def propose(self, span: SpanSource | None, answer: Sequence[int], probe: Callable[[], Probe] | None, room: int) -> list[int]:
        """Tokens to verify in the next forward pass.

        Args:
            span: what the grammar forces now; None where no grammar is followed.
            answer: tokens of the answer so far.
            probe: makes something that can walk ahead under the grammar; None where nothing is constrained.
            room: the most tokens that could still be used.
        """
        limit = min(self._longest, room)
        predicted: list[Draft] = []
        if limit > 0:
            if self._forced is not None and span is not None:
                predicted = self._from_grammar(span, answer, limit)
            if self._lookup is not None and len(predicted) < limit:
                predicted += self._from_lookup(predicted, probe, limit - len(predicted))
        self._predicted = predicted
        self._sent = self._choose(predicted)
        for draft in predicted[: self._sent]:
            self.figures[draft.source].proposed += 1
        return [draft.token for draft in predicted[: self._sent]]

    def observe(self, token: int) -> None:
        """The answer goes on with ``token``: compare it with what was predicted."""
        if self._lookup is not None:
            self._lookup.append(token)
        self._learn_habit(token)
        if not self._predicted:
            return
        draft = self._predicted[0]
        hit = draft.token == token
        if draft.ends_span:
            chance = self._last_of_span.get(draft.token, _LAST_OF_SPAN)
            self._last_of_span[draft.token] = 0.5 * chance + 0.5 * hit
        else:
            self._chance[draft.source] = _MEMORY * self._chance[draft.source] + (1 - _MEMORY) * hit
        if hit:
            if self._sent:
                self.figures[draft.source].accepted += 1
            del self._predicted[0]
            self._sent = max(0, self._sent - 1)
        else:
            self._predicted = []
            self._sent = 0

    def _from_grammar(self, span: SpanSource, answer: Sequence[int], limit: int) -> list[Draft]:
        if self._forced is None:
            return []
        token = span.forced_token()
        if token is not None:
            return [Draft(token, "grammar", ends_span=True)]
        self._forced_left = forced = span.forced_bytes(limit * _BYTES_PER_TOKEN)
        forced = whole_characters(forced)
        drafts: list[Draft] = []
        before = answer[-1] if answer else None
        grid = self._grid(forced, 0, answer, limit + 1)
        place = 0
        while place < len(forced) and len(drafts) < limit:
            rest = forced[place:]
            chosen = self._habits.following(before, rest)
            if chosen is None:
                if place not in grid:  # a habit has left the tokenizer's grid
                    grid = self._grid(forced, place, [*answer[-1:], *(draft.token for draft in drafts)], limit + 1)
                expected = grid.get(place)
                if expected is None:
                    break
                chosen = self._habits.instead_of(expected, rest)
                if chosen is None:
                    length = len(self._token_bytes(expected) or b"")
                    drafts.append(Draft(expected, "grammar", ends_span=place + length == len(forced), by_tokenizer=True))
                    before = expected
                    place += length
                    continue
            drafts.append(Draft(chosen, "grammar"))
            before = chosen
            place += len(self._token_bytes(chosen) or b"")
        return drafts

    def _grid(self, forced: bytes, start: int, before: Sequence[int], limit: int) -> dict[int, int]:
        """The tokenizer's split of ``forced`` from ``start`` on: token by place."""
        grid: dict[int, int] = {}
        if self._forced is not None:
            for token in self._forced.propose(forced[start:], before, limit):
                grid[start] = token
                start += len(self._token_bytes(token) or b"")
        return grid

    def _learn_habit(self, token: int) -> None:
        data = self._token_bytes(token) or b""
        if data and self._forced_left.startswith(data):
            head = self._predicted[0] if self._predicted else None
            self._habits.learn(self._last, head.token if head is not None and head.by_tokenizer else None, token)
            self._forced_left = self._forced_left[len(data) :]
        else:
            self._forced_left = b""
        self._last = token

    def _from_lookup(self, ahead: Sequence[Draft], probe: Callable[[], Probe] | None, limit: int) -> list[Draft]:
        if self._lookup is None:
            return []
        tokens = self._lookup.propose([draft.token for draft in ahead], limit)
        if probe is not None and tokens:
            # Under a grammar, only as far as the grammar would take them.
            walker = probe()
            if not all(walker.accept(draft.token) for draft in ahead):
                return []
            allowed = 0
            while allowed < len(tokens) and walker.accept(tokens[allowed]):
                allowed += 1
            tokens = tokens[:allowed]
        return [Draft(token, "ngram") for token in tokens]

    def _choose(self, predicted: Sequence[Draft]) -> int:
        chances = [
            self._last_of_span.get(draft.token, _LAST_OF_SPAN) if draft.ends_span else self._chance[draft.source] for draft in predicted
        ]
        return self._costs.best_length(chances)
