"""The embedded model behind the server: one thread runs forward passes for all answers in progress."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from scansion.errors import ContextError, RequestError, ScansionError
from scansion.generation import Completion, Delta, GenerationOptions, Run
from scansion.models.base import Feed
from scansion.sampling.settings import Sampling
from scansion.server.backend import Constrained, Job, LogprobEntry, ModelCard, Outcome, Piece
from scansion.server.errors import ApiError, from_error
from scansion.server.model_names import ModelNames

if TYPE_CHECKING:
    from scansion.models.llama import LlamaModel
    from scansion.server.compile_pool import CompilePool
    from scansion.server.worker_pool import Allowance
    from scansion.vocabulary import Vocabulary

__all__ = ["EmbeddedBackend"]

_log = logging.getLogger("scansion.server")
_NO_BOUND = 1 << 20
_PROMPT_TOKENS = 64
"""Of one prompt in one forward pass."""
_LARGE_PROMPT = 32 << 10
_MANY_MESSAGES = 256
_GREATEST_SEED = 2**32 - 1


class _Ticket:
    """A job on its way through the thread. ``events`` is read in the event loop; ``cancelled`` is set there."""

    def __init__(self, job: Job, loop: asyncio.AbstractEventLoop) -> None:
        self.job = job
        self.events: asyncio.Queue[Piece | Outcome | ApiError] = asyncio.Queue()
        self.cancelled = False
        self.run: Run | None = None
        self.rest: Feed | None = None
        """What is left of a prompt that takes several passes."""
        self.reasoning_tokens = 0
        self._loop = loop

    def put(self, event: Piece | Outcome | ApiError) -> None:
        """From the thread to the event loop."""
        if not self.cancelled:
            try:
                self._loop.call_soon_threadsafe(self.events.put_nowait, event)
            except RuntimeError:  # the loop has ended: nobody waits any more
                self.cancelled = True


class _Part(NamedTuple):
    """What a ticket brings to a forward pass."""

    ticket: _Ticket
    run: Run
    feed: Feed


class EmbeddedBackend:
    """Continuous batching over the sequences of one model. Implements ``Backend``."""

    kind = "embedded"

    def __init__(self, model: LlamaModel, *, sequences: int, aliases: Sequence[str] = ()) -> None:
        """
        Args:
            model: loaded with ``sequences=``; closed with the backend.
            sequences: how many answers are decoded together.
            aliases: further names clients may call the model by; the first of all names is the one listed first.
        """
        self._model = model
        self.slots = sequences
        self._names = ModelNames(dict.fromkeys((model.name, *aliases), model.name))
        self._created = int(time.time())
        self._waiting: deque[_Ticket] = deque()
        self._active: list[_Ticket] = []
        self._wake = threading.Condition()
        self._stopping = False
        self._thread: threading.Thread | None = None

    # -- the event loop's side ---------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._serve, name="scansion-forward", daemon=True)
        self._thread.start()

    async def close(self) -> None:
        """End all answers and free the model."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)
        self._model.close()

    async def ready(self) -> str | None:
        """Ready as long as the thread runs and takes answers."""
        running = self._thread is not None and self._thread.is_alive() and not self._stopping
        return None if running else "the model is not running"

    async def models(self) -> Sequence[ModelCard]:
        """The one model, under each of its names."""
        details = {"architecture": self._model.metadata("general.architecture") or "", "description": self._model.description}
        size = self._model.path.stat().st_size
        return [
            ModelCard(name, "scansion", context=self._model.context_size, created=self._created, size=size, details=details)
            for name in self._names.listed
        ]

    def resolve_model(self, name: str | None) -> str:
        """Any name is the one model, as with llama-server; the answer says which one wrote it."""
        return self._names.resolve(name)

    async def prepare(self, job: Job, allowance: Allowance, pool: CompilePool) -> Job:
        """Everything the library can enforce, masks can."""
        if job.extension.mode == "assist" and job.think:
            raise ApiError(
                400, 'scansion.mode "assist" leaves the text alone: it does not go with reasoning', code="conflicting_parameters",
                param="scansion.mode",
            )  # fmt: skip
        if _is_large(job):
            await asyncio.to_thread(self._check_room, job)
        if job.constraint is not None and job.constraint.compiled.heavy:
            # Loaded before the job gets to the thread that writes everybody's answers.
            await asyncio.to_thread(_load, job.constraint, self._model.vocabulary)
        return job

    def _check_room(self, job: Job) -> None:
        """Refuse a prompt that does not fit, before the thread that writes everybody's answers turns all of it into tokens."""
        model = self._model
        count = len(model.prompt_tokens(self._prompt(job)))
        if count >= model.context_size:
            raise ContextError(
                f"the prompt has {count:,} tokens and {model.name} holds {model.context_size:,}, answer included: shorten the prompt"
            )

    async def generate(self, job: Job, client: str, pool: CompilePool) -> AsyncGenerator[Piece | Outcome]:
        """See ``Backend.generate``."""
        ticket = _Ticket(job, asyncio.get_running_loop())
        with self._wake:
            if self._stopping:
                raise ApiError(503, "the model is not running: the server is shutting down, or its log says more", code="shutting_down")
            self._waiting.append(ticket)
            self._wake.notify()
        try:
            while True:
                event = await ticket.events.get()
                if isinstance(event, ApiError):
                    raise event
                yield event
                if isinstance(event, Outcome):
                    return
        finally:
            ticket.cancelled = True
            with self._wake:
                self._wake.notify()

    # -- the thread's side -------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            while self._turn():
                pass
        except Exception as error:
            _log.error("the thread of the model has ended", exc_info=error)
        with self._wake:
            self._stopping = True
            left = [*self._active, *self._waiting]
        for ticket in left:
            ticket.put(ApiError(503, "the server shut down before the answer was finished", code="shutting_down"))
            if ticket.run is not None:
                ticket.run.close()

    def _turn(self) -> bool:
        """One pass for everybody; False where the thread is to end."""
        with self._wake:
            while not self._stopping and not self._waiting and not self._active:
                self._wake.wait()
            if self._stopping:
                return False
            self._drop_cancelled()
            arrivals = [self._waiting.popleft() for _ in range(min(len(self._waiting), self.slots - len(self._active)))]
        for ticket in arrivals:
            self._begin(ticket)
        if self._active:
            self._step()
        return True

    def _drop_cancelled(self) -> None:
        for ticket in [ticket for ticket in self._active if ticket.cancelled]:
            self._end(ticket)
        self._waiting = deque(ticket for ticket in self._waiting if not ticket.cancelled)

    def _begin(self, ticket: _Ticket) -> None:
        try:
            ticket.run = self._new_run(ticket.job)
            self._active.append(ticket)
            self._deliver(ticket, ticket.run.opening())
        except ScansionError as error:
            self._fail(ticket, from_error(error))
        except Exception as error:
            self._fail(ticket, _fault(error))

    def _prompt(self, job: Job) -> str:
        if job.messages is None:
            return job.prompt or ""
        arguments = dict(job.template_arguments)
        if job.think is not None or (job.constraint is not None and job.extension.mode != "assist"):
            arguments.setdefault("enable_thinking", bool(job.think))  # read by the templates of models that can do both
        try:
            return self._model.chat_prompt(job.messages, **arguments)
        except ScansionError as error:
            raise RequestError(str(error)) from None

    def _new_run(self, job: Job) -> Run:
        model = self._model
        prompt = self._prompt(job)
        options = _options(job)
        constraint = None if job.constraint is None else job.constraint.grammar.compile(model.vocabulary)
        try:
            return Run(model, prompt, constraint, options)
        except RequestError:
            if constraint is None or not options.finish or options.mode == "assist":
                raise
        # Too small a budget for any whole answer: a cut one with finish_reason "length" is what these APIs promise.
        return Run(model, prompt, constraint, replace(options, finish=False))

    def _step(self) -> None:
        with self._model.lock:
            fed: list[_Part] = []
            for ticket in list(self._active):
                run = ticket.run
                if run is None:
                    continue
                try:
                    feed = run.feed() if ticket.rest is None else ticket.rest
                except Exception as error:
                    self._fail(ticket, _as_api_error(error))
                else:
                    now, ticket.rest = _divided(feed)
                    fed.append(_Part(ticket, run, now))
            if fed:
                self._pass(fed)

    def _pass(self, fed: Sequence[_Part]) -> None:
        """One forward pass. What fails for all together is tried for each alone: one text may be at fault."""
        try:
            logits = self._model.forward([part.feed for part in fed])
        except Exception as error:
            if len(fed) == 1:
                self._fail(fed[0].ticket, _as_api_error(error))
                return
            for part in fed:
                self._pass([part])
            return
        for part, rows in zip(fed, logits, strict=True):
            if part.ticket.rest is not None:
                continue  # the prompt goes on
            try:
                self._deliver(part.ticket, part.run.take(rows))
            except Exception as error:
                self._fail(part.ticket, _as_api_error(error))

    def _deliver(self, ticket: _Ticket, delta: Delta) -> None:
        run = ticket.run
        if run is None:
            return
        if delta.reasoning and not delta.content:
            ticket.reasoning_tokens += len(delta.tokens)
        if delta.content or delta.reasoning or delta.logprobs:
            ticket.put(Piece(delta.content, delta.reasoning, tuple(map(self._logprob, delta.logprobs))))
        if run.finished:
            ticket.put(_outcome(run.completion(), ticket))
            self._end(ticket)

    def _logprob(self, entry: Any) -> LogprobEntry:
        def token(token_id: int) -> bytes:
            return self._model.vocabulary.token_bytes(token_id) or b""

        return LogprobEntry(token(entry.token), entry.logprob, tuple((token(other), value) for other, value in entry.top))

    def _fail(self, ticket: _Ticket, error: ApiError) -> None:
        ticket.put(error)
        self._end(ticket)

    def _end(self, ticket: _Ticket) -> None:
        if ticket.run is not None:
            ticket.run.close()
            ticket.run = None
        if ticket in self._active:
            self._active.remove(ticket)


def _divided(feed: Feed) -> tuple[Feed, Feed | None]:
    """What of a feed goes into the next pass, and the rest: a long prompt must not hold up the answers of others."""
    if len(feed.tokens) - feed.rows < _PROMPT_TOKENS:
        return feed, None
    now, later = feed.tokens[:_PROMPT_TOKENS], feed.tokens[_PROMPT_TOKENS:]
    return Feed(feed.sequence, now, 1), Feed(feed.sequence, later, feed.rows)


def _is_large(job: Job) -> bool:
    if job.messages is None:
        return len(job.prompt or "") > _LARGE_PROMPT
    return len(job.messages) > _MANY_MESSAGES or sum(len(str(message.get("content", ""))) for message in job.messages) > _LARGE_PROMPT


def _load(constraint: Constrained, vocabulary: Vocabulary) -> None:
    constraint.grammar.compile(vocabulary)


def _options(job: Job) -> GenerationOptions:
    extension = job.extension
    drawing = {**job.defaults, **job.sampling}
    seed = None if job.seed is None else job.seed % _GREATEST_SEED
    max_tokens = _NO_BOUND if job.max_tokens is None else job.max_tokens
    return GenerationOptions(
        max_tokens=max_tokens,
        sampling=Sampling(seed=seed, **drawing),
        mode=extension.mode,
        draft=extension.draft,
        draft_max=extension.draft_max,
        finish=extension.finish and job.constraint is not None,
        stop=job.stop,
        think=bool(job.think),
        think_max=None if not job.think or job.max_tokens is None else int(job.think * job.max_tokens),
        friction=extension.friction,
        logprobs=job.logprobs,
    )


def _outcome(completion: Completion, ticket: _Ticket) -> Outcome:
    stats = completion.stats
    constraint: Constrained | None = ticket.job.constraint
    assist = ticket.job.extension.mode == "assist"
    report: dict[str, Any] = {
        "enforced_by": "masks" if constraint is not None and not assist else "nothing",
        "drafts": {
            name: {"proposed": figures.proposed, "accepted": figures.accepted} for name, figures in stats.drafts.items() if figures.proposed
        },
        "tokens_per_forward": round(stats.tokens_per_forward, 3),
        "tokens_per_second": round(stats.tokens_per_second, 1),
    }
    if constraint is not None:
        report["forced_tokens"] = stats.forced_tokens
        report["redraws"] = stats.redraws
    if stats.friction:
        report["friction"] = {"mean": round(sum(stats.friction) / len(stats.friction), 6), "max": round(max(stats.friction), 6)}
    return Outcome(
        completion.finish_reason,
        completion.complete,
        prompt_tokens=stats.prompt_tokens,
        cached_tokens=stats.cached_tokens,
        tokens=stats.tokens,
        reasoning_tokens=ticket.reasoning_tokens,
        report=report,
        seconds=(stats.prompt_seconds, stats.seconds),
    )


def _as_api_error(error: Exception) -> ApiError:
    return from_error(error) if isinstance(error, ScansionError) else _fault(error)


def _fault(error: Exception) -> ApiError:
    _log.error("a generation failed", exc_info=error)
    return ApiError(500, f"the generation failed in this server: {type(error).__name__}", code="internal_error")
