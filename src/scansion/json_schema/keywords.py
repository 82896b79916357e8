"""Which keywords constrain, and what kind of value each constrains. Every other keyword is an annotation and costs nothing."""

from __future__ import annotations

from typing import Any

from scansion.json_schema.documents import Site
from scansion.json_schema.json_values import kind_of

__all__ = [
    "APPLY",
    "ARRAY",
    "KEYWORDS",
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
    "count",
    "schema_list",
    "schema_map",
    "type_mask",
]

TYPE, VALUES, STRING, NUMBER, OBJECT, ARRAY, APPLY, REF, UNEVALUATED = (1 << i for i in range(9))

KEYWORDS: dict[str, int] = {
    "type": TYPE,
    "enum": VALUES,
    "const": VALUES,
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), STRING),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), NUMBER),
    **dict.fromkeys(("properties", "patternProperties", "additionalProperties", "propertyNames"), OBJECT),
    **dict.fromkeys(("required", "minProperties", "maxProperties", "dependentRequired"), OBJECT),
    **dict.fromkeys(("items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"), ARRAY),
    **dict.fromkeys(("contains", "minContains", "maxContains"), ARRAY),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"), APPLY),
    "dependencies": APPLY | OBJECT,  # schemas, or lists of required names
    **dict.fromkeys(("$ref", "$dynamicRef", "$recursiveRef"), REF),
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


def count(site: Site, schema: dict[str, Any], keyword: str, default: int) -> int:
    """A keyword that is a non-negative integer (``2.0`` is one)."""
    value = schema.get(keyword, default)
    if type(value) is int and value >= -1:
        if value >= 0 or keyword not in schema:
            return value
    elif not isinstance(value, (bool, str, list, dict)) and value is not None and value >= 0 and value == int(value):
        return int(value)
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
    return value
