"""What a generation reports: pieces while it runs, a completion and its figures at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

__all__ = ["Completion", "Delta", "DraftFigures", "Stats", "TokenLogprob"]


@dataclass(frozen=True)
class TokenLogprob:
    """The natural log probability of a drawn token under the model alone (temperature 1, no mask)."""

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()
    """The likeliest tokens of that step with theirs, likeliest first."""


@dataclass(frozen=True)
class Delta:
    """What became certain in one forward pass. Texts are whole characters and whole JSON escapes, each sent once."""

    content: str = ""
    reasoning: str = ""
    tokens: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()


@dataclass
class DraftFigures:
    """How one source of drafts did."""

    proposed: int = 0
    accepted: int = 0

    @property
    def acceptance(self) -> float:
        """Share of its drafts that were accepted; 0 where there were none."""
        return self.accepted / self.proposed if self.proposed else 0.0


@dataclass
class Stats:
    """Figures of one generation. Times are in seconds.

    Attributes:
        prompt_tokens: tokens before the answer; ``cached_tokens`` of them were in the model's cache already.
        tokens: tokens of the answer, thinking included, the end token not.
        forwards: forward passes, the one over the prompt included.
        forced_tokens: tokens whose every byte the grammar left no choice about.
        redraws: draws the grammar refused.
        prompt_seconds: until the first token; ``seconds`` from there to the end.
        mask_seconds: for each token drawn under a grammar, the time the grammar took.
        friction: for each token, the probability the grammar took away; only where asked for.
        drafts: figures for each source of drafts.
        seed: what the draws were seeded with; None where nothing is random.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    tokens: int = 0
    forwards: int = 0
    forced_tokens: int = 0
    redraws: int = 0
    prompt_seconds: float = 0.0
    seconds: float = 0.0
    mask_seconds: Sequence[float] = ()
    friction: Sequence[float] = ()
    drafts: dict[str, DraftFigures] = field(default_factory=dict)
    seed: int | None = None

    @property
    def tokens_per_second(self) -> float:
        """Of the answer, after the forward pass over the prompt."""
        return (self.tokens - 1) / self.seconds if self.tokens > 1 and self.seconds > 0 else 0.0

    @property
    def tokens_per_forward(self) -> float:
        """1 without drafts."""
        return self.tokens / self.forwards if self.forwards else 0.0

    def line(self) -> str:
        """One line for people: tokens, speed, mask times, share forced, drafts."""
        parts = [f"{self.tokens} tokens", f"{self.tokens_per_second:.1f} tokens/s"]
        if self.mask_seconds:
            times = sorted(self.mask_seconds)
            high = times[min(len(times) - 1, int(len(times) * 0.99))]
            parts.append(f"mask {median(times) * 1e6:.1f} µs median, {high * 1e6:.1f} µs p99")
            parts.append(f"{self.forced_tokens / max(self.tokens, 1):.0%} forced")
        for source, figures in self.drafts.items():
            if not figures.proposed:
                continue
            kind = "forced drafts" if source == "grammar" else "drafts"
            parts.append(f"{source}: {figures.acceptance:.0%} acceptance ({figures.accepted}/{figures.proposed} {kind})")
        if any(figures.proposed for figures in self.drafts.values()):
            parts.append(f"{self.tokens_per_forward:.2f} tokens/forward")
        if self.seed is not None:
            parts.append(f"seed {self.seed}")
        if self.friction:
            parts.append(f"friction {sum(self.friction) / len(self.friction):.3f}")
        return ", ".join(parts)


@dataclass(frozen=True)
class Completion:
    """A finished (or interrupted) answer.

    Attributes:
        content: the answer alone: no reasoning, no code fence, no stop text.
        reasoning: what stood between ``<think>`` and ``</think>``.
        tokens: ids of all tokens of the answer in order, the end token not included.
        finish_reason: ``stop`` (the model or the grammar ended it, or a stop text came), ``length`` (the budget or the
            context ended it), ``interrupted`` or ``error``.
        complete: the grammar accepts ``content`` as it stands; without a grammar, the model ended it.
        stats: figures.
        logprobs: one entry per token, where asked for.
    """

    content: str
    reasoning: str
    tokens: tuple[int, ...]
    finish_reason: str
    complete: bool
    stats: Stats
    logprobs: tuple[TokenLogprob, ...] = ()
