"""Messages of a request, checked and written as plain turns that any chat template takes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from scansion.server.errors import ApiError
from scansion.server.json_text import json_text, kind_of
from scansion.server.recipes import TOOL_CLOSE, TOOL_OPEN

__all__ = ["content_text", "plain_messages", "with_instructions"]

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def plain_messages(messages: Sequence[Any], *, param: str = "messages") -> list[dict[str, str]]:
    """Turns of ``system``, ``user`` and ``assistant`` with text contents.

    Calls of an assistant are written into its text as a model writes them, and results of tools become a user's turn in
    ``<tool_response>`` marks. Members this gateway does not know are left alone: clients send whole answers back.

    Raises:
        ApiError: 400 naming the message and member.
    """
    turns: list[dict[str, str]] = []
    from_tools = False
    for index, message in enumerate(messages):
        where = f"{param}.{index}"
        if not isinstance(message, dict):
            raise ApiError(400, f"{where} must be an object, not {kind_of(message)}", code="invalid_type", param=where)
        role = message.get("role")
        if role not in _ROLES:
            problem = "is missing" if role is None else f"is {str(role)[:40]!r}"
            raise ApiError(400, f"{where}.role {problem}: give one of {', '.join(_ROLES)}", code="invalid_value", param=f"{where}.role")
        if message.get("images"):
            raise ApiError(400, f"{where}.images: only text is read here", code="unsupported_content", param=f"{where}.images")
        calls = message.get("tool_calls") if role == "assistant" else None
        text = content_text(message.get("content"), f"{where}.content", optional=role == "assistant")
        if role in ("tool", "function"):
            result = f"<tool_response>\n{text}\n</tool_response>"
            if from_tools:
                turns[-1]["content"] += f"\n{result}"
            else:
                turns.append({"role": "user", "content": result})
            from_tools = True
            continue
        from_tools = False
        if calls:
            text = "\n".join(part for part in (text, *_calls(calls, where)) if part)
        elif role == "assistant" and message.get("content") is None and "tool_calls" not in message:
            raise ApiError(400, f"{where}.content is missing: give a string", code="missing_parameter", param=f"{where}.content")
        turns.append({"role": "system" if role == "developer" else str(role), "content": text})
    return turns


def content_text(content: Any, param: str, *, optional: bool = False) -> str:
    """A content as text: a string, or parts of type text joined.

    Raises:
        ApiError: 400 for anything else; images and files are not read.
    """
    if content is None and optional:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        problem = "is missing" if content is None else f"must be a string or an array of parts, not {kind_of(content)}"
        raise ApiError(400, f"{param} {problem}", code="missing_parameter" if content is None else "invalid_type", param=param)
    texts: list[str] = []
    for index, part in enumerate(content):
        where = f"{param}.{index}"
        if not isinstance(part, dict):
            raise ApiError(400, f"{where} must be an object, not {kind_of(part)}", code="invalid_type", param=where)
        kind = part.get("type")
        if kind not in ("text", "input_text", "output_text", "refusal"):
            raise ApiError(
                400, f"{where}.type is {str(kind)[:40]!r}: only text is read here", code="unsupported_content", param=f"{where}.type"
            )
        text = part.get("refusal" if kind == "refusal" else "text")
        if not isinstance(text, str):
            raise ApiError(400, f"{where}.text must be a string, not {kind_of(text)}", code="invalid_type", param=f"{where}.text")
        texts.append(text)
    return "".join(texts)


def with_instructions(messages: Sequence[Mapping[str, str]], instructions: str) -> list[dict[str, str]]:
    """The conversation with something told to the model: at the end of the first system message, or in one of its own."""
    turns = [dict(message) for message in messages]
    if turns and turns[0]["role"] == "system":
        turns[0]["content"] = f"{turns[0]['content']}\n\n{instructions}" if turns[0]["content"] else instructions
        return turns
    return [{"role": "system", "content": instructions}, *turns]


def _calls(calls: Any, where: str) -> list[str]:
    if not isinstance(calls, list):
        raise ApiError(400, f"{where}.tool_calls must be an array, not {kind_of(calls)}", code="invalid_type", param=f"{where}.tool_calls")
    texts = []
    for index, call in enumerate(calls):
        param = f"{where}.tool_calls.{index}"
        function = call.get("function") if isinstance(call, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(function, dict) or not isinstance(name, str):
            raise ApiError(400, f"{param}.function.name is missing", code="missing_parameter", param=f"{param}.function.name")
        arguments = function.get("arguments", {})
        # OpenAI sends text, Ollama an object; a text that is no JSON is history all the same.
        text = arguments if isinstance(arguments, str) else json_text(arguments)
        texts.append(f'{TOOL_OPEN}\n{{"name": {json.dumps(name, ensure_ascii=False)}, "arguments": {text or "{}"}}}\n{TOOL_CLOSE}')
    return texts
