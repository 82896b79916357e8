"""Pieces of OpenAI's answers that several endpoints share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from scansion.server.backend import LogprobEntry, Outcome
from scansion.server.errors import ApiError
from scansion.server.exchange import json_bytes

__all__ = ["DONE", "IDLE", "error_event", "event", "logprob_entries", "usage"]

DONE = b"data: [DONE]\n\n"
IDLE = b": still working\n\n"
"""A comment: clients skip it, and what stands between sees that the connection is in use."""


def event(value: Any) -> bytes:
    """A server-sent event."""
    return b"data: " + json_bytes(value) + b"\n\n"


def error_event(error: ApiError) -> bytes:
    """How a stream tells of an error: the official clients raise it."""
    return event(error.openai()) + DONE


def logprob_entries(entries: Iterable[LogprobEntry]) -> list[dict[str, Any]]:
    """The array ``logprobs.content``."""

    def written(token: bytes, logprob: float) -> dict[str, Any]:
        return {"token": token.decode("utf-8", "replace"), "logprob": max(logprob, -9999.0), "bytes": list(token)}

    return [
        {**written(entry.token, entry.logprob), "top_logprobs": [written(token, value) for token, value in entry.top]} for entry in entries
    ]


def usage(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """``usage`` of one request: its prompt counts once, however many answers."""
    prompt = max((outcome.prompt_tokens for outcome in outcomes), default=0)
    completion = sum(outcome.tokens for outcome in outcomes)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": max((outcome.cached_tokens for outcome in outcomes), default=0)},
        "completion_tokens_details": {"reasoning_tokens": sum(outcome.reasoning_tokens for outcome in outcomes)},
    }
