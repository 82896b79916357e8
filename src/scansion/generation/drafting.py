"""Which drafts to send along with the next forward pass, learned from how earlier ones fared.

Every prediction is compared with what is then drawn, also predictions that were not sent: a source that does not pay goes
quiet by itself, costs nothing while quiet, and comes back when its predictions have become right again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from scansion.generation.draft_sources import ForcedSpans, PromptLookup, SpanMemory, SpanSource, whole_characters
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
    ends_span: bool
    """It ends a forced span, where the model may write more into the same token."""


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
        self._memory = SpanMemory()
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
        self._memory.observe(token, self._token_bytes(token) or b"")
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
        forced = span.forced_bytes(limit * _BYTES_PER_TOKEN)
        self._memory.watch(forced)
        written = self._memory.recall(forced)
        if written is not None:
            return [Draft(token, "grammar", False) for token in written[:limit]]
        token = span.forced_token()
        tokens = [token] if token is not None else self._forced.propose(whole_characters(forced), answer, limit + 1)
        ends_span = len(tokens) <= limit
        rest = forced
        for index, token in enumerate(tokens):
            # The tokenizer's split up to where a part begins that the model has written before, then the model's own.
            rest = rest[len(self._token_bytes(token) or b"") :]
            written = self._memory.recall(rest)
            if written is not None and rest:
                tokens = tokens[: index + 1] + written
                ends_span = False
                break
        drafts = [Draft(token, "grammar", False) for token in tokens[:limit]]
        if drafts and ends_span:
            drafts[-1] = drafts[-1]._replace(ends_span=True)
        return drafts

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
        return [Draft(token, "ngram", False) for token in tokens]

    def _choose(self, predicted: Sequence[Draft]) -> int:
        chances = [
            self._last_of_span.get(draft.token, _LAST_OF_SPAN) if draft.ends_span else self._chance[draft.source] for draft in predicted
        ]
        return self._costs.best_length(chances)
