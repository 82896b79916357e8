"""What a caller may pass as a schema: text, a parsed value, or a Python type. All become one parsed JSON value."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from scansion.errors import GrammarError, LimitError
from scansion.json_schema.json_values import MAX_EXPONENT, kind_of, too_large

__all__ = ["MAX_TEXT", "parse_schema", "refuse_foreign_values"]

MAX_TEXT = 64 * 1024 * 1024  # characters of a schema text


def parse_schema(schema: Any) -> Any:
    """The JSON value (object or boolean) of a schema.

    Numbers of a schema text keep their digits (``Decimal``); floats in a parsed schema count as the decimal their ``repr`` shows.

    Raises:
        GrammarError: not JSON (with line and column), a key twice in one object, or not a schema.
        LimitError: too long, or nested too deep to be read.
    """
    if isinstance(schema, (dict, bool)):
        return schema
    if isinstance(schema, (bytes, bytearray)):
        try:
            schema = bytes(schema).decode("utf-8")
        except UnicodeDecodeError as error:
            raise GrammarError(f"the schema is not UTF-8: byte {error.start} is wrong", construct="schema") from None
    if isinstance(schema, str):
        value = _parse_text(schema)
        if not isinstance(value, (dict, bool)):
            raise GrammarError(f"a schema must be an object or a boolean, not {kind_of(value)}", pointer="", construct="schema")
        return value
    if schema is None or isinstance(schema, (list, int, float)):
        raise GrammarError(f"a schema must be an object or a boolean, not {kind_of(schema)}", pointer="", construct="schema")
    from scansion.json_schema.python_types import schema_of

    return schema_of(schema)


def refuse_foreign_values(schema: Any) -> None:
    """Look for what JSON does not have in a parsed schema.

    Raises:
        GrammarError: a key that is not a string, or a value of a type that JSON does not have; names the place.
    """
    stack: list[tuple[Any, str]] = [(schema, "")]
    seen: set[int] = set()
    while stack:
        value, pointer = stack.pop()
        if isinstance(value, (dict, list)):
            if id(value) in seen:
                continue
            seen.add(id(value))
        if isinstance(value, dict):
            for name, inner in value.items():
                if not isinstance(name, str):
                    raise GrammarError(f"the key {name!r} is {kind_of(name)}, not a string", pointer=pointer, construct="schema")
                stack.append((inner, f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"))
        elif isinstance(value, list):
            stack += [(inner, f"{pointer}/{index}") for index, inner in enumerate(value)]
        elif not (value is None or isinstance(value, (str, int, float, Decimal))):
            raise GrammarError(f"{kind_of(value)} is no JSON value", pointer=pointer, construct="schema", hint="JSON has no such type")


def _parse_text(text: str) -> Any:
    if len(text) > MAX_TEXT:
        raise LimitError(f"the schema text has {len(text):,} characters, more than {MAX_TEXT:,}", limit="schema_text", allowed=MAX_TEXT)
    try:
        return json.loads(text, parse_int=_integer, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise GrammarError(
            f"the schema is not JSON: {error.msg}", construct="schema", line=error.lineno, column=error.colno, offset=error.pos
        ) from None
    except RecursionError:
        raise LimitError(
            "the schema text is nested too deep to be read: move inner parts to $defs and name them by $ref", limit="schema_depth"
        ) from None
    except GrammarError:
        raise
    except ValueError as error:
        raise GrammarError(f"the schema is not JSON: {error}", construct="schema") from None


def _integer(digits: str) -> int:
    if len(digits) > MAX_EXPONENT + 2:  # sign and all; Python itself refuses to read 4,300 digits and more
        raise too_large(len(digits.lstrip("-")) - 1)
    return int(digits)


def _no_constant(name: str) -> Any:
    raise GrammarError(f"the schema is not JSON: {name} is not a number", construct="schema")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise GrammarError(f"the schema has the key {twice!r} twice in one object", construct=twice, hint="remove one of them")
    return value
