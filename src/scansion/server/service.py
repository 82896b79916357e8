"""What all endpoints of one server share."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.types import Scope

from scansion.errors import GrammarError, LimitError
from scansion.server.admission import FairQueue
from scansion.server.backend import Backend, Constrained, Job, Outcome
from scansion.server.byte_vocabulary import byte_vocabulary
from scansion.server.compile_pool import CompilePool
from scansion.server.errors import from_error
from scansion.server.metrics import Metrics
from scansion.server.nursery import Nursery
from scansion.server.recipes import Recipe, build
from scansion.server.settings import ServerSettings
from scansion.server.text_check import TextCheck
from scansion.server.tool_stream import read_calls
from scansion.server.worker_pool import Allowance, WorkerPool

if TYPE_CHECKING:
    from scansion.server.exchange import Call
    from scansion.server.resolver import Asked
    from scansion.server.tools import ToolPlan
    from scansion.server.understood import Understood

__all__ = ["Service"]

_LARGE_BODY = 32 << 10
_READ_SECONDS = 5.0


class Service:
    """Backend, queue, compile pool and figures of one server."""

    def __init__(self, backend: Backend, settings: ServerSettings) -> None:
        self.backend = backend
        self.settings = settings
        self.metrics = Metrics()
        self.queue = FairQueue(backend.slots, settings.queue_limit)
        self.nursery = Nursery(settings.compile_memory)
        self.pool = CompilePool(self.nursery, workers=settings.compile_workers, seconds=settings.compile_seconds)
        self.reader = WorkerPool(self.nursery, workers=1, seconds=_READ_SECONDS, what="the request", verb="read")
        self.draining = False
        self._answering: set[asyncio.Future[None]] = set()
        self._keys = [hashlib.sha256(key.encode()).digest() for key in settings.api_keys]
        self.metrics.watch("scansion_queue_waiting", "Jobs waiting for a place.", lambda: self.queue.waiting)
        self.metrics.watch("scansion_places_held", "Jobs being written.", lambda: self.queue.held)
        self.metrics.watch("scansion_compile_cache_hits", "Grammars found in the cache.", lambda: self.pool.hits)
        self.metrics.watch("scansion_compile_cache_misses", "Grammars made.", lambda: self.pool.misses)
        self.metrics.watch("scansion_compile_kills", "Compile processes killed.", lambda: self.pool.kills)

    async def start(self) -> None:
        """Start everything that needs the event loop.

        What the first grammar loads is loaded here: half the package, which would hold up whoever asks beside it.
        """
        build(Recipe("json_schema", "{}")).compile(byte_vocabulary()).matcher().accept_bytes(b"1")
        await asyncio.gather(self.pool.start(), self.reader.start(), self.backend.start())

    async def close(self) -> None:
        """End everything."""
        self.draining = True
        await self.backend.close()
        await asyncio.gather(self.pool.close(), self.reader.close())
        await self.nursery.close()

    @contextlib.contextmanager
    def answering(self) -> Iterator[asyncio.Future[None]]:
        """While a request is answered: gives what is done when there is no more time for it (``cut_off``)."""
        over = asyncio.get_running_loop().create_future()
        self._answering.add(over)
        try:
            yield over
        finally:
            self._answering.discard(over)

    def cut_off(self) -> None:
        """End all requests in progress: each is told so in the shape of its API."""
        for over in self._answering:
            if not over.done():
                over.set_result(None)

    # -- who asks ----------------------------------------------------------------------------------------------------

    def authorised(self, headers: Mapping[str, str]) -> bool:
        """Whether a request carries an accepted key. The time does not tell which key, or how much of it, was right."""
        if not self._keys:
            return True
        given = hashlib.sha256(_bearer(headers).encode()).digest()
        good = False
        for key in self._keys:
            good |= hmac.compare_digest(key, given)
        return good

    def client_of(self, scope: Scope, headers: Mapping[str, str]) -> str:
        """Who asks: the fingerprint of the key where keys are asked for, else the address."""
        if self._keys:
            return "key-" + hashlib.sha256(_bearer(headers).encode()).hexdigest()[:12]
        client = scope.get("client")
        return str(client[0]) if client else "local"

    # -- requests ----------------------------------------------------------------------------------------------------

    async def read(self, read: Callable[[bytes], Any], body: bytes, client: str) -> Any:
        """A body as ``read`` understands it: a large one in a worker process, so that nobody waits for it.

        Raises:
            ApiError: what is wrong with it.
            LimitError: it takes too long or too much memory.
        """
        if len(body) <= _LARGE_BODY:
            return read(body)
        work = asyncio.create_task(self.reader.work(("read", read, body), Allowance(client)))
        work.add_done_callback(_seen)
        # A client that goes away does not end the process, as it would if this were cancelled: it is done in a moment.
        return await asyncio.shield(work)

    async def job_of(self, request: Understood, call: Call) -> Job:
        """The job a request comes to, with its constraint compiled and noted in the request's record.

        Raises:
            ApiError: 400, 404, 413 or 422.
        """
        job = replace(request.job, id=call.request_id, model=self.backend.resolve_model(request.job.model or None))
        if request.default_budget:
            job = replace(job, max_tokens=self.settings.default_max_tokens)
        job = await self.constrain(request.asked, request.plan, job, call.client)
        kind = "none" if job.constraint is None else job.constraint.recipe.kind
        call.record.add(model=job.model, constraint=kind, stream=request.streaming)
        if self.settings.log_content:
            call.record.add_content("messages", request.prompts or job.prompt if job.messages is None else job.messages)
        return job

    # -- constraints -------------------------------------------------------------------------------------------------

    async def constrain(self, asked: Asked, plan: ToolPlan | None, job: Job, client: str) -> Job:
        """The job with its constraint compiled, and checked against what the backend can enforce.

        Args:
            asked: what the answer must keep to.
            plan: tools, whose grammar then takes the place of ``asked``.
            job: everything else.
            client: who asks.

        Raises:
            ApiError: 400, 413 or 422 with parameter, pointer, keyword and hint.
        """
        allowance = self.pool.allowance(client)
        recipe, param = (plan.recipe, plan.param) if plan is not None else (asked.recipe, asked.param)
        if recipe is not None:
            try:
                compiled = await self.pool.compile(recipe, allowance, relax=job.extension.validate)
            except (GrammarError, LimitError) as error:
                raise from_error(error, _place_of(error, plan, asked, str(param))) from None
            constraint = Constrained(recipe, compiled, str(param), compiled.relaxed)
            job = replace(job, constraint=constraint, validated=bool(compiled.relaxed))
        return await self.backend.prepare(job, allowance, self.pool)

    async def violation(self, job: Job, content: str, client: str) -> str | None:
        """Why an answer does not keep to its constraint, or None.

        Raises:
            ApiError: 422 where checking exceeds its limits.
        """
        constraint = job.constraint
        if constraint is None:
            return None
        if constraint.relaxed:
            try:
                return await self._schema_violation(constraint.recipe, content, client)
            except (GrammarError, LimitError) as error:
                raise from_error(error, constraint.param) from None
        data = content.encode()
        try:
            good, whole = await TextCheck(constraint.compiled, self.pool, client).read(data)
        except LimitError as error:
            raise from_error(error, constraint.param) from None
        if whole:
            return None
        return "it ends too early" if good >= len(data) else f"it leaves the grammar at byte {good}"

    async def _schema_violation(self, recipe: Recipe, content: str, client: str) -> str | None:
        formats = dict(recipe.options).get("formats", "enforce") != "annotate"
        if recipe.kind != "tools":
            return await self.pool.violation(recipe.text, content, self.pool.allowance(client), formats=formats)
        # What the grammar of tools could not say is inside the arguments; the rest of the answer it did enforce.
        asked = json.loads(recipe.text)
        schemas: dict[str, str] = dict(asked["tools"])
        calls, text = read_calls(content)
        if not calls and asked["answer"] is not None:
            return await self.pool.violation(asked["answer"], text, self.pool.allowance(client), formats=formats)
        for name, arguments in calls:
            if name not in schemas:
                return f"a call of {name!r}, which is no tool"
            found = await self.pool.violation(schemas[name], arguments, self.pool.allowance(client), formats=formats)
            if found is not None:
                return f"arguments of {name}: {found}"
        return "no tool is called" if asked["required"] and not calls else None

    def count(self, report: Mapping[str, Any], outcome: Outcome) -> None:
        """Add an answer to the figures."""
        metrics = self.metrics
        metrics.tokens.labels("prompt").inc(outcome.prompt_tokens)
        metrics.tokens.labels("completion").inc(outcome.tokens)
        metrics.answers.labels(report["constraint"], report.get("enforced_by", "nothing"), str(report["complete"]).lower()).inc()
        for source, figures in report.get("drafts", {}).items():
            metrics.drafts.labels(source, "accepted").inc(figures["accepted"])
            metrics.drafts.labels(source, "rejected").inc(figures["proposed"] - figures["accepted"])


def _seen(work: asyncio.Task[Any]) -> None:
    """Nobody may be left to look at an error."""
    if not work.cancelled():
        work.exception()


def _bearer(headers: Mapping[str, str]) -> str:
    kind, _, key = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return key.strip()
    return headers.get("x-api-key", "")


def _place_of(error: GrammarError | LimitError, plan: ToolPlan | None, asked: Asked, param: str) -> str:
    """The parameter that held what is wrong: with tools, the one tool."""
    if plan is None:
        return param
    name = getattr(error, "tool", None)
    if name is None:
        return str(asked.param or param)
    for index, tool in enumerate(plan.tools):
        if tool.name == name:
            return f"tools.{index}.function.parameters"
    return param
