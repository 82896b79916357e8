"""How characters may be written inside a JSON string (RFC 8259, section 7)."""

from __future__ import annotations

from scansion._kernel import Language
from scansion.grammar.nodes import Expression, Text, choice, seq
from scansion.languages.language_automata import Ranges, joined

__all__ = ["json_spellings"]

_SHORT = {0x22: '"', 0x5C: "\\", 0x2F: "/", 0x08: "b", 0x0C: "f", 0x0A: "n", 0x0D: "r", 0x09: "t"}
_HEX = "0123456789abcdef"
_RAW = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0xD7FF), (0xE000, 0x10FFFF))  # no control characters, no quote, no backslash


def json_spellings(ranges: Ranges) -> Expression:
    """Every spelling of the characters of a class: raw, short escapes, ``\\uXXXX``, and surrogate pairs."""
    raw = _within(ranges, _RAW)
    short = sorted(sign for code, sign in _SHORT.items() if any(first <= code <= last for first, last in ranges))
    escaped: list[Expression] = [_signs(short)] if short else []
    numbered = [*_digits(_within(ranges, ((0, 0xD7FF), (0xE000, 0xFFFF))), 4), *_pairs(_within(ranges, ((0x10000, 0x10FFFF),)))]
    if numbered:
        escaped.append(seq([_word("u"), choice(numbered)]))
    ways: list[Expression] = [Text(Language.char_class(raw))] if raw else []
    if escaped:
        ways.append(seq([_word("\\"), choice(escaped)]))
    return choice(ways)


def _within(ranges: Ranges, limits: Ranges) -> Ranges:
    both = ((max(first, low), min(last, high)) for first, last in ranges for low, high in limits)
    return tuple((first, last) for first, last in both if first <= last)


def _pairs(ranges: Ranges) -> list[Expression]:
    """Surrogate pairs of code points past the basic plane: leads that may have the same trails together."""
    trails_of: dict[int, list[tuple[int, int]]] = {}
    for first, last in ranges:
        for lead in range((first - 0x10000) >> 10, ((last - 0x10000) >> 10) + 1):
            base = 0x10000 + (lead << 10)
            trails_of.setdefault(lead, []).append((max(first - base, 0) + 0xDC00, min(last - base, 0x3FF) + 0xDC00))
    leads_of: dict[Ranges, list[tuple[int, int]]] = {}
    for lead, trails in trails_of.items():
        leads_of.setdefault(tuple(trails), []).append((0xD800 + lead, 0xD800 + lead))
    return [
        seq([choice(_digits(tuple(leads), 4)), _word("\\"), _word("u"), choice(_digits(trails, 4))]) for trails, leads in leads_of.items()
    ]


def _digits(ranges: Ranges, digits: int) -> list[Expression]:
    """The numbers of some ranges in hexadecimal, by their first digit: digits before the same rests together."""
    if not ranges:
        return []
    step = 1 << 4 * (digits - 1)
    first_digits: dict[Ranges, list[str]] = {}
    for digit in range(16):
        there = _within(ranges, ((digit * step, digit * step + step - 1),))
        rest = tuple((first - digit * step, last - digit * step) for first, last in there)
        if rest:
            first_digits.setdefault(joined(rest), []).append(_HEX[digit])
    out: list[Expression] = []
    for rest, signs in first_digits.items():
        upper = _signs([*signs, *(sign.upper() for sign in signs)])
        out.append(upper if digits == 1 else seq([upper, choice(_digits(rest, digits - 1))]))
    return out


def _signs(signs: list[str]) -> Expression:
    return Text(Language.char_class([(ord(sign), ord(sign)) for sign in dict.fromkeys(signs)]))


def _word(text: str) -> Expression:
    return Text(Language.literal(text))
