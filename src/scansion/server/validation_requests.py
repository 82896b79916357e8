"""Thirty structured requests that no server should get wrong, and how to tell from the answer.

The prompt asks for prose, so an answer that keeps to its constraint does not do so by chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["REQUESTS", "ServerRequest"]

_PROMPT = "Write one sentence about the sea."
_TRIP = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 12}, "km": {"type": "integer", "minimum": 1, "maximum": 999}},
    "required": ["city", "km"],
    "additionalProperties": False,
}
_NODE = {
    "type": "object",
    "properties": {"name": {"enum": ["a", "b"]}, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 2}},
    "required": ["name"],
    "additionalProperties": False,
}
_TOOL = {"type": "function", "function": {"name": "look_up", "description": "Find a trip.", "parameters": _TRIP, "strict": True}}


@dataclass(frozen=True)
class ServerRequest:
    """One request.

    Attributes:
        name: what it is about.
        body: members beside model and messages.
        schema: what the content (or the arguments of each call) must be an instance of; None: see ``grammar``.
        grammar: a regular expression the content must match as a whole, or "".
        tool: the content is calls of this tool.
        refused: the request is wrong: a 4xx is right, an answer is not.
        cut: the answer must say that it was cut.
    """

    name: str
    body: Mapping[str, Any]
    schema: Any = None
    grammar: str = ""
    tool: str = ""
    refused: bool = False
    cut: bool = False
    messages: list[dict[str, str]] = field(default_factory=lambda: [{"role": "user", "content": _PROMPT}])


def _schema(name: str, schema: Any, **more: Any) -> ServerRequest:
    form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
    return ServerRequest(name, {"response_format": form, **more}, schema)


def _in_object(name: str, schema: Any) -> ServerRequest:
    """A schema for a member: some servers take objects only at the root."""
    return _schema(name, {"type": "object", "properties": {"x": schema}, "required": ["x"], "additionalProperties": False})


REQUESTS: tuple[ServerRequest, ...] = (
    ServerRequest("json_object", {"response_format": {"type": "json_object"}}, {"type": "object"}),
    ServerRequest("json_object, streamed", {"response_format": {"type": "json_object"}, "stream": True}, {"type": "object"}),
    _schema("json_schema", _TRIP),
    _schema("json_schema, streamed", _TRIP, stream=True),
    ServerRequest("json_schema, flat shape", {"response_format": {"type": "json_schema", "schema": _TRIP}}, _TRIP),
    _schema("two answers at once", _TRIP, n=2),
    _schema("temperature 1.5", _TRIP, temperature=1.5),
    _in_object("enum", {"enum": ["red", "green", 7]}),
    _in_object("const", {"const": {"a": [1, None]}}),
    _in_object("integer range", {"type": "integer", "minimum": 37, "maximum": 41}),
    _in_object("number bounds", {"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}),
    _in_object("multipleOf", {"type": "integer", "multipleOf": 25, "minimum": 0, "maximum": 100}),
    _in_object("pattern", {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{2}$"}),
    _in_object("string length", {"type": "string", "minLength": 3, "maxLength": 5}),
    _in_object("format date", {"type": "string", "format": "date"}),
    _in_object("array length", {"type": "array", "items": {"type": "boolean"}, "minItems": 3, "maxItems": 3}),
    _in_object("uniqueItems", {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3}),
    _in_object("prefixItems", {"type": "array", "prefixItems": [{"const": 1}, {"const": "b"}], "items": False, "minItems": 2}),
    _in_object("type list with null", {"type": ["null", "integer"], "maximum": 3}),
    _in_object("anyOf", {"anyOf": [{"const": "left"}, {"type": "boolean"}]}),
    _in_object("allOf", {"allOf": [{"type": "integer"}, {"minimum": 5}, {"maximum": 6}]}),
    _in_object("not", {"enum": ["ann", "bob", "root"], "not": {"const": "root"}}),
    _schema("recursion", {"$defs": {"node": _NODE}, "$ref": "#/$defs/node"}),
    _schema(
        "object beside oneOf",
        {
            "type": "object",
            "properties": {"kind": {"enum": ["move", "wait"]}},
            "required": ["kind"],
            "oneOf": [
                {"properties": {"kind": {"const": "move"}, "to": {"enum": ["A1", "B2"]}}, "required": ["to"]},
                {"properties": {"kind": {"const": "wait"}, "secs": {"type": "integer", "minimum": 0, "maximum": 9}}, "required": ["secs"]},
            ],
        },
    ),
    ServerRequest("tool, required", {"tools": [_TOOL], "tool_choice": "required", "parallel_tool_calls": False}, _TRIP, tool="look_up"),
    ServerRequest(
        "tool, named and streamed",
        {"tools": [_TOOL], "tool_choice": {"type": "function", "function": {"name": "look_up"}}, "stream": True},
        _TRIP,
        tool="look_up",
    ),
    ServerRequest("GBNF grammar", {"grammar": 'root ::= ("yes" | "no") "!"'}, grammar="(yes|no)!"),
    ServerRequest("vLLM regex", {"structured_outputs": {"regex": "[0-9]{3}"}}, grammar="[0-9]{3}"),
    ServerRequest(
        "cut answer",
        {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": _TRIP}}, "max_tokens": 3},
        _TRIP,
        cut=True,
    ),
    ServerRequest("json_schema without schema", {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, refused=True),
)
