"""Which drafts to send along with the next forward pass, learned from how earlier ones fared.

Every prediction is compared with what is then drawn, also predictions that were not sent: a source that does not pay goes
quiet by itself, costs nothing while quiet, and comes back when its predictions have become right again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, Protocol
from weakref import WeakKeyDictionary

from scansion.generation.chances import Chances
from scansion.generation.draft_model import ModelDrafts, Walker
from scansion.generation.draft_sources import ForcedSpans, PromptLookup, SpanHabits, SpanSource, whole_characters
from scansion.generation.events import DraftFigures
from scansion.models.base import LanguageModel

__all__ = ["Draft", "Drafting", "Probe", "nothing_follows"]

_FIRST_GUESSES = {"word": 0.95, "joined": 0.5, "habit": 0.95, "instead": 0.8, "end": 0.4, "token": 0.4}
"""Chances of the kinds of tokens in a forced span, before anything is known:

``word``    the tokenizer's token, a word or a single character
``joined``  the tokenizer's token where punctuation marks stand together (``","``), which models join and part in their own way
``habit``   written this way by the model itself in the same place
``instead`` written this way by the model itself elsewhere, in place of the tokenizer's token
``end``     the tokenizer's token at the end of a span, where the model may write more into the same token
``token``   named by the grammar itself
"""
_GUESS_BY_MATCH = (0.0, 0.0, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9)
"""First guesses for looked-up tokens, by how many tokens before them agree; longer matches are taken together."""
_MUCH_AGREES = 4
"""Looked-up tokens after the same token are told apart by whether at least so many agree."""
_GUESS_MODEL = 0.7
_BYTES_PER_TOKEN = 16
"""How far to look ahead for forced bytes, for each token wanted."""
_PLACE_BYTES = 4
"""A habit is as reliable as it was after the same token with the same bytes to come."""
_MAX_PARTS = 8
"""Pieces from different sources put behind each other in one batch."""


class Draft(NamedTuple):
    """A predicted token."""

    token: int
    source: str
    kind: str
    """Predictions of one kind share a chance."""
    guess: float
    """The chance of the kind before anything is known."""
    item: Hashable = None
    """Those of one item too, where they have one: it is worth more than the kind once it was seen."""
    expected: int | None = None
    """In a forced span: what the tokenizer has in this place."""


class Probe(SpanSource, Walker, Protocol):
    """A fork of a matcher: it walks ahead under the grammar without touching the answer."""

    @property
    def is_complete(self) -> bool: ...

    def next_bytes(self) -> bytes: ...


def nothing_follows(matcher: Probe) -> bool:
    """Whether the text is complete and nothing may be added."""
    return matcher.is_complete and not matcher.next_bytes() and matcher.forced_token() is None


class _Spelling:
    """How a model writes forced text: learned from all answers it writes under grammars, since no answer changes it."""

    def __init__(self, model: LanguageModel) -> None:
        self.habits = SpanHabits(model.vocabulary.token_bytes)
        self.chances = Chances()


_spellings: WeakKeyDictionary[LanguageModel, _Spelling] = WeakKeyDictionary()
_spellings_lock = threading.Lock()


def _spelling_of(model: LanguageModel) -> _Spelling:
    with _spellings_lock:
        return _spellings.setdefault(model, _Spelling(model))


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

        Raises:
            RequestError: the draft model's vocabulary is another.
            ContextError, ModelError: the draft model has no place for the prompt.
        """
        self.figures = {source: DraftFigures() for source in sources}
        self._costs = model.costs
        self._longest = longest
        self._token_bytes = model.vocabulary.token_bytes
        self._forced = ForcedSpans(model) if "grammar" in sources else None
        self._spelling = _spelling_of(model) if certain else _Spelling(model)
        self._forced_left = b""
        self._last: int | None = None
        self._lookup = PromptLookup(prompt) if "ngram" in sources else None
        self._model: ModelDrafts | None = None
        if draft_model is not None:
            self._model = ModelDrafts(draft_model, model, prompt)
            self.figures["model"] = DraftFigures()
        self._chances = Chances()
        self._predicted: list[Draft] = []
        self._sent = 0

    def close(self) -> None:
        """Give the draft model's place back."""
        if self._model is not None:
            self._model.close()

    def propose(self, span: SpanSource | None, answer: Sequence[int], probe: Callable[[], Probe] | None, room: int) -> list[int]:
        """Tokens to verify in the next forward pass.

        Args:
            span: what the grammar forces now; None where no grammar is followed.
            answer: tokens of the answer so far.
            probe: makes something that can walk ahead under the grammar; None where nothing is constrained.
            room: the most tokens that could still be used.
        """
        limit = min(self._longest, room)
        self._forced_left = b""
        predicted: list[Draft] = []
        if limit > 0:
            if self._forced is not None and span is not None:
                predicted = self._from_grammar(span, answer, limit)
            if (self._lookup is not None or self._model is not None) and len(predicted) < limit:
                self._go_on(predicted, answer, probe, limit)
        self._predicted = predicted
        sent = self._costs.best_length([self._chance(draft) for draft in predicted]) if predicted else 0
        if sent and sent == len(predicted) and probe is not None and self._ends_answer(predicted, probe()):
            sent -= 1  # the pass that verifies the token before the last one draws the last one, and no other is wanted
        self._sent = sent
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
        self._chances_of(draft).learn(draft.kind, hit, draft.item)
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

    @staticmethod
    def _ends_answer(predicted: Sequence[Draft], walker: Probe) -> bool:
        return all(walker.accept(draft.token) for draft in predicted) and nothing_follows(walker)

    def _chance(self, draft: Draft) -> float:
        return self._chances_of(draft).estimate(draft.kind, draft.guess, draft.item)

    def _chances_of(self, draft: Draft) -> Chances:
        return self._spelling.chances if draft.source == "grammar" else self._chances

    # -- forced spans ------------------------------------------------------------------------------------------------

    def _from_grammar(self, span: SpanSource, answer: Sequence[int], limit: int) -> list[Draft]:
        token = span.forced_token()
        if token is not None:
            return [_in_span(token, "token", item=("token", token))]
        self._forced_left = span.forced_bytes(limit * _BYTES_PER_TOKEN)
        return self._cut(whole_characters(self._forced_left), answer, limit)

    def _cut(self, forced: bytes, before: Sequence[int], limit: int) -> list[Draft]:
        """Forced text as tokens: as the model has written it before, else as its tokenizer writes it."""
        drafts: list[Draft] = []
        last = before[-1] if before else None
        grid: dict[int, int] = {}
        place = 0
        while place < len(forced) and len(drafts) < limit:
            rest = forced[place:]
            chosen = self._spelling.habits.written(last, rest)
            expected = grid.get(place)
            if chosen is None and expected is None:  # the first place without a habit, or habits have left the grid
                grid = self._grid(forced, place, [*before, *(draft.token for draft in drafts)], limit + 1)
                expected = grid.get(place)
            if chosen is not None:
                draft = _in_span(chosen, "habit", item=("habit", last, rest[:_PLACE_BYTES]), expected=expected)
            elif expected is not None:
                draft = self._in_new_place(expected, rest)
            else:
                break
            drafts.append(draft)
            last = draft.token
            place += len(self._token_bytes(draft.token) or b"")
        return drafts

    def _in_new_place(self, expected: int, rest: bytes) -> Draft:
        """Where the tokenizer has ``expected`` and nothing was written in this place before."""
        token = self._spelling.habits.in_place_of(expected, rest)
        if token is not None and token != expected:
            return _in_span(token, "instead", item=("instead", expected, token), expected=expected)
        data = self._token_bytes(expected) or b""
        if len(data) == len(rest) and token is None:
            return _in_span(expected, "end", item=("end", expected), expected=expected)
        # One mark before another may be joined with it, as several in one token may be parted.
        if all(byte in _PUNCTUATION for byte in data) and (len(data) > 1 or rest[1:2] in _PUNCTUATION_BYTES):
            return _in_span(expected, "joined", item=("joined", expected), expected=expected)
        return _in_span(expected, "word", expected=expected)

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
            expected = self._predicted[0].expected if self._predicted else None
            self._spelling.habits.learn(self._last, self._forced_left, expected, token)
            self._forced_left = self._forced_left[len(data) :]
        else:
            self._forced_left = b""
        self._last = token

    # -- what may follow ---------------------------------------------------------------------------------------------

    def _go_on(self, predicted: list[Draft], answer: Sequence[int], probe: Callable[[], Probe] | None, limit: int) -> None:
        """Add what the other sources predict after what is predicted already, under the grammar where there is one."""
        walker = probe() if probe is not None else None
        if walker is not None and not all(walker.accept(draft.token) for draft in predicted):
            return
        for _ in range(_MAX_PARTS):
            room = limit - len(predicted)
            if room < 1:
                return
            part = self._from_lookup(predicted, walker, room) or self._from_model(predicted, answer, walker, room)
            predicted += part
            if not part or walker is None or self._forced is None:
                return
            forced = whole_characters(walker.forced_bytes((limit - len(predicted)) * _BYTES_PER_TOKEN))
            span = self._cut(forced, [*answer[-1:], *(draft.token for draft in predicted)], limit - len(predicted)) if forced else []
            for draft in span:
                if not walker.accept(draft.token):
                    return
                predicted.append(draft)

    def _from_lookup(self, ahead: Sequence[Draft], walker: Probe | None, limit: int) -> list[Draft]:
        if self._lookup is None:
            return []
        tokens, matched = self._lookup.propose([draft.token for draft in ahead], limit)
        before = ahead[-1].token if ahead else self._last
        drafts: list[Draft] = []
        for token in tokens:
            if walker is not None and not walker.accept(token):
                break
            agreeing = min(matched + len(drafts), len(_GUESS_BY_MATCH) - 1)
            # After some tokens (the quote a value starts with) texts part again and again, however much agreed before.
            place = ("after", before, agreeing >= _MUCH_AGREES)
            drafts.append(Draft(token, "ngram", f"after {agreeing} agreeing", _GUESS_BY_MATCH[agreeing], place))
            before = token
        return drafts

    def _from_model(self, ahead: Sequence[Draft], answer: Sequence[int], walker: Probe | None, limit: int) -> list[Draft]:
        if self._model is None:
            return []
        chance = self._chances.estimate("model", _GUESS_MODEL)
        tokens = self._model.propose([*answer, *(draft.token for draft in ahead)], len(answer), walker, limit, chance)
        # How sure the draft model is says much about whether it is right: each tenth has its own chance.
        return [Draft(token, "model", f"model sure to {int(sure * 10)}/10", sure) for token, sure in tokens]


_PUNCTUATION = frozenset(b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_PUNCTUATION_BYTES = frozenset(bytes([byte]) for byte in _PUNCTUATION)


def _in_span(token: int, kind: str, *, item: Hashable = None, expected: int | None = None) -> Draft:
    return Draft(token, "grammar", kind, _FIRST_GUESSES[kind], item, expected)
