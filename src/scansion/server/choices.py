"""From a backend's pieces to what an API sends: tool calls taken out, answers checked and tried again where asked for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scansion.server.backend import Job, LogprobEntry, Outcome, Piece
from scansion.server.errors import ApiError
from scansion.server.json_mode import ValueText, is_json_mode
from scansion.server.tool_stream import CallArguments, CallStart, TextPart, ToolStream
from scansion.server.tools import ToolPlan

if TYPE_CHECKING:
    from scansion.server.service import Service

__all__ = ["Answer", "End", "Event", "TextDelta", "collect", "collect_all", "merged", "write_answer"]


@dataclass(frozen=True)
class TextDelta:
    """Text of the answer or of its reasoning."""

    content: str = ""
    reasoning: str = ""
    logprobs: tuple[LogprobEntry, ...] = ()


@dataclass(frozen=True)
class End:
    """The answer is over.

    Attributes:
        finish_reason: ``stop``, ``length`` or ``tool_calls``.
        outcome: the backend's.
        report: the whole ``x_scansion``.
        raw: in JSON mode the text as written, where no value came of it: what an answer that is not streamed then holds.
    """

    finish_reason: str
    outcome: Outcome
    report: dict[str, Any]
    raw: str = ""


Event = TextDelta | CallStart | CallArguments | End


@dataclass
class Answer:
    """A whole answer, put together from its events."""

    content: str = ""
    reasoning: str = ""
    logprobs: tuple[LogprobEntry, ...] = ()
    calls: tuple[tuple[CallStart, str], ...] = ()
    end: End | None = None


async def write_answer(service: Service, job: Job, plan: ToolPlan | None, client: str) -> AsyncGenerator[Event]:
    """One answer as events.

    Args:
        service: backend, queue and compile pool.
        job: what to write.
        plan: tools that may be called, or None.
        client: for fairness.

    Raises:
        ApiError: also between events.
    """
    source = _validated(service, job, client) if job.validated else _placed(service, job, client)
    calls = ToolStream() if plan is not None else None
    value = ValueText() if job.constraint is not None and is_json_mode(job.constraint.recipe) and not assisted(job) else None
    raw: list[str] = []
    async with contextlib.aclosing(source):
        async for piece in source:
            if isinstance(piece, Piece):
                if value is not None:
                    raw.append(piece.content)
                    yield TextDelta(value.feed(piece.content), piece.reasoning, piece.logprobs)
                    continue
                if calls is None:
                    yield TextDelta(piece.content, piece.reasoning, piece.logprobs)
                    continue
                if piece.reasoning or piece.logprobs:
                    yield TextDelta(reasoning=piece.reasoning, logprobs=piece.logprobs)
                for part in calls.feed(piece.content):
                    yield TextDelta(part.text) if isinstance(part, TextPart) else part
                continue
            if calls is not None:
                for part in calls.finish():
                    yield TextDelta(part.text) if isinstance(part, TextPart) else part
            reason = piece.finish_reason
            if job.constraint is not None and not assisted(job) and not piece.complete:
                reason = "length"  # "stop" promises an answer that is whole
            if calls is not None and reason == "stop" and calls.calls:
                reason = "tool_calls"
            report = _report(job, piece)
            service.count(report, piece)
            yield End(reason, piece, report, "" if value is None or value.begun else "".join(raw))


def assisted(job: Job) -> bool:
    """The grammar only drafts: the text is the model's own."""
    return job.extension.mode == "assist"


async def _placed(service: Service, job: Job, client: str) -> AsyncGenerator[Piece | Outcome]:
    async with service.queue.place(client), contextlib.aclosing(service.backend.generate(job, client, service.pool)) as pieces:
        async for piece in pieces:
            yield piece


async def _validated(service: Service, job: Job, client: str) -> AsyncGenerator[Piece | Outcome]:
    """Whole answers, until one keeps to the constraint. Nothing is shown before it does."""
    problem = ""
    for attempt in range(job.extension.retries + 1):
        # The same seed would write the same answer again.
        again = job if attempt == 0 else replace(job, seed=None if job.seed is None else job.seed + attempt * 1_000_003)
        pieces: list[Piece] = []
        outcome: Outcome | None = None
        async for piece in _placed(service, again, client):
            if isinstance(piece, Piece):
                pieces.append(piece)
            else:
                outcome = piece
        if outcome is None:
            raise ApiError(502, "the answer broke off", code="upstream_stream_broken")
        content = "".join(piece.content for piece in pieces)
        found = await service.violation(job, content, client)
        if found is None:
            for piece in pieces:
                yield piece
            report = {**outcome.report, "enforced_by": "validation", "retries": attempt}
            yield replace(outcome, complete=True, report=report)
            return
        problem = found
        service.metrics.retries.inc()
    tries = job.extension.retries + 1
    raise ApiError(
        422, f"none of {tries} answers kept to the constraint; the last one: {problem}", code="validation_failed",
        param=job.constraint.param if job.constraint is not None else None, details={"attempts": tries},
    )  # fmt: skip


def _report(job: Job, outcome: Outcome) -> dict[str, Any]:
    constraint = job.constraint
    report: dict[str, Any] = {
        "constraint": "none" if constraint is None else constraint.recipe.kind,
        "mode": job.extension.mode,
        **outcome.report,
        "complete": outcome.complete,
    }
    if constraint is not None:
        report["param"] = constraint.param
        if constraint.relaxed:
            report["relaxed"] = [{"keyword": keyword, "pointer": pointer} for keyword, pointer in constraint.relaxed]
    return report


async def collect(events: AsyncGenerator[Event]) -> Answer:
    """The whole answer."""
    content: list[str] = []
    reasoning: list[str] = []
    logprobs: list[LogprobEntry] = []
    starts: list[CallStart] = []
    arguments: dict[int, list[str]] = {}
    end: End | None = None
    async with contextlib.aclosing(events):
        async for event in events:
            if isinstance(event, TextDelta):
                content.append(event.content)
                reasoning.append(event.reasoning)
                logprobs += event.logprobs
            elif isinstance(event, CallStart):
                starts.append(event)
            elif isinstance(event, CallArguments):
                arguments.setdefault(event.number, []).append(event.text)
            else:
                end = event
    calls = tuple((start, "".join(arguments.get(start.number, ()))) for start in starts)
    text = "".join(content) or (end.raw if end is not None else "")
    return Answer(text, "".join(reasoning).strip(), tuple(logprobs), calls, end)


async def collect_all(streams: Sequence[AsyncGenerator[Event]]) -> list[Answer]:
    """Whole answers, written at the same time. An error in one ends all."""
    tasks = [asyncio.create_task(collect(stream)) for stream in streams]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def merged(streams: Sequence[AsyncGenerator[Event]]) -> AsyncGenerator[tuple[int, Event]]:
    """Events of several answers as they come, each with its index. An error in one ends all."""
    if len(streams) == 1:
        async with contextlib.aclosing(streams[0]) as only:
            async for event in only:
                yield 0, event
        return
    queue: asyncio.Queue[tuple[int, Event | BaseException | None]] = asyncio.Queue(maxsize=64)

    async def pump(index: int, stream: AsyncGenerator[Event]) -> None:
        try:
            async with contextlib.aclosing(stream):
                async for event in stream:
                    await queue.put((index, event))
        except Exception as error:
            await queue.put((index, error))
        else:
            await queue.put((index, None))

    tasks = [asyncio.create_task(pump(index, stream)) for index, stream in enumerate(streams)]
    try:
        left = len(tasks)
        while left:
            index, item = await queue.get()
            if item is None:
                left -= 1
            elif isinstance(item, BaseException):
                raise item
            else:
                yield index, item
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
