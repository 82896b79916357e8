"""How characters may be written inside a JSON string (RFC 8259, section 7)."""

from __future__ import annotations

from collections.abc import Iterator

from scansion._kernel import Language
from scansion.grammar.nodes import NOTHING, Expression, Text, choice, seq

__all__ = ["json_spellings"]

_SHORT = {0x22: '"', 0x5C: "\\", 0x2F: "/", 0x08: "b", 0x0C: "f", 0x0A: "n", 0x0D: "r", 0x09: "t"}
_ANY_HEX = "0123456789abcdef"


def json_spellings(ranges: tuple[tuple[int, int], ...]) -> Expression:
    """Every spelling of the characters of a class: raw, short escapes, ``\\uXXXX``, and surrogate pairs."""
    ways: list[Expression] = []
    raw = _raw(ranges)
    if raw:
        ways.append(Text(Language.char_class(raw)))
    short = sorted(sign for code, sign in _SHORT.items() if any(first <= code <= last for first, last in ranges))
    backslash = Text(Language.literal("\\"))
    if short:
        ways.append(seq([backslash, Text(Language.char_class([(ord(sign), ord(sign)) for sign in short]))]))
    for first, last in ranges:
        for low, high in _without_surrogates(first, min(last, 0xFFFF)):
            ways += [seq([backslash, Text(Language.literal("u")), digits]) for digits in _hex_range(low, high)]
        if last > 0xFFFF:
            ways += _pairs(max(first, 0x10000), last)
    return choice(ways) if ways else NOTHING


def _raw(ranges: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """The characters that may stand for themselves: no control characters, no quote, no backslash."""
    out: list[tuple[int, int]] = []
    for first, last in ranges:
        for low, high in ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0xD7FF), (0xE000, 0x10FFFF)):
            if max(first, low) <= min(last, high):
                out.append((max(first, low), min(last, high)))
    return out


def _without_surrogates(first: int, last: int) -> Iterator[tuple[int, int]]:
    for low, high in ((0, 0xD7FF), (0xE000, 0xFFFF)):
        if max(first, low) <= min(last, high):
            yield max(first, low), min(last, high)


def _pairs(first: int, last: int) -> list[Expression]:
    """Surrogate pairs of the code points from ``first`` to ``last``, all past the basic plane."""
    escape = Text(Language.literal("\\u"))
    out: list[Expression] = []
    low_half, high_half = first - 0x10000, last - 0x10000
    for lead_first, lead_last, trail_first, trail_last in _split(low_half, high_half, 10):
        for lead in _hex_range(0xD800 + lead_first, 0xD800 + lead_last):
            out += [seq([escape, lead, escape, trail]) for trail in _hex_range(0xDC00 + trail_first, 0xDC00 + trail_last)]
    return out


def _split(first: int, last: int, bits: int) -> Iterator[tuple[int, int, int, int]]:
    """Products of ranges of upper and lower bits that make up a range of numbers."""
    mask = (1 << bits) - 1
    upper_first, upper_last = first >> bits, last >> bits
    if upper_first == upper_last:
        yield upper_first, upper_last, first & mask, last & mask
        return
    if first & mask:
        yield upper_first, upper_first, first & mask, mask
        upper_first += 1
    whole_last = upper_last if last & mask == mask else upper_last - 1
    if upper_first <= whole_last:
        yield upper_first, whole_last, 0, mask
    if whole_last < upper_last:
        yield upper_last, upper_last, 0, last & mask


def _hex_range(first: int, last: int, digits: int = 4) -> list[Expression]:
    """Sequences of digit classes that spell the numbers from ``first`` to ``last`` in ``digits`` hexadecimal digits."""
    if digits == 1:
        return [_digit_class(first, last)]
    out: list[Expression] = []
    for upper_first, upper_last, lower_first, lower_last in _split(first, last, 4 * (digits - 1)):
        upper = _digit_class(upper_first, upper_last)
        out += [seq([upper, lower]) for lower in _hex_range(lower_first, lower_last, digits - 1)]
    return out


def _digit_class(first: int, last: int) -> Expression:
    signs = _ANY_HEX[first : last + 1]
    return Text(Language.char_class([(ord(sign), ord(sign)) for sign in dict.fromkeys(signs + signs.upper())]))
