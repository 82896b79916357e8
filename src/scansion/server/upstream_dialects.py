"""What each kind of upstream is sent, and how its streams are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scansion.models.upstream import UpstreamError
from scansion.server.backend import Job, LogprobEntry
from scansion.server.errors import ApiError
from scansion.server.generation_parameters import EFFORT
from scansion.server.reasoning import after_reasoning

__all__ = ["Chunk", "Wire", "check_sampling", "read_line", "request_for"]

_OPENAI = frozenset(("temperature", "top_p", "frequency_penalty", "presence_penalty", "logit_bias"))
_VLLM = _OPENAI | {"top_k", "min_p", "repeat_penalty"}
_OLLAMA = frozenset(
    ("temperature", "top_p", "top_k", "min_p", "typical_p", "repeat_penalty", "penalty_last_n", "frequency_penalty", "presence_penalty",
     "mirostat", "mirostat_tau", "mirostat_eta")
)  # fmt: skip
_NO_CHANCE = -9999.0
"""The log probability OpenAI's API writes for none, where others write an infinity, which is no JSON."""
_SAMPLING = {"openai": _OPENAI, "vllm": _VLLM, "ollama": _OLLAMA}
_RENAMED = {
    "llama-server": {"penalty_last_n": "repeat_last_n"},
    "scansion": {"penalty_last_n": "repeat_last_n"},
    "vllm": {"repeat_penalty": "repetition_penalty"},
    "ollama": {"penalty_last_n": "repeat_last_n"},
}


@dataclass(frozen=True)
class Wire:
    """A request to an upstream. ``splits_reasoning``: reasoning and answer come as one text."""

    path: str
    body: dict[str, Any]
    splits_reasoning: bool = False


@dataclass(frozen=True)
class Chunk:
    """What one line of a stream says."""

    content: str = ""
    reasoning: str = ""
    logprobs: tuple[LogprobEntry, ...] = ()
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    tokens: int | None = None
    done: bool = False


def check_sampling(kind: str, job: Job) -> None:
    """Refuse what a kind of upstream has no parameter for.

    Raises:
        ApiError: 400 naming the parameter.
    """
    known = _SAMPLING.get(kind)
    for name in job.sampling:
        if known is not None and name not in known:
            raise ApiError(400, f"the upstream ({kind}) has no parameter {name}: leave it out", code="unsupported_parameter", param=name)
    if job.logprobs is not None and kind == "ollama" and job.messages is None:
        raise ApiError(400, "the upstream (ollama) gives no logprobs here: leave them out", code="unsupported_parameter", param="logprobs")
    extension = job.extension
    if extension.mode == "assist":
        raise ApiError(
            400, 'scansion.mode "assist" needs the embedded model: an upstream takes no drafts', code="unsupported_parameter",
            param="scansion.mode",
        )  # fmt: skip
    if extension.friction:
        raise ApiError(
            400, "scansion.friction needs the embedded model: an upstream does not tell it", code="unsupported_parameter",
            param="scansion.friction",
        )  # fmt: skip


def request_for(kind: str, job: Job) -> Wire:
    """The request for a job, always a stream."""
    sampling = {_RENAMED.get(kind, {}).get(name, name): value for name, value in job.sampling.items()}
    if "logit_bias" in sampling:
        sampling["logit_bias"] = {str(token): max(bias, -100.0) for token, bias in sampling["logit_bias"].items()}
    if kind == "ollama":
        return _ollama(job, sampling)
    body: dict[str, Any] = {"model": job.model, "stream": True, "stream_options": {"include_usage": True}, **sampling}
    if job.seed is not None:
        body["seed"] = job.seed % 2**32 if kind == "llama-server" else job.seed
    if job.max_tokens is not None:
        body["max_tokens"] = job.max_tokens
    if job.stop:
        body["stop"] = list(job.stop)
    if job.messages is None:
        path = "/v1/completions"
        body["prompt"] = job.prompt or ""
        if job.logprobs is not None:
            body["logprobs"] = job.logprobs
    else:
        path = "/v1/chat/completions"
        body["messages"] = list(job.messages)
        if job.logprobs is not None:
            body |= {"logprobs": True, "top_logprobs": job.logprobs}
        arguments = dict(job.template_arguments)
        if kind == "scansion":
            if job.think is not None:
                body["reasoning_effort"] = min(EFFORT, key=lambda name: abs(EFFORT[name] - (job.think or 0.0)))
        elif job.think is not None:
            arguments.setdefault("enable_thinking", job.think > 0)
        elif job.constraint is not None:
            arguments.setdefault("enable_thinking", False)
        if arguments and kind != "openai":
            body["chat_template_kwargs"] = arguments
    split = _constrain(kind, job, body)
    return Wire(path, body, split)


def _constrain(kind: str, job: Job, body: dict[str, Any]) -> bool:
    """Put the constraint into the body; whether reasoning will come in one text with the answer."""
    sent = job.constraint.sent if job.constraint is not None else None
    if sent is None or sent.form == "nothing":
        return False
    if kind == "llama-server":
        thinks = bool(job.think) and job.messages is not None and sent.form == "gbnf"
        body["grammar"] = after_reasoning(sent.text) if thinks else sent.text
        # Its own reasoning parser would take the answer for reasoning where a template opens <think> itself.
        body["reasoning_format"] = "none"
        return thinks
    if kind == "scansion" and sent.form == "lark":
        body["grammar"] = sent.text
    elif kind in ("vllm", "scansion"):
        names = {"schema": "json", "gbnf": "grammar", "regex": "regex", "choice": "choice"}
        if sent.form == "json":
            body["structured_outputs"] = {"json_object": True}
        else:
            body["structured_outputs"] = {names[sent.form]: json.loads(sent.text) if sent.form in ("schema", "choice") else sent.text}
        if kind == "scansion" and sent.options:
            body["scansion"] = dict(sent.options)
    elif sent.form == "json":
        body["response_format"] = {"type": "json_object"}
    else:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": json.loads(sent.text)},
        }
    return False


def _ollama(job: Job, sampling: dict[str, Any]) -> Wire:
    options = dict(sampling)
    options.pop("logit_bias", None)
    if job.seed is not None:
        options["seed"] = job.seed % 2**31
    if job.max_tokens is not None:
        options["num_predict"] = job.max_tokens
    if job.stop:
        options["stop"] = list(job.stop)
    body: dict[str, Any] = {"model": job.model, "stream": True, "options": options}
    if job.think is not None:
        body["think"] = job.think > 0
    if job.logprobs is not None:
        body |= {"logprobs": True, "top_logprobs": job.logprobs}
    sent = job.constraint.sent if job.constraint is not None else None
    if sent is not None and sent.form != "nothing":
        body["format"] = "json" if sent.form == "json" else json.loads(sent.text)
    if job.messages is None:
        return Wire("/api/generate", {**body, "prompt": job.prompt or "", "raw": True})
    return Wire("/api/chat", {**body, "messages": list(job.messages)})


def read_line(kind: str, line: str) -> Chunk | None:
    """One line of a stream, or None where it says nothing.

    Raises:
        UpstreamError: the line tells of an error, or is no line of such a stream.
    """
    if kind == "ollama":
        return _chunk(_read_ollama, line) if line.strip() else None
    if line.startswith("error:"):
        line = "data:" + line[6:]
    if not line.startswith("data:"):
        return None
    data = line[5:].strip()
    if data == "[DONE]":
        return Chunk(done=True)
    return _chunk(_read_openai, data) if data else None


def _chunk(read: Callable[[Mapping[str, Any]], Chunk], data: str) -> Chunk:
    value = _parsed(data)
    try:
        chunk = read(value)
        if not isinstance(chunk.content, str) or not isinstance(chunk.reasoning, str):
            raise TypeError
        return chunk
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        message = f"the upstream sent a line of another shape than it should: {data[:80]!r}"
        raise UpstreamError(message, code="upstream_stream_broken", before_answer=False) from None


def _parsed(data: str) -> Mapping[str, Any]:
    try:
        value = json.loads(data, parse_constant=lambda _: _NO_CHANCE)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        message = f"the upstream sent a line that is no JSON object: {data[:80]!r}"
        raise UpstreamError(message, code="upstream_stream_broken", before_answer=False)
    problem = value.get("error")
    if problem is None and isinstance(value.get("message"), str):
        problem = value  # llama-server's "error:" lines hold the error itself
    if problem is not None:
        message = problem.get("message", "no reason given") if isinstance(problem, dict) else str(problem)
        raise UpstreamError(f"the upstream broke off: {message}", code="upstream_error", status=502, body=value, before_answer=False)
    return value


def _read_openai(value: Mapping[str, Any]) -> Chunk:
    choices = value.get("choices") or [{}]
    choice = choices[0] if isinstance(choices[0], dict) else {}
    delta = choice.get("delta") or {}
    counts = value.get("usage") or {}
    details = counts.get("prompt_tokens_details") or {}
    return Chunk(
        content=delta.get("content") or choice.get("text") or "",
        reasoning=delta.get("reasoning_content") or delta.get("reasoning") or "",
        logprobs=_logprobs(choice.get("logprobs")),
        finish_reason=choice.get("finish_reason"),
        prompt_tokens=_count(counts.get("prompt_tokens")),
        cached_tokens=_count(details.get("cached_tokens")),
        tokens=_count(counts.get("completion_tokens")),
    )


def _read_ollama(value: Mapping[str, Any]) -> Chunk:
    message = value.get("message") or {}
    done = bool(value.get("done"))
    return Chunk(
        content=message.get("content") or value.get("response") or "",
        reasoning=message.get("thinking") or value.get("thinking") or "",
        logprobs=_logprobs({"content": value.get("logprobs")}),
        finish_reason=value.get("done_reason", "stop") if done else None,
        prompt_tokens=_count(value.get("prompt_eval_count")) if done else None,
        tokens=_count(value.get("eval_count")) if done else None,
        done=done,
    )


def _count(value: Any) -> int | None:
    return None if value is None else max(0, int(value))


def _logprobs(value: Any) -> tuple[LogprobEntry, ...]:
    if not isinstance(value, dict):
        return ()
    if isinstance(value.get("tokens"), list):  # the older shape, one array for each column
        tops = value.get("top_logprobs") or [{}] * len(value["tokens"])
        return tuple(
            LogprobEntry(str(token).encode(), logprob or 0.0, tuple((name.encode(), number) for name, number in (top or {}).items()))
            for token, logprob, top in zip(value["tokens"], value.get("token_logprobs", ()), tops, strict=False)
        )
    entries = []
    for entry in value.get("content") or ():
        top = tuple((_token(other), float(other.get("logprob") or 0.0)) for other in entry.get("top_logprobs") or ())
        entries.append(LogprobEntry(_token(entry), float(entry.get("logprob") or 0.0), top))
    return tuple(entries)


def _token(entry: Mapping[str, Any]) -> bytes:
    data = entry.get("bytes")
    return bytes(data) if isinstance(data, list) else str(entry.get("token", "")).encode()
