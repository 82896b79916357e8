"""Where worker processes come from: one process that has loaded everything and forks a worker in a few milliseconds.

Starting an interpreter for each worker that had to be killed would take a quarter of a second of processor time, and the
fork of this process would hold up its event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
from asyncio import StreamReader, StreamWriter

from scansion.errors import ScansionError

__all__ = ["KILL", "MESSAGE", "START", "Nursery"]

START, KILL = b"S", b"K"
MESSAGE = 5
"""Bytes of a message: what to do, and the worker's number in four bytes. ``START`` carries the worker's end of a socket."""

_BUFFER = 1 << 20
_END_SECONDS = 5.0


class Nursery:
    """The server's end. Belongs to one event loop. Everything sent is a few bytes that nobody waits for."""

    def __init__(self, memory: int) -> None:
        """
        Args:
            memory: MiB of address space of a worker.
        """
        self.memory = memory
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._number = 0

    def start(self) -> None:
        """Start the process; one that is running is left alone."""
        if self._process is not None and self._process.poll() is None:
            return
        self._drop()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "scansion.server.worker_process", str(theirs.fileno()), str(self.memory)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # an interrupt at the terminal is the server's to handle
            )
        self._control = ours

    async def worker(self) -> tuple[int, StreamReader, StreamWriter]:
        """A new worker: its number and its connection. It sends one frame when it is ready.

        Raises:
            ScansionError: the nursery does not run.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            self._number += 1
            number = self._number
            try:
                self.start()
                if self._control is not None:
                    socket.send_fds(self._control, [START + number.to_bytes(MESSAGE - 1, "little")], [theirs.fileno()])
            except OSError as error:
                ours.close()
                self._drop()
                raise ScansionError(f"worker processes do not start: {error}") from None
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=_BUFFER)
        return number, reader, writer

    def kill(self, number: int) -> None:
        """End a worker, whatever it is doing."""
        if self._control is not None:
            with contextlib.suppress(OSError):  # without a nursery the worker's connection, which is closed too, ends it
                self._control.send(KILL + number.to_bytes(MESSAGE - 1, "little"))

    async def close(self) -> None:
        """End the process and all workers."""
        process = self._process
        self._drop()
        if process is None:
            return
        try:
            await asyncio.to_thread(process.wait, _END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            await asyncio.to_thread(process.wait)

    def _drop(self) -> None:
        self._process = None
        if self._control is not None:
            self._control.close()
            self._control = None
