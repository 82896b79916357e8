"""The two shapes of ``structural_tag``: ``structures`` with ``triggers``, and XGrammar's ``format`` tree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from scansion.server.errors import ApiError
from scansion.server.json_text import json_text, kind_of
from scansion.server.recipes import MAX_GRAMMAR_BYTES

__all__ = ["structural_tag_text"]

_MAX_TAGS = 128
_CONTENTS = {"json_schema": "json_schema", "regex": "pattern", "grammar": "grammar"}


def structural_tag_text(value: Any, param: str) -> str:
    """The text of a ``structural_tag`` recipe.

    Args:
        value: the object whose ``type`` is ``structural_tag``.
        param: where it stands in the request.

    Raises:
        ApiError: 400 for a wrong shape, 422 for a format that is not offered.
    """
    if not isinstance(value, dict):
        raise ApiError(400, f"{param} must be an object, not {kind_of(value)}", code="invalid_type", param=param)
    if ("structures" in value) == ("format" in value):
        raise ApiError(
            400, f"{param} must have either structures and triggers, or format", code="missing_parameter", param=f"{param}.structures"
        )
    result = _structures(value, param) if "structures" in value else _format(value["format"], f"{param}.format")
    text = json.dumps(result)
    if len(text) > MAX_GRAMMAR_BYTES:
        raise ApiError(413, f"{param} has more than {MAX_GRAMMAR_BYTES:,} bytes", code="grammar_too_large", param=param)
    return text


def _structures(value: Mapping[str, Any], param: str) -> dict[str, Any]:
    tags = []
    for index, structure in enumerate(_array(value["structures"], f"{param}.structures")):
        where = f"{param}.structures.{index}"
        if not isinstance(structure, dict):
            raise ApiError(400, f"{where} must be an object, not {kind_of(structure)}", code="invalid_type", param=where)
        schema = structure.get("schema")
        if not isinstance(schema, dict | bool):
            raise ApiError(400, f"{where}.schema must be a JSON Schema", code="missing_parameter", param=f"{where}.schema")
        tags.append(_tag(structure, "json_schema", json_text(schema), where))
    triggers = value.get("triggers")
    if triggers is not None:
        triggers = _strings(triggers, f"{param}.triggers")
    return {"tags": tags, "triggers": triggers, "at_least_one": False, "stop_after_first": False}


def _format(value: Any, param: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise ApiError(400, f"{param} must be an object with a type", code="invalid_type", param=param)
    if value["type"] == "tag":
        return {"tags": [_format_tag(value, param)], "triggers": None, "at_least_one": True, "stop_after_first": True}
    if value["type"] != "triggered_tags":
        raise ApiError(
            422,
            f"{param}.type {value['type'][:60]!r} is not offered: use triggered_tags, tag, or a grammar",
            code="unsupported_constraint",
            param=f"{param}.type",
            details={"keyword": value["type"][:60], "hint": "use triggered_tags, tag, or a grammar"},
        )
    tags = [_format_tag(tag, f"{param}.tags.{index}") for index, tag in enumerate(_array(value.get("tags"), f"{param}.tags"))]
    return {
        "tags": tags,
        "triggers": _strings(value.get("triggers"), f"{param}.triggers"),
        "at_least_one": _flag(value, "at_least_one", param),
        "stop_after_first": _flag(value, "stop_after_first", param),
    }


def _format_tag(tag: Any, param: str) -> dict[str, Any]:
    if not isinstance(tag, dict):
        raise ApiError(400, f"{param} must be an object, not {kind_of(tag)}", code="invalid_type", param=param)
    content = tag.get("content")
    kind = content.get("type") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(kind, str):
        raise ApiError(400, f"{param}.content must be an object with a type", code="invalid_type", param=f"{param}.content")
    if kind not in _CONTENTS:
        raise ApiError(
            422,
            f"{param}.content.type {kind[:60]!r} is not offered: use {', '.join(_CONTENTS)}",
            code="unsupported_constraint",
            param=f"{param}.content.type",
            details={"keyword": kind[:60], "hint": f"use {', '.join(_CONTENTS)}"},
        )
    where = f"{param}.content.{_CONTENTS[kind]}"
    body = content.get(_CONTENTS[kind])
    if kind == "json_schema":
        if not isinstance(body, dict | bool):
            raise ApiError(400, f"{where} must be a JSON Schema", code="missing_parameter", param=where)
        return _tag(tag, "json_schema", json_text(body), param)
    if not isinstance(body, str):
        raise ApiError(400, f"{where} must be a string", code="missing_parameter", param=where)
    return _tag(tag, "regex" if kind == "regex" else "gbnf" if "::=" in body else "lark", body, param)


def _tag(tag: Mapping[str, Any], kind: str, content: str, param: str) -> dict[str, Any]:
    begin, end = tag.get("begin"), tag.get("end", "")
    if not isinstance(begin, str) or not begin:
        raise ApiError(400, f"{param}.begin must be a string that is not empty", code="missing_parameter", param=f"{param}.begin")
    if not isinstance(end, str):
        raise ApiError(400, f"{param}.end must be a string, not {kind_of(end)}", code="invalid_type", param=f"{param}.end")
    return {"begin": begin, "end": end, "kind": kind, "content": content}


def _array(value: Any, param: str) -> list[Any]:
    if not isinstance(value, list) or not 1 <= len(value) <= _MAX_TAGS:
        raise ApiError(400, f"{param} must be an array of 1 to {_MAX_TAGS} objects", code="invalid_type", param=param)
    return value


def _strings(value: Any, param: str) -> list[str]:
    if not isinstance(value, list) or not value or not all(isinstance(text, str) and text for text in value):
        raise ApiError(400, f"{param} must be an array of strings that are not empty", code="invalid_type", param=param)
    return value


def _flag(value: Mapping[str, Any], name: str, param: str) -> bool:
    flag = value.get(name, False)
    if not isinstance(flag, bool):
        raise ApiError(400, f"{param}.{name} must be a boolean, not {kind_of(flag)}", code="invalid_type", param=f"{param}.{name}")
    return flag
