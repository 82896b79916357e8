"""``/v1/chat/completions``."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scansion.server.backend import Job, Outcome
from scansion.server.choices import Answer, End, Event, TextDelta, collect_all, merged, write_answer
from scansion.server.exchange import Call, EventStream
from scansion.server.openai_shapes import DONE, IDLE, error_event, event, logprob_entries, usage
from scansion.server.service import Service
from scansion.server.tool_stream import CallArguments, CallStart
from scansion.server.understood import Understood

__all__ = ["chat_completions", "seeded"]


async def chat_completions(service: Service, call: Call) -> Any:
    """Answer a request: a JSON value, or a stream of server-sent events."""
    request: Understood = call.request
    job = await service.job_of(request, call)
    streams = [write_answer(service, one, request.plan, call.client) for one in seeded(job, request.count)]
    head = {"id": f"chatcmpl-{call.request_id}", "created": int(time.time()), "model": job.model}
    if request.streaming:
        writer = _Chunks(head, len(streams), request.usage, logprobs=job.logprobs is not None)
        return EventStream("text/event-stream", writer.events(streams, call), error_event, IDLE)
    return _whole(head, await collect_all(streams), job, call, service)


def seeded(job: Job, count: int) -> list[Job]:
    """The job ``count`` times, each with a seed of its own."""
    return [job if number == 0 else replace(job, seed=None if job.seed is None else job.seed + number) for number in range(count)]


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
