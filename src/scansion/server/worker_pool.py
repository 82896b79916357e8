"""Worker processes under a time and memory budget: what clients send is worked on there, and killed there.

``worker_process`` is the other end of the frames that are sent here.
"""

from __future__ import annotations

import asyncio
import logging
import math
import pickle
import time
from asyncio import StreamReader, StreamWriter
from dataclasses import dataclass
from typing import Any

from scansion.errors import LimitError, ScansionError
from scansion.server.admission import FairQueue
from scansion.server.nursery import Nursery
from scansion.server.worker_process import HEADER

__all__ = ["Allowance", "WorkerPool"]

_log = logging.getLogger("scansion.server")
_MAX_ANSWER = 32 << 20
_START_SECONDS = 30.0
_RESTART_SECONDS = 1.0
_WAITING_LIMIT = 128


@dataclass
class Allowance:
    """What one request may have of the workers.

    Attributes:
        client: who asks; work waits fairly between clients.
        seconds: wall time of work that is left, waiting not counted.
    """

    client: str
    seconds: float = math.inf


class WorkerPool:
    """Processes that take one request each at a time, fairly between clients. Belongs to one event loop."""

    def __init__(self, nursery: Nursery, *, workers: int, seconds: float, what: str, verb: str, spares: int = 0) -> None:
        """
        Args:
            nursery: where processes come from.
            workers: requests worked on at once.
            seconds: wall time a request may take; its process is killed after it.
            what, verb: what is worked on, and how, for messages: ``the schema or grammar``, ``compile``.
            spares: further processes that wait to take over at once where one had to be killed.
        """
        self._nursery = nursery
        self._seconds = seconds
        self._what = what
        self._verb = verb
        self._queue = FairQueue(workers, _WAITING_LIMIT, what="pieces of work of this kind")
        self._idle: asyncio.Queue[_Worker] = asyncio.Queue()
        self._starting: set[asyncio.Task[None]] = set()
        self._processes = workers + spares
        self.kills = 0

    async def start(self) -> None:
        """Start the processes."""
        for _ in range(self._processes):
            self._add_worker(patient=False)
        await asyncio.gather(*self._starting)

    async def close(self) -> None:
        """End the processes."""
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        while not self._idle.empty():
            self._idle.get_nowait().kill()

    async def work(self, request: tuple[Any, ...], allowance: Allowance) -> Any:
        """Have a request worked on.

        Args:
            request: what ``worker_process`` understands.
            allowance: of whoever asks; what this takes is taken off.

        Raises:
            LimitError: it takes more time or memory than is allowed.
            ApiError: 429 where too much is waiting; or what the worker raised.
            ScansionError: what the worker raised.
        """
        async with self._queue.place(allowance.client):
            worker = await self._idle.get()
            good = False
            started = time.monotonic()
            try:
                status, value = await asyncio.wait_for(worker.ask(request), max(0.0, min(self._seconds, allowance.seconds)))
                good = True
            except TimeoutError:
                self.kills += 1
                raise LimitError(
                    f"{self._what} takes more than {self._seconds:g} s to {self._verb}: make it smaller or simpler",
                    limit=f"{self._verb}_seconds",
                    allowed=int(self._seconds) or 1,
                ) from None
            except (EOFError, OSError, pickle.UnpicklingError):
                self.kills += 1
                raise LimitError(
                    f"{self._what} needs more memory than is allowed: make it smaller or simpler",
                    limit=f"{self._verb}_memory",
                    allowed=self._nursery.memory,
                ) from None
            finally:
                allowance.seconds -= time.monotonic() - started
                if good:
                    self._idle.put_nowait(worker)
                else:
                    # Also where whoever asked has gone: the work is of no use to anybody.
                    self._add_worker()
                    worker.kill()
        if status == "error":
            raise value if isinstance(value, Exception) else ScansionError(str(value))
        return value

    def _add_worker(self, *, patient: bool = True) -> None:
        """Start a worker in the background; a patient start is tried again until it succeeds."""

        async def add() -> None:
            while True:
                worker = _Worker(self._nursery)
                try:
                    await worker.start()
                except (ScansionError, OSError) as error:
                    if not patient:
                        raise
                    _log.error("a worker process does not start", exc_info=error)
                    await asyncio.sleep(_RESTART_SECONDS)
                else:
                    self._idle.put_nowait(worker)
                    return

        task = asyncio.create_task(add())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)


class _Worker:
    def __init__(self, nursery: Nursery) -> None:
        self._nursery = nursery
        self._number = 0
        self._connection: tuple[StreamReader, StreamWriter] | None = None

    async def start(self) -> None:
        """Start the process and wait until it is ready.

        Raises:
            ScansionError: it does not start.
        """
        self._number, reader, writer = await self._nursery.worker()
        self._connection = reader, writer
        try:
            await asyncio.wait_for(self._read(), _START_SECONDS)
        except (TimeoutError, EOFError, OSError):
            self.kill()
            raise ScansionError("a worker process does not start: run `scansion doctor`") from None
        except asyncio.CancelledError:
            self.kill()
            raise

    async def ask(self, request: tuple[Any, ...]) -> tuple[str, Any]:
        """Send a request and wait for its answer."""
        if self._connection is None:
            raise EOFError
        _, writer = self._connection
        data = pickle.dumps(request, protocol=5)
        writer.write(len(data).to_bytes(HEADER, "little"))
        writer.write(data)
        await writer.drain()
        return await self._read()

    async def _read(self) -> tuple[str, Any]:
        if self._connection is None:
            raise EOFError
        reader, _ = self._connection
        size = int.from_bytes(await reader.readexactly(HEADER), "little")
        if size > _MAX_ANSWER:
            raise EOFError
        answer: tuple[str, Any] = pickle.loads(await reader.readexactly(size))
        return answer

    def kill(self) -> None:
        """End the process."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._nursery.kill(self._number)
            connection[1].close()
