"""From checked parameters to the fields of a job: sampling, stops, budgets, reasoning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from scansion.server.errors import ApiError
from scansion.server.json_text import kind_of

__all__ = ["EFFORT", "sampling_fields", "seed_of", "stop_texts", "template_arguments"]

EFFORT = {"none": 0.0, "minimal": 0.125, "low": 0.25, "medium": 0.5, "high": 0.75, "xhigh": 0.8, "max": 0.9}
"""Share of the token budget that reasoning may take, by ``reasoning_effort``."""

_RENAMED = {"repetition_penalty": "repeat_penalty", "repeat_last_n": "penalty_last_n"}
_PLAIN = (
    "temperature", "top_p", "top_k", "min_p", "typical_p", "top_n_sigma", "xtc_probability", "xtc_threshold", "frequency_penalty",
    "presence_penalty", "repeat_penalty", "dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n", "mirostat",
    "mirostat_tau", "mirostat_eta",
)  # fmt: skip
_RESERVED_ARGUMENTS = ("messages", "tools", "bos_token", "eos_token", "self", "conversation")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")
_MAX_STOPS = 16
_MAX_STOP = 4096
_TOKEN_ID = re.compile(r"[0-9]{1,9}\Z")


def sampling_fields(values: Mapping[str, Any], *, prefix: str = "") -> dict[str, Any]:
    """Fields of ``Sampling`` out of parameters, each under the name it has there.

    Raises:
        ApiError: 400 for a ``logit_bias`` that is not token ids to -100..100.
    """
    fields = {name: values[name] for name in _PLAIN if name in values}
    for name, field in _RENAMED.items():
        if name in values:
            fields[field] = values[name]
    if fields.get("top_k", 0) < 0:
        fields["top_k"] = 0
    if "logit_bias" in values:
        fields["logit_bias"] = _logit_bias(values["logit_bias"], f"{prefix}.logit_bias" if prefix else "logit_bias")
    return fields


def _logit_bias(value: Mapping[str, Any], param: str) -> dict[int, float]:
    bias: dict[int, float] = {}
    for token, number in value.items():
        if not _TOKEN_ID.match(token):
            raise ApiError(400, f"{param} maps token ids to numbers: {token[:40]!r} is no token id", code="invalid_value", param=param)
        if isinstance(number, bool) or not isinstance(number, int | float) or not -100 <= number <= 100:
            raise ApiError(
                400, f"{param}.{token} must be a number from -100 to 100, not {str(number)[:40]}", code="invalid_value", param=param
            )
        # OpenAI's -100 is a ban in all but name.
        bias[int(token)] = float("-inf") if number == -100 else float(number)
    return bias


def seed_of(values: Mapping[str, Any]) -> int | None:
    """The seed; negative ones ask for a fresh one."""
    seed: int | None = values.get("seed")
    return None if seed is None or seed < 0 else seed


def stop_texts(value: Any, param: str = "stop") -> tuple[str, ...]:
    """A string or an array of strings; empty strings stop nothing.

    Raises:
        ApiError: 400.
    """
    if value is None:
        return ()
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        given = kind_of(value) if not isinstance(value, list) else "an array of other things"
        raise ApiError(400, f"{param} must be a string or an array of strings, not {given}", code="invalid_type", param=param)
    texts = [text for text in texts if text]
    if len(texts) > _MAX_STOPS or any(len(text) > _MAX_STOP for text in texts):
        raise ApiError(
            400, f"{param} may name at most {_MAX_STOPS} texts of at most {_MAX_STOP} characters", code="invalid_value", param=param
        )
    return tuple(texts)


def template_arguments(value: Mapping[str, Any] | None) -> dict[str, Any]:
    """``chat_template_kwargs``: plain values by name.

    Raises:
        ApiError: 400 for a name the template gets from elsewhere, or a nested value.
    """
    arguments: dict[str, Any] = {}
    for name, argument in (value or {}).items():
        param = f"chat_template_kwargs.{name[:64]}"
        if not _IDENTIFIER.match(name) or name in _RESERVED_ARGUMENTS:
            raise ApiError(400, f"{param} cannot be set", code="invalid_value", param=param)
        if isinstance(argument, list | dict):
            raise ApiError(400, f"{param} must be a plain value, not {kind_of(argument)}", code="invalid_type", param=param)
        arguments[name] = argument
    return arguments
