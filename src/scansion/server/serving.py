"""Running the application: checks before the port opens, uvicorn, an orderly end."""

from __future__ import annotations

import logging
import sys

from scansion.errors import RequestError
from scansion.server.application import create_application
from scansion.server.backend import Backend
from scansion.server.request_log import JsonLines
from scansion.server.settings import ServerSettings, is_loopback

__all__ = ["serve"]


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
    server.run()
    if not server.started:
        raise RequestError(f"the server did not start on {host}:{port}: the log says why")
