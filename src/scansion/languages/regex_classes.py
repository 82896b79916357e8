"""The named classes of the two regex dialects (``\\d \\w \\s .``, line terminators, POSIX names) and control escapes.

ECMA-262: ``\\d`` and ``\\w`` are ASCII, ``\\s`` is WhiteSpace and LineTerminator (sections 12.2 and 12.3). Python: Unicode
decimal digits, letters and numbers and ``_``, ``str.isspace``. Rust: UTS #18, annex C. The last two are ASCII only under the flag ``a``.
"""

from __future__ import annotations

import functools
from typing import Literal

from scansion.languages import unicode_classes
from scansion.languages.regex_syntax import Ranges

__all__ = ["CONTROL_ESCAPES", "Meaning", "dot", "escape", "line_terminators", "posix", "word"]

Meaning = Literal["ecma", "python", "rust", "ascii"]
"""Whose ``\\d \\w \\s`` are meant."""

CONTROL_ESCAPES = {"f": 12, "n": 10, "r": 13, "t": 9, "v": 11}

_DIGIT: Ranges = ((0x30, 0x39),)
_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_ASCII_SPACE: Ranges = ((9, 13), (0x20, 0x20))
_ECMA_LINE_ENDS: Ranges = ((10, 10), (13, 13), (0x2028, 0x2029))
_LINE_FEED: Ranges = ((10, 10),)
# Space_Separator (Zs), stable since Unicode 6.3, and the byte order mark: no table needs loading for the common \\s.
_ECMA_SPACE = unicode_classes.union(
    _ASCII_SPACE,
    _ECMA_LINE_ENDS,
    [(0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)],
    [(0xFEFF, 0xFEFF)],
)
_ECMA_DOT = unicode_classes.complement(_ECMA_LINE_ENDS)
_PYTHON_DOT = unicode_classes.complement(_LINE_FEED)
_POSIX: dict[str, Ranges] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ((0, 0x7F),),
    "blank": ((9, 9), (0x20, 0x20)),
    "cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "digit": _DIGIT,
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": _ASCII_SPACE,
    "upper": ((0x41, 0x5A),),
    "word": _WORD,
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}


def line_terminators(ecma: bool) -> Ranges:
    """What ``^`` and ``$`` see as the end of a line under the flag ``m``."""
    return _ECMA_LINE_ENDS if ecma else _LINE_FEED


def dot(ecma: bool, dot_all: bool) -> Ranges:
    """``.``: anything but a line terminator, or anything under the flag ``s``."""
    return unicode_classes.ANY if dot_all else _ECMA_DOT if ecma else _PYTHON_DOT


def word(meaning: Meaning) -> Ranges:
    """Word characters, as ``\\w`` and ``\\b`` mean them."""
    return escape("w", meaning)


@functools.cache
def escape(letter: str, meaning: Meaning) -> Ranges:
    """The set of ``\\d``, ``\\w`` or ``\\s``; a capital letter takes the rest."""
    if letter.isupper():
        return unicode_classes.complement(escape(letter.lower(), meaning))
    if letter == "d":
        return _DIGIT if meaning in ("ecma", "ascii") else _property("Nd")
    if letter == "w":
        if meaning == "rust":
            return unicode_classes.union(*map(_property, ("Alphabetic", "M", "Nd", "Pc", "Join_Control")))
        return unicode_classes.union(_property("L"), _property("N"), ((0x5F, 0x5F),)) if meaning == "python" else _WORD
    if meaning == "ecma":
        return _ECMA_SPACE
    if meaning == "python":
        return unicode_classes.union(_property("White_Space"), ((0x1C, 0x1F),))
    return _property("White_Space") if meaning == "rust" else _ASCII_SPACE


def posix(name: str) -> Ranges | None:
    """``[:name:]`` or ``[:^name:]``, ASCII as in Rust; None where there is no such class."""
    if name.startswith("^"):
        found = _POSIX.get(name[1:])
        return None if found is None else unicode_classes.complement(found)
    return _POSIX.get(name)


def _property(name: str) -> Ranges:
    found = unicode_classes.property_ranges(name)
    if found is None:
        raise KeyError(name)
    return found
