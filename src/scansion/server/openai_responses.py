"""``/v1/responses``, without a store: the whole conversation comes with each request."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from scansion.server.backend import Job
from scansion.server.choices import Event, collect, write_answer
from scansion.server.conversation import plain_messages, with_instructions
from scansion.server.errors import ApiError
from scansion.server.exchange import Call, EventStream
from scansion.server.extension import read_extension
from scansion.server.generation_parameters import EFFORT, sampling_fields, seed_of
from scansion.server.json_text import kind_of
from scansion.server.openai_parameters import RESPONSES
from scansion.server.parameters import Field, nearest, read_parameters
from scansion.server.resolver import resolve_responses
from scansion.server.response_events import ResponseEvents, error_event, output_items, response_usage
from scansion.server.service import Service
from scansion.server.tools import plan_tools, read_tools

__all__ = ["responses"]

_DEFAULTS = {"temperature": 1.0}
_MAX_ITEMS = 4096
_REASONING = {
    "effort": Field("string", choices=tuple(EFFORT)),
    "summary": Field("any", "accepted"),
    "generate_summary": Field("any", "accepted"),
}
_INCLUDES = ("message.output_text.logprobs", "reasoning.encrypted_content")


async def responses(service: Service, call: Call) -> Any:
    """Answer a request: a JSON value, or a stream of server-sent events."""
    values = read_parameters(call.body, RESPONSES)
    extension = read_extension(values.get("scansion"))
    asked = await call.run(resolve_responses, values.get("text"), extension)
    messages = _messages(values["input"])
    if values.get("instructions"):
        messages = [{"role": "system", "content": values["instructions"]}, *messages]
    tools = await call.run(functools.partial(read_tools, flat=True), values.get("tools", ()))
    plan = plan_tools(tools, values.get("tool_choice"), values.get("parallel_tool_calls"), asked, extension.schema_options)
    if plan is not None:
        messages = with_instructions(messages, plan.instructions())
    effort = read_parameters(values.get("reasoning", {}), _REASONING, prefix="reasoning").get("effort", "")
    for name in values.get("include", ()):
        if name not in _INCLUDES:
            near = nearest(str(name), dict.fromkeys(_INCLUDES))
            hint = f"did you mean {near!r}?" if near else f"it may name {', '.join(_INCLUDES)}"
            raise ApiError(400, f"include names {str(name)[:60]!r}: {hint}", code="invalid_value", param="include")
    wants_logprobs = _INCLUDES[0] in values.get("include", ())
    job = Job(
        id=call.request_id,
        model=service.backend.resolve_model(values.get("model")),
        messages=messages,
        prompt=None,
        sampling=sampling_fields(values),
        defaults=_DEFAULTS,
        seed=seed_of(values),
        max_tokens=values.get("max_output_tokens", service.settings.default_max_tokens),
        logprobs=values.get("top_logprobs", 0) if wants_logprobs else None,
        think=EFFORT.get(effort),
        extension=extension,
    )
    job = await service.constrained(asked, plan, job, call.client)
    streaming = values.get("stream", False)
    call.record.add(model=job.model, constraint="none" if job.constraint is None else job.constraint.recipe.kind, stream=streaming)
    if service.settings.log_content:
        call.record.add_content("messages", messages)
    events = write_answer(service, job, plan, call.client)
    base = _base(values, job, call)
    if streaming:
        return EventStream("text/event-stream", _stream(base, events), error_event)
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


def _base(values: Mapping[str, Any], job: Job, call: Call) -> dict[str, Any]:
    return {
        "id": f"resp_{call.request_id}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": values.get("instructions"),
        "metadata": call.body.get("metadata") or {},
        "model": job.model,
        "output": [],
        "parallel_tool_calls": values.get("parallel_tool_calls", True),
        "previous_response_id": None,
        "reasoning": values.get("reasoning", {"effort": None, "summary": None}),
        "store": False,
        "temperature": values.get("temperature", 1.0),
        "text": values.get("text", {"format": {"type": "text"}}),
        "tool_choice": values.get("tool_choice", "auto"),
        "tools": values.get("tools", []),
        "top_p": values.get("top_p", 1.0),
        "truncation": "disabled",
        "max_output_tokens": values.get("max_output_tokens"),
        "usage": None,
    }


def _messages(value: Any) -> list[dict[str, str]]:
    """``input`` as plain turns: a string, or items of type message, function_call and function_call_output."""
    if isinstance(value, str):
        return plain_messages([{"role": "user", "content": value}], param="input")
    if not isinstance(value, list) or not value:
        given = "an empty array" if value == [] else kind_of(value)
        raise ApiError(400, f"input must be a string or an array of items, not {given}", code="invalid_type", param="input")
    if len(value) > _MAX_ITEMS:
        raise ApiError(400, f"input has {len(value):,} items, more than {_MAX_ITEMS:,}", code="invalid_value", param="input")
    messages: list[dict[str, Any]] = []
    for index, item in enumerate(value):
        where = f"input.{index}"
        if not isinstance(item, dict):
            raise ApiError(400, f"{where} must be an object, not {kind_of(item)}", code="invalid_type", param=where)
        kind = item.get("type", "message")
        if kind == "message":
            messages.append(item)
        elif kind == "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments", "{}")}
            call = {"function": function}
            if messages and messages[-1].get("role") == "assistant" and "tool_calls" in messages[-1]:
                messages[-1]["tool_calls"].append(call)
            else:
                messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif kind == "function_call_output":
            output = item.get("output")
            messages.append({"role": "tool", "content": output if isinstance(output, str | list) else json.dumps(output)})
        elif kind != "reasoning":  # reasoning of earlier turns is not shown to the model again
            raise ApiError(
                400, f"{where}.type is {str(kind)[:60]!r}: only messages, function calls and their outputs are read",
                code="unsupported_content", param=f"{where}.type",
            )  # fmt: skip
    return plain_messages(messages, param="input")
