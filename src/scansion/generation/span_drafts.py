"""Forced text as tokens: as the model has written it before, else as its tokenizer writes it."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence
from typing import Protocol
from weakref import WeakKeyDictionary

from scansion.generation.chances import Chances
from scansion.generation.draft_sources import ForcedSpans, whole_characters
from scansion.generation.predictions import Draft, FreeSpace
from scansion.generation.span_habits import SpanHabits
from scansion.models.base import LanguageModel

__all__ = ["SpanDrafts", "SpanSource", "Spelling"]

_FIRST_GUESSES = {
    "word": 0.95,
    "joined": 0.5,
    "habit": 0.95,
    "parted": 0.8,
    "mark": 0.9,
    "marks": 0.8,
    "instead": 0.6,
    "end": 0.4,
    "ended": 0.5,
    "token": 0.4,
    "space": 0.8,
}
"""Chances of the kinds of predictions, before anything is known:

``word``    the tokenizer's token, a word or a single character
``joined``  the tokenizer's token where punctuation marks stand together (``","``), which models join and part in their own way
``habit``   written this way by the model itself in the same place
``parted``  the same where punctuation marks stand together
``mark``    written this way by the model itself after something alike where the same punctuation mark was to come
``marks``   the same where several stand together
``instead`` written this way by the model itself elsewhere, in place of the tokenizer's token
``end``     the tokenizer's token at the end of a span, where the model may write more into the same token
``ended``   the same where the model was seen to write that token instead of another
``token``   named by the grammar itself
``space``   written by the model itself in the same place, where white space alone is free
"""
_BYTES_PER_TOKEN = 16
"""How far to look ahead for forced bytes, for each token wanted."""
_PLACE_BYTES = 4
"""A habit is as reliable as it was after the same token with the same bytes to come."""
_SPACE = b" \t\r\n"
_PUNCTUATION = frozenset(b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class SpanSource(Protocol):
    """What knows which bytes must come: a ``Matcher``, or a tracker of one."""

    def forced_bytes(self, limit: int = 4096) -> bytes: ...

    def forced_token(self) -> int | None: ...


class Place(SpanSource, Protocol):
    """A matcher that also says what may come."""

    def outlook(self, limit: int = 4096) -> tuple[bytes, bytes, bool]: ...


class Spelling:
    """How a model writes forced text: learned from all answers it writes under grammars, since no answer changes it."""

    def __init__(self, model: LanguageModel) -> None:
        self.habits = SpanHabits(model.vocabulary.token_bytes)
        self.chances = Chances()

    @classmethod
    def of(cls, model: LanguageModel) -> Spelling:
        """The model's own, kept as long as the model is."""
        with _spellings_lock:
            return _spellings.setdefault(model, cls(model))


_spellings: WeakKeyDictionary[LanguageModel, Spelling] = WeakKeyDictionary()
_spellings_lock = threading.Lock()


class SpanDrafts:
    """Predictions of one answer's forced text, and what its tokens teach about the model's spelling."""

    def __init__(self, model: LanguageModel, spelling: Spelling) -> None:
        self._spans = ForcedSpans(model)
        self._token_bytes = model.vocabulary.token_bytes
        self._habits = spelling.habits
        self._forced_left = b""
        self._open: FreeSpace | None = None
        self._last: int | None = None
        self._line: int | None = None

    def begin(self, span: SpanSource, answer: Sequence[int], limit: int) -> list[Draft]:
        """What is forced where the answer stands: at most ``limit`` tokens."""
        self._open = None
        forced = span.forced_bytes(limit * _BYTES_PER_TOKEN)
        if not forced and (token := span.forced_token()) is not None:
            return [_in_span(token, "token", ("token", token))]
        self._forced_left = forced
        return self._cut(whole_characters(forced), answer, limit)

    def begin_at(self, place: Place, answer: Sequence[int], limit: int) -> tuple[list[Draft], FreeSpace | None]:
        """The same where more is known of the place the answer stands in; returns what ``go_on`` does."""
        self._open = None
        forced, following, complete = place.outlook(limit * _BYTES_PER_TOKEN)
        if not forced and not following and (token := place.forced_token()) is not None:
            return [_in_span(token, "token", ("token", token))], None
        self._forced_left = forced
        if forced:
            return self._cut(whole_characters(forced), answer, limit), None
        return self._in_space(following, answer, ()) if not complete and len(following) > 1 else ([], None)

    def go_on(self, place: Place, before: Sequence[int], predicted: Sequence[int], limit: int) -> tuple[list[Draft], FreeSpace | None]:
        """What is forced further on, or the white space the model writes where nothing else is free.

        Args:
            place: where the text would stand.
            before: the tokens that would come before, at least the last few.
            predicted: those of them that are not in the answer yet.
            limit: the most tokens wanted.

        Returns:
            At most ``limit`` predictions, and the place if white space alone is free there.
        """
        forced, following, complete = place.outlook(limit * _BYTES_PER_TOKEN)
        if forced:
            return self._cut(whole_characters(forced), before, limit), None
        return self._in_space(following, before, predicted) if not complete and len(following) > 1 else ([], None)

    def _in_space(self, following: bytes, before: Sequence[int], predicted: Sequence[int]) -> tuple[list[Draft], FreeSpace | None]:
        """What the model writes where several bytes may come, if all of them but one are white space."""
        if len(following) > len(_SPACE) + 1 or len(following.translate(None, _SPACE)) > 1:
            return [], None
        line = self._line
        for token in reversed(predicted):
            if self._begins_line(token):
                line = token
                break
        space = FreeSpace(before[-1] if before else self._last, following, line)
        written = self._habits.space(space)
        return [] if written is None else [_in_span(written, "space", ("space", space), space=space)], space

    def learn(self, token: int, draft: Draft | None) -> None:
        """The answer goes on with ``token``; ``draft`` is what was predicted in its place, if all before it came true."""
        space = self._open if draft is None else draft.space
        if space is not None:
            self._habits.learn_space(space, token)
        if draft is not None and draft.rest:
            self._forced_left = draft.rest
        data = self._token_bytes(token) or b""
        if data and self._forced_left.startswith(data):
            self._habits.learn(self._last, self._forced_left, None if draft is None else draft.expected, token)
            self._forced_left = self._forced_left[len(data) :]
        else:
            self._forced_left = b""
        self._last = token
        if b"\n" in data:
            self._line = token
        if draft is None or token != draft.token:
            self._open = None

    def _begins_line(self, token: int) -> bool:
        return b"\n" in (self._token_bytes(token) or b"")

    def leave_open(self, space: FreeSpace | None) -> None:
        """Nothing was predicted in this place, behind what was: what is written there is to be learned."""
        self._open = space

    def _cut(self, forced: bytes, before: Sequence[int], limit: int) -> list[Draft]:
        drafts: list[Draft] = []
        last = before[-1] if before else None
        grid: dict[int, int] = {}
        place = 0
        while place < len(forced) and len(drafts) < limit:
            rest = forced[place:]
            habit = self._habits.written(last, rest)
            expected = grid.get(place)
            if habit is None and expected is None:  # the first place without a habit, or habits have left the grid
                grid = self._grid(forced, place, [*before, *(draft.token for draft in drafts)], limit + 1)
                expected = grid.get(place)
            if habit is not None:
                kind = "parted" if _marks_meet(rest) else "habit"
                draft = _in_span(habit, kind, ("habit", last, rest[:_PLACE_BYTES]), expected, rest)
            elif expected is not None:
                draft = self._in_new_place(last, expected, rest)
            else:
                break
            drafts.append(draft)
            last = draft.token
            place += len(self._token_bytes(draft.token) or b"")
        return drafts

    def _in_new_place(self, last: int | None, expected: int, rest: bytes) -> Draft:
        """Where the tokenizer has ``expected`` and nothing was written in this place before."""
        like = self._habits.written_like(last, rest)
        if like is not None:
            return _in_span(like[0], "marks" if _marks_meet(rest) else "mark", ("marks", *like), expected, rest)
        token = self._habits.in_place_of(expected, rest)
        if token is not None and token != expected:
            return _in_span(token, "instead", ("instead", expected, token), expected, rest)
        data = self._token_bytes(expected) or b""
        if len(data) == len(rest):
            return _in_span(expected, "end" if token is None else "ended", ("end", expected), expected, rest)
        # One mark before another may be joined with it, as several in one token may be parted.
        if _marks_meet(rest) and all(byte in _PUNCTUATION for byte in data):
            return _in_span(expected, "joined", ("joined", expected), expected, rest)
        return _in_span(expected, "word", None, expected, rest)

    def _grid(self, forced: bytes, start: int, before: Sequence[int], limit: int) -> dict[int, int]:
        """The tokenizer's split of ``forced`` from ``start`` on: token by place."""
        grid: dict[int, int] = {}
        for token in self._spans.propose(forced[start:], before, limit):
            grid[start] = token
            start += len(self._token_bytes(token) or b"")
        return grid


def _marks_meet(text: bytes) -> bool:
    """Whether two punctuation marks come first: how they are joined or parted changes more often than anything else."""
    return len(text) > 1 and text[0] in _PUNCTUATION and text[1] in _PUNCTUATION


def _in_span(
    token: int, kind: str, item: Hashable = None, expected: int | None = None, rest: bytes = b"", space: FreeSpace | None = None
) -> Draft:
    return Draft(token, "grammar", kind, _FIRST_GUESSES[kind], item, expected, rest, space)
