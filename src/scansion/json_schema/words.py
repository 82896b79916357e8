"""Scalar constraints in the words of a schema author, for labels: ``/properties/price must be at most 100 (maximum)``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

__all__ = ["describe"]

_LONGEST = 60  # characters of one value
_MANY = 8  # values of an enum that are listed


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _values(listed: Any) -> str:
    if not isinstance(listed, list):
        return ""
    shown = ", ".join(map(_value, listed[:_MANY]))
    return f"one of {shown}" + (f" and {len(listed) - _MANY} more" if len(listed) > _MANY else "")


_PHRASES: dict[str, Callable[[Any], str]] = {
    "enum": _values,
    "const": lambda value: f"exactly {_value(value)}",
    "minimum": lambda value: f"at least {value}",
    "exclusiveMinimum": lambda value: f"above {value}",
    "maximum": lambda value: f"at most {value}",
    "exclusiveMaximum": lambda value: f"below {value}",
    "multipleOf": lambda value: f"a multiple of {value}",
    "minLength": lambda value: f"at least {value} characters long",
    "maxLength": lambda value: f"at most {value} characters long",
    "pattern": lambda value: f"matched by {str(value)[:_LONGEST]}",
    "format": lambda value: f"a {value}",
}


def describe(pointer: str, schema: dict[str, Any]) -> str:
    """A pointer, and what the keywords there ask of a string or number."""
    asked = [(keyword, _PHRASES[keyword](schema[keyword])) for keyword in schema if keyword in _PHRASES]
    if not asked:
        return pointer
    kind = schema.get("type")
    named = [f"of type {kind}"] if isinstance(kind, str) else []
    return f"{pointer} must be {', '.join(named + [words for _, words in asked])} ({', '.join(keyword for keyword, _ in asked)})"
