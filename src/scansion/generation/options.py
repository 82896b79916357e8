"""What can be asked of one generation, checked as a whole before anything runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from scansion.errors import RequestError
from scansion.models.base import LanguageModel
from scansion.sampling.settings import Sampling

__all__ = ["DRAFT_LIMIT", "DRAFT_SOURCES", "GenerationOptions"]

DRAFT_SOURCES = ("grammar", "ngram")
DRAFT_LIMIT = 48
"""The most tokens drafted at once, whatever is asked for."""
_MAX_TOKENS = 1 << 20
_MAX_STOPS = 16
_MAX_STOP_BYTES = 4096
_MAX_LOGPROBS = 20


@dataclass(frozen=True)
class GenerationOptions:
    """Everything about one generation besides model, prompt and grammar.

    Attributes:
        max_tokens: the most tokens the answer may have, thinking included.
        sampling: how tokens are drawn.
        mode: ``constrain`` (the grammar masks tokens and drafts) or ``assist`` (the grammar only drafts: the text is what
            it would be without it).
        draft: sources of draft tokens, from ``grammar`` and ``ngram``; empty drafts nothing.
        draft_max: the most tokens drafted at once, 1 to 48.
        draft_model: a second, smaller model with the same vocabulary that drafts as well (source ``model`` in the figures). It
            needs a free sequence for each answer.
        finish: under a grammar, leave out tokens after which the answer could not be completed within ``max_tokens``.
        stop: texts that end the answer where they appear in it; they are not part of it.
        think: the answer starts with free reasoning between ``<think>`` and ``</think>``, returned apart.
        think_max: the most tokens of reasoning; None takes half of ``max_tokens``.
        fence: the answer is opened with a code fence, which is not part of it.
        prefill: text the answer starts with; it counts for the grammar and is part of the answer.
        friction: measure the probability the grammar took away at each token (costs a whole mask per token).
        logprobs: log probabilities of that many likeliest tokens at each step, 0 to 20; None: none.
    """

    max_tokens: int = 512
    sampling: Sampling = field(default_factory=Sampling)
    mode: str = "constrain"
    draft: Sequence[str] = ("grammar",)
    draft_max: int = 24
    draft_model: LanguageModel | None = None
    finish: bool = True
    stop: Sequence[str] = ()
    think: bool = False
    think_max: int | None = None
    fence: bool = False
    prefill: str = ""
    friction: bool = False
    logprobs: int | None = None

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            RequestError: naming the option, what it was and what it may be.
        """
        _whole("max_tokens", self.max_tokens, 1, _MAX_TOKENS)
        _whole("draft_max", self.draft_max, 1, DRAFT_LIMIT)
        if self.think_max is not None:
            _whole("think_max", self.think_max, 0, _MAX_TOKENS)
        if self.logprobs is not None:
            _whole("logprobs", self.logprobs, 0, _MAX_LOGPROBS)
        if self.draft_model is not None and not isinstance(self.draft_model, LanguageModel):
            raise RequestError(f"draft_model must be a model (load_model(...)), not {type(self.draft_model).__name__}")
        if self.mode not in ("constrain", "assist"):
            raise RequestError(f"mode must be 'constrain' or 'assist', not {self.mode!r}")
        if not isinstance(self.prefill, str):
            raise RequestError(f"prefill must be a text, not {self.prefill!r}")
        if any("\ud800" <= character <= "\udfff" for character in self.prefill):
            raise RequestError("prefill holds half of a surrogate pair, which no text in UTF-8 can: give whole characters")
        if (
            isinstance(self.draft, str)
            or not isinstance(self.draft, Collection)
            or not all(source in DRAFT_SOURCES for source in self.draft)
        ):
            raise RequestError(f"draft must be a list of {' and '.join(map(repr, DRAFT_SOURCES))}, not {self.draft!r}")
        if (
            isinstance(self.stop, str)
            or not isinstance(self.stop, Collection)
            or not all(isinstance(text, str) and text for text in self.stop)
        ):
            raise RequestError(f"stop must be a list of texts that are not empty, not {self.stop!r}")
        if len(self.stop) > _MAX_STOPS or any(len(text) > _MAX_STOP_BYTES for text in self.stop):
            raise RequestError(f"stop may name at most {_MAX_STOPS} texts of at most {_MAX_STOP_BYTES} characters")
        if self.think and (self.fence or self.prefill):
            raise RequestError("think does not go with fence or prefill: the answer's first bytes follow the reasoning")
        if self.mode == "assist" and (self.think or self.fence or self.prefill):
            raise RequestError("mode 'assist' leaves the text alone, so think, fence and prefill do not go with it")


def _whole(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise RequestError(f"{name} must be a whole number from {low} to {high:,}, not {value!r}")
