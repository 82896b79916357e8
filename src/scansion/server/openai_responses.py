"""``/v1/responses``, without a store: the whole conversation comes with each request."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from scansion.server.backend import Job
from scansion.server.choices import Event, collect, write_answer
from scansion.server.exchange import Call, EventStream
from scansion.server.openai_shapes import IDLE
from scansion.server.response_events import ResponseEvents, error_event, output_items, response_usage
from scansion.server.service import Service
from scansion.server.understood import Understood

__all__ = ["responses"]


async def responses(service: Service, call: Call) -> Any:
    """Answer a request: a JSON value, or a stream of server-sent events."""
    request: Understood = call.request
    job = await service.job_of(request, call)
    events = write_answer(service, job, request.plan, call.client)
    base = _base(request.echo, job, call)
    if request.streaming:
        return EventStream("text/event-stream", _stream(base, events), error_event, IDLE)
    answer = await collect(events)
    items = output_items(call.request_id, answer.reasoning, answer.content, answer.calls, answer.logprobs)
    return finished(base, items, answer.end)


async def _stream(base: Mapping[str, Any], events: AsyncGenerator[Event]) -> AsyncGenerator[bytes]:
    writer = ResponseEvents(base)
    first = True
    async for item in events:
        if first:
            first = False
            for data in writer.opening():
                yield data
        for data in writer.write(item):
            yield data
    end = writer.end
    for data in writer.close(finished(base, writer.items, end)):
        yield data


def finished(base: Mapping[str, Any], items: Sequence[Mapping[str, Any]], end: Any) -> dict[str, Any]:
    """The response object when nothing more comes."""
    cut = end is None or end.finish_reason == "length"
    return {
        **base,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": list(items),
        "usage": None if end is None else response_usage(end.outcome),
        "x_scansion": None if end is None else end.report,
    }


def _base(echo: Mapping[str, Any], job: Job, call: Call) -> dict[str, Any]:
    return {
        "id": f"resp_{call.request_id}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": job.model,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "max_output_tokens": None,
        "usage": None,
        **echo,
    }
