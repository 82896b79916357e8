"""What can be asked of sampling, under the names llama.cpp's server uses."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from scansion.errors import RequestError

__all__ = ["Sampling"]

_MAX_SEED = 2**32 - 2  # 2**32 - 1 is llama.cpp's word for "choose one"


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. The defaults take the likeliest token each time; every stage is off unless asked for.

    Stages run in the order of llama.cpp's server: logit bias, penalties, DRY, top-n-sigma, top-k, typical, top-p, min-p,
    XTC, temperature, draw. With mirostat only logit bias, temperature and mirostat run, as there.

    Attributes:
        temperature: 0 takes the likeliest token; 1 is the model's own distribution; at most 100.
        top_k: keep the k likeliest tokens; 0 is off.
        top_p: keep the likeliest tokens whose probabilities sum to p; 1 is off.
        min_p: drop tokens less likely than p times the likeliest; 0 is off.
        typical_p: locally typical sampling (arXiv 2202.00666); 1 is off.
        top_n_sigma: keep logits within n standard deviations of the largest (arXiv 2411.07641); 0 or less is off.
        xtc_probability, xtc_threshold: with that probability drop all but the least likely token above the threshold.
        repeat_penalty, frequency_penalty, presence_penalty: on tokens among the last ``penalty_last_n`` (-1: all).
        dry_multiplier, dry_base, dry_allowed_length, dry_penalty_last_n: DRY, a penalty on repeating long runs; 0 is off.
        mirostat: 0 off, 1 or 2 (arXiv 2007.14966); ``mirostat_tau`` the target surprise, ``mirostat_eta`` the learning rate.
        seed: 0 to 2**32 - 2; None draws one from the system (``resolved_seed`` says which).
        logit_bias: added to the logits of token ids; ``-inf`` bans a token.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    typical_p: float = 1.0
    top_n_sigma: float = -1.0
    xtc_probability: float = 0.0
    xtc_threshold: float = 0.1
    repeat_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    penalty_last_n: int = 64
    dry_multiplier: float = 0.0
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_penalty_last_n: int = -1
    mirostat: int = 0
    mirostat_tau: float = 5.0
    mirostat_eta: float = 0.1
    seed: int | None = None
    logit_bias: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            RequestError: naming the first one out of range and what it may be.
        """
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:  # NaN compares false
                raise RequestError(f"{name} must be a number from {low:g} to {high:,}, not {value!r}")
        for name in _INTEGERS:
            if not isinstance(getattr(self, name), int):
                raise RequestError(f"{name} must be a whole number, not {getattr(self, name)!r}")
        if self.seed is not None and (isinstance(self.seed, bool) or not isinstance(self.seed, int) or not 0 <= self.seed <= _MAX_SEED):
            raise RequestError(f"seed must be a whole number from 0 to {_MAX_SEED}, not {self.seed!r}")
        for token, bias in self.logit_bias.items():
            if isinstance(token, bool) or not isinstance(token, int) or token < 0:
                raise RequestError(f"logit_bias maps token ids to numbers: {token!r} is not a token id")
            if isinstance(bias, bool) or not isinstance(bias, int | float) or math.isnan(bias) or bias == math.inf:
                raise RequestError(f"the logit_bias of token {token} must be a number or -inf, not {bias!r}")

    @property
    def is_plain_greedy(self) -> bool:
        """The draw is the largest logit and nothing else: no stage before the temperature changes which one that is.

        Truncations keep the likeliest token, so at temperature 0 only penalties, bias and XTC can matter."""
        return (
            self.temperature == 0
            and not self.mirostat
            and not self.logit_bias
            and not self.has_history
            and self.xtc_probability == 0
            and self.typical_p == 1
        )

    @property
    def has_history(self) -> bool:
        """Earlier tokens change later draws."""
        penalties = self.repeat_penalty != 1 or self.frequency_penalty != 0 or self.presence_penalty != 0
        return (penalties and self.penalty_last_n != 0) or (self.dry_multiplier != 0 and self.dry_penalty_last_n != 0)

    def resolved_seed(self) -> int:
        """The seed, or a fresh one from the system."""
        return secrets.randbelow(_MAX_SEED + 1) if self.seed is None else self.seed


_RANGES: tuple[tuple[str, float, float], ...] = (
    ("temperature", 0, 100),
    ("top_k", 0, 10_000_000),
    ("top_p", 0, 1),
    ("min_p", 0, 1),
    ("typical_p", 0, 1),
    ("top_n_sigma", -1, 100),
    ("xtc_probability", 0, 1),
    ("xtc_threshold", 0, 1),
    ("repeat_penalty", 0.01, 100),
    ("frequency_penalty", -100, 100),
    ("presence_penalty", -100, 100),
    ("penalty_last_n", -1, 1_000_000),
    ("dry_multiplier", 0, 100),
    ("dry_base", 1, 100),
    ("dry_allowed_length", 0, 1_000_000),
    ("dry_penalty_last_n", -1, 1_000_000),
    ("mirostat", 0, 2),
    ("mirostat_tau", 0, 1000),
    ("mirostat_eta", 0, 1000),
)
_INTEGERS = ("top_k", "penalty_last_n", "dry_allowed_length", "dry_penalty_last_n", "mirostat")
