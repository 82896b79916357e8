"""Which keywords constrain, and what kind of value each constrains. Every other keyword is an annotation and costs nothing."""

from __future__ import annotations

from typing import Any

from scansion.errors import LimitError
from scansion.json_schema.documents import Site
from scansion.json_schema.json_values import exact, is_number, kind_of

__all__ = [
    "APPLY",
    "ARRAY",
    "KEYWORDS",
    "MORE",
    "NUMBER",
    "OBJECT",
    "REF",
    "STRING",
    "TYPE",
    "TYPES",
    "TYPE_ANY",
    "TYPE_ARRAY",
    "TYPE_INTEGER",
    "TYPE_NUMBER",
    "TYPE_OBJECT",
    "TYPE_STRING",
    "UNEVALUATED",
    "VALUES",
    "above",
    "below",
    "least",
    "most",
    "schema_list",
    "schema_map",
    "type_mask",
    "whole",
]

MAX_LEAST = 10_000_000  # the most that minLength, minItems ... may ask for
_MAX_MOST = 1_000_000_000  # bounds beyond bound nothing: no text has so many characters, items or keys

# MORE comes with those of another kind that are rare and take more than a line to read: they are not written plainly (``lower_plainly``).
TYPE, VALUES, STRING, NUMBER, OBJECT, ARRAY, APPLY, REF, UNEVALUATED, MORE = (1 << i for i in range(10))

KEYWORDS: dict[str, int] = {
    "type": TYPE,
    "enum": VALUES,
    "const": VALUES,
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), STRING),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), NUMBER),
    **dict.fromkeys(("properties", "additionalProperties", "required"), OBJECT),
    **dict.fromkeys(("patternProperties", "propertyNames", "minProperties", "maxProperties", "dependentRequired"), OBJECT | MORE),
    **dict.fromkeys(("items", "minItems", "maxItems", "uniqueItems"), ARRAY),
    **dict.fromkeys(("prefixItems", "additionalItems", "contains", "minContains", "maxContains"), ARRAY | MORE),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"), APPLY),
    "dependencies": APPLY | OBJECT,  # schemas, or lists of required names
    "$ref": REF,
    **dict.fromkeys(("$dynamicRef", "$recursiveRef"), REF | MORE),
    **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), UNEVALUATED),
}

# Type masks: the literals' bits are those of ``shapes`` (null 1, false 2, true 4).
TYPE_NUMBER, TYPE_INTEGER, TYPE_STRING, TYPE_OBJECT, TYPE_ARRAY = 8, 16, 32, 64, 128
TYPE_ANY = 255
TYPES = {
    "null": 1,
    "boolean": 6,
    "number": TYPE_NUMBER | TYPE_INTEGER,
    "integer": TYPE_INTEGER,
    "string": TYPE_STRING,
    "object": TYPE_OBJECT,
    "array": TYPE_ARRAY,
}


def type_mask(site: Site, value: Any) -> int:
    """The mask of a ``type`` keyword."""
    if isinstance(value, str):
        names = (value,)
    elif isinstance(value, list):
        names = tuple(value)
    else:
        raise site.wrong(f"type must be a type name or a list of them, not {kind_of(value)}", "type", _TYPE_HINT)
    mask = 0
    for name in names:
        bit = TYPES.get(name) if isinstance(name, str) else None
        if bit is None:
            raise site.wrong(f"{name!r} is not a type", "type", _TYPE_HINT)
        mask |= bit
    return mask


_TYPE_HINT = "use " + ", ".join(TYPES)


def least(site: Site, keyword: str, default: int = 0) -> int:
    """A keyword that asks for at least so many (``default`` where it is not there).

    Raises:
        LimitError: more than ``MAX_LEAST``: it would never be written.
    """
    number = _count(site, keyword, default)
    if number > MAX_LEAST:
        raise LimitError(
            f"#{site.pointer}/{keyword}: at least {MAX_LEAST:,} can be asked for, not more (leave {keyword} out, or lower it)",
            limit="least_count",
            allowed=MAX_LEAST,
        )
    return number


def most(site: Site, keyword: str) -> int:
    """A keyword that allows at most so many; -1 where it is not there, or allows more than can be counted."""
    number = _count(site, keyword, -1)
    return number if number <= _MAX_MOST else -1


def below(site: Site, keyword: str) -> int | None:
    """The most there may be where a keyword such as ``minItems`` is broken (-1: no bound); None where it cannot be."""
    number = _count(site, keyword, 0)
    return None if not number else number - 1 if number <= _MAX_MOST else -1


def above(site: Site, keyword: str) -> int | None:
    """The fewest there must be where a keyword such as ``maxItems`` is broken; None where it cannot be."""
    number = _count(site, keyword, -1)
    return number + 1 if 0 <= number < _MAX_MOST else None


def _count(site: Site, keyword: str, default: int) -> int:
    """A keyword that is a non-negative integer (``2.0`` is one)."""
    if keyword not in site.schema:
        return default
    value = site.schema[keyword]
    if type(value) is int and 0 <= value <= _MAX_MOST:  # nearly always
        return value
    if is_number(value) and value >= 0:
        number = exact(value)
        if number.denominator == 1:
            return number.numerator
    raise site.wrong(f"{keyword} must be a non-negative integer, not {value!r:.40}", keyword)


def schema_list(site: Site, schema: dict[str, Any], keyword: str) -> list[Any]:
    """A keyword that is a non-empty list of schemas."""
    value = schema[keyword]
    if not isinstance(value, list) or not value:
        raise site.wrong(f"{keyword} must be a non-empty array of schemas, not {kind_of(value)}", keyword)
    return value


def schema_map(site: Site, schema: dict[str, Any], keyword: str) -> dict[str, Any]:
    """A keyword that is an object of schemas (or, for dependencies, of name lists)."""
    value = schema[keyword]
    if not isinstance(value, dict):
        raise site.wrong(f"{keyword} must be an object, not {kind_of(value)}", keyword)
    if not "".join(value).isascii():  # a key that is no string is a TypeError, which ``compiler`` explains
        for name in value:
            whole(site, name, keyword)
    return value


def whole(site: Site, text: str, keyword: str) -> str:
    """The text of a key or value in a schema, refused where it has half of a surrogate pair: no JSON text in UTF-8 spells that."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise site.wrong(f"half of a surrogate pair in {keyword} is no character", keyword, "write the whole character")
    return text
