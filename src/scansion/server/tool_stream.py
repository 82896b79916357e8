"""Taking tool calls out of a text as it grows."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from scansion.server.json_end import JsonEnd
from scansion.server.recipes import TOOL_CLOSE, TOOL_OPEN

__all__ = ["CallArguments", "CallStart", "TextPart", "ToolStream", "read_calls"]

_HEADER = re.compile(r'\s*\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"arguments"\s*:\s*')
_MAX_HEADER = 1024


@dataclass(frozen=True)
class TextPart:
    """Text outside of calls."""

    text: str


@dataclass(frozen=True)
class CallStart:
    """A call begins: its number in the answer, an id, the tool's name."""

    number: int
    id: str
    name: str


@dataclass(frozen=True)
class CallArguments:
    """The next part of a call's arguments, JSON text."""

    number: int
    text: str


class ToolStream:
    """``feed`` text, get events; each character is given out once, and never part of the marks around a call."""

    def __init__(self) -> None:
        self._held = ""
        self._read = self._read_text
        self._value = JsonEnd()
        self.calls = 0
        self.open = False
        """A call has begun and not ended."""

    def feed(self, text: str) -> Iterator[TextPart | CallStart | CallArguments]:
        """The events that are certain now."""
        self._held += text
        before = None
        while before != (len(self._held), self._read):
            before = (len(self._held), self._read)
            yield from self._read()

    def finish(self) -> Iterator[TextPart | CallStart | CallArguments]:
        """What is left when nothing more comes."""
        if not self.open and self._held and (not self.calls or self._held.strip()):
            yield TextPart(self._held)
        self._held = ""

    def _read_text(self) -> Iterator[TextPart | CallStart | CallArguments]:
        place = self._held.find(TOOL_OPEN)
        if place >= 0:
            free, self._held = self._held[:place], self._held[place + len(TOOL_OPEN) :]
            self.open = True
            self._read = self._read_header
        else:
            keep = next((n for n in range(min(len(TOOL_OPEN) - 1, len(self._held)), 0, -1) if TOOL_OPEN.startswith(self._held[-n:])), 0)
            cut = len(self._held) - keep
            free, rest = self._held[:cut], self._held[cut:]
            if self.calls and not free.strip():
                return  # between calls there is only a line break, and it may be the end
            self._held = rest
        if free and not (self.calls and not free.strip()):
            yield TextPart(free)

    def _read_header(self) -> Iterator[TextPart | CallStart | CallArguments]:
        match = _HEADER.match(self._held)
        if match is None:
            if len(self._held) > _MAX_HEADER:  # not a call after all: only an answer nothing was enforced on can do this
                self.open = False
                text, self._held = TOOL_OPEN + self._held, ""
                self._read = self._read_text
                yield TextPart(text)
            return
        self._held = self._held[match.end() :]
        yield CallStart(self.calls, f"call_{secrets.token_hex(12)}", json.loads(match.group(1)))
        self._value = JsonEnd()
        self._read = self._read_arguments

    def _read_arguments(self) -> Iterator[TextPart | CallStart | CallArguments]:
        if not self._value.begun:
            self._held = self._held.lstrip()  # the space after the colon may come in a later piece than the colon
        end = self._value.feed(self._held)
        if end is None:
            text, self._held = self._held, ""
        else:
            text, self._held = self._held[:end], self._held[end:]
            self._read = self._read_close
        if text:
            yield CallArguments(self.calls, text)

    def _read_close(self) -> Iterator[TextPart | CallStart | CallArguments]:
        place = self._held.find(TOOL_CLOSE)
        if place >= 0:
            self._held = self._held[place + len(TOOL_CLOSE) :]
            self.calls += 1
            self.open = False
            self._read = self._read_text
        yield from ()


def read_calls(text: str) -> tuple[list[tuple[str, str]], str]:
    """The calls in a whole text as (name, arguments), and the text outside of them."""
    stream = ToolStream()
    names: list[str] = []
    arguments: list[str] = []
    outside: list[str] = []
    for event in [*stream.feed(text), *stream.finish()]:
        if isinstance(event, TextPart):
            outside.append(event.text)
        elif isinstance(event, CallStart):
            names.append(event.name)
            arguments.append("")
        else:
            arguments[event.number] += event.text
    return list(zip(names, arguments, strict=True)), "".join(outside)
