"""What a parameter may be, and the check of a whole body against a table of them.

A table maps each parameter an API knows to a ``Field``. The same tables make the OpenAPI description and the list in
``docs/server.md``, so what is documented is what is checked.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scansion.server.errors import ApiError
from scansion.server.json_text import kind_of

__all__ = ["ACCEPTED", "REFUSED", "USED", "Field", "Table", "check_known", "nearest", "read_parameters"]

USED = "used"
ACCEPTED = "accepted"
"""Part of the API, and changes nothing here."""
REFUSED = "refused"
"""Part of the API, and honoured only where it asks for nothing: any value but null or those in ``choices`` is a 400."""

_MAX_STRING = 8 << 20


@dataclass(frozen=True)
class Field:
    """One parameter.

    Attributes:
        kind: ``boolean``, ``integer``, ``number``, ``string``, ``array``, ``object`` or ``any``.
        role: ``USED``, ``ACCEPTED`` or ``REFUSED``.
        low, high: bounds of a number, or of the length of an array.
        choices: the only values allowed, where not empty.
        required: the parameter must be there and not null.
        null_counts: null is a value to be looked at, not the same as absent.
        about: what it does, or for a refused one what to do instead.
    """

    kind: str
    role: str = USED
    low: float | None = None
    high: float | None = None
    choices: tuple[Any, ...] = ()
    required: bool = False
    null_counts: bool = False
    about: str = ""

    def schema(self) -> dict[str, Any]:
        """The field as JSON Schema, for the OpenAPI description."""
        schema: dict[str, Any] = {} if self.kind == "any" else {"type": self.kind}
        if self.kind == "array":
            schema["items"] = {}
        low, high = ("minItems", "maxItems") if self.kind == "array" else ("minimum", "maximum")
        if self.low is not None:
            schema[low] = self.low
        if self.high is not None:
            schema[high] = self.high
        if self.choices:
            schema["enum"] = list(self.choices)
        if not self.required and self.kind != "any":
            schema = {"anyOf": [schema, {"type": "null"}]}
        words = {ACCEPTED: "Accepted; changes nothing here.", REFUSED: "Not offered here."}.get(self.role)
        about = " ".join(part for part in (words, self.about) if part)
        return {**schema, "description": about} if about else schema


Table = Mapping[str, Field]


def read_parameters(body: Mapping[str, Any], table: Table, *, prefix: str = "") -> dict[str, Any]:
    """The parameters of a body that are there and used, each checked for its type and range.

    Args:
        body: a JSON object.
        table: what may be in it.
        prefix: dotted path of the object in the request, for messages (``"options"``).

    Raises:
        ApiError: 400 naming the parameter: unknown (with the nearest known name), missing, of the wrong type, out of range.
    """
    check_known(body, table, prefix=prefix)
    values: dict[str, Any] = {}
    for name, field in table.items():
        path = f"{prefix}.{name}" if prefix else name
        value = body.get(name)
        if value is None:
            if field.required:
                missing = "is missing" if name not in body else "is null"
                raise ApiError(400, f"{path} {missing}: give {_a_kind(field.kind)}", code="missing_parameter", param=path)
            if field.null_counts and name in body:
                values[name] = None
            continue
        if field.role == REFUSED:
            if value not in field.choices:
                way_out = f": {field.about}" if field.about else ""
                raise ApiError(400, f"{path} is not offered here{way_out}", code="unsupported_parameter", param=path)
            continue
        value = _checked(path, value, field)
        if field.role == USED:
            values[name] = value
    return values


def check_known(body: Mapping[str, Any], known: Mapping[str, Any], *, prefix: str = "") -> None:
    """Refuse names that are not known.

    Raises:
        ApiError: 400 naming the first unknown one and the nearest known.
    """
    for name in body:
        if name not in known:
            path = f"{prefix}.{name}" if prefix else name
            near = nearest(name, known)
            where = f" of {prefix}" if prefix else ""
            hint = f"did you mean {near!r}?" if near else f"the parameters{where} are listed in docs/server.md"
            raise ApiError(
                400,
                f"there is no parameter {path[:200]!r}: {hint}",
                code="unknown_parameter",
                param=path[:200],
                details={"nearest": near} if near else {},
            )


def nearest(name: str, known: Mapping[str, Any]) -> str | None:
    """The known name most like ``name``, or None where none is like it."""
    close = difflib.get_close_matches(name[:100], list(known), n=1, cutoff=0.6)
    return close[0] if close else None


def _checked(path: str, value: Any, field: Field) -> Any:
    kind = field.kind
    if kind == "boolean":
        good = isinstance(value, bool)
    elif kind == "integer":
        if isinstance(value, float) and math.isfinite(value) and value == int(value):
            value = int(value)  # JSON does not tell 1.0 from 1, and some clients write all numbers so
        good = isinstance(value, int) and not isinstance(value, bool)
    elif kind == "number":
        good = isinstance(value, int | float) and not isinstance(value, bool) and _finite(value)
    elif kind == "string":
        good = isinstance(value, str) and len(value) <= _MAX_STRING
    elif kind == "array":
        good = isinstance(value, list)
    elif kind == "object":
        good = isinstance(value, dict)
    else:
        good = True
    if not good:
        raise ApiError(400, f"{path} must be {_a_kind(kind)}, not {_given(value)}", code="invalid_type", param=path)
    if field.choices and value not in field.choices:
        known = ", ".join(map(str, field.choices))
        raise ApiError(400, f"{path} must be one of {known}, not {str(value)[:60]!r}", code="invalid_value", param=path)
    size = len(value) if kind in ("array", "object") else value
    if (field.low is not None and size < field.low) or (field.high is not None and size > field.high):
        what = "have" if kind in ("array", "object") else "be"
        raise ApiError(400, f"{path} must {what} {_range(field)}, not {str(size)[:40]}", code="invalid_value", param=path)
    return value


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _range(field: Field) -> str:
    low = "" if field.low is None else f"{field.low:,.10g}"
    high = "" if field.high is None else f"{field.high:,.10g}"
    unit = " entries" if field.kind in ("array", "object") else ""
    if low and high:
        return f"{low} to {high}{unit}"
    return f"at least {low}{unit}" if low else f"at most {high}{unit}"


def _given(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "one too large to compute with" if not _finite(value) else f"{value!r:.40}"
    return kind_of(value)


def _a_kind(kind: str) -> str:
    return {"integer": "a whole number", "array": "an array", "object": "an object", "any": "a value"}.get(kind, f"a {kind}")
