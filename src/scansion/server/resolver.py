"""What a request asks its answer to keep to: every spelling of every API, resolved in one place, without side effects.

The table in ``docs/server.md`` has one row for each branch here, and ``tests/server/test_resolver.py`` one case for each row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scansion.server.errors import ApiError
from scansion.server.extension import Extension
from scansion.server.json_text import json_text, kind_of, read_object
from scansion.server.parameters import nearest
from scansion.server.recipes import MAX_GRAMMAR_BYTES, Recipe
from scansion.server.structural_tag_format import structural_tag_text

__all__ = ["FREE", "Asked", "resolve_ollama", "resolve_openai", "resolve_responses"]

_OBJECT = '{"type": "object"}'
_TYPES = ("text", "json_object", "json_schema", "structural_tag", "gbnf", "lark", "regex")


@dataclass(frozen=True)
class Asked:
    """A constraint and the parameter it came from. ``recipe`` None: free text."""

    recipe: Recipe | None = None
    param: str | None = None


FREE = Asked()


def resolve_openai(body: Mapping[str, Any], extension: Extension) -> Asked:
    """The constraint of a request to ``/v1/chat/completions`` or ``/v1/completions``.

    Args:
        body: the parameters that were given, each of the right JSON type where the API fixes one.
        extension: the gateway's own options.

    Raises:
        ApiError: 400 naming the parameter: wrong shape, unknown type, or two constraints at once.
    """
    asked = [found for name, resolve in _SOURCES.items() if name in body and (found := resolve(body[name], name)).recipe is not None]
    if len(asked) > 1:
        names = " and ".join(str(one.param).split(".")[0] for one in asked[:2])
        raise ApiError(
            400,
            f"{names} both say what the answer must keep to: give one of them",
            code="conflicting_parameters",
            param=asked[1].param and asked[1].param.split(".")[0],
            details={"conflicts_with": str(asked[0].param).split(".")[0]},
        )
    return _with_options(asked[0] if asked else FREE, extension)


def resolve_responses(text: Mapping[str, Any] | None, extension: Extension) -> Asked:
    """The constraint of ``text.format`` of a request to ``/v1/responses``."""
    if text is None:
        return _with_options(FREE, extension)
    for name in text:
        if name not in ("format", "verbosity"):
            near = nearest(name, {"format": 0, "verbosity": 0})
            raise ApiError(
                400, f"there is no parameter 'text.{name}': text holds format" + (f" (did you mean {near!r}?)" if near else ""),
                code="unknown_parameter", param=f"text.{name}",
            )  # fmt: skip
    form = text.get("format")
    return _with_options(FREE if form is None else _response_format(form, "text.format"), extension)


def resolve_ollama(body: Mapping[str, Any], extension: Extension) -> Asked:
    """The constraint of Ollama's ``format``: ``"json"`` and ``{}`` are a JSON object, ``""`` and null are free text."""
    form = body.get("format")
    if form is None or form == "":
        return _with_options(FREE, extension)
    if form == "json" or form == {}:
        asked = Asked(Recipe("json_object", _OBJECT), "format")
    elif isinstance(form, dict):
        asked = _schema(form, "format")
    else:
        given = f"the string {form[:40]!r}" if isinstance(form, str) else kind_of(form)
        hint = ": send the schema as an object, not as text" if isinstance(form, str) and form.lstrip()[:1] in ("{", "[") else ""
        raise ApiError(400, f'format must be "json" or a JSON Schema object, not {given}{hint}', code="invalid_type", param="format")
    return _with_options(asked, extension)


# -- one function for each place a constraint can stand --------------------------------------------------------------


def _response_format(value: Any, param: str) -> Asked:
    if value is None:
        return FREE
    if not isinstance(value, dict):
        raise ApiError(400, f"{param} must be an object, not {kind_of(value)}", code="invalid_type", param=param)
    kind = value.get("type")
    if not isinstance(kind, str):
        message = "is missing" if "type" not in value else f"must be a string, not {kind_of(kind)}"
        raise ApiError(400, f"{param}.type {message}: give one of {', '.join(_TYPES)}", code="missing_parameter", param=f"{param}.type")
    if kind not in _TYPES:
        near = nearest(kind, dict.fromkeys(_TYPES))
        hint = f"did you mean {near!r}?" if near else f"it may be {', '.join(_TYPES)}"
        raise ApiError(400, f"{param}.type is {kind[:60]!r}: {hint}", code="invalid_value", param=f"{param}.type")
    allowed = _MEMBERS[kind]
    for name in value:
        if name != "type" and name not in allowed:
            holds = f"it holds {', '.join(allowed)}" if allowed else "it holds nothing else"
            raise ApiError(
                400, f"{param} of type {kind} has no member {name[:60]!r}: {holds}", code="unknown_parameter", param=f"{param}.{name[:60]}"
            )
    if kind == "text":
        return FREE
    if kind == "json_object":
        schema = value.get("schema")
        if schema is None or schema == {}:
            return Asked(Recipe("json_object", _OBJECT), param)
        return _object_schema(schema, f"{param}.schema")
    if kind == "json_schema":
        return _json_schema_format(value, param)
    if kind == "structural_tag":
        return Asked(Recipe("structural_tag", structural_tag_text(value, param)), param)
    member = "pattern" if kind == "regex" else "grammar"
    names = [name for name in allowed if value.get(name) is not None]
    if len(names) != 1:
        problem = "is missing" if not names else f"stands beside {param}.{names[0]}"
        raise ApiError(400, f"{param}.{member} {problem}: give the {kind} text once", code="missing_parameter", param=f"{param}.{member}")
    return _text(kind, value[names[0]], f"{param}.{names[0]}")


def _json_schema_format(value: Mapping[str, Any], param: str) -> Asked:
    nested, flat = value.get("json_schema"), value.get("schema")
    if nested is not None and flat is not None:
        raise ApiError(
            400,
            f"{param} has both json_schema.schema and schema: give one of them",
            code="conflicting_parameters",
            param=f"{param}.schema",
        )
    if nested is None:
        if flat is None:
            missing = f"{param}.schema" if param == "text.format" else f"{param}.json_schema.schema"
            raise ApiError(400, f"{missing} is missing: give a JSON Schema", code="missing_parameter", param=missing)
        _check_name(value, param)
        return _schema(flat, f"{param}.schema")
    if not isinstance(nested, dict):
        raise ApiError(
            400, f"{param}.json_schema must be an object, not {kind_of(nested)}", code="invalid_type", param=f"{param}.json_schema"
        )
    for name in nested:
        if name not in ("name", "schema", "strict", "description"):
            raise ApiError(
                400,
                f"{param}.json_schema has no member {name[:60]!r}: it holds name, description, schema and strict",
                code="unknown_parameter",
                param=f"{param}.json_schema.{name[:60]}",
            )
    _check_name(nested, f"{param}.json_schema")
    if nested.get("schema") is None:
        missing = f"{param}.json_schema.schema"
        raise ApiError(400, f"{missing} is missing: give a JSON Schema", code="missing_parameter", param=missing)
    return _schema(nested["schema"], f"{param}.json_schema.schema")


def _check_name(value: Mapping[str, Any], param: str) -> None:
    for name, kind, what in (("name", str, "a string"), ("description", str, "a string"), ("strict", bool, "a boolean")):
        given = value.get(name)
        if given is not None and not isinstance(given, kind):
            raise ApiError(400, f"{param}.{name} must be {what}, not {kind_of(given)}", code="invalid_type", param=f"{param}.{name}")


def _schema(value: Any, param: str) -> Asked:
    """Any JSON Schema, ``{}`` and ``true`` (any JSON value) included; text is refused, because it may be a mistake for an object."""
    if not isinstance(value, dict | bool):
        hint = ": send the schema itself, not its text" if isinstance(value, str) else ""
        raise ApiError(400, f"{param} must be a JSON Schema object, not {kind_of(value)}{hint}", code="invalid_type", param=param)
    return Asked(Recipe("json_schema", _bounded(json_text(value), param)), param)


def _object_schema(value: Any, param: str) -> Asked:
    asked = _schema(value, param)
    if value is True or (isinstance(value, dict) and "type" not in value and "$ref" not in value):
        # "json_object" promises an object, whatever else the schema leaves open.
        # It stays the root, so that its references hold.
        narrowed: dict[str, Any] = {"type": "object"} if value is True else {"type": "object", **value}
        return Asked(Recipe("json_schema", json_text(narrowed)), param)
    return asked


def _top_json_schema(value: Any, param: str) -> Asked:
    """llama-server's ``json_schema``, where ``{}`` is a JSON object as there."""
    if value is None:
        raise ApiError(400, f"{param} is null: give a JSON Schema object, or leave it out", code="invalid_type", param=param)
    if value == {}:
        return Asked(Recipe("json_object", _OBJECT), param)
    return _schema(value, param)


def _grammar(value: Any, param: str) -> Asked:
    if value is None or value == "":
        return FREE
    if isinstance(value, str) and value.lstrip().startswith("%llguidance"):
        return _text("lark", value, param)
    return _text("gbnf", value, param)


def _guided_grammar(value: Any, param: str) -> Asked:
    """vLLM takes GBNF-like and Lark texts under one name; ``::=`` tells them apart."""
    if isinstance(value, str) and value and "::=" not in value:
        return _text("lark", value, param)
    return FREE if value is None else _text("gbnf", value, param)


def _guided_json(value: Any, param: str) -> Asked:
    """vLLM's: a schema as an object or as its text."""
    if isinstance(value, str):
        value = read_object(value.encode())
    return FREE if value is None else _schema(value, param)


def _guided_regex(value: Any, param: str) -> Asked:
    return FREE if value is None else _text("regex", value, param)


def _guided_choice(value: Any, param: str) -> Asked:
    if value is None:
        return FREE
    if not isinstance(value, list) or not value or not all(isinstance(text, str) for text in value):
        raise ApiError(400, f"{param} must be an array of at least one string", code="invalid_type", param=param)
    return Asked(Recipe("choices", _bounded(json.dumps(value), param)), param)


def _structured_outputs(value: Any, param: str) -> Asked:
    if value is None:
        return FREE
    if not isinstance(value, dict):
        raise ApiError(400, f"{param} must be an object, not {kind_of(value)}", code="invalid_type", param=param)
    for name in value:
        if name not in _STRUCTURED_OUTPUTS and name not in _STRUCTURED_OUTPUTS_IDLE:
            near = nearest(name, _STRUCTURED_OUTPUTS)
            hint = f"did you mean {near!r}?" if near else f"it holds one of {', '.join(_STRUCTURED_OUTPUTS)}"
            raise ApiError(400, f"{param} has no member {name[:60]!r}: {hint}", code="unknown_parameter", param=f"{param}.{name[:60]}")
    for name in _STRUCTURED_OUTPUTS_IDLE:
        if value.get(name) not in (None, False):
            raise ApiError(
                400, f'{param}.{name} is not offered here: use "scansion": {{"whitespace": ...}} and the schema itself',
                code="unsupported_parameter", param=f"{param}.{name}",
            )  # fmt: skip
    given = [name for name in _STRUCTURED_OUTPUTS if value.get(name) not in (None, False)]
    if len(given) != 1:
        which = "holds no constraint" if not given else f"holds {' and '.join(given[:2])}"
        raise ApiError(
            400,
            f"{param} {which}: give exactly one of {', '.join(_STRUCTURED_OUTPUTS)}",
            code="conflicting_parameters" if given else "missing_parameter",
            param=param,
        )
    return _STRUCTURED_OUTPUTS[given[0]](value[given[0]], f"{param}.{given[0]}")


def _json_object_flag(value: Any, param: str) -> Asked:
    if value is not True:
        raise ApiError(400, f"{param} must be a boolean, not {kind_of(value)}", code="invalid_type", param=param)
    return Asked(Recipe("json_object", _OBJECT), param)


def _structural_tag(value: Any, param: str) -> Asked:
    if isinstance(value, str):
        value = read_object(value.encode())
    return Asked(Recipe("structural_tag", structural_tag_text(value, param)), param)


def _text(kind: str, value: Any, param: str) -> Asked:
    if not isinstance(value, str):
        raise ApiError(400, f"{param} must be a string, not {kind_of(value)}", code="invalid_type", param=param)
    if not value:
        raise ApiError(400, f"{param} is empty: give the {kind} text, or leave it out", code="invalid_value", param=param)
    return Asked(Recipe(kind, _bounded(value, param)), param)


def _bounded(text: str, param: str) -> str:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_GRAMMAR_BYTES:
        raise ApiError(
            413, f"{param} has {size:,} bytes, more than {MAX_GRAMMAR_BYTES:,}", code="grammar_too_large", param=param,
            details={"limit": "grammar_bytes", "allowed": MAX_GRAMMAR_BYTES},
        )  # fmt: skip
    return text


def _with_options(asked: Asked, extension: Extension) -> Asked:
    """Give schema options to what they can act on; refuse options that would act on nothing."""
    recipe = asked.recipe
    if extension.schema_options and recipe is not None:
        if recipe.kind not in ("json_schema", "json_object"):
            name = extension.schema_options[0][0]
            raise ApiError(
                400,
                f"scansion.{name} is about JSON Schemas, and {asked.param} is none",
                code="conflicting_parameters",
                param=f"scansion.{name}",
            )
        return Asked(Recipe(recipe.kind, recipe.text, extension.schema_options), asked.param)
    if extension.mode == "assist" and recipe is None:
        raise ApiError(
            400, 'scansion.mode "assist" drafts from a grammar or schema: give one', code="missing_parameter", param="scansion.mode"
        )
    return asked


_MEMBERS: dict[str, tuple[str, ...]] = {
    "text": (),
    "json_object": ("schema",),
    "json_schema": ("json_schema", "schema", "name", "strict", "description"),
    "structural_tag": ("structures", "triggers", "format"),
    "gbnf": ("grammar",),
    "lark": ("grammar",),
    "regex": ("pattern", "regex"),
}
_STRUCTURED_OUTPUTS: dict[str, Callable[[Any, str], Asked]] = {
    "json": _guided_json,
    "regex": _guided_regex,
    "choice": _guided_choice,
    "grammar": _guided_grammar,
    "json_object": _json_object_flag,
    "structural_tag": _structural_tag,
}
_STRUCTURED_OUTPUTS_IDLE = (
    "disable_fallback", "disable_any_whitespace", "disable_additional_properties", "whitespace_pattern",
)  # fmt: skip
_SOURCES: dict[str, Callable[[Any, str], Asked]] = {
    "response_format": _response_format,
    "json_schema": _top_json_schema,
    "grammar": _grammar,
    "structured_outputs": _structured_outputs,
    "guided_json": _guided_json,
    "guided_regex": _guided_regex,
    "guided_choice": _guided_choice,
    "guided_grammar": _guided_grammar,
}
