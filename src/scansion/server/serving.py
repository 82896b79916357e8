"""Running the application: checks before the port opens, uvicorn, an orderly end."""

from __future__ import annotations

import contextlib
import gc
import logging
import signal
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from scansion.errors import RequestError
from scansion.server.application import create_application
from scansion.server.backend import Backend
from scansion.server.request_log import JsonLines
from scansion.server.settings import ServerSettings, is_loopback

if TYPE_CHECKING:
    import uvicorn

__all__ = ["serve"]

_COLLECT_AFTER = 50_000


def serve(backend: Backend, settings: ServerSettings, *, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT; answers in progress may then finish within ``drain_seconds``.

    Args:
        backend: where answers come from; closed at the end.
        settings: everything else.
        host, port: where to listen; port 0 takes a free one. An address other machines can reach needs API keys.

    Raises:
        RequestError: an open address without keys.
    """
    import uvicorn

    if not is_loopback(host) and not settings.api_keys:
        raise RequestError(f"{host} can be reached by other machines: give API keys (--api-key-file), or listen on 127.0.0.1")
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
        port=port,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=int(settings.drain_seconds) or 1,
        server_header=False,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=64 * 1024,
    )
    server = uvicorn.Server(config)
    # A body of a megabyte is a hundred thousand objects, and each full collection looks at everything ever imported: both
    # hold up all other requests. What is loaded now stays, and collections are fewer.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, 20, 100)
    with _ended_by_signals(server):
        server.run()
    if not server.started:
        raise RequestError(f"the server did not start on {host}:{port}: the log says why")


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
