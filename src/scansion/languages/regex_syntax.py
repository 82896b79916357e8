"""Syntax trees of regular expressions: what `regex_parser` makes and every converter reads.

Words follow the literature: a *character class* is a set of code points, an *assertion* or *look-around* consumes
nothing. Groups leave no node (their names carry no meaning for a language), lazy quantifiers are plain ones (the set of
matched texts is the same), and flags are already applied to the classes they change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf

__all__ = ["Alternation", "Assertion", "CharacterClass", "Literal", "Look", "Ranges", "Regex", "Repeat", "Sequence"]

Ranges = tuple[tuple[int, int], ...]
"""Inclusive code point ranges, ascending, neither touching nor overlapping, no surrogates."""


@dataclass(frozen=True, slots=True)
class Literal:
    """These characters, one after the other (never empty)."""

    text: str


@dataclass(frozen=True, slots=True)
class CharacterClass:
    """One character out of ``ranges``; without ranges, nothing matches."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Sequence:
    """All parts in order; without parts, the empty text."""

    parts: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """Any one of at least two options."""

    options: tuple[Regex, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``body`` at least ``low`` and at most ``high`` times (None: without end)."""

    body: Regex
    low: int
    high: int | None
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Assertion:
    """A place between two characters.

    ``text_start``/``text_end``: the ends of the whole text. ``line_start``/``line_end``: those, and after or before a
    character of ``ranges`` (the line terminators). ``boundary``/``no_boundary``: exactly one (or not) of the two neighbours
    is a word character, those in ``ranges``.
    """

    kind: OneOf["text_start", "text_end", "line_start", "line_end", "boundary", "no_boundary"]
    ranges: Ranges = ()
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Look:
    """``body`` matches right after (``ahead``) or right before this place, or does not (``negative``)."""

    body: Regex
    ahead: bool
    negative: bool
    offset: int = field(default=0, compare=False)


Regex = Literal | CharacterClass | Sequence | Alternation | Repeat | Assertion | Look
