"""``/v1/completions``: text goes on, no chat template."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scansion.server.backend import Job, LogprobEntry, Outcome
from scansion.server.choices import End, Event, TextDelta, collect_all, merged, write_answer
from scansion.server.errors import ApiError
from scansion.server.exchange import Call, EventStream
from scansion.server.extension import read_extension
from scansion.server.generation_parameters import sampling_fields, seed_of, stop_texts
from scansion.server.json_text import kind_of
from scansion.server.openai_chat import seeded, stream_usage
from scansion.server.openai_parameters import COMPLETIONS
from scansion.server.openai_shapes import DONE, error_event, event, usage
from scansion.server.parameters import read_parameters
from scansion.server.resolver import resolve_openai
from scansion.server.service import Service

__all__ = ["completions"]

_DEFAULTS = {"temperature": 1.0}
_DEFAULT_TOKENS = 16
_MAX_PROMPTS = 16


async def completions(service: Service, call: Call) -> Any:
    """Answer a request: a JSON value, or a stream of server-sent events."""
    values = read_parameters(call.body, COMPLETIONS)
    extension = read_extension(values.get("scansion"))
    asked = await call.run(resolve_openai, values, extension)
    prompts = _prompts(values["prompt"])
    streaming = values.get("stream", False)
    with_usage = stream_usage(values, streaming)
    job = Job(
        id=call.request_id,
        model=service.backend.resolve_model(values.get("model")),
        messages=None,
        prompt=prompts[0],
        sampling=sampling_fields(values),
        defaults=_DEFAULTS,
        seed=seed_of(values),
        max_tokens=_budget(values),
        stop=stop_texts(values.get("stop")),
        logprobs=_logprobs(values.get("logprobs")),
        extension=extension,
    )
    job = await service.constrained(asked, None, job, call.client)
    call.record.add(model=job.model, constraint="none" if job.constraint is None else job.constraint.recipe.kind, stream=streaming)
    if service.settings.log_content:
        call.record.add_content("prompts", prompts)
    jobs = [one for prompt in prompts for one in seeded(replace(job, prompt=prompt), values.get("n", 1))]
    streams = [write_answer(service, one, None, call.client) for one in jobs]
    head = {"id": f"cmpl-{call.request_id}", "object": "text_completion", "created": int(time.time()), "model": job.model}
    if streaming:
        return EventStream("text/event-stream", _events(head, streams, with_usage, job), error_event)
    answers = await collect_all(streams)
    choices = [
        {
            "index": index,
            "text": answer.content,
            "logprobs": None if job.logprobs is None else _table(answer.logprobs, 0),
            "finish_reason": answer.end.finish_reason if answer.end is not None else None,
        }
        for index, answer in enumerate(answers)
    ]
    ends = [answer.end for answer in answers if answer.end is not None]
    counts = _usage([end.outcome for end in ends], len(prompts))
    call.record.add(tokens=counts["completion_tokens"])
    reports = [end.report for end in ends]
    report = reports[0] if len(reports) == 1 else {**reports[0], "choices": reports}
    return {**head, "choices": choices, "usage": counts, "x_scansion": report}


async def _events(head: Mapping[str, Any], streams: Sequence[AsyncGenerator[Event]], with_usage: bool, job: Job) -> AsyncGenerator[bytes]:
    outcomes: list[Outcome] = []
    offsets = [0] * len(streams)
    async for index, item in merged(streams):
        if isinstance(item, TextDelta):
            logprobs = _table(item.logprobs, offsets[index]) if job.logprobs is not None and item.logprobs else None
            offsets[index] += len(item.content)
            if item.content or logprobs:
                yield event({**head, "choices": [{"index": index, "text": item.content, "logprobs": logprobs, "finish_reason": None}]})
        elif isinstance(item, End):
            outcomes.append(item.outcome)
            choice = {"index": index, "text": "", "logprobs": None, "finish_reason": item.finish_reason}
            yield event({**head, "choices": [choice], "x_scansion": item.report})
    if with_usage:
        yield event({**head, "choices": [], "usage": _usage(outcomes, 1)})
    yield DONE


def _prompts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value and all(isinstance(text, str) for text in value):
        if len(value) > _MAX_PROMPTS:
            raise ApiError(400, f"prompt may hold at most {_MAX_PROMPTS} texts, not {len(value)}", code="invalid_value", param="prompt")
        return list(value)
    if isinstance(value, list) and value and all(isinstance(token, int | list) for token in value):
        raise ApiError(400, "prompt must be text: token ids are not taken here", code="unsupported_content", param="prompt")
    given = "an empty array" if value == [] else kind_of(value)
    raise ApiError(400, f"prompt must be a string or an array of strings, not {given}", code="invalid_type", param="prompt")


def _budget(values: Mapping[str, Any]) -> int | None:
    budget = values.get("max_tokens", _DEFAULT_TOKENS)
    if budget == 0:
        raise ApiError(400, "max_tokens must be at least 1, or -1 for as many as fit, not 0", code="invalid_value", param="max_tokens")
    return None if budget < 0 else int(budget)


def _logprobs(value: Any) -> int | None:
    if value is None or value is False:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 20:
        raise ApiError(400, f"logprobs must be a whole number from 0 to 20, not {str(value)[:40]}", code="invalid_value", param="logprobs")
    return value


def _table(entries: Iterable[LogprobEntry], offset: int) -> dict[str, Any]:
    """The older shape of log probabilities: one array for each column."""
    table: dict[str, list[Any]] = {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}
    for entry in entries:
        text = entry.token.decode("utf-8", "replace")
        table["tokens"].append(text)
        table["token_logprobs"].append(entry.logprob)
        table["top_logprobs"].append({token.decode("utf-8", "replace"): value for token, value in entry.top})
        table["text_offset"].append(offset)
        offset += len(text)
    return table


def _usage(outcomes: Sequence[Outcome], prompts: int) -> dict[str, Any]:
    counts = usage(outcomes)
    if prompts > 1:
        per_prompt = max(1, len(outcomes) // prompts)
        counts["prompt_tokens"] = sum(outcome.prompt_tokens for outcome in outcomes[::per_prompt])
        counts["total_tokens"] = counts["prompt_tokens"] + counts["completion_tokens"]
    return counts
