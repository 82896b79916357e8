"""``/v1/completions``: text goes on, no chat template."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scansion.server.backend import Job, LogprobEntry, Outcome
from scansion.server.choices import End, Event, TextDelta, collect_all, merged, write_answer
from scansion.server.exchange import Call, EventStream
from scansion.server.openai_chat import seeded
from scansion.server.openai_shapes import DONE, IDLE, error_event, event, usage
from scansion.server.service import Service
from scansion.server.understood import Understood

__all__ = ["completions"]


async def completions(service: Service, call: Call) -> Any:
    """Answer a request: a JSON value, or a stream of server-sent events."""
    request: Understood = call.request
    job = await service.job_of(request, call)
    prompts = request.prompts
    jobs = [one for prompt in prompts for one in seeded(replace(job, prompt=prompt), request.count)]
    streams = [write_answer(service, one, None, call.client) for one in jobs]
    head = {"id": f"cmpl-{call.request_id}", "object": "text_completion", "created": int(time.time()), "model": job.model}
    if request.streaming:
        return EventStream("text/event-stream", _events(head, streams, request.usage, job), error_event, IDLE)
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
