"""Everything the gateway refuses or fails at, as one exception that knows its status and its place in the request.

status  type                    when
400     invalid_request_error   malformed, contradictory, unknown parameter, wrong or unsatisfiable schema or grammar
401     authentication_error    no API key, or an unknown one
404     not_found_error         unknown path or model
405     invalid_request_error   wrong method
408     invalid_request_error   the body did not come to its end
413     invalid_request_error   body or grammar too large
422     unprocessable_error     a constraint that is right but cannot be enforced exactly, or exceeds a limit
429     rate_limit_error        the queue is full (with Retry-After)
500     server_error            a fault of this server
502     upstream_error          an upstream broke off, answered nonsense or left the grammar
503     unavailable_error       not ready, draining, or no healthy upstream
504     timeout_error           the deadline passed
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from scansion.errors import (
    ContextError,
    GrammarError,
    LimitError,
    ModelError,
    RequestError,
    ScansionError,
    UnsatisfiableError,
    UnsupportedError,
)
from scansion.sampling.settings import Sampling

__all__ = ["STATUS_TYPES", "ApiError", "from_error", "keyword_of"]

_SETTINGS = frozenset((*Sampling.__dataclass_fields__, "max_tokens", "stop", "logprobs"))
_WORD = re.compile(r"[$A-Za-z_-]+\Z")

STATUS_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    408: "invalid_request_error",
    413: "invalid_request_error",
    422: "unprocessable_error",
    429: "rate_limit_error",
    500: "server_error",
    502: "upstream_error",
    503: "unavailable_error",
    504: "timeout_error",
}


class ApiError(Exception):
    """What a client is told.

    Attributes:
        status: HTTP status.
        message: one sentence: what is wrong, where, and the way out.
        type: OpenAI's ``error.type``; by default that of the status.
        param: the parameter at fault, as a dotted path (``response_format.json_schema.schema``), or None.
        code: a stable word for programs (``unknown_parameter``).
        details: further members of ``error``: ``pointer``, ``keyword``, ``hint``, ``tool``, ``limit``.
        retry_after: seconds, for the header ``Retry-After``.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str,
        param: str | None = None,
        type: str | None = None,
        details: Mapping[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.type = type or STATUS_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
        self.param = param
        self.code = code
        self.details = dict(details or {})
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (
            self.status,
            self.message,
            {name: value for name, value in vars(self).items() if name not in ("status", "message")},
        )

    def openai(self) -> dict[str, Any]:
        """The body of an OpenAI error answer."""
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code, **self.details}}

    def ollama(self) -> dict[str, Any]:
        """The body of an Ollama error answer: ``error`` is the sentence, the rest stands beside it."""
        return {"error": self.message, "type": self.type, "param": self.param, "code": self.code, **self.details}


def _restored(status: int, message: str, more: dict[str, Any]) -> ApiError:
    return ApiError(status, message, **more)


def from_error(error: ScansionError, param: str | None = None) -> ApiError:
    """What a client is told of an error of the library.

    Args:
        error: what was raised.
        param: the parameter that held the schema or grammar, or None.
    """
    if isinstance(error, GrammarError):
        return _from_grammar_error(error, param)
    if isinstance(error, LimitError):
        details = {key: value for key, value in (("limit", error.limit), ("allowed", error.allowed)) if value is not None}
        return ApiError(422, str(error), code="limit_exceeded", param=param, details=details)
    if isinstance(error, ContextError):
        return ApiError(400, str(error), code="context_length_exceeded", param="messages" if param is None else param)
    if isinstance(error, RequestError):
        # Messages about a setting begin with its name.
        setting = str(error).split(" ", 1)[0]
        return ApiError(400, str(error), code="invalid_value", param=setting if param is None and setting in _SETTINGS else param)
    if isinstance(error, ModelError):
        return ApiError(500, str(error), code="model_error", param=param)
    return ApiError(500, str(error), code="internal_error", param=param)


def keyword_of(error: GrammarError) -> str | None:
    """The schema keyword at fault: what is wrong inside a pattern (``\\1``) is the fault of ``pattern``."""
    if error.construct is not None and error.pointer and not _WORD.match(error.construct):
        return error.pointer.rsplit("/", 1)[1]
    return error.construct


def _from_grammar_error(error: GrammarError, param: str | None) -> ApiError:
    keyword = keyword_of(error)
    members: dict[str, Any] = {
        "pointer": error.pointer,
        "keyword": keyword,
        "construct": error.construct if error.construct != keyword else None,
        "hint": error.hint,
        "line": error.line,
        "column": error.column,
        "offset": error.offset,
    }
    details = {name: value for name, value in members.items() if value is not None}
    tool: str | None = getattr(error, "tool", None)
    message = str(error)
    if tool is not None:
        details["tool"] = tool
        message = f"tool {tool!r}: {message}"
    if isinstance(error, UnsupportedError):
        return ApiError(422, message, code="unsupported_constraint", param=param, details=details)
    if isinstance(error, UnsatisfiableError):
        return ApiError(400, message, code="unsatisfiable_constraint", param=param, details=details)
    return ApiError(400, message, code="invalid_constraint", param=param, details=details)
