"""JSON values as Python holds them: what they are in words, and when two are equal."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from scansion.errors import LimitError

__all__ = ["MAX_EXPONENT", "canonical", "exact", "is_number", "kind_of", "too_large"]

MAX_EXPONENT = 4_000
_WHOLE = 10 ** (MAX_EXPONENT + 1)


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


def is_number(value: Any) -> bool:
    """A number that JSON has: no boolean, infinity or NaN."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Decimal):
        return value.is_finite()
    return isinstance(value, int) and not isinstance(value, bool)


def too_large(exponent: int) -> LimitError:
    """The error of a number of about 10 to the exponent."""
    return LimitError(
        f"the schema has a number of about 10^{exponent}, beyond 10^±{MAX_EXPONENT:,} (leave the keyword out, or round it)",
        limit="exponent",
        allowed=MAX_EXPONENT,
    )


def exact(number: Any) -> Fraction:
    """The exact value of a JSON number as Python holds it; a float is the decimal its ``repr`` shows.

    Raises:
        LimitError: beyond 10 to the ``MAX_EXPONENT`` (written out it would fill memory).
    """
    if isinstance(number, int):
        if not -_WHOLE < number < _WHOLE:
            raise too_large(int(number.bit_length() * math.log10(2)))
        return Fraction(number)
    decimal = number if isinstance(number, Decimal) else Decimal(repr(number))
    if decimal and abs(decimal.adjusted()) > MAX_EXPONENT:
        raise too_large(decimal.adjusted())
    return Fraction(decimal)


def canonical(value: Any) -> Any:
    """A key that two JSON values share exactly when they are equal as JSON Schema compares them: 1 is 1.0, key order aside.

    Raises:
        LimitError: a number too large to be written out.
    """
    if isinstance(value, dict):
        return "object", frozenset((name, canonical(inner)) for name, inner in value.items())
    if isinstance(value, list):
        return "array", tuple(map(canonical, value))
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return type(value).__name__, value
    return "number", exact(value)
