"""Tools of a request: what may be called, what must be, and how the model is told.

Every model is told in the same way, in its system message, and calls are written as
``<tool_call>\\n{"name": ..., "arguments": ...}\\n</tool_call>``, the form Hermes and Qwen models are trained on. So a
constraint on calls does not depend on what a chat template knows of tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scansion.server.errors import ApiError
from scansion.server.json_text import json_text, kind_of
from scansion.server.parameters import nearest
from scansion.server.recipes import TOOL_CLOSE, TOOL_OPEN, Recipe, ToolSchema, tool_recipe
from scansion.server.resolver import Asked

__all__ = ["Tool", "ToolPlan", "plan_tools", "read_tools"]

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}\Z")
_NO_ARGUMENTS = '{"type": "object", "properties": {}, "additionalProperties": false}'


@dataclass(frozen=True)
class Tool:
    """A function a model may call. ``parameters`` is the schema text of its arguments, always of an object."""

    name: str
    description: str
    parameters: str


@dataclass(frozen=True)
class ToolPlan:
    """What an answer may do with tools.

    Attributes:
        tools: those that may be called; never empty.
        required: at least one call, and nothing else.
        parallel: more than one call.
        recipe: the grammar of the whole answer.
        param: where the grammar came from.
    """

    tools: tuple[Tool, ...]
    required: bool
    parallel: bool
    recipe: Recipe
    param: str = "tools"

    def instructions(self) -> str:
        """What the model is told."""
        lines = [
            json.dumps({"name": tool.name, "description": tool.description}, ensure_ascii=False)[:-1]
            + f', "parameters": {tool.parameters}}}'
            for tool in self.tools
        ]
        must = "Answer with a call and nothing else." if self.required else "Call a function only where it helps; otherwise just answer."
        several = "" if self.parallel else " Make one call at most."
        return (
            "These functions can be called, one JSON object per line:\n"
            + "\n".join(lines)
            + f'\nTo call one, write\n{TOOL_OPEN}\n{{"name": "the function", "arguments": {{}}}}\n{TOOL_CLOSE}\n{must}{several}'
        )


def read_tools(value: Sequence[Any], *, flat: bool = False) -> tuple[Tool, ...]:
    """The tools of a request, checked for shape.

    Args:
        value: the array ``tools``.
        flat: the shape of ``/v1/responses`` (name and parameters beside ``type``) instead of a ``function`` object.

    Raises:
        ApiError: 400 naming the tool; 422 for kinds of tools that are not offered.
    """
    tools: list[Tool] = []
    for index, entry in enumerate(value):
        param = f"tools.{index}"
        if not isinstance(entry, dict):
            raise ApiError(400, f"{param} must be an object, not {kind_of(entry)}", code="invalid_type", param=param)
        kind = entry.get("type", "function")
        if kind != "function":
            raise ApiError(
                422, f"{param}.type {str(kind)[:60]!r} is not offered: give functions", code="unsupported_tool", param=f"{param}.type"
            )
        function = entry if flat else entry.get("function")
        where = param if flat else f"{param}.function"
        if not isinstance(function, dict):
            raise ApiError(400, f"{where} must be an object, not {kind_of(function)}", code="missing_parameter", param=where)
        name = function.get("name")
        if not isinstance(name, str) or not _NAME.match(name):
            raise ApiError(400, f"{where}.name must be 1 to 64 letters, digits and _ . : -", code="invalid_value", param=f"{where}.name")
        if any(tool.name == name for tool in tools):
            raise ApiError(400, f"two tools are called {name!r}: rename one", code="invalid_value", param=f"{where}.name")
        description = function.get("description") or ""
        if not isinstance(description, str):
            raise ApiError(
                400, f"{where}.description must be a string, not {kind_of(description)}", code="invalid_type", param=f"{where}.description"
            )
        strict = function.get("strict")
        if strict is not None and not isinstance(strict, bool):
            raise ApiError(400, f"{where}.strict must be a boolean, not {kind_of(strict)}", code="invalid_type", param=f"{where}.strict")
        tools.append(Tool(name, description, _parameters(function.get("parameters"), f"{where}.parameters")))
    return tuple(tools)


def _parameters(value: Any, param: str) -> str:
    if value is None:
        return _NO_ARGUMENTS
    if not isinstance(value, dict):
        raise ApiError(400, f"{param} must be a JSON Schema object, not {kind_of(value)}", code="invalid_type", param=param)
    kind = value.get("type")
    if kind is None:
        # Arguments are an object; the schema stays the root, so that its references hold.
        return json_text({"type": "object", **value})
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise ApiError(400, f"{param}.type must be 'object': arguments are passed by name", code="invalid_value", param=f"{param}.type")
    return json_text({**value, "type": "object"})


def plan_tools(
    tools: Sequence[Tool], choice: Any, parallel: bool | None, asked: Asked, schema_options: Sequence[tuple[str, str]] = ()
) -> ToolPlan | None:
    """What ``tools``, ``tool_choice`` and the rest of a request come to.

    Args:
        tools: from ``read_tools``.
        choice: ``tool_choice`` as given; None: ``auto`` where there are tools.
        parallel: ``parallel_tool_calls``; None: allowed.
        asked: the constraint on the answer itself.
        schema_options: for arguments.

    Returns:
        The plan, or None where no tool may be called.

    Raises:
        ApiError: 400 for an unknown choice or tool, or tools beside a constraint that leaves no room for calls.
    """
    mode, allowed = _choice(choice, tools)
    if mode == "none" or not allowed:
        return None
    answer = asked.recipe
    if answer is not None and answer.kind not in ("json_schema", "json_object"):
        source = str(asked.param).split(".")[0]
        raise ApiError(
            400,
            f'{source} and tools both say what the answer must be: give one, or set tool_choice to "none"',
            code="conflicting_parameters",
            param=source,
            details={"conflicts_with": "tools"},
        )
    named = mode == "named"
    several = parallel is not False and not named
    recipe = tool_recipe(
        [ToolSchema(tool.name, tool.parameters) for tool in allowed],
        required=mode in ("required", "named"),
        parallel=several,
        answer=answer.text if answer is not None else None,
        options=answer.options if answer is not None else schema_options,
    )
    return ToolPlan(tuple(allowed), mode in ("required", "named"), several, recipe)


def _choice(choice: Any, tools: Sequence[Tool]) -> tuple[str, list[Tool]]:
    """The mode (``none``, ``auto``, ``required``, ``named``) and the tools it leaves."""
    if choice is None:
        return ("auto" if tools else "none"), list(tools)
    if isinstance(choice, str):
        if choice not in ("none", "auto", "required"):
            near = nearest(choice, {"none": 0, "auto": 0, "required": 0})
            hint = f"did you mean {near!r}?" if near else "it may be none, auto, required or one named function"
            raise ApiError(400, f"tool_choice is {choice[:60]!r}: {hint}", code="invalid_value", param="tool_choice")
        if choice == "required" and not tools:
            raise ApiError(400, 'tool_choice "required" needs tools: give some', code="missing_parameter", param="tools")
        return choice, list(tools)
    if not isinstance(choice, dict):
        raise ApiError(400, f"tool_choice must be a string or an object, not {kind_of(choice)}", code="invalid_type", param="tool_choice")
    kind = choice.get("type", "function")
    if kind == "allowed_tools":
        listed = choice.get("allowed_tools", choice)
        mode = listed.get("mode", "auto") if isinstance(listed, dict) else None
        names = listed.get("tools") if isinstance(listed, dict) else None
        if mode not in ("auto", "required") or not isinstance(names, list) or not names:
            raise ApiError(
                400, "tool_choice.allowed_tools needs a mode (auto or required) and tools", code="invalid_value",
                param="tool_choice.allowed_tools",
            )  # fmt: skip
        return mode, [_named(entry, tools, "tool_choice.allowed_tools.tools") for entry in names]
    if kind != "function":
        raise ApiError(
            400, f"tool_choice.type {str(kind)[:60]!r} is not offered: name a function", code="invalid_value", param="tool_choice.type"
        )
    return "named", [_named(choice, tools, "tool_choice")]


def _named(entry: Any, tools: Sequence[Tool], param: str) -> Tool:
    function: Any = entry.get("function", entry) if isinstance(entry, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    where = f"{param}.function.name" if isinstance(entry, Mapping) and "function" in entry else f"{param}.name"
    if not isinstance(name, str):
        raise ApiError(400, f"{where} is missing: name a function", code="missing_parameter", param=where)
    for tool in tools:
        if tool.name == name:
            return tool
    near = nearest(name, {tool.name: 0 for tool in tools})
    hint = f"did you mean {near!r}?" if near else "it must be one of tools"
    raise ApiError(400, f"{where}: there is no tool {name[:80]!r}: {hint}", code="invalid_value", param=where)
