"""The beginning of a JSON text: where one is in it, and the shortest way to close what it has opened."""

from __future__ import annotations

import json
from typing import Any, Literal

__all__ = ["JsonPrefix", "leading_string"]

Place = Literal["value", "key", "in key", "colon", "string", "number", "literal", "after", "broken"]
_LITERALS = ("true", "false", "null")
_SPACE = " \t\r\n"


class _Container:
    """An array or object still open: where its next or current member is, and the keys it has had."""

    __slots__ = ("index", "is_object", "key", "keys")

    def __init__(self, is_object: bool) -> None:
        self.is_object = is_object
        self.index = 0
        self.key = ""
        self.keys: list[str] = []

    def copy(self) -> _Container:
        copy = _Container(self.is_object)
        copy.index, copy.key, copy.keys = self.index, self.key, list(self.keys)
        return copy


class JsonPrefix:
    """Reads characters one by one.

    Attributes:
        place: what is being read or expected; ``after`` is behind a value, ``broken`` behind what is no JSON.
        containers: the arrays and objects that are open, outermost first.
        text: the characters read.
        raw: the text of the string, key, number or literal being read, from its first character on.
    """

    def __init__(self, text: str = "") -> None:
        self.place: Place = "value"
        self.containers: list[_Container] = []
        self.raw = ""
        self._may_close = False  # the container was just opened
        self.text: list[str] = []
        for character in text:
            self.feed(character)

    @property
    def path(self) -> tuple[str | int, ...]:
        """Keys and indices to the value being read, expected, or just ended; inside a key and before one, to the object."""
        if self.place in ("key", "in key"):
            return self.container
        return tuple(item.key if item.is_object else item.index for item in self.containers)

    @property
    def container(self) -> tuple[str | int, ...]:
        """Keys and indices to the innermost open container."""
        return tuple(item.key if item.is_object else item.index for item in self.containers[:-1])

    def would_break(self, character: str) -> bool:
        """Whether a text with this character next is no longer the beginning of JSON."""
        return self.place == "broken" or not self._copy()._step(character)

    def _copy(self) -> JsonPrefix:
        copy = JsonPrefix()
        copy.place, copy.raw, copy._may_close = self.place, self.raw, self._may_close
        copy.containers = [item.copy() for item in self.containers]
        return copy

    def feed(self, character: str) -> bool:
        """Read one more character; whether the text can still become JSON."""
        if self.place == "broken" or not self._step(character):
            self.place = "broken"
            return False
        self.text.append(character)
        return True

    def _step(self, character: str) -> bool:
        place = self.place
        if place in ("string", "in key"):
            return self._in_string(character)
        if place == "number":
            if character in "0123456789+-.eE":
                self.raw += character
                return _continues_number(self.raw)
            if not _is_number(self.raw):
                return False
            self.place = place = "after"
        elif place == "literal":
            self.raw += character
            if self.raw in _LITERALS:
                self.place = "after"
            return any(text.startswith(self.raw) for text in _LITERALS)
        if character in _SPACE:
            return True
        if place == "colon":
            self.place = "value"
            return character == ":"
        return self._behind_value(character) if place == "after" else self._opening(character)

    def _in_string(self, character: str) -> bool:
        ends = character == '"' and not _escaped(self.raw)
        self.raw += character
        if ends:
            if self.place == "in key":
                key = _decoded(self.raw)
                if key is None:
                    return False
                self.containers[-1].key = key
                self.containers[-1].keys.append(key)
            self.place = "colon" if self.place == "in key" else "after"
        return character >= " "

    def _behind_value(self, character: str) -> bool:
        if not self.containers:
            return False
        inner = self.containers[-1]
        if character == ",":
            inner.index += 1
            self.place = "key" if inner.is_object else "value"
            self._may_close = False
            return True
        return self._close(character)

    def _close(self, character: str) -> bool:
        if not self.containers or character != ("}" if self.containers[-1].is_object else "]"):
            return False
        self.containers.pop()
        self.place = "after"
        return True

    def _opening(self, character: str) -> bool:
        """The first character of a key or a value, or the end of an empty container."""
        if self._may_close and character in "]}":
            return self._close(character)
        self._may_close = False
        self.raw = character
        if self.place == "key":
            self.place = "in key"
            return character == '"'
        if character in "[{":
            self.containers.append(_Container(character == "{"))
            self.place = "key" if character == "{" else "value"
            self._may_close = True
        elif character == '"':
            self.place = "string"
        elif character in "-0123456789":
            self.place = "number"
        elif character in "tfn":
            self.place = "literal"
        else:
            return False
        return True

    def key_with(self, rest: str) -> str:
        """The key being read or expected, its end taken from the text that follows; what is there of it where that has no end."""
        return leading_string((self.raw if self.place == "in key" else "") + rest)

    def closed(self, further: str) -> tuple[str, tuple[str | int, ...] | None]:
        """The text with what it has opened closed: a string ended, a number made whole, null where a value is missing.

        Args:
            further: the key to go on with after a comma in an object.

        Returns:
            The text, and the path of the null that was put in, if any.
        """
        text, filled = "".join(self.text), None
        if self.place in ("string", "in key"):
            text = text[: len(text) - len(self.raw)] + _closed_string(self.raw)
        elif self.place == "number":
            text += "" if _is_number(self.raw) else "1" if _is_number(f"{self.raw}1") else "5"
        elif self.place == "literal":
            text += next(word for word in _LITERALS if word.startswith(self.raw))[len(self.raw) :]
        elif self.place == "key" and not self._may_close:
            text += json.dumps(further)
        if self.place in ("in key", "key", "colon") and not self._may_close:
            key = leading_string(self.raw) if self.place == "in key" else further if self.place == "key" else self.containers[-1].key
            text, filled = f"{text}:null", (*self.container, key)
        elif self.place == "value" and not self._may_close:
            text, filled = f"{text}null", self.path
        return text + "".join("}" if item.is_object else "]" for item in reversed(self.containers)), filled


def leading_string(text: str) -> str:
    """The value of the string literal that a text begins with, also of one that has no end; otherwise the empty string."""
    raw = ""
    for character in text.lstrip(_SPACE):
        ends = character == '"' and raw != "" and not _escaped(raw)
        raw += character
        if ends:
            break
    if not raw.startswith('"'):
        return ""
    return _decoded(raw) or _decoded(_closed_string(raw)) or ""


def _escaped(raw: str) -> bool:
    """Whether the character after these of a string is escaped."""
    return (len(raw) - len(raw.rstrip("\\"))) % 2 == 1


def _decoded(raw: str) -> str | None:
    try:
        value: Any = json.loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _closed_string(raw: str) -> str:
    """A string literal with its end, an escape begun left out."""
    for cut in range(7):
        literal = raw[: len(raw) - cut] + '"'
        if cut < len(raw) and _decoded(literal) is not None:
            return literal
    return '""'


def _is_number(raw: str) -> bool:
    try:
        json.loads(raw)
    except ValueError:
        return False
    return True


def _continues_number(raw: str) -> bool:
    return _is_number(raw) or _is_number(f"{raw}1") or _is_number(f"{raw}.5")
