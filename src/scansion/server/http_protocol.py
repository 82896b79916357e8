"""HTTP/1.1 under the application: what uvicorn leaves without a bound or answers in plain text.

httptools reads a request head of any length, and uvicorn waits for the end of one for ever.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from scansion.server.errors import ApiError
from scansion.server.exchange import ABORT, json_bytes

__all__ = ["MAX_HEAD", "GatewayProtocol"]

MAX_HEAD = 64 << 10
"""Bytes of a request's first line and headers, beyond the one read in which they began."""
_HEAD_SECONDS = 30.0


class GatewayProtocol(HttpToolsProtocol):
    """One connection. Heads are bounded in size and time, malformed requests get a JSON error, and a connection can be dropped."""

    _head_bytes = 0
    _reading_head = True
    _head_began = False
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The time for the first head begins."""
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more comes."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes from the client."""
        self._head_began = False
        super().data_received(data)
        if not self._reading_head:
            return
        self._head_bytes = 0 if self._head_began else self._head_bytes + len(data)
        if self._head_bytes > MAX_HEAD and not self.transport.is_closing():
            self._refuse(431, f"the request's headers are larger than {MAX_HEAD:,} bytes", "headers_too_large")

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._reading_head = self._head_began = True
        self._start_timer()
        self.scope["extensions"] = {ABORT: self.transport.abort}  # type: ignore[dict-item]  # uvicorn's type knows its own only

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._reading_head = False
        self._stop_timer()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP: uvicorn has logged ``msg``, which says no more."""
        self._refuse(400, "this is no HTTP/1.1 request: the request line, a header or a chunk is malformed", "invalid_http")

    def _refuse(self, status: int, message: str, code: str) -> None:
        body = json_bytes(ApiError(status, message, code=code).openai())
        head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + head.encode("ascii") + body)
        self.transport.close()

    def _start_timer(self) -> None:
        self._stop_timer()
        self._head_timer = self.loop.call_later(_HEAD_SECONDS, self._head_overdue)

    def _stop_timer(self) -> None:
        timer, self._head_timer = self._head_timer, None
        if timer is not None:
            timer.cancel()

    def _head_overdue(self) -> None:
        transport: Any = self.transport
        if self._reading_head and not transport.is_closing():
            transport.close()
