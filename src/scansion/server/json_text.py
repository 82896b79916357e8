"""Reading request bodies and writing schemas out of them without changing a number's spelling."""

from __future__ import annotations

import json
import marshal
from typing import Any

from scansion.server.errors import ApiError

__all__ = ["MAX_DEPTH", "SpelledFloat", "json_text", "kind_of", "read_object"]

MAX_DEPTH = 512
"""Deepest nesting of arrays and objects in a body."""
_MAX_DIGITS = 4000


class SpelledFloat(float):
    """A number whose spelling says more than its ``repr``: ``1e2``, ``0.10``, more digits than a float holds."""

    text: str

    def __new__(cls, text: str) -> SpelledFloat:
        number = super().__new__(cls, text)
        number.text = text
        return number


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object in a request body. Numbers with a fraction or an exponent stay floats and keep their spelling.

    Raises:
        ApiError: 400 where the body is empty, not UTF-8, not JSON (with line and column), not an object, nested deeper than
            ``MAX_DEPTH``, or names a key twice in one object.
    """
    if not body.strip():
        raise _bad("the request has no body: send a JSON object", "empty_body")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _bad(f"the body is not UTF-8: byte {error.start} is wrong", "invalid_json") from None
    try:
        value = json.loads(text, parse_float=_number, parse_int=_integer, parse_constant=_no_constant, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise _bad(
            f"the body is not JSON: {error.msg.removesuffix(' at')} at line {error.lineno}, column {error.colno}", "invalid_json"
        ) from None
    except RecursionError:
        raise _too_deep() from None
    if not isinstance(value, dict):
        raise _bad(f"the body must be a JSON object, not {kind_of(value)}", "invalid_json")
    if text.count("[") + text.count("{") > MAX_DEPTH and _deeper_than(value, MAX_DEPTH):
        raise _too_deep()
    if "\\u" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise _bad("a string in the body holds half of a surrogate pair (\\ud800 to \\udfff)", "invalid_json") from None
    return value


def json_text(value: Any) -> str:
    """A value of ``read_object`` as JSON text, every number spelled as it came."""
    try:
        marshal.dumps(value)  # takes plain types only, so it tells at the speed of C whether there is a SpelledFloat
        return json.dumps(value)
    except ValueError:
        pass
    pieces: list[str] = []
    _write(value, pieces)
    return "".join(pieces)


def kind_of(value: object) -> str:
    """What a JSON value is, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"


def _write(value: Any, pieces: list[str]) -> None:
    if isinstance(value, SpelledFloat):
        pieces.append(value.text)
    elif isinstance(value, dict):
        separator = "{"
        for key, member in value.items():
            pieces.append(f"{separator}{json.dumps(key)}: ")
            _write(member, pieces)
            separator = ", "
        pieces.append("}" if value else "{}")
    elif isinstance(value, list):
        separator = "["
        for item in value:
            pieces.append(separator)
            _write(item, pieces)
            separator = ", "
        pieces.append("]" if value else "[]")
    else:
        pieces.append(json.dumps(value))


def _deeper_than(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer) if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _number(text: str) -> float:
    if len(text) > _MAX_DIGITS:
        raise _bad(f"a number in the body has {len(text):,} characters, more than {_MAX_DIGITS:,}", "invalid_json")
    plain = float(text)
    return plain if repr(plain) == text else SpelledFloat(text)


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise _bad(f"a number in the body has {len(text):,} characters, more than {_MAX_DIGITS:,}", "invalid_json")
    return int(text)


def _no_constant(name: str) -> Any:
    raise _bad(f"the body is not JSON: {name} is not a number", "invalid_json")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _bad(f"the body names {name!r} twice in one object", "duplicate_key")
            seen.add(name)
    return value


def _bad(message: str, code: str) -> ApiError:
    return ApiError(400, message, code=code)


def _too_deep() -> ApiError:
    return _bad(f"the body is nested deeper than {MAX_DEPTH} arrays and objects", "nesting_limit")
