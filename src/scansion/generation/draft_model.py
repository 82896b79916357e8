"""Drafts from a second, smaller model with the same vocabulary (speculative decoding: Leviathan et al., arXiv 2211.17192).

The draft is the small model's likeliest token under the grammar. The large model draws every token itself, as without
drafts, and a draft only counts where it is the same: so the answer keeps its distribution exactly, whatever drafts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scansion.errors import RequestError
from scansion.matching import allocate_bitmask, apply_bitmask
from scansion.models.base import Feed, LanguageModel, ModelSequence

__all__ = ["ModelDrafts", "Walker"]

_LEAST_SURE = 0.5
"""Below this probability of its likeliest token the draft model does not go on."""
_TRY_AGAIN = 48
"""Tokens of the answer between attempts while drafting does not pay."""
_ATTEMPT = 4


class Walker(Protocol):
    """Something that walks ahead under a grammar."""

    def accept(self, token_id: int) -> bool: ...

    def fill_bitmask(self, mask: NDArray[np.int32], row: int = 0) -> None: ...


class ModelDrafts:
    """A draft model's own copy of one text."""

    def __init__(self, draft_model: LanguageModel, model: LanguageModel, prompt: Sequence[int]) -> None:
        """
        Args:
            draft_model: needs a free sequence; may be the model itself.
            model: the one whose answer it is.
            prompt: tokens before the answer.

        Raises:
            RequestError: the vocabularies differ.
            ContextError, ModelError: the draft model has no room or no free place.
        """
        if draft_model.vocabulary != model.vocabulary:
            raise RequestError(
                f"the draft model {draft_model.name} has another vocabulary than {model.name}: take a smaller model of the same family"
            )
        self._draft = draft_model
        self._costs = model.costs
        self._prompt = list(prompt)
        self._mask = allocate_bitmask(1, model.vocabulary.size)
        self._ends = frozenset(model.vocabulary.eos_token_ids)
        self._quiet_since: int | None = None
        self._sequence: ModelSequence = draft_model.open_sequence(prompt)

    def close(self) -> None:
        """Give the place back. Safe to call twice."""
        self._sequence.close()

    def propose(self, text: Sequence[int], written: int, walker: Walker | None, limit: int, chance: float) -> list[tuple[int, float]]:
        """Tokens the draft model would write next.

        Args:
            text: tokens after the prompt, earlier drafts included.
            written: how many of them are the answer's.
            walker: moved along with what is proposed; None where nothing is constrained.
            limit: the most tokens wanted.
            chance: how often its drafts came true lately.

        Returns:
            Each token with the probability the draft model gave it.
        """
        limit = min(self._worth(written, limit, chance), self._draft.context_size - len(self._prompt) - len(text))
        drafts: list[tuple[int, float]] = []
        pending = self._catch_up(text) if limit > 0 else []
        while len(drafts) < limit:
            with self._draft.lock:
                (rows,) = self._draft.forward([Feed(self._sequence, pending, 1)])
                token, sure = self._likeliest(rows[-1], walker)
            if sure < _LEAST_SURE or token in self._ends:
                break
            drafts.append((token, sure))
            pending = [token]
        return drafts

    def _worth(self, written: int, limit: int, chance: float) -> int:
        """How many tokens to draft: making each costs a pass of the draft model, whether it is sent or not."""
        each = self._draft.costs.estimate(1) or 0.0
        best = self._costs.best_length([chance] * limit, each=each)
        if best:
            self._quiet_since = None
            return best
        if self._quiet_since is None or written < self._quiet_since:
            self._quiet_since = written
        if written - self._quiet_since < _TRY_AGAIN or not self._costs.best_length([1.0] * limit, each=each):
            return 0
        self._quiet_since = written
        return min(limit, _ATTEMPT)

    def _catch_up(self, text: Sequence[int]) -> list[int]:
        """Bring the cache to a prefix of the text; what is left to feed, at least one token."""
        wanted = [*self._prompt, *text]
        cached = self._sequence.tokens
        shared = 0
        for have, want in zip(cached, wanted, strict=False):
            if have != want:
                break
            shared += 1
        shared = min(shared, len(wanted) - 1)
        self._sequence.truncate(shared)
        return wanted[shared:]

    def _likeliest(self, logits: NDArray[np.float32], walker: Walker | None) -> tuple[int, float]:
        """The likeliest token the grammar takes, taken by the walker, and its probability among those it takes."""
        token = int(logits.argmax())
        if walker is not None and not walker.accept(token):
            walker.fill_bitmask(self._mask, 0)
            apply_bitmask(logits, self._mask[0])
            token = int(logits.argmax())
            if not walker.accept(token):
                return token, 0.0
        return token, 1 / float(np.exp(logits - logits[token]).sum())
