"""Values of JSON that is still being written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar, overload

from scansion.errors import RequestError
from scansion.generation.events import Delta
from scansion.generation.partial_types import partial_instance

__all__ = ["NOTHING", "partial_value", "partial_values", "type_adapter"]

T = TypeVar("T")

NOTHING = object()
"""What ``partial_value`` returns while there is no value yet."""

_OPEN_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?)\Z")


def partial_value(text: str) -> Any:
    """The value of a prefix of JSON text, as far as it is certain.

    Strings are as long as they have come; numbers and literals appear once something after them shows that they are whole
    (at the top level, where nothing comes after, once they parse); a key appears with its value.

    Args:
        text: the beginning of a JSON text, of one whose every prefix is wanted: a streamed answer.

    Returns:
        A value of dict, list, str, int, float, bool or None; ``NOTHING`` where none has begun.
    """
    closers: list[str] = []
    safe, safe_closers = 0, ""  # the longest prefix after which closing what is open gives JSON
    in_string, escaped, is_key = False, False, False
    start_of_string = 0
    expects_key = False
    for place, char in enumerate(text):
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
                if not is_key:
                    safe, safe_closers = place + 1, "".join(reversed(closers))
            continue
        if char == '"':
            in_string, is_key, start_of_string = True, expects_key, place
        elif char in "{[":
            closers.append("}" if char == "{" else "]")
            expects_key = char == "{"
            safe, safe_closers = place + 1, "".join(reversed(closers))
        elif char in "}]":
            safe, safe_closers = place, "".join(reversed(closers))  # a number or literal ends here
            if closers:
                closers.pop()
            safe, safe_closers = place + 1, "".join(reversed(closers))
            expects_key = False
        elif char == ",":
            safe, safe_closers = place, "".join(reversed(closers))
            expects_key = bool(closers) and closers[-1] == "}"
        elif char == ":":
            expects_key = False
    if in_string and not is_key:
        string = text[start_of_string:]
        escape = _OPEN_ESCAPE.search(string)
        if escape is not None:
            string = string[: escape.start(1)]
        return json.loads(text[:start_of_string] + string + '"' + "".join(reversed(closers)))
    if not closers:
        try:
            return json.loads(text)
        except ValueError:
            pass
    return json.loads(text[:safe] + safe_closers) if safe else NOTHING


@overload
def partial_values(deltas: Iterable[Delta]) -> Iterator[Any]: ...


@overload
def partial_values(deltas: Iterable[Delta], kind: type[T]) -> Iterator[T]: ...


def partial_values(deltas: Iterable[Delta], kind: Any = None) -> Iterator[Any]:
    """The growing value of a streamed JSON answer, each time it changes.

        with scansion.generate(model, prompt, grammar=grammar, stream=True) as stream:
            for value in partial_values(stream):
                show(value)

    Args:
        deltas: a stream of an answer in JSON.
        kind: a Pydantic model or dataclass (or a type made of them) to give the values as. What has not come yet is None, and
            nothing is validated on the way; the last value is validated, so it is what ``extract`` returns.

    Raises:
        RequestError: ``kind`` is given and Pydantic is not installed.
    """
    adapter = None if kind is None else type_adapter(kind)
    text = ""
    last: Any = NOTHING
    for delta in deltas:
        if not delta.content:
            continue
        text += delta.content
        value = partial_value(text)
        if value is not NOTHING and (last is NOTHING or value != last):
            last = value
            yield value if adapter is None else partial_instance(kind, value)
    if adapter is not None:
        try:
            whole = adapter.validate_json(text)
        except ValueError:
            return  # the answer was interrupted: the last partial value is all there is
        yield whole


def type_adapter(kind: Any) -> Any:
    """Pydantic's reader and writer of values of a type.

    Raises:
        RequestError: Pydantic is not installed.
    """
    try:
        from pydantic import TypeAdapter
    except ImportError:
        raise RequestError("values of a Python type need pydantic: pip install pydantic") from None
    return TypeAdapter(kind)
