"""Grammars of what clients send, made in worker processes under a time and memory budget, and kept for the next request."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pickle
import sys
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scansion.errors import LimitError, ScansionError
from scansion.server.admission import FairQueue
from scansion.server.compile_worker import HEADER
from scansion.server.recipes import Recipe

if TYPE_CHECKING:
    from scansion.grammar import Grammar

__all__ = ["CompilePool", "Compiled"]

_log = logging.getLogger("scansion.server")
_MAX_ANSWER = 16 << 20
_START_SECONDS = 30.0
_RESTART_SECONDS = 1.0
_CACHED_ENTRIES = 256
_CACHED_BYTES = 128 << 20
_WAITING_LIMIT = 128


@dataclass
class Compiled:
    """A grammar from a worker.

    Attributes:
        grammar: for matchers and masks.
        relaxed: (keyword, pointer) pairs it leaves out; empty unless asked for.
        pickled: its bytes, for further work in a worker.
        texts: what ``CompilePool.written`` gave, by language.
    """

    grammar: Grammar
    relaxed: tuple[tuple[str, str], ...]
    pickled: bytes
    texts: dict[str, tuple[str, bool]] = field(default_factory=dict)


class CompilePool:
    """Worker processes and the cache in front of them. Belongs to one event loop."""

    def __init__(self, *, workers: int = 2, seconds: float = 1.5, memory: int = 1024) -> None:
        """
        Args:
            workers: processes.
            seconds: wall time one piece of work may take; the process is killed after it.
            memory: MiB of address space of a process.
        """
        self._seconds = seconds
        self._memory = memory
        self._queue = FairQueue(workers, _WAITING_LIMIT, what="schemas and grammars")
        self._idle: asyncio.Queue[_Worker] = asyncio.Queue()
        self._starting: set[asyncio.Task[None]] = set()
        self._processes = workers + 1  # one to take over at once where one had to be killed
        self._cache: OrderedDict[tuple[str, bool], Compiled] = OrderedDict()
        self._cached_bytes = 0
        self._running: dict[tuple[str, bool], asyncio.Task[Compiled]] = {}
        self.hits = 0
        self.misses = 0
        self.kills = 0

    async def start(self) -> None:
        """Start the workers, so that no request waits for an interpreter to load."""
        for _ in range(self._processes):
            self._add_worker(patient=False)
        await asyncio.gather(*self._starting)

    async def close(self) -> None:
        """End the workers."""
        tasks = [*self._running.values(), *self._starting]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        while not self._idle.empty():
            await self._idle.get_nowait().kill()

    def _add_worker(self, *, patient: bool = True) -> None:
        """Start a worker in the background; a patient start is tried again until it succeeds."""

        async def add() -> None:
            while True:
                worker = _Worker(self._memory)
                try:
                    await worker.start()
                except (ScansionError, OSError) as error:
                    if not patient:
                        raise
                    _log.error("a compile worker does not start", exc_info=error)
                    await asyncio.sleep(_RESTART_SECONDS)
                else:
                    self._idle.put_nowait(worker)
                    return

        task = asyncio.create_task(add())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def compile(self, recipe: Recipe, client: str, *, relax: bool = False) -> Compiled:
        """The grammar of a recipe, from the cache where the same one was asked for before.

        Args:
            recipe: what to make.
            client: who asks; work waits fairly between clients.
            relax: leave out what cannot be enforced exactly, instead of an ``UnsupportedError``.

        Raises:
            GrammarError, LimitError: what is wrong with it.
            ApiError: 429 where too much work is waiting.
        """
        key = (recipe.digest, relax)
        known = self._cache.get(key)
        if known is not None:
            self.hits += 1
            self._cache.move_to_end(key)
            return known
        self.misses += 1
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(self._make(recipe, key, client))
            task.add_done_callback(lambda done: self._forget(key, done))
        # Others may wait for the same grammar: one of them going away does not end the work.
        return await asyncio.shield(task)

    async def written(self, compiled: Compiled, language: str, client: str) -> tuple[str, bool]:
        """The grammar as text for another engine.

        Args:
            compiled: from ``compile``.
            language: ``gbnf`` or ``lark``.
            client: who asks.

        Returns:
            The text, and whether it lets undeclared keys repeat; it is exact in everything else.

        Raises:
            UnsupportedError: the language cannot say it.
        """
        found = compiled.texts.get(language)
        if found is None:
            found = compiled.texts[language] = await self._work(("write", compiled.pickled, language), client)
        return found

    async def violation(self, schema: str, content: str, client: str, *, formats: bool) -> str | None:
        """Why ``content`` is no instance of the schema, or None."""
        found: str | None = await self._work(("violation", schema, content, formats), client)
        return found

    async def _make(self, recipe: Recipe, key: tuple[str, bool], client: str) -> Compiled:
        pickled, relaxed = await self._work(("build", recipe, key[1]), client)
        compiled = Compiled(pickle.loads(pickled), relaxed, pickled)
        self._cache[key] = compiled
        self._cached_bytes += len(pickled)
        while len(self._cache) > _CACHED_ENTRIES or (self._cached_bytes > _CACHED_BYTES and len(self._cache) > 1):
            _, dropped = self._cache.popitem(last=False)
            self._cached_bytes -= len(dropped.pickled)
        return compiled

    def _forget(self, key: tuple[str, bool], task: asyncio.Task[Compiled]) -> None:
        self._running.pop(key, None)
        if not task.cancelled():
            task.exception()  # seen here too, in case everyone who waited has gone

    async def _work(self, request: tuple[Any, ...], client: str) -> Any:
        async with self._queue.place(client):
            worker = await self._idle.get()
            good = False
            try:
                status, value = await asyncio.wait_for(worker.ask(request), self._seconds)
                good = True
            except TimeoutError:
                self.kills += 1
                raise LimitError(
                    f"the schema or grammar takes more than {self._seconds:g} s to compile: make it smaller or simpler",
                    limit="compile_seconds",
                    allowed=int(self._seconds) or 1,
                ) from None
            except (EOFError, OSError, pickle.UnpicklingError):
                self.kills += 1
                raise LimitError(
                    "the schema or grammar needs more memory than is allowed: make it smaller or simpler",
                    limit="compile_memory",
                    allowed=self._memory,
                ) from None
            finally:
                if good:
                    self._idle.put_nowait(worker)
                else:
                    # Also where whoever asked has gone: the work is of no use to anybody.
                    self._add_worker()
                    await worker.kill()
        if status == "error":
            raise value if isinstance(value, Exception) else ScansionError(str(value))
        return value


class _Worker:
    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start the process and wait until it has loaded.

        Raises:
            ScansionError: it does not start.
        """
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "scansion.server.compile_worker",
            str(self._memory),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # an interrupt at the terminal is the server's to handle
        )
        try:
            await asyncio.wait_for(self._read(), _START_SECONDS)
        except (TimeoutError, EOFError, OSError):
            await self.kill()
            raise ScansionError("a compile worker does not start: run `scansion doctor`") from None

    async def ask(self, request: tuple[Any, ...]) -> tuple[str, Any]:
        """Send a request and wait for its answer."""
        process = self._process
        if process is None or process.stdin is None:
            raise EOFError
        data = pickle.dumps(request, protocol=5)
        process.stdin.write(len(data).to_bytes(HEADER, "little") + data)
        await process.stdin.drain()
        return await self._read()

    async def _read(self) -> tuple[str, Any]:
        process = self._process
        if process is None or process.stdout is None:
            raise EOFError
        size = int.from_bytes(await process.stdout.readexactly(HEADER), "little")
        if size > _MAX_ANSWER:
            raise EOFError
        answer: tuple[str, Any] = pickle.loads(await process.stdout.readexactly(size))
        return answer

    async def kill(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
