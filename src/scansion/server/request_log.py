"""One JSON line a request on the logger ``scansion.server``; nothing of prompts and answers unless asked for."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from typing import Any

__all__ = ["JsonLines", "RequestRecord"]

_log = logging.getLogger("scansion.server")
_MAX_CONTENT = 20_000


class JsonLines(logging.Formatter):
    """A log record as one line of JSON: its fields where it has some, its message otherwise."""

    def format(self, record: logging.LogRecord) -> str:
        fields: Mapping[str, Any] = getattr(record, "fields", None) or {"message": record.getMessage()}
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            **fields,
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)


class RequestRecord:
    """Collects what one request did; ``write`` puts it out once."""

    def __init__(self, request_id: str, method: str, path: str, client: str) -> None:
        self.started = time.monotonic()
        self.fields: dict[str, Any] = {"request_id": request_id, "method": method, "path": path, "client": client}

    def add(self, **fields: Any) -> None:
        """More to be said."""
        self.fields.update(fields)

    def add_content(self, name: str, value: Any) -> None:
        """Content of the request or answer, cut to a bounded length. Called only where logging of content is on."""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        self.fields[name] = text[:_MAX_CONTENT]

    def write(self, status: int) -> None:
        """One line."""
        fields = {**self.fields, "status": status, "ms": round((time.monotonic() - self.started) * 1e3, 2)}
        level = logging.ERROR if status >= 500 and status not in (502, 503, 504) else logging.INFO
        _log.log(level, "%s %s %s", fields["method"], fields["path"], status, extra={"fields": fields})

    def fault(self, error: BaseException) -> None:
        """An exception nobody expected, with its trace."""
        _log.error(
            "internal error", exc_info=error, extra={"fields": {"message": "internal error", "request_id": self.fields["request_id"]}}
        )
