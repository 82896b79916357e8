"""Constraints in the words of a schema's author: ``/properties/price must be at most 100 (maximum)``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

__all__ = ["PHRASES", "describe", "shown", "shown_names"]

_LONGEST = 60  # characters of one value
_MANY = 8  # values of an enum that are listed


def shown(value: Any) -> str:
    """A JSON value as text, cut where it is long."""
    text = str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def shown_names(names: Iterable[str]) -> str:
    """Names as a list, cut where there are many."""
    listed = list(names)
    more = f" and {len(listed) - _MANY} more" if len(listed) > _MANY else ""
    return ", ".join(map(shown, listed[:_MANY])) + more


def _number_of(least: str, value: Any, things: str) -> str:
    return f"have {least} {value} {things if value == 1 else _PLURALS[things]}"


_PLURALS = {"key": "keys", "item": "items"}

# What a keyword asks, after "must". Those of strings and numbers come first: labels join them.
PHRASES: dict[str, Callable[[Any], str]] = {
    "enum": lambda value: f"be one of {shown_names(value)}" if isinstance(value, list) else "be one of nothing",
    "const": lambda value: f"be exactly {shown(value)}",
    "minimum": lambda value: f"be at least {value}",
    "exclusiveMinimum": lambda value: f"be above {value}",
    "maximum": lambda value: f"be at most {value}",
    "exclusiveMaximum": lambda value: f"be below {value}",
    "multipleOf": lambda value: f"be a multiple of {value}",
    "minLength": lambda value: f"be at least {value} {'character' if value == 1 else 'characters'} long",
    "maxLength": lambda value: f"be at most {value} {'character' if value == 1 else 'characters'} long",
    "pattern": lambda value: f"match the pattern {str(value)[:_LONGEST]}",
    "format": lambda value: f"be a valid {value}",
    "minProperties": lambda value: _number_of("at least", value, "key"),
    "maxProperties": lambda value: _number_of("at most", value, "key"),
    "minItems": lambda value: _number_of("at least", value, "item"),
    "maxItems": lambda value: _number_of("at most", value, "item"),
}
_CONTAINERS = frozenset(("minProperties", "maxProperties", "minItems", "maxItems"))


def describe(pointer: str, schema: dict[str, Any]) -> str:
    """A pointer, and what the keywords there ask of a string or number."""
    asked = [keyword for keyword in schema if keyword in PHRASES and keyword not in _CONTAINERS]
    if not asked:
        return pointer
    kind = schema.get("type")
    words = [PHRASES[keyword](schema[keyword]).removeprefix("be ") for keyword in asked]
    named = [f"of type {kind}"] if isinstance(kind, str) else []
    be = "be " if named or not words[0].startswith("match ") else ""
    return f"{pointer} must {be}{', '.join(named + words)} ({', '.join(asked)})"
