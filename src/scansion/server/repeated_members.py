"""Members whose key their object has already, taken out of an answer as it comes.

No context-free grammar can say that keys which are not declared must differ, so an upstream may repeat one. The first member
of a name counts: what is left is a text the exact constraint allows, and the rest of the answer is not lost.
"""

from __future__ import annotations

import json

__all__ = ["RepeatedMembers"]

_CIRCLES = 3
_WHITE = " \t\r\n"


class RepeatedMembers:
    """Text in, text without repeated members out. What may turn out to be one is held back until its key is whole."""

    def __init__(self, *, mark: str = "", begins: bool = True) -> None:
        """
        Args:
            mark: JSON comes after each of these; empty: the whole text is JSON.
            begins: the text may begin with JSON, also where there is a mark.
        """
        self.left_out = 0
        self.goes_in_circles = False
        """With what was fed last, so many have been left out that no end is to be expected."""
        self._mark = mark
        self._found = 0
        self._outside = not begins
        self._open: list[set[str] | None] = []
        """Containers that are open: the keys of an object, None for an array."""
        self._held: list[str] | None = None
        self._string: list[str] | None = None
        self._escaped = False
        self._key_next = False
        self._skip: _Skip | None = None

    def feed(self, text: str) -> str:
        """The next piece."""
        out: list[str] = []
        before = self.left_out
        for character in text:
            self._take(character, out)
        self.goes_in_circles = self.left_out > before and self.left_out >= _CIRCLES
        return "".join(out)

    def finish(self) -> str:
        """What is held when the text ends in the middle."""
        held, self._held = self._held, None
        return "".join(held or ())

    def _take(self, character: str, out: list[str]) -> None:
        if self._skip is not None:
            if not self._skip.ends_before(character):
                if self._skip.over:
                    self._skip = None
                return
            self._skip = None
        if self._outside:
            out.append(character)
            self._look_for_mark(character)
            return
        (out if self._held is None else self._held).append(character)
        if self._string is not None:
            self._in_string(character, out)
        elif character == '"':
            self._string = [character]
        else:
            self._structure(character, out)

    def _look_for_mark(self, character: str) -> None:
        """Marks begin with a character that does not occur in them again."""
        self._found = self._found + 1 if character == self._mark[self._found] else int(character == self._mark[0])
        if self._found == len(self._mark):
            self._found = 0
            self._outside = False

    def _in_string(self, character: str, out: list[str]) -> None:
        string = self._string
        if string is None:
            return
        string.append(character)
        if self._escaped or character == "\\":
            self._escaped = not self._escaped
        elif character == '"':
            self._string = None
            keys = self._open[-1] if self._open else None
            if self._key_next and keys is not None:
                self._key_next = False
                self._end_of_key("".join(string), keys, out)

    def _end_of_key(self, spelled: str, keys: set[str], out: list[str]) -> None:
        try:
            key = json.loads(spelled)
        except ValueError:
            key = spelled  # the check has words for it
        if key in keys and self._held is not None:
            self.left_out += 1
            self._held = None
            self._skip = _Skip()
            return
        keys.add(key)
        out.append(self.finish())

    def _structure(self, character: str, out: list[str]) -> None:
        if character in _WHITE:
            return
        if character == "," and self._open and self._open[-1] is not None:
            self._key_next = True
            if self._held is None:
                out.pop()  # it goes with the member that follows
                self._held = [character]
            return
        out.append(self.finish())
        if character in "{[":
            self._open.append(set() if character == "{" else None)
            self._key_next = character == "{"
        elif character in "}]" and self._open:
            self._open.pop()
            self._key_next = False
        if not self._open and self._mark and character in "}]<":
            self._outside = True
            self._found = 0
            self._look_for_mark(character)


class _Skip:
    """Reads over what follows a key: a colon and a value."""

    def __init__(self) -> None:
        self.over = False
        self._depth = 0
        self._begun = False
        self._string = False
        self._escaped = False

    def ends_before(self, character: str) -> bool:
        """Whether the value, a number or a word, is over and this character not part of it; ``over``: it ended with this one."""
        if self._string:
            if self._escaped or character == "\\":
                self._escaped = not self._escaped
            elif character == '"':
                self._string = False
                self.over = self._depth == 0
        elif character == '"':
            self._string = True
        elif character in "{[":
            self._depth += 1
        elif self._depth:
            self._depth -= character in "}]"
            self.over = self._depth == 0
        elif character in ",}]":
            return True
        elif character in _WHITE:
            return self._begun
        elif character != ":":
            self._begun = True
        return False
