"""How a server runs."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scansion.errors import RequestError

__all__ = ["ServerSettings", "is_loopback"]

_MIB = 1 << 20
_GREATEST = 1 << 30
"""Of any setting: seconds beyond this are no time a clock can wait for."""
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s]+\Z")


@dataclass(frozen=True)
class ServerSettings:
    """Everything but the model.

    Attributes:
        api_keys: accepted keys; empty: none is asked for.
        cors_origins: origins browsers may call from; empty: none.
        queue_limit: jobs that may wait for a place.
        deadline: seconds a request may take in all.
        client_silence: seconds a client may leave a request unfinished without sending, or an answer without reading.
        keep_alive: seconds of silence after which a stream of server-sent events gets a comment.
        body_limit: bytes of a request body.
        default_max_tokens: tokens of an answer where the request names no number.
        compile_workers, compile_seconds, compile_memory: processes for what clients send, their wall time for one
            piece of work, and their memory in MiB.
        log_content: write prompts and answers to the log.
        drain_seconds: time answers in progress have to finish after a request to stop.
        aliases: further names of models.
    """

    api_keys: Sequence[str] = ()
    cors_origins: Sequence[str] = ()
    queue_limit: int = 256
    deadline: float = 600.0
    client_silence: float = 30.0
    keep_alive: float = 15.0
    body_limit: int = 8 * _MIB
    default_max_tokens: int = 1024
    compile_workers: int = 2
    compile_seconds: float = 1.5
    compile_memory: int = 1024
    log_content: bool = False
    drain_seconds: float = 30.0
    aliases: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (
            "queue_limit",
            "deadline",
            "client_silence",
            "keep_alive",
            "body_limit",
            "default_max_tokens",
            "compile_workers",
            "compile_seconds",
            "drain_seconds",
        ):
            if not 0 < getattr(self, name) <= _GREATEST:
                raise RequestError(f"{name} must be greater than 0 and at most {_GREATEST:,}, not {getattr(self, name)!r}")
        if self.compile_memory < 256:
            raise RequestError(f"compile_memory must be at least 256 MiB, not {self.compile_memory}")
        if any(not key or not key.isascii() or not key.isprintable() for key in self.api_keys):
            raise RequestError("an API key is empty or holds characters a header cannot: use printable ASCII")
        for origin in self.cors_origins:
            if origin != "*" and not _ORIGIN.match(origin):
                raise RequestError(f"{origin!r} is no origin: give SCHEME://HOST or SCHEME://HOST:PORT, without a path")


def is_loopback(host: str) -> bool:
    """Only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
