"""Bodies of Ollama's endpoints, read and checked: ``/api/chat``, ``/api/generate`` and ``/api/show``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scansion.server.backend import Job
from scansion.server.conversation import plain_messages, with_instructions
from scansion.server.errors import ApiError
from scansion.server.extension import Extension, read_extension
from scansion.server.generation_parameters import EFFORT, sampling_fields, seed_of, stop_texts
from scansion.server.json_text import kind_of, read_object
from scansion.server.ollama_parameters import CHAT, DEFAULT_SAMPLING, GENERATE, OPTIONS, SHOW
from scansion.server.parameters import read_parameters
from scansion.server.resolver import resolve_ollama
from scansion.server.tools import plan_tools, read_tools
from scansion.server.understood import Understood

__all__ = ["read_chat", "read_generate", "read_show"]


def read_chat(body: bytes) -> Understood:
    """A body of ``/api/chat``; without messages it only asks for the model to be loaded.

    Raises:
        ApiError: 400, 413 or 422 naming the parameter.
    """
    values = read_parameters(read_object(body), CHAT)
    extension = read_extension(values.get("scansion"))
    asked = resolve_ollama(values, extension)
    messages = plain_messages(values.get("messages", ()))
    plan = None
    if messages:
        plan = plan_tools(read_tools(values.get("tools", ())), None, None, asked, extension.schema_options)
    if plan is not None:
        messages = with_instructions(messages, plan.instructions())
    return Understood(_job(values, extension, messages=messages, prompt=None), asked, plan, streaming=values.get("stream", True))


def read_generate(body: bytes) -> Understood:
    """A body of ``/api/generate``; without a prompt it only asks for the model to be loaded.

    Raises:
        ApiError: 400, 413 or 422 naming the parameter.
    """
    values = read_parameters(read_object(body), GENERATE)
    extension = read_extension(values.get("scansion"))
    asked = resolve_ollama(values, extension)
    prompt, system = values.get("prompt", ""), values.get("system")
    messages = None
    if prompt and values.get("raw") and system:
        raise ApiError(400, "raw gives the whole prompt, so system has no place in it", code="conflicting_parameters", param="system")
    if prompt and not values.get("raw"):
        messages = [{"role": "user", "content": prompt}]
        if system:
            messages.insert(0, {"role": "system", "content": system})
    job = _job(values, extension, messages=messages, prompt=prompt if messages is None else None)
    return Understood(job, asked, streaming=values.get("stream", True))


def read_show(body: bytes) -> str:
    """A body of ``/api/show``: the name of the model.

    Raises:
        ApiError: 400 naming the parameter.
    """
    values = read_parameters(read_object(body), SHOW)
    name: str = values.get("model") or values.get("name") or ""
    if not name:
        raise ApiError(400, "model is missing: give its name", code="missing_parameter", param="model")
    return name


def _job(values: Mapping[str, Any], extension: Extension, *, messages: list[dict[str, str]] | None, prompt: str | None) -> Job:
    options = read_parameters(values.get("options", {}), OPTIONS, prefix="options")
    budget = options.get("num_predict", -1)
    if budget == 0:
        raise ApiError(400, "options.num_predict must be at least 1, or -1, not 0", code="invalid_value", param="options.num_predict")
    if values.get("top_logprobs") is not None and not values.get("logprobs"):
        raise ApiError(400, "top_logprobs goes with logprobs: true", code="conflicting_parameters", param="top_logprobs")
    return Job(
        id="",
        model=values["model"],
        messages=messages,
        prompt=prompt,
        sampling=sampling_fields(options, prefix="options"),
        defaults=DEFAULT_SAMPLING,
        seed=seed_of(options),
        max_tokens=None if budget < 0 else budget,
        stop=stop_texts(options.get("stop"), "options.stop"),
        logprobs=values.get("top_logprobs", 0) if values.get("logprobs") else None,
        think=_think(values.get("think")),
        extension=extension,
    )


def _think(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return 0.5 if value else 0.0
    if isinstance(value, str) and value in EFFORT:
        return EFFORT[value]
    given = repr(value[:40]) if isinstance(value, str) else kind_of(value)
    raise ApiError(400, f"think must be a boolean or one of low, medium, high, not {given}", code="invalid_value", param="think")
