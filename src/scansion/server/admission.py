"""A bounded queue for a fixed number of places, fair between clients."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from scansion.server.errors import ApiError

__all__ = ["FairQueue"]

_SMOOTHING = 0.1
_LONGEST_RETRY = 120


class FairQueue:
    """Places for jobs. Who waits is served round robin over clients, and in order within a client.

    A client with a hundred waiting jobs delays another's single one by one job, not by a hundred.
    """

    def __init__(self, places: int, waiting_limit: int, *, per_client: int | None = None, what: str = "requests") -> None:
        """
        Args:
            places: jobs that hold a place at once.
            waiting_limit: jobs that may wait in all; one more is a 429.
            per_client: jobs of one client that may wait; None: half of ``waiting_limit``, so that nobody fills the queue alone.
            what: what the jobs are, for the message.
        """
        self.places = places
        self.waiting_limit = waiting_limit
        self._per_client = max(1, waiting_limit // 2) if per_client is None else per_client
        self._what = what
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._mean_seconds = 1.0
        self.held = 0
        self.waiting = 0

    @asynccontextmanager
    async def place(self, client: str) -> AsyncIterator[None]:
        """Hold a place while the block runs.

        Raises:
            ApiError: 429 with ``retry_after`` where the queue is full.
        """
        await self._acquire(client)
        started = time.monotonic()
        try:
            yield
        finally:
            self._mean_seconds += _SMOOTHING * (time.monotonic() - started - self._mean_seconds)
            self._release()

    async def _acquire(self, client: str) -> None:
        if self.held < self.places and not self.waiting:
            self.held += 1
            return
        line = self._waiting.get(client)
        if self.waiting >= self.waiting_limit or (line is not None and len(line) >= self._per_client):
            raise ApiError(
                429,
                f"{self.waiting} {self._what} are waiting already: try again later",
                code="queue_full",
                retry_after=self.retry_after(),
            )
        if line is None:
            line = self._waiting[client] = deque()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(turn)
        self.waiting += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release()  # the place had been given just before
            else:
                self._forget(client, turn)
            raise

    def _release(self) -> None:
        self.held -= 1
        while self._waiting and self.held < self.places:
            client, line = next(iter(self._waiting.items()))
            turn = line.popleft()
            self.waiting -= 1
            if line:
                self._waiting.move_to_end(client)
            else:
                del self._waiting[client]
            if not turn.done():
                self.held += 1
                turn.set_result(None)

    def _forget(self, client: str, turn: asyncio.Future[None]) -> None:
        line = self._waiting.get(client)
        if line is not None and turn in line:
            line.remove(turn)
            self.waiting -= 1
            if not line:
                del self._waiting[client]

    def retry_after(self) -> int:
        """Seconds until a place is likely free for one more."""
        seconds = self._mean_seconds * (self.waiting + 1) / max(1, self.places)
        return max(1, min(_LONGEST_RETRY, math.ceil(seconds)))
