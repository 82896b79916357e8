"""One request and its answer over ASGI: body limit, deadline, disconnects, streams, errors in the API's own shape.

An endpoint's handler is called with a ``Call`` and returns a JSON value or an ``EventStream``. The status is sent when the
first event of a stream is there, so that what goes wrong before any token is a proper error answer, not a broken stream.
Where nothing comes for a while the stream begins with an event that says nothing, and errors are told inside it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.types import Message, Receive, Scope, Send

from scansion.errors import ScansionError
from scansion.server.errors import ApiError, from_error
from scansion.server.request_log import RequestRecord

if TYPE_CHECKING:
    from scansion.server.service import Service
    from scansion.server.settings import ServerSettings

__all__ = ["ABORT", "Call", "ClientGone", "Endpoint", "EventStream", "Handler", "Reader", "json_bytes", "send_json"]

ABORT = "scansion.abort"
"""The ASGI extension (``scope["extensions"]``) that drops a connection: ``http_protocol`` provides it."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9_.:-]{1,128}\Z")


@dataclass(frozen=True)
class Call:
    """A request as a handler sees it.

    Attributes:
        request: what the endpoint's reader made of the body; None for GET.
        client: who asks, for fairness: the key's fingerprint or the address.
        request_id: for logs, and in the header ``x-request-id``.
        record: what the log will say.
        path_name: the last part of a path such as ``/v1/models/NAME``.
    """

    request: Any
    client: str
    request_id: str
    record: RequestRecord
    path_name: str = ""


@dataclass(frozen=True)
class EventStream:
    """A streamed answer.

    Attributes:
        media_type: of the stream.
        events: encoded events, in order.
        error_event: how an error is told inside the stream, after which it ends.
        idle_event: what says nothing and keeps the connection alive, or empty where the format has no such thing.
    """

    media_type: str
    events: AsyncGenerator[bytes]
    error_event: Callable[[ApiError], bytes]
    idle_event: bytes = b""


Handler = Callable[["Service", Call], Awaitable[Any]]
Reader = Callable[[bytes], Any]
"""A function at the top of a module, from a body to a value that pickles: a large body is read in another process."""


def json_bytes(value: Any) -> bytes:
    """Compact JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class Endpoint:
    """An ASGI application for one path."""

    def __init__(self, service: Service, handler: Handler, *, reader: Reader | None = None, ollama: bool = False) -> None:
        self._service = service
        self._handler = handler
        self._reader = reader
        self._ollama = ollama

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service = self._service
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.match(given) else f"req_{secrets.token_hex(12)}"
        route = scope.get("route")
        path = str(getattr(route, "path", scope["path"]))
        record = RequestRecord(request_id, scope["method"], path, service.client_of(scope, headers))
        reply = _Reply(send, request_id, service.settings.client_silence)
        service.metrics.in_progress.inc()
        try:
            await self._answer(scope, receive, headers, record, reply)
        except ClientGone as gone:
            service.metrics.disconnects.inc()
            record.add(disconnected=True)
            reply.status = 499
            if gone.stalled:
                await _abort(scope, receive)
        except asyncio.CancelledError:  # the server has ended, and this client did not even take its last words
            record.add(error="shutting_down")
            reply.status = reply.status if reply.begun else 503
        finally:
            service.metrics.in_progress.dec()
            service.metrics.requests.labels(path, str(reply.status)).inc()
            service.metrics.seconds.labels(path).observe(asyncio.get_running_loop().time() - reply.started)
            if reply.first_at:
                service.metrics.first_seconds.labels(path).observe(reply.first_at - reply.started)
            record.write(reply.status)

    async def _answer(self, scope: Scope, receive: Receive, headers: Mapping[str, str], record: RequestRecord, reply: _Reply) -> None:
        service = self._service
        body_taken = asyncio.Event()
        work = asyncio.create_task(self._work(scope, receive, headers, record, reply, body_taken))
        watch = asyncio.create_task(_disconnected(receive, body_taken))
        try:
            with service.answering() as cut_off:
                async with asyncio.timeout(service.settings.deadline):
                    await asyncio.wait((work, watch, cut_off), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                await work
            elif watch.done():
                raise ClientGone
            else:
                await _cancelled(work)
                raise ApiError(503, "the server shut down before the answer was finished", code="shutting_down", retry_after=5)
        except ClientGone:
            raise
        except TimeoutError:
            await _cancelled(work)
            await self._tell(
                ApiError(504, f"the answer took longer than {service.settings.deadline:g} s", code="deadline_exceeded"), record, reply
            )
        except ApiError as error:
            await self._tell(error, record, reply)
        except ScansionError as error:
            told = from_error(error)
            if told.status == 500:  # of a worker process, which has no log of its own
                record.fault(error)
            await self._tell(told, record, reply)
        except Exception as error:
            record.fault(error)
            await self._tell(ApiError(500, "an internal error: the server's log says more", code="internal_error"), record, reply)
        finally:
            await _cancelled(work)
            await _cancelled(watch)

    async def _work(
        self, scope: Scope, receive: Receive, headers: Mapping[str, str], record: RequestRecord, reply: _Reply, body_taken: asyncio.Event
    ) -> None:
        service = self._service
        client = record.fields["client"]
        request: Any = None
        if self._reader is not None:
            raw = await _read_body(receive, headers, service.settings)
            body_taken.set()
            request = await service.read(self._reader, raw, client)
        body_taken.set()
        call = Call(request, client, record.fields["request_id"], record, str(scope.get("path_params", {}).get("name", "")))
        result = await self._handler(service, call)
        if not isinstance(result, EventStream):
            await reply.json(200, result)
            return
        reply.error_event = result.error_event
        idle = asyncio.create_task(_keep_alive(reply, result, service.settings.keep_alive)) if result.idle_event else None
        try:
            async with contextlib.aclosing(result.events) as events:
                async for event in events:
                    await reply.chunk(event, result.media_type)
        finally:
            if idle is not None:
                await _cancelled(idle)
        await reply.end()

    async def _tell(self, error: ApiError, record: RequestRecord, reply: _Reply) -> None:
        self._service.metrics.errors.labels(error.code).inc()
        record.add(error=error.code, param=error.param)
        with contextlib.suppress(OSError):  # whoever asked may have gone
            if reply.begun:
                if reply.error_event is not None:
                    await reply.chunk(reply.error_event(error), "")
                await reply.end()
                return
            headers = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
            if error.status == 408:
                headers["connection"] = "close"  # what is left of the body would be taken for a request
            await reply.json(error.status, error.ollama() if self._ollama else error.openai(), headers)


class ClientGone(Exception):
    """Nobody is there to be answered. ``stalled``: the connection stands, but nothing is read from it."""

    def __init__(self, *, stalled: bool = False) -> None:
        super().__init__("the client has gone")
        self.stalled = stalled


class _Reply:
    def __init__(self, send: Send, request_id: str, patience: float) -> None:
        self._sink = send
        self._patience = patience
        self._request_id = request_id
        self.started = asyncio.get_running_loop().time()
        self.first_at = 0.0
        self.status = 500
        self.begun = False
        self.ended = False
        self.error_event: Callable[[ApiError], bytes] | None = None
        self.last_at = self.started
        self._turn = asyncio.Lock()

    async def json(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        data = value if isinstance(value, bytes) else json_bytes(value)
        await self.begin(status, "application/json", {"content-length": str(len(data)), **(headers or {})})
        self.ended = True
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def begin(self, status: int, media_type: str, headers: Mapping[str, str] | None = None) -> None:
        self.begun = True
        self.status = status
        self.first_at = asyncio.get_running_loop().time()
        fields = {"content-type": media_type, "x-request-id": self._request_id, "cache-control": "no-store", **(headers or {})}
        if "content-length" not in fields:
            fields["x-accel-buffering"] = "no"  # proxies must not hold a stream back
        await self._send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()],
            }
        )

    async def chunk(self, data: bytes, media_type: str) -> None:
        """A piece of a stream; the first one begins it."""
        async with self._turn:
            if not self.begun:
                await self.begin(200, media_type)
            self.last_at = asyncio.get_running_loop().time()
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        if not self.ended:
            self.ended = True
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, message: Message) -> None:
        """Send, and give up where the client takes nothing: an answer that waits for its reader holds a place."""
        try:
            async with asyncio.timeout(self._patience):
                await self._sink(message)
        except TimeoutError:
            raise ClientGone(stalled=True) from None


async def send_json(send: Send, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
    """A whole JSON answer outside of an endpoint (a refused key, an unknown path)."""
    data = json_bytes(value)
    fields = {"content-type": "application/json", "content-length": str(len(data)), **(headers or {})}
    start: Message = {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.encode("latin-1"), text.encode("latin-1")) for name, text in fields.items()],
    }
    await send(start)
    await send({"type": "http.response.body", "body": data, "more_body": False})


async def _abort(scope: Scope, receive: Receive) -> None:
    """Drop the connection with what it still holds, where the server lets us: closing it would wait for the client to read."""
    abort = (scope.get("extensions") or {}).get(ABORT)
    if abort is not None:
        abort()
        while (await receive())["type"] != "http.disconnect":
            pass


async def _read_body(receive: Receive, headers: Mapping[str, str], settings: ServerSettings) -> bytes:
    limit = settings.body_limit
    too_large = ApiError(
        413, f"the body is larger than {limit:,} bytes", code="body_too_large", details={"limit": "body_bytes", "allowed": limit}
    )
    encoding = headers.get("content-encoding", "identity").lower()
    if encoding != "identity":
        raise ApiError(400, f"a body encoded as {encoding[:40]!r} is not read: send plain JSON", code="unsupported_encoding")
    declared = headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise too_large
    pieces: list[bytes] = []
    size = 0
    while True:
        try:
            async with asyncio.timeout(settings.client_silence):
                message = await receive()
        except TimeoutError:
            raise ApiError(
                408, f"nothing of the body came for {settings.client_silence:g} s: {size:,} bytes of it are here", code="body_timeout"
            ) from None
        if message["type"] == "http.disconnect":
            raise ClientGone
        piece = message.get("body", b"")
        size += len(piece)
        if size > limit:
            raise too_large
        pieces.append(piece)
        if not message.get("more_body", False):
            return b"".join(pieces)


async def _disconnected(receive: Receive, body_taken: asyncio.Event) -> None:
    await body_taken.wait()
    while (await receive())["type"] != "http.disconnect":
        pass


async def _keep_alive(reply: _Reply, stream: EventStream, seconds: float) -> None:
    """Break every silence of ``seconds``, also the one before the first event: what stands between may end idle connections."""
    clock = asyncio.get_running_loop().time
    while True:
        await asyncio.sleep(max(0.0, reply.last_at + seconds - clock()))
        if clock() - reply.last_at >= seconds:
            await reply.chunk(stream.idle_event, stream.media_type)


async def _cancelled(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait until it has cleaned up."""
    if not task.done():
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await task
