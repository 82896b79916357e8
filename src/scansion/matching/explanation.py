"""Why a token is not allowed, in words and as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scansion.json_schema import Violation

__all__ = ["Expectation", "Explanation", "describe_bytes"]

_MAX_ITEMS = 12  # alternatives named in a sentence; the data has them all


@dataclass(frozen=True)
class Expectation:
    """What may come next at one place of a text.

    Attributes:
        next_bytes: every byte that may come next, ascending.
        where: what is being read there, without repetition: rule names, or JSON pointers into the schema.
        may_end: whether the text may end here.
    """

    next_bytes: bytes
    where: tuple[str, ...]
    may_end: bool

    def __str__(self) -> str:
        items = list(describe_bytes(self.next_bytes))
        shown = items[:_MAX_ITEMS] + (["..."] if len(items) > _MAX_ITEMS else [])
        text = ", ".join(shown + (["the end of the text"] if self.may_end else [])) or "a special token"
        return f"{text} ({', '.join(self.where[:_MAX_ITEMS])})" if self.where else text


@dataclass(frozen=True)
class Explanation:
    """Why a matcher does not allow a token.

    Attributes:
        token_id: the token asked about.
        token: its name, or its bytes as Python writes them.
        offset: how many of its bytes fit, counted from the token's first.
        expected: what may come after those bytes.
        reason: one sentence.
        violation: for a grammar from a JSON Schema, where ``explain`` was given the text so far: the value and the keyword concerned.
    """

    token_id: int
    token: str
    offset: int
    expected: Expectation
    reason: str
    violation: Violation | None = None

    def __str__(self) -> str:
        return self.reason


def describe_bytes(allowed: bytes) -> Iterator[str]:
    """Bytes as people write them: single characters, ranges, and one phrase for all of non-ASCII text."""
    ordered = sorted(set(allowed))
    if len(ordered) == 256:
        yield "any byte"
        return
    ascii_part = [byte for byte in ordered if byte < 0x80]
    start = 0
    while start < len(ascii_part):
        stop = start
        while stop + 1 < len(ascii_part) and ascii_part[stop + 1] == ascii_part[stop] + 1:
            stop += 1
        first, last = ascii_part[start], ascii_part[stop]
        if stop - start >= 2:
            yield f"{_character(first)} to {_character(last)}"
        else:
            yield from map(_character, ascii_part[start : stop + 1])
        start = stop + 1
    high = [byte for byte in ordered if byte >= 0x80]
    if high and all(byte < 0xC0 for byte in high):
        yield "the rest of a character"
    elif high:
        yield "a character outside ASCII"


def _character(byte: int) -> str:
    names = {0x20: "space", 0x0A: "newline", 0x09: "tab", 0x0D: "carriage return"}
    return names.get(byte) or (f"'{chr(byte)}'" if 0x20 < byte < 0x7F else f"0x{byte:02X}")
