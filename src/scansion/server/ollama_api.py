"""Ollama's API: ``/api/chat``, ``/api/generate`` and what clients ask around them. Streams are lines of JSON."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import scansion
from scansion.server.backend import Job, ModelCard
from scansion.server.choices import End, Event, TextDelta, collect, write_answer
from scansion.server.errors import ApiError
from scansion.server.exchange import Call, EventStream, json_bytes
from scansion.server.openai_shapes import logprob_entries
from scansion.server.service import Service
from scansion.server.tool_stream import CallArguments, CallStart
from scansion.server.understood import Understood

__all__ = ["chat", "generate", "running", "show", "tags", "version"]

_OLLAMA_VERSION = "0.12.0"
"""The version of the API that is spoken; clients compare it."""
_MEDIA_TYPE = "application/x-ndjson"
_EXPIRES = "2318-01-01T00:00:00Z"


async def chat(service: Service, call: Call) -> Any:
    """``/api/chat``."""
    request: Understood = call.request
    if not request.job.messages:
        model = service.backend.resolve_model(request.job.model)
        return {"model": model, "created_at": _now(), "message": _message(), "done_reason": "load", "done": True}
    return await _answer(service, call, request, in_messages=True)


async def generate(service: Service, call: Call) -> Any:
    """``/api/generate``."""
    request: Understood = call.request
    if not request.job.messages and not request.job.prompt:
        model = service.backend.resolve_model(request.job.model)
        return {"model": model, "created_at": _now(), "response": "", "done_reason": "load", "done": True}
    return await _answer(service, call, request, in_messages=False)


async def tags(service: Service, _: Call) -> Any:
    """``/api/tags``: the models there are."""
    return {"models": [_listed(card) for card in await service.backend.models()]}


async def running(service: Service, _: Call) -> Any:
    """``/api/ps``: all models are always loaded."""
    return {
        "models": [
            {**_listed(card), "expires_at": _EXPIRES, "size_vram": 0, "context_length": card.context}
            for card in await service.backend.models()
        ]
    }


async def version(_: Service, __: Call) -> Any:
    """``/api/version``."""
    return {"version": _OLLAMA_VERSION, "scansion": scansion.__version__}


async def show(service: Service, call: Call) -> Any:
    """``/api/show``: one model."""
    name: str = call.request
    cards = await service.backend.models()
    card = next((card for card in cards if card.name == name), None)
    if card is None:
        resolved = service.backend.resolve_model(name)
        card = next((card for card in cards if card.name == resolved), cards[0])
    return {
        "modelfile": f"FROM {card.name}",
        "parameters": "",
        "template": "",
        "details": _details(card),
        "model_info": {"general.architecture": card.details.get("architecture", ""), "context_length": card.context},
        "capabilities": ["completion", "tools", "thinking"],
        "modified_at": _time(card.created),
    }


async def _answer(service: Service, call: Call, request: Understood, *, in_messages: bool) -> Any:
    job = await service.job_of(request, call)
    events = write_answer(service, job, request.plan, call.client)
    started = time.monotonic_ns()
    if request.streaming:
        return EventStream(_MEDIA_TYPE, _lines(job, events, in_messages, started), _error_line)
    answer = await collect(events)
    calls = [_call(start, arguments) for start, arguments in answer.calls]
    line = _line(job, answer.content, answer.reasoning, calls, in_messages)
    if job.logprobs is not None:
        line["logprobs"] = logprob_entries(answer.logprobs)
    if answer.end is not None:
        line |= _ending(answer.end, started)
        call.record.add(tokens=answer.end.outcome.tokens)
    if service.settings.log_content:
        call.record.add_content("answer", answer.content)
    return line


async def _lines(job: Job, events: AsyncGenerator[Event], in_messages: bool, started: int) -> AsyncGenerator[bytes]:
    open_call: CallStart | None = None
    arguments: list[str] = []
    async for item in events:
        if open_call is not None and not isinstance(item, CallArguments):
            # This API has whole calls, not growing ones.
            yield _encoded(_line(job, "", "", [_call(open_call, "".join(arguments))], in_messages))
            open_call = None
        if isinstance(item, TextDelta):
            if item.content or item.reasoning or item.logprobs:
                line = _line(job, item.content, item.reasoning, [], in_messages)
                if item.logprobs:
                    line["logprobs"] = logprob_entries(item.logprobs)
                yield _encoded(line)
        elif isinstance(item, CallStart):
            open_call, arguments = item, []
        elif isinstance(item, CallArguments):
            arguments.append(item.text)
        else:
            yield _encoded(_line(job, "", "", [], in_messages) | _ending(item, started))


def _line(job: Job, content: str, reasoning: str, calls: list[dict[str, Any]], in_messages: bool) -> dict[str, Any]:
    line: dict[str, Any] = {"model": job.model, "created_at": _now()}
    if in_messages:
        line["message"] = _message(content, reasoning, calls)
    else:
        line["response"] = content
        if reasoning:
            line["thinking"] = reasoning
    line["done"] = False
    return line


def _message(content: str = "", reasoning: str = "", calls: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if reasoning:
        message["thinking"] = reasoning
    if calls:
        message["tool_calls"] = calls
    return message


def _call(start: CallStart, arguments: str) -> dict[str, Any]:
    return {"id": start.id, "function": {"index": start.number, "name": start.name, "arguments": _arguments(arguments)}}


def _ending(end: End, started: int) -> dict[str, Any]:
    outcome = end.outcome
    return {
        "done": True,
        "done_reason": "length" if end.finish_reason == "length" else "stop",
        "total_duration": time.monotonic_ns() - started,
        "load_duration": 0,
        "prompt_eval_count": outcome.prompt_tokens,
        "prompt_eval_duration": int(outcome.seconds[0] * 1e9),
        "eval_count": outcome.tokens,
        "eval_duration": int(outcome.seconds[1] * 1e9),
        "x_scansion": end.report,
    }


def _arguments(text: str) -> Any:
    """Arguments of a call as a JSON value; those of a cut call are kept as text."""
    try:
        return json.loads(text)
    except ValueError:
        return {"_incomplete": text}


def _listed(card: ModelCard) -> dict[str, Any]:
    return {
        "name": card.name,
        "model": card.name,
        "modified_at": _time(card.created),
        "size": card.size,
        "digest": "",
        "details": _details(card),
    }


def _details(card: ModelCard) -> dict[str, Any]:
    family = str(card.details.get("architecture", ""))
    return {
        "parent_model": "",
        "format": "gguf",
        "family": family,
        "families": [family] if family else [],
        "parameter_size": str(card.details.get("parameter_size", "")),
        "quantization_level": str(card.details.get("quantization", "")),
    }


def _error_line(error: ApiError) -> bytes:
    return _encoded(error.ollama())


def _encoded(value: Mapping[str, Any]) -> bytes:
    return json_bytes(value) + b"\n"


def _now() -> str:
    return _time(time.time())


def _time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + "Z"
