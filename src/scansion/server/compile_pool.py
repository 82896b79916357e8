"""Grammars of what clients send, made and checked against in worker processes, and kept for the next request."""

from __future__ import annotations

import asyncio
import hashlib
import pickle
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from scansion.server.nursery import Nursery
from scansion.server.recipes import Recipe
from scansion.server.worker_pool import Allowance, WorkerPool

if TYPE_CHECKING:
    from scansion.grammar import Grammar

__all__ = ["CompilePool", "Compiled"]

_CACHED_ENTRIES = 256
_CACHED_BYTES = 128 << 20
_HEAVY_BYTES = 64 << 10
_HEAVY_SECONDS = 0.02


@dataclass
class Compiled:
    """A grammar from a worker.

    Attributes:
        pickled: its bytes.
        relaxed: (keyword, pointer) pairs it leaves out; empty unless asked for.
        load_seconds: what loading it and its first step took in the worker.
        texts: what ``CompilePool.written`` gave, by language.
    """

    pickled: bytes
    relaxed: tuple[tuple[str, str], ...]
    load_seconds: float = 0.0
    texts: dict[str, tuple[str, bool]] = field(default_factory=dict)

    @property
    def heavy(self) -> bool:
        """Loading it here would hold up everything else in this process."""
        return len(self.pickled) > _HEAVY_BYTES or self.load_seconds > _HEAVY_SECONDS

    @cached_property
    def grammar(self) -> Grammar:
        """For matchers and masks, loaded when first asked for."""
        grammar: Grammar = pickle.loads(self.pickled)
        return grammar

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the pickled grammar, in hexadecimal."""
        return hashlib.sha256(self.pickled).hexdigest()


class CompilePool:
    """The cache in front of the workers. Belongs to one event loop."""

    def __init__(self, nursery: Nursery, *, workers: int = 2, seconds: float = 1.5) -> None:
        """
        Args:
            nursery: where processes come from.
            workers: processes that compile.
            seconds: wall time one piece of work may take; the process is killed after it.
        """
        self._seconds = seconds
        what = "the schema or grammar"
        self._workers = WorkerPool(nursery, workers=workers, seconds=seconds, what=what, verb="compile", spares=1)
        # Apart from the others, so that it keeps what it has loaded.
        self._checker = WorkerPool(nursery, workers=1, seconds=seconds, what=what, verb="check")
        self._cache: OrderedDict[tuple[str, bool], Compiled] = OrderedDict()
        self._cached_bytes = 0
        self._running: dict[tuple[str, bool], asyncio.Task[Compiled]] = {}
        self.hits = 0
        self.misses = 0

    @property
    def kills(self) -> int:
        """Processes killed."""
        return self._workers.kills + self._checker.kills

    async def start(self) -> None:
        """Start the processes."""
        await asyncio.gather(self._workers.start(), self._checker.start())

    async def close(self) -> None:
        """End the processes."""
        for task in self._running.values():
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)
        await asyncio.gather(self._workers.close(), self._checker.close())

    def allowance(self, client: str) -> Allowance:
        """What one request may have: as long as one piece of work, for all of its pieces together."""
        return Allowance(client, self._seconds)

    async def compile(self, recipe: Recipe, allowance: Allowance, *, relax: bool = False) -> Compiled:
        """The grammar of a recipe, from the cache where the same one was asked for before.

        Args:
            recipe: what to make.
            allowance: of the request.
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
            task = self._running[key] = asyncio.create_task(self._make(recipe, key, allowance))
            task.add_done_callback(lambda done: self._forget(key, done))
        # Others may wait for the same grammar: one of them going away does not end the work.
        return await asyncio.shield(task)

    async def written(self, compiled: Compiled, language: str, allowance: Allowance) -> tuple[str, bool]:
        """The grammar as text for another engine.

        Args:
            compiled: from ``compile``.
            language: ``gbnf`` or ``lark``.
            allowance: of the request.

        Returns:
            The text, and whether it lets undeclared keys repeat; it is exact in everything else.

        Raises:
            UnsupportedError: the language cannot say it.
        """
        found = compiled.texts.get(language)
        if found is None:
            found = compiled.texts[language] = await self._workers.work(("write", compiled.pickled, language), allowance)
        return found

    async def checked(self, compiled: Compiled, text: bytes, allowance: Allowance) -> tuple[int, bool]:
        """A text against a grammar that is too heavy for this process.

        Args:
            compiled: from ``compile``.
            text: the text from its beginning; one that goes on where the last one ended costs the rest only.
            allowance: of the request.

        Returns:
            How many bytes the grammar takes, and whether the text is whole.

        Raises:
            LimitError: past the limits of a process.
        """
        found = await self._checker.work(("check", compiled.digest, None, text), allowance)
        if found is None:
            found = await self._checker.work(("check", compiled.digest, compiled.pickled, text), allowance)
        accepted, whole = found
        return accepted, whole

    async def violation(self, schema: str, content: str, allowance: Allowance, *, formats: bool) -> str | None:
        """Why ``content`` is no instance of the schema, or None."""
        found: str | None = await self._workers.work(("violation", schema, content, formats), allowance)
        return found

    async def _make(self, recipe: Recipe, key: tuple[str, bool], allowance: Allowance) -> Compiled:
        compiled = Compiled(*await self._workers.work(("build", recipe, key[1]), allowance))
        self._cache[key] = compiled
        self._cached_bytes += len(compiled.pickled)
        while len(self._cache) > _CACHED_ENTRIES or (self._cached_bytes > _CACHED_BYTES and len(self._cache) > 1):
            _, dropped = self._cache.popitem(last=False)
            self._cached_bytes -= len(dropped.pickled)
        return compiled

    def _forget(self, key: tuple[str, bool], task: asyncio.Task[Compiled]) -> None:
        self._running.pop(key, None)
        if not task.cancelled():
            task.exception()  # seen here too, in case everyone who waited has gone
