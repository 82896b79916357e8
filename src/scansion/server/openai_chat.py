"""``/v1/chat/completions``."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scansion.server.backend import Job, Outcome
from scansion.server.choices import Answer, End, Event, TextDelta, collect_all, merged, write_answer
from scansion.server.conversation import plain_messages, with_instructions
from scansion.server.errors import ApiError
from scansion.server.exchange import Call, EventStream
from scansion.server.extension import read_extension
from scansion.server.generation_parameters import EFFORT, sampling_fields, seed_of, stop_texts, template_arguments
from scansion.server.openai_parameters import CHAT
from scansion.server.openai_shapes import DONE, error_event, event, logprob_entries, usage
from scansion.server.parameters import Field, read_parameters
from scansion.server.resolver import resolve_openai
from scansion.server.service import Service
from scansion.server.tool_stream import CallArguments, CallStart
from scansion.server.tools import plan_tools, read_tools

__all__ = ["chat_completions", "openai_budget", "seeded", "stream_usage"]

_DEFAULTS = {"temperature": 1.0}
_STREAM_OPTIONS = {"include_usage": Field("boolean"), "include_obfuscation": Field("boolean")}


async def chat_completions(service: Service, call: Call) -> Any:
    """Answer a request: a JSON value, or a stream of server-sent events."""
    values = read_parameters(call.body, CHAT)
    extension = read_extension(values.get("scansion"))
    asked = await call.run(resolve_openai, values, extension)
    messages = plain_messages(values["messages"])
    tools = await call.run(read_tools, values.get("tools", ()))
    plan = plan_tools(tools, values.get("tool_choice"), values.get("parallel_tool_calls"), asked, extension.schema_options)
    if plan is not None:
        messages = with_instructions(messages, plan.instructions())
    streaming = values.get("stream", False)
    with_usage = stream_usage(values, streaming)
    job = Job(
        id=call.request_id,
        model=service.backend.resolve_model(values.get("model")),
        messages=messages,
        prompt=None,
        template_arguments=template_arguments(values.get("chat_template_kwargs")),
        sampling=sampling_fields(values),
        defaults=_DEFAULTS,
        seed=seed_of(values),
        max_tokens=openai_budget(service, values),
        stop=stop_texts(values.get("stop")),
        logprobs=_logprobs(values),
        think=EFFORT.get(values.get("reasoning_effort", "")),
        extension=extension,
    )
    job = await service.constrained(asked, plan, job, call.client)
    call.record.add(model=job.model, constraint="none" if job.constraint is None else job.constraint.recipe.kind, stream=streaming)
    if service.settings.log_content:
        call.record.add_content("messages", values["messages"])
    streams = [write_answer(service, one, plan, call.client) for one in seeded(job, values.get("n", 1))]
    head = {"id": f"chatcmpl-{call.request_id}", "created": int(time.time()), "model": job.model}
    if streaming:
        writer = _Chunks(head, len(streams), with_usage, logprobs=job.logprobs is not None)
        return EventStream("text/event-stream", writer.events(streams, call), error_event)
    return _whole(head, await collect_all(streams), job, call, service)


def openai_budget(service: Service, values: Mapping[str, Any]) -> int | None:
    """``max_completion_tokens`` before the older ``max_tokens``; -1 is as many as fit.

    Raises:
        ApiError: 400 where both are given and differ, or one is 0.
    """
    older, newer = values.get("max_tokens"), values.get("max_completion_tokens")
    if older is not None and newer is not None and older != newer:
        raise ApiError(
            400, f"max_tokens is {older} and max_completion_tokens {newer}: give one", code="conflicting_parameters", param="max_tokens"
        )
    budget = newer if newer is not None else older
    if budget == 0:
        name = "max_tokens" if newer is None else "max_completion_tokens"
        raise ApiError(400, f"{name} must be at least 1, or -1 for as many as fit, not 0", code="invalid_value", param=name)
    return service.settings.default_max_tokens if budget is None else None if budget < 0 else int(budget)


def stream_usage(values: Mapping[str, Any], streaming: bool) -> bool:
    """Whether the stream ends with usage.

    Raises:
        ApiError: 400 for ``stream_options`` without a stream.
    """
    options = values.get("stream_options")
    if options is None:
        return False
    checked = read_parameters(options, _STREAM_OPTIONS, prefix="stream_options")
    if not streaming:
        raise ApiError(400, "stream_options goes with stream: true", code="conflicting_parameters", param="stream_options")
    return bool(checked.get("include_usage", False))


def seeded(job: Job, count: int) -> list[Job]:
    """The job ``count`` times, each with a seed of its own."""
    return [job if number == 0 else replace(job, seed=None if job.seed is None else job.seed + number) for number in range(count)]


def _logprobs(values: Mapping[str, Any]) -> int | None:
    count = values.get("top_logprobs")
    if count is not None and not values.get("logprobs"):
        raise ApiError(400, "top_logprobs goes with logprobs: true", code="conflicting_parameters", param="top_logprobs")
    return (count or 0) if values.get("logprobs") else None


def _whole(head: Mapping[str, Any], answers: Sequence[Answer], job: Job, call: Call, service: Service) -> dict[str, Any]:
    choices = []
    for index, answer in enumerate(answers):
        message: dict[str, Any] = {"role": "assistant", "content": answer.content, "refusal": None, "annotations": []}
        if answer.reasoning:
            message["reasoning_content"] = answer.reasoning
        if answer.calls:
            message["content"] = answer.content or None
            message["tool_calls"] = [
                {"id": start.id, "type": "function", "function": {"name": start.name, "arguments": arguments}}
                for start, arguments in answer.calls
            ]
        logprobs = None if job.logprobs is None else {"content": logprob_entries(answer.logprobs), "refusal": None}
        reason = None if answer.end is None else answer.end.finish_reason
        choices.append({"index": index, "message": message, "logprobs": logprobs, "finish_reason": reason})
    ends = [answer.end for answer in answers if answer.end is not None]
    counts = usage([end.outcome for end in ends])
    call.record.add(tokens=counts["completion_tokens"], finish=[end.finish_reason for end in ends])
    if service.settings.log_content:
        call.record.add_content("answers", [choice["message"] for choice in choices])
    reports = [end.report for end in ends]
    return {
        **head,
        "object": "chat.completion",
        "system_fingerprint": None,
        "choices": choices,
        "usage": counts,
        "x_scansion": reports[0] if len(reports) == 1 else {**reports[0], "choices": reports},
    }


class _Chunks:
    """A chat completion as chunks."""

    def __init__(self, head: Mapping[str, Any], count: int, with_usage: bool, *, logprobs: bool) -> None:
        self._head = {**head, "object": "chat.completion.chunk", "system_fingerprint": None}
        self._with_usage = with_usage
        self._logprobs = logprobs
        self._begun = [False] * count
        self._outcomes: list[Outcome] = []

    async def events(self, streams: Sequence[AsyncGenerator[Event]], call: Call) -> AsyncGenerator[bytes]:
        async for index, item in merged(streams):
            if not self._begun[index]:
                self._begun[index] = True
                yield self._chunk(index, {"role": "assistant", "content": ""})
            if isinstance(item, TextDelta):
                delta: dict[str, Any] = {}
                if item.content:
                    delta["content"] = item.content
                if item.reasoning:
                    delta["reasoning_content"] = item.reasoning
                if delta or item.logprobs:
                    entries = {"content": logprob_entries(item.logprobs), "refusal": None} if self._logprobs else None
                    yield self._chunk(index, delta, logprobs=entries)
            elif isinstance(item, CallStart):
                function = {"name": item.name, "arguments": ""}
                yield self._chunk(index, {"tool_calls": [{"index": item.number, "id": item.id, "type": "function", "function": function}]})
            elif isinstance(item, CallArguments):
                yield self._chunk(index, {"tool_calls": [{"index": item.number, "function": {"arguments": item.text}}]})
            elif isinstance(item, End):
                self._outcomes.append(item.outcome)
                yield self._chunk(index, {}, finish=item.finish_reason, report=item.report)
        counts = usage(self._outcomes)
        call.record.add(tokens=counts["completion_tokens"])
        if self._with_usage:
            yield event({**self._head, "choices": [], "usage": counts})
        yield DONE

    def _chunk(
        self,
        index: int,
        delta: Mapping[str, Any],
        *,
        finish: str | None = None,
        logprobs: Mapping[str, Any] | None = None,
        report: Mapping[str, Any] | None = None,
    ) -> bytes:
        chunk: dict[str, Any] = {
            **self._head,
            "choices": [{"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}],
        }
        if self._with_usage:
            chunk["usage"] = None
        if report is not None:
            chunk["x_scansion"] = report
        return event(chunk)
