"""Which drafts to send along with the next forward pass, learned from how earlier ones fared.

Every prediction is compared with what is then drawn, also predictions that were not sent: a source that does not pay goes
quiet by itself, costs nothing while quiet, and comes back when its predictions have become right again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, overload

from scansion.generation.chances import Chances
from scansion.generation.draft_model import ModelDrafts, Walker
from scansion.generation.draft_sources import PromptLookup
from scansion.generation.events import DraftFigures
from scansion.generation.predictions import Ahead, Draft, FreeSpace
from scansion.generation.span_drafts import Place, SpanDrafts, SpanSource, Spelling
from scansion.models.base import LanguageModel

__all__ = ["Drafting", "Probe", "nothing_follows"]

_GUESS_BY_MATCH = (0.0, 0.0, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9)
"""First guesses for looked-up tokens, by how many tokens before them agree; longer matches are taken together."""
_KIND_BY_MATCH = tuple(f"after {agreeing} agreeing" for agreeing in range(len(_GUESS_BY_MATCH)))
_MUCH_AGREES = 4
"""Looked-up tokens after the same token are told apart by whether at least so many agree."""
_GUESS_MODEL = 0.7


class Probe(Place, Walker, Protocol):
    """A fork of a matcher: it walks ahead under the grammar without touching the answer."""

    def follow(self, token_ids: Sequence[int], only: bool = False) -> list[bool]: ...

    @property
    def is_complete(self) -> bool: ...

    def next_bytes(self) -> bytes: ...


def nothing_follows(matcher: Probe) -> bool:
    """Whether the text is complete and nothing may be added."""
    return matcher.is_complete and not matcher.next_bytes() and matcher.forced_token() is None


class Drafting:
    """The drafts of one answer. Called by one thread at a time for each model (the one that holds its ``lock``)."""

    def __init__(
        self,
        model: LanguageModel,
        *,
        sources: Sequence[str],
        longest: int,
        prompt: Sequence[int],
        draft_model: LanguageModel | None = None,
        certain: bool = True,
        spare: bool = False,
    ) -> None:
        """
        Args:
            model: whose tokens and measured forward costs count.
            sources: from ``grammar`` and ``ngram``.
            longest: the most tokens sent at once.
            prompt: tokens before the answer.
            draft_model: a second, smaller model with the same vocabulary that drafts as well.
            certain: forced text will come, only its split into tokens is in question. Where a grammar merely assists, what it
                forces may not come at all, which says nothing about the model.
            spare: find out which drafts are the only tokens the grammar takes in their place: they need no logits.

        Raises:
            RequestError: the draft model's vocabulary is another.
            ContextError, ModelError: the draft model has no place for the prompt.
        """
        self.figures = {source: DraftFigures() for source in sources}
        self.certain: Sequence[int] = ()
        """Of the drafts proposed last, counted from 0, those that are the only tokens the grammar takes in their place."""
        self._costs = model.costs
        self._longest = longest
        self._spelling = Spelling.of(model) if certain else Spelling(model)
        self._spans = SpanDrafts(model, self._spelling) if "grammar" in sources else None
        self._last: int | None = None
        self._lookup = PromptLookup(prompt) if "ngram" in sources else None
        self._model: ModelDrafts | None = None
        if draft_model is not None:
            self._model = ModelDrafts(draft_model, model, prompt)
            self.figures["model"] = DraftFigures()
        self._spare = spare
        self._chances = Chances()
        # How text is cut is the model's doing, what it says the answer's.
        self._chances_of = {"grammar": self._spelling.chances, "ngram": self._chances, "model": self._chances}
        self._predicted: list[Draft] = []
        self._sent = 0

    def close(self) -> None:
        """Give the draft model's place back."""
        if self._model is not None:
            self._model.close()

    @overload
    def propose(self, span: SpanSource | None, answer: Sequence[int], probe: None, room: int) -> list[int]: ...

    @overload
    def propose(self, span: Place, answer: Sequence[int], probe: Callable[[], Probe], room: int) -> list[int]: ...

    def propose(self, span: Any, answer: Sequence[int], probe: Callable[[], Probe] | None, room: int) -> list[int]:
        """Tokens to verify in the next forward pass.

        Args:
            span: what the grammar forces now; None where no grammar is followed.
            answer: tokens of the answer so far, each of them observed.
            probe: makes something that can walk ahead under the grammar; None where nothing is constrained.
            room: the most tokens that could still be used.
        """
        ahead = Ahead(min(self._longest, room), answer, self._chances_of, self._costs.least_chance())
        walker = self._predict(ahead, span, answer, probe) if self.figures and ahead.room else None
        self._predicted = ahead.drafts
        self._sent = 0
        self.certain = ()
        if not ahead.drafts:
            return []
        sent = self._costs.best_length(ahead.chances, stays=[draft.source == "grammar" for draft in ahead.drafts])
        if sent and sent == len(ahead.drafts) and walker is not None and nothing_follows(walker):
            sent -= 1  # the pass that verifies the token before the last one draws the last one, and no other is wanted
        self._sent = sent
        self.certain = [index for index in ahead.certain if index < sent]
        for draft in ahead.drafts[:sent]:
            self.figures[draft.source].proposed += 1
        return ahead.tokens[:sent]

    def observe(self, token: int) -> None:
        """The answer goes on with ``token``: compare it with what was predicted."""
        if self._lookup is not None:
            self._lookup.append(token)
        self._last = token
        draft = self._predicted[0] if self._predicted else None
        if self._spans is not None:
            self._spans.learn(token, draft)
        if draft is None:
            return
        hit = draft.token == token
        self._chances_of[draft.source].learn(draft.kind, hit, draft.item)
        if draft.source == "model":
            self._chances.learn("model", hit)
        if hit:
            if self._sent:
                self.figures[draft.source].accepted += 1
            del self._predicted[0]
            self._sent = max(0, self._sent - 1)
        else:
            self._predicted = []
            self._sent = 0

    # -- what may follow ---------------------------------------------------------------------------------------------

    def _predict(self, ahead: Ahead, span: Any, answer: Sequence[int], probe: Callable[[], Probe] | None) -> Probe | None:
        """Fill ``ahead``. What is forced comes first, wherever it is: how it is written is known better than anything else is.

        Returns:
            Where the grammar stands behind all that was predicted; None where that is not known.
        """
        spans = self._spans
        walker: Probe | None = None  # made where there is something to walk over
        drafts: Sequence[Draft] = ()
        space: FreeSpace | None = None
        if spans is not None and span is not None:
            if probe is None:
                drafts = spans.begin(span, answer, ahead.room)
            else:
                drafts, space = spans.begin_at(span, answer, ahead.room)
        follows: Iterator[Draft] = iter(())
        while True:
            if drafts:
                if walker is None and probe is not None:
                    walker = probe()
                if not self._add_span(ahead, drafts, walker):
                    return None
                follows = iter(())
            else:
                looked_up = next(follows, None)
                if looked_up is None:
                    follows = self._from_lookup(ahead)
                    looked_up = next(follows, None)
                if walker is None and probe is not None and (looked_up is not None or self._model is not None):
                    walker = probe()
                if looked_up is not None and (walker is None or walker.accept(looked_up.token)):
                    ahead.add(looked_up if space is None else looked_up._replace(space=space))
                else:
                    follows = iter(())
                    guessed = self._from_model(ahead, answer, walker)
                    for draft in guessed:
                        ahead.add(draft)
                    if not guessed:
                        if spans is not None:
                            spans.leave_open(space)
                        break
            if not ahead.room:
                break
            drafts, space = ((), None) if spans is None or walker is None else spans.go_on(walker, ahead.before, ahead.tokens, ahead.room)
        return walker

    def _add_span(self, ahead: Ahead, drafts: Sequence[Draft], walker: Probe | None) -> bool:
        """Add what is forced and move the walker along; False where the walker does not take it."""
        if walker is None:
            for draft in drafts:
                ahead.add(draft)
            return True
        taken = walker.follow([draft.token for draft in drafts], self._spare)
        for draft, alone in zip(drafts, taken, strict=False):
            ahead.add(draft, certain=alone)
        return len(taken) == len(drafts)

    def _from_lookup(self, ahead: Ahead) -> Iterator[Draft]:
        """What followed the same tokens before, one token after the other: where it is followed no further, nothing is made for it."""
        if self._lookup is None:
            return
        tokens, matched = self._lookup.propose(ahead.tokens, ahead.room)
        before = ahead.before[-1] if ahead.before else self._last
        for agreeing, token in enumerate(tokens, start=matched):
            agreeing = min(agreeing, len(_GUESS_BY_MATCH) - 1)
            # After some tokens (the quote a value starts with) texts part again and again, however much agreed before.
            place = ("after", before, agreeing >= _MUCH_AGREES)
            yield Draft(token, "ngram", _KIND_BY_MATCH[agreeing], _GUESS_BY_MATCH[agreeing], place)
            before = token

    def _from_model(self, ahead: Ahead, answer: Sequence[int], walker: Probe | None) -> list[Draft]:
        if self._model is None:
            return []
        chance = self._chances.estimate("model", _GUESS_MODEL)
        tokens = self._model.propose([*answer, *ahead.tokens], len(answer), walker, ahead.room, chance)
        # How sure the draft model is says much about whether it is right: each tenth has its own chance.
        return [Draft(token, "model", f"model sure to {int(sure * 10)}/10", sure) for token, sure in tokens]
