"""Values of JSON that is still being written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from scansion.generation.events import Delta

__all__ = ["NOTHING", "partial_value", "partial_values"]

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


def partial_values(deltas: Iterable[Delta]) -> Iterator[Any]:
    """The growing value of a streamed JSON answer, each time it changes.

    with scansion.generate(model, prompt, grammar=grammar, stream=True) as stream:
        for value in partial_values(stream):
            show(value)
    """
    text = ""
    last: Any = NOTHING
    for delta in deltas:
        if not delta.content:
            continue
        text += delta.content
        value = partial_value(text)
        if value is not NOTHING and (last is NOTHING or value != last):
            last = value
            yield value
