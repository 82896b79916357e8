"""Bodies of OpenAI's endpoints, read and checked: ``/v1/chat/completions``, ``/v1/completions`` and ``/v1/responses``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from scansion.server.backend import Job
from scansion.server.conversation import plain_messages, with_instructions
from scansion.server.errors import ApiError
from scansion.server.extension import read_extension
from scansion.server.generation_parameters import EFFORT, sampling_fields, seed_of, stop_texts, template_arguments
from scansion.server.json_text import kind_of, read_object
from scansion.server.openai_parameters import CHAT, COMPLETIONS, RESPONSES
from scansion.server.parameters import Field, nearest, read_parameters
from scansion.server.resolver import resolve_openai, resolve_responses
from scansion.server.tools import plan_tools, read_tools
from scansion.server.understood import Understood

__all__ = ["read_chat", "read_completions", "read_responses"]

_DEFAULTS = {"temperature": 1.0}
_STREAM_OPTIONS = {"include_usage": Field("boolean"), "include_obfuscation": Field("boolean")}
_DEFAULT_COMPLETION_TOKENS = 16
_MAX_PROMPTS = 16
_MAX_ITEMS = 4096
_REASONING = {
    "effort": Field("string", choices=tuple(EFFORT)),
    "summary": Field("any", "accepted"),
    "generate_summary": Field("any", "accepted"),
}
_INCLUDES = ("message.output_text.logprobs", "reasoning.encrypted_content")
_ECHOED = ("instructions", "parallel_tool_calls", "reasoning", "temperature", "text", "tool_choice", "tools", "top_p", "max_output_tokens")
_LONGEST_ECHO = 32 << 10


def read_chat(body: bytes) -> Understood:
    """A body of ``/v1/chat/completions``.

    Raises:
        ApiError: 400, 413 or 422 naming the parameter.
    """
    values = read_parameters(read_object(body), CHAT)
    extension = read_extension(values.get("scansion"))
    asked = resolve_openai(values, extension)
    messages = plain_messages(values["messages"])
    tools = read_tools(values.get("tools", ()))
    plan = plan_tools(tools, values.get("tool_choice"), values.get("parallel_tool_calls"), asked, extension.schema_options)
    if plan is not None:
        messages = with_instructions(messages, plan.instructions())
    streaming = values.get("stream", False)
    budget = _chat_budget(values)
    job = Job(
        id="",
        model=values.get("model", ""),
        messages=messages,
        prompt=None,
        template_arguments=template_arguments(values.get("chat_template_kwargs")),
        sampling=sampling_fields(values),
        defaults=_DEFAULTS,
        seed=seed_of(values),
        max_tokens=None if budget is None or budget < 0 else budget,
        stop=stop_texts(values.get("stop")),
        logprobs=_chat_logprobs(values),
        think=EFFORT.get(values.get("reasoning_effort", "")),
        extension=extension,
    )
    return Understood(
        job, asked, plan, default_budget=budget is None, streaming=streaming, usage=_stream_usage(values), count=values.get("n", 1)
    )


def read_completions(body: bytes) -> Understood:
    """A body of ``/v1/completions``.

    Raises:
        ApiError: 400, 413 or 422 naming the parameter.
    """
    values = read_parameters(read_object(body), COMPLETIONS)
    extension = read_extension(values.get("scansion"))
    asked = resolve_openai(values, extension)
    prompts = _prompts(values["prompt"])
    budget = values.get("max_tokens", _DEFAULT_COMPLETION_TOKENS)
    if budget == 0:
        raise ApiError(400, "max_tokens must be at least 1, or -1 for as many as fit, not 0", code="invalid_value", param="max_tokens")
    job = Job(
        id="",
        model=values.get("model", ""),
        messages=None,
        prompt=prompts[0],
        sampling=sampling_fields(values),
        defaults=_DEFAULTS,
        seed=seed_of(values),
        max_tokens=None if budget < 0 else budget,
        stop=stop_texts(values.get("stop")),
        logprobs=_completion_logprobs(values.get("logprobs")),
        extension=extension,
    )
    streaming = values.get("stream", False)
    return Understood(job, asked, streaming=streaming, usage=_stream_usage(values), count=values.get("n", 1), prompts=prompts)


def read_responses(body: bytes) -> Understood:
    """A body of ``/v1/responses``.

    Raises:
        ApiError: 400, 413 or 422 naming the parameter.
    """
    given = read_object(body)
    values = read_parameters(given, RESPONSES)
    extension = read_extension(values.get("scansion"))
    asked = resolve_responses(values.get("text"), extension)
    messages = _response_messages(values["input"])
    if values.get("instructions"):
        messages = [{"role": "system", "content": values["instructions"]}, *messages]
    tools = read_tools(values.get("tools", ()), flat=True)
    plan = plan_tools(tools, values.get("tool_choice"), values.get("parallel_tool_calls"), asked, extension.schema_options)
    if plan is not None:
        messages = with_instructions(messages, plan.instructions())
    effort = read_parameters(values.get("reasoning", {}), _REASONING, prefix="reasoning").get("effort", "")
    for name in values.get("include", ()):
        if name not in _INCLUDES:
            near = nearest(str(name), dict.fromkeys(_INCLUDES))
            hint = f"did you mean {near!r}?" if near else f"it may name {', '.join(_INCLUDES)}"
            raise ApiError(400, f"include names {str(name)[:60]!r}: {hint}", code="invalid_value", param="include")
    job = Job(
        id="",
        model=values.get("model", ""),
        messages=messages,
        prompt=None,
        sampling=sampling_fields(values),
        defaults=_DEFAULTS,
        seed=seed_of(values),
        max_tokens=values.get("max_output_tokens"),
        logprobs=values.get("top_logprobs", 0) if _INCLUDES[0] in values.get("include", ()) else None,
        think=EFFORT.get(effort),
        extension=extension,
    )
    echo = {name: values[name] for name in _ECHOED if name in values}
    echo["metadata"] = given.get("metadata") or {}
    if len(body) > _LONGEST_ECHO:
        echo = {name: value for name, value in echo.items() if not isinstance(value, str | list | dict)}
    return Understood(job, asked, plan, default_budget="max_output_tokens" not in values, streaming=values.get("stream", False), echo=echo)


def _chat_budget(values: Mapping[str, Any]) -> int | None:
    """``max_completion_tokens`` before the older ``max_tokens``; negative is as many as fit, None is neither given."""
    older, newer = values.get("max_tokens"), values.get("max_completion_tokens")
    if older is not None and newer is not None and older != newer:
        raise ApiError(
            400, f"max_tokens is {older} and max_completion_tokens {newer}: give one", code="conflicting_parameters", param="max_tokens"
        )
    budget: int | None = newer if newer is not None else older
    if budget == 0:
        name = "max_tokens" if newer is None else "max_completion_tokens"
        raise ApiError(400, f"{name} must be at least 1, or -1 for as many as fit, not 0", code="invalid_value", param=name)
    return budget


def _stream_usage(values: Mapping[str, Any]) -> bool:
    options = values.get("stream_options")
    if options is None:
        return False
    checked = read_parameters(options, _STREAM_OPTIONS, prefix="stream_options")
    if not values.get("stream", False):
        raise ApiError(400, "stream_options goes with stream: true", code="conflicting_parameters", param="stream_options")
    return bool(checked.get("include_usage", False))


def _chat_logprobs(values: Mapping[str, Any]) -> int | None:
    count = values.get("top_logprobs")
    if count is not None and not values.get("logprobs"):
        raise ApiError(400, "top_logprobs goes with logprobs: true", code="conflicting_parameters", param="top_logprobs")
    return (count or 0) if values.get("logprobs") else None


def _completion_logprobs(value: Any) -> int | None:
    if value is None or value is False:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 20:
        raise ApiError(400, f"logprobs must be a whole number from 0 to 20, not {str(value)[:40]}", code="invalid_value", param="logprobs")
    return value


def _prompts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and value and all(isinstance(text, str) for text in value):
        if len(value) > _MAX_PROMPTS:
            raise ApiError(400, f"prompt may hold at most {_MAX_PROMPTS} texts, not {len(value)}", code="invalid_value", param="prompt")
        return tuple(value)
    if isinstance(value, list) and value and all(isinstance(token, int | list) for token in value):
        raise ApiError(400, "prompt must be text: token ids are not taken here", code="unsupported_content", param="prompt")
    given = "an empty array" if value == [] else kind_of(value)
    raise ApiError(400, f"prompt must be a string or an array of strings, not {given}", code="invalid_type", param="prompt")


def _response_messages(value: Any) -> list[dict[str, str]]:
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
