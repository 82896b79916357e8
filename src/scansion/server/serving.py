"""Running the application: checks before the port opens, uvicorn, an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import logging
import math
import signal
import socket
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import uvicorn

from scansion.errors import RequestError
from scansion.server.application import create_application
from scansion.server.backend import Backend
from scansion.server.request_log import JsonLines
from scansion.server.settings import ServerSettings, is_loopback

if TYPE_CHECKING:
    from scansion.server.service import Service

__all__ = ["serve"]

_log = logging.getLogger("scansion.server")
_COLLECT_AFTER = 50_000
_BACKLOG = 2048
_LAST_WORDS_SECONDS = 3
"""For clients to take what they are told when they are cut off."""


def serve(backend: Backend, settings: ServerSettings, *, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT; answers in progress may then finish within ``drain_seconds``.

    Args:
        backend: where answers come from; closed at the end.
        settings: everything else.
        host, port: where to listen; port 0 takes a free one. An address other machines can reach needs API keys.

    Raises:
        RequestError: an open address without keys, or one that cannot be listened on.
    """
    if not is_loopback(host) and not settings.api_keys:
        raise RequestError(f"{host} can be reached by other machines: give API keys (--api-key-file), or listen on 127.0.0.1")
    listeners = _listen(host, port)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("scansion.server", logging.INFO), ("uvicorn.error", logging.INFO)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
    config = uvicorn.Config(
        create_application(backend, settings),
        host=host,
        port=listeners[0].getsockname()[1],
        http=_protocol(),
        ws="none",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=math.ceil(settings.drain_seconds) + _LAST_WORDS_SECONDS,
        server_header=False,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=64 * 1024,
    )
    server = _Server(config, settings.drain_seconds)
    # A body of a megabyte is a hundred thousand objects, and each full collection looks at everything ever imported: both
    # hold up all other requests. What is loaded now stays, and collections are fewer.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, 20, 100)
    with _ended_by_signals(server):
        server.run(listeners)


class _Server(uvicorn.Server):
    """uvicorn's server with an orderly end: what is still being answered when the time to drain is over is told so."""

    def __init__(self, config: uvicorn.Config, drain_seconds: float) -> None:
        super().__init__(config)
        self._drain_seconds = drain_seconds

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See ``uvicorn.Server``, which does not log where it listens if it was given its sockets."""
        await super().startup(sockets)
        host = f"[{self.config.host}]" if ":" in self.config.host else self.config.host
        _log.info("running on http://%s:%d (Ctrl+C ends it)", host, self.config.port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, let answers finish, cut off the rest."""
        service: Service = self.config.app.state.service  # type: ignore[union-attr]  # create_application made it
        service.draining = True
        cut_off = asyncio.get_running_loop().call_later(self._drain_seconds, service.cut_off)
        try:
            await super().shutdown(sockets)
        finally:
            cut_off.cancel()


def _protocol() -> type[asyncio.Protocol] | Literal["auto"]:
    try:
        from scansion.server.http_protocol import GatewayProtocol
    except ImportError:  # without httptools uvicorn falls back on h11, which bounds heads itself
        return "auto"
    return GatewayProtocol


def _listen(host: str, port: int) -> list[socket.socket]:
    """Sockets on all addresses of ``host``, listening: who connects before the server is ready waits for it.

    Raises:
        RequestError: what is in the way, and the way out.
    """
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise RequestError(f"{host} is no address to listen on ({error}): give one of this machine with --host") from None
    listeners: list[socket.socket] = []
    problem: OSError | None = None
    for family, kind, protocol, _, address in dict.fromkeys(found):
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind((address[0], port, *address[2:]))
            listener.listen(_BACKLOG)
        except OSError as error:
            listener.close()
            problem = error
            if error.errno != errno.EADDRNOTAVAIL:  # a name may have an address of a family this machine does not speak
                break
        else:
            port = listener.getsockname()[1]  # where a free one was asked for, the same for all addresses
            listeners.append(listener)
    if problem is not None and (not listeners or problem.errno != errno.EADDRNOTAVAIL):
        for listener in listeners:
            listener.close()
        ways = {
            errno.EADDRINUSE: "another program listens there: end it, or choose another port with --port",
            errno.EACCES: "ports below 1024 are reserved: choose another with --port",
            errno.EADDRNOTAVAIL: "it is no address of this machine: choose another with --host",
        }
        way = ways.get(problem.errno or 0, "choose another with --host and --port")
        raise RequestError(f"cannot listen on {host}, port {port} ({problem.strerror}): {way}")
    return listeners


@contextlib.contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """SIGTERM and SIGINT end the server in order, and the process with code 0.

    uvicorn installs handlers of its own while it runs and raises the signals it caught again when it is done, so that the
    process ends as if nobody had handled them: what it raises again is caught here.
    """
    previous = {number: signal.signal(number, server.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
