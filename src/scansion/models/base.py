"""What generation asks of a model: tokens in, logits out, and a cache whose tail can be taken back."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scansion.models.costs import ForwardCosts
    from scansion.vocabulary import Vocabulary

__all__ = ["ChatMessage", "Feed", "LanguageModel", "ModelSequence"]

ChatMessage = Mapping[str, Any]
"""One turn of a conversation: ``{"role": "user", "content": "..."}``; whatever else a chat template reads passes through."""


class ModelSequence(Protocol):
    """The cached tokens of one text. Belongs to one answer until it is closed."""

    @property
    def tokens(self) -> Sequence[int]:
        """Every token the model has taken in, in order."""

    def truncate(self, length: int) -> None:
        """Keep the first ``length`` tokens and forget the rest."""

    def close(self) -> None:
        """Give the place back. What is cached may serve a later text that starts the same way."""


class Feed(NamedTuple):
    """What one sequence brings to a forward pass."""

    sequence: ModelSequence
    tokens: Sequence[int]
    """Appended to the sequence; at least one."""
    rows: int
    """Logits are wanted after each of the last ``rows`` tokens; at least 1."""
    unwanted: Sequence[int] = ()
    """Of those, counted from 0, the ones nobody is going to read; never the last."""


@runtime_checkable
class LanguageModel(Protocol):
    """A source of logits. ``lock`` is held by whoever runs a forward pass, until its logits have been read."""

    @property
    def name(self) -> str: ...

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def context_size(self) -> int:
        """The most tokens one sequence can hold."""

    @property
    def lock(self) -> threading.RLock: ...

    @property
    def costs(self) -> ForwardCosts:
        """What forwards of each size were measured to cost on this model."""

    @property
    def sampler_vocabulary(self) -> Any:
        """llama.cpp's vocabulary pointer, for samplers that compare text (DRY); None where there is none."""

    def tokenize(self, text: bytes, *, special: bool = False) -> list[int]:
        """Canonical tokens of UTF-8 text. ``special``: names of special tokens (``<|im_end|>``) become those tokens."""

    def prompt_tokens(self, text: str) -> list[int]:
        """Tokens of a whole prompt: special tokens by name, and the begin token where the model wants one."""

    def chat_prompt(self, messages: Sequence[ChatMessage], **template_arguments: Any) -> str:
        """The conversation as text, in the model's own chat template, up to where the assistant speaks next."""

    def open_sequence(self, prompt: Sequence[int]) -> ModelSequence:
        """A place for a text that starts with ``prompt``. ``tokens`` of the result is the part of ``prompt`` already
        cached, always shorter than ``prompt``; the caller feeds the rest."""

    def forward(self, feeds: Sequence[Feed]) -> list[NDArray[np.float32]]:
        """Run one pass over all feeds together. Returns logits of shape ``(rows, vocabulary.size)`` for each feed, in order; a model that
        saves work by it leaves the ``unwanted`` rows out, all of them.

        The arrays may be views that the next call overwrites, and the caller may change them."""
