"""Where a JSON object or array ends in a text that comes in pieces."""

from __future__ import annotations

__all__ = ["JsonEnd"]


class JsonEnd:
    """Finds the end of a JSON object or array in a text that comes in pieces."""

    def __init__(self) -> None:
        self.begun = False
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def feed(self, text: str) -> int | None:
        """Offset in ``text`` just after the value, or None where it goes on."""
        self.begun |= bool(text)
        for index, character in enumerate(text):
            if self._in_string:
                if self._escaped:
                    self._escaped = False
                elif character == "\\":
                    self._escaped = True
                elif character == '"':
                    self._in_string = False
            elif character == '"':
                self._in_string = True
            elif character in "{[":
                self._depth += 1
            elif character in "}]":
                self._depth -= 1
                if self._depth <= 0:
                    return index + 1
        return None
