"""What a schema of each draft must look like, as a schema: the documents behind ``{"$ref": "https://json-schema.org/draft/2020-12/schema"}``.

Written from the keyword definitions of the specifications, one schema a draft where the newer drafts publish one a vocabulary; they
describe the same documents.
"""

from __future__ import annotations

from functools import cache
from typing import Any

__all__ = ["metaschema"]

_URLS = {
    "http://json-schema.org/draft-04/schema": 4,
    "http://json-schema.org/draft-06/schema": 6,
    "http://json-schema.org/draft-07/schema": 7,
    "https://json-schema.org/draft/2019-09/schema": 2019,
    "https://json-schema.org/draft/2020-12/schema": 2020,
}

_STRING = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_NUMBER = {"type": "number"}
_BOOLEAN = {"type": "boolean"}
_NAMES = {"type": "array", "items": _STRING, "uniqueItems": True}
_TYPE_NAME = {"enum": ["array", "boolean", "integer", "null", "number", "object", "string"]}


def metaschema(url: str) -> dict[str, Any] | None:
    """The metaschema published at a URL (without fragment), or None where that is not a draft read here."""
    draft = _URLS.get(url)
    return None if draft is None else _build(url, draft)


@cache
def _build(url: str, draft: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"$ref": "#"}
    if draft == 2019:
        schema = {"$recursiveRef": "#"}
    elif draft == 2020:
        schema = {"$dynamicRef": "#meta"}
    schemas = {"type": "array", "minItems": 1, "items": schema}
    named = {"type": "object", "additionalProperties": schema}
    names = _NAMES if draft >= 6 else {**_NAMES, "minItems": 1}
    properties: dict[str, Any] = {
        "$schema": _STRING,
        "title": _STRING,
        "description": _STRING,
        "type": {"anyOf": [_TYPE_NAME, {"type": "array", "items": _TYPE_NAME, "minItems": 1, "uniqueItems": True}]},
        "enum": {"type": "array"} if draft >= 6 else {"type": "array", "minItems": 1, "uniqueItems": True},
        "multipleOf": {"type": "number", "exclusiveMinimum": 0} if draft >= 6 else {"type": "number", "not": {"maximum": 0}},
        "minimum": _NUMBER,
        "maximum": _NUMBER,
        "exclusiveMinimum": _NUMBER if draft >= 6 else _BOOLEAN,
        "exclusiveMaximum": _NUMBER if draft >= 6 else _BOOLEAN,
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _COUNT),
        "pattern": {"type": "string", "format": "regex"},
        "uniqueItems": _BOOLEAN,
        "required": names,
        **dict.fromkeys(("properties", "patternProperties", "definitions"), named),
        "not": schema,
        **dict.fromkeys(("allOf", "anyOf", "oneOf"), schemas),
        "format": _STRING,
        "dependencies": {"type": "object", "additionalProperties": {"anyOf": [schema, names]}},
        "additionalProperties": schema if draft >= 6 else {"anyOf": [_BOOLEAN, schema]},
    }
    if draft == 4:
        properties["id"] = _STRING
    else:
        properties.update({"$id": _STRING, "$ref": _STRING, "contains": schema, "propertyNames": schema})
    if draft >= 7:
        properties.update({"$comment": _STRING, "if": schema, "then": schema, "else": schema, "readOnly": _BOOLEAN, "writeOnly": _BOOLEAN})
        properties.update({"contentMediaType": _STRING, "contentEncoding": _STRING})
    properties["examples"] = {"type": "array"}
    if draft <= 2019:
        properties["items"] = {"anyOf": [schema, schemas]}
        properties["additionalItems"] = schema if draft >= 6 else {"anyOf": [_BOOLEAN, schema]}
    if draft >= 2019:
        anchor = {"type": "string", "pattern": "^[A-Za-z_][-A-Za-z0-9._]*$"}
        properties.update({"$id": {"type": "string", "pattern": "^[^#]*#?$"}, "$anchor": anchor, "$defs": named})
        properties.update({"$vocabulary": {"type": "object", "additionalProperties": _BOOLEAN}, "deprecated": _BOOLEAN})
        properties.update({"dependentSchemas": named, "dependentRequired": {"type": "object", "additionalProperties": _NAMES}})
        properties.update({"minContains": _COUNT, "maxContains": _COUNT, "contentSchema": schema})
        properties.update({"unevaluatedItems": schema, "unevaluatedProperties": schema})
    if draft == 2019:
        properties.update({"$recursiveRef": _STRING, "$recursiveAnchor": _BOOLEAN})
    if draft == 2020:
        properties.update({"items": schema, "prefixItems": schemas, "$dynamicRef": _STRING, "$dynamicAnchor": anchor})
    built: dict[str, Any] = {
        "$schema": url if draft >= 2019 else f"{url}#",
        "id" if draft == 4 else "$id": url,
        "type": "object" if draft == 4 else ["object", "boolean"],
        "properties": properties,
    }
    if draft == 4:
        built["dependencies"] = {"exclusiveMaximum": ["maximum"], "exclusiveMinimum": ["minimum"]}
    if draft == 2019:
        built["$recursiveAnchor"] = True
    if draft == 2020:
        built["$dynamicAnchor"] = "meta"
    return built
