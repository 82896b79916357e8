"""Words for JSON values, as error messages use them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

__all__ = ["kind_of"]


def kind_of(value: Any) -> str:
    """What a JSON value is, in words; what is none (a parsed schema may hold anything) by its Python type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an empty array" if not value else "an array"
    if isinstance(value, str):
        return "a string"
    if not isinstance(value, (int, float, Decimal)):
        return f"a Python {type(value).__name__}"
    return "a number" if value == value and value not in (float("inf"), float("-inf")) else str(value)
