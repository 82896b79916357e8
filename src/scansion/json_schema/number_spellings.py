"""Spellings of unsigned JSON numbers, and those that compare to a bound in a given way.

`numbers` has the words: *plain* decimals, *scientific* ones with one digit other than 0 before the point.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Literal as OneOf

from scansion._kernel import Language

__all__ = [
    "DIGIT",
    "EXPONENT_MARK",
    "MAX_EXPONENT",
    "MAX_EXPONENT_DIGITS",
    "MAX_MANTISSA_FRACTION",
    "MINUS",
    "NONZERO_DIGIT",
    "NOTHING",
    "PLAIN",
    "POINT",
    "SCIENTIFIC",
    "UNSIGNED",
    "UNSIGNED_INTEGER",
    "UNSIGNED_NONZERO",
    "UNSIGNED_ZERO",
    "ZERO_SCIENTIFIC",
    "Order",
    "compare_plain",
    "compare_scientific",
    "decimal_digits",
    "exponents",
    "signed",
]

MAX_EXPONENT_DIGITS = 3
MAX_EXPONENT = 10**MAX_EXPONENT_DIGITS - 1
MAX_MANTISSA_FRACTION = 17
"""Digits after the point of a number with exponent: what tells any two IEEE doubles apart, and one more."""

Order = OneOf["<", "<=", "=", ">=", ">"]

_Row = list[tuple[int, int, int]]

NOTHING = Language.nothing()
EMPTY = Language.empty()
DIGIT = Language.char_class([(0x30, 0x39)])
NONZERO_DIGIT = Language.char_class([(0x31, 0x39)])
POINT = Language.literal(".")
MINUS = Language.literal("-")
EXPONENT_MARK = Language.char_class([(0x45, 0x45), (0x65, 0x65)])

_ZERO = Language.literal("0")
_OPTIONAL_PLUS = Language.union([EMPTY, Language.literal("+")])
_OPTIONAL_SIGN = Language.union([EMPTY, Language.char_class([(0x2B, 0x2B), (0x2D, 0x2D)])])
_FRACTION = Language.concat([POINT, DIGIT.repeat(1)])
_ZERO_FRACTION = Language.concat([POINT, _ZERO.repeat(1)])
_ANY_EXPONENT = Language.concat([EXPONENT_MARK, _OPTIONAL_SIGN, DIGIT.repeat(1)])
_SHORT_EXPONENT = Language.concat([EXPONENT_MARK, _OPTIONAL_SIGN, DIGIT.repeat(1, MAX_EXPONENT_DIGITS)])
_MANTISSA = Language.concat([NONZERO_DIGIT, Language.concat([POINT, DIGIT.repeat(1, MAX_MANTISSA_FRACTION)]).repeat(0, 1)])

UNSIGNED_INTEGER = Language.union([_ZERO, Language.concat([NONZERO_DIGIT, DIGIT.repeat(0)])])
PLAIN = Language.concat([UNSIGNED_INTEGER, _FRACTION.repeat(0, 1)])
SCIENTIFIC = Language.concat([_MANTISSA, _SHORT_EXPONENT])
ZERO_SCIENTIFIC = Language.concat([_ZERO, Language.concat([POINT, _ZERO.repeat(1, MAX_MANTISSA_FRACTION)]).repeat(0, 1), _SHORT_EXPONENT])

# The sign of a number is decided by its mantissa, whatever the exponent: these three have every spelling of RFC 8259.
UNSIGNED = Language.concat([UNSIGNED_INTEGER, _FRACTION.repeat(0, 1), _ANY_EXPONENT.repeat(0, 1)])
UNSIGNED_ZERO = Language.concat([_ZERO, _ZERO_FRACTION.repeat(0, 1), _ANY_EXPONENT.repeat(0, 1)])
UNSIGNED_NONZERO = Language.concat(
    [
        Language.union(
            [
                Language.concat([NONZERO_DIGIT, DIGIT.repeat(0), _FRACTION.repeat(0, 1)]),
                Language.concat([_ZERO, POINT, _ZERO.repeat(0), NONZERO_DIGIT, DIGIT.repeat(0)]),
            ]
        ),
        _ANY_EXPONENT.repeat(0, 1),
    ]
)


def signed(unsigned: Language) -> Language:
    """``unsigned`` with and without a minus sign."""
    return Language.concat([MINUS.repeat(0, 1), unsigned])


def decimal_digits(value: Fraction) -> tuple[str, str]:
    """Digits before the point (none for values below 1) and after it (no zeros at the end) of a finite decimal above 0."""
    places = 0
    while value.denominator != 1:
        value *= 10
        places += 1
    digits = str(value.numerator).rjust(places, "0")
    cut = len(digits) - places
    return digits[:cut], digits[cut:]


def compare_plain(bound: Fraction, order: Order, *, fraction: bool = True) -> Language:
    """Plain decimals (or, without ``fraction``, integers) whose value is in ``order`` to ``bound``, a decimal above 0.

    The automaton reads the integer part against the bound's digits, not knowing yet how long it is: fewer digits are less, more
    are greater, as many compare by the first difference.
    """
    whole, places = decimal_digits(bound)
    length = len(whole)
    less, greater = "<" in order, ">" in order
    # After i digits of the integer part: 3 i - 2 equal so far, 3 i - 1 smaller at the first difference, 3 i greater.
    zero, longer = 3 * length + 1, 3 * length + 2
    point_less, tail_less, point_greater, tail_greater, point = range(longer + 1, longer + 6)
    first_place = point + 1  # first_place + j: j + 1 places read and equal so far
    size = first_place + max(len(places), 1)
    rows: list[_Row] = [[] for _ in range(size)]
    accepting = [False] * size

    def by_digit(digit: str, smaller: int, equal: int, larger: int, least: int = 0x30) -> _Row:
        code = ord(digit)
        row = [(code, code, equal)]
        if code > least:
            row.append((least, code - 1, smaller))
        if code < 0x39:
            row.append((code + 1, 0x39, larger))
        return row

    def may_end(state: int, verdict: OneOf["<", "=", ">"]) -> None:
        accepting[state] = verdict in order
        if not fraction:
            return
        if verdict == "<" and less:
            rows[state].append((0x2E, 0x2E, point_less))
        elif verdict == ">" and greater:
            rows[state].append((0x2E, 0x2E, point_greater))

    rows[0].append((0x30, 0x30, zero))
    rows[0] += by_digit(whole[0], 2, 1, 3, least=0x31) if length else [(0x31, 0x39, longer)]
    for i in range(1, length + 1):
        equal, smaller, larger = 3 * i - 2, 3 * i - 1, 3 * i
        if i < length:
            rows[equal] = by_digit(whole[i], smaller + 3, equal + 3, larger + 3)
            rows[smaller] = [(0x30, 0x39, smaller + 3)]
            rows[larger] = [(0x30, 0x39, larger + 3)]
            for state in (equal, smaller, larger):
                may_end(state, "<")
        else:
            for state in (equal, smaller, larger):
                rows[state] = [(0x30, 0x39, longer)]
            may_end(smaller, "<")
            may_end(larger, ">")
            _end_at_bound(rows, accepting, equal, point, bool(places), order, fraction)
    if length:
        may_end(zero, "<")
    else:
        _end_at_bound(rows, accepting, zero, point, True, order, fraction)
    rows[longer] = [(0x30, 0x39, longer)]
    may_end(longer, ">")
    if fraction:
        rows[point_less] = rows[tail_less] = [(0x30, 0x39, tail_less)]
        rows[point_greater] = rows[tail_greater] = [(0x30, 0x39, tail_greater)]
        accepting[tail_less], accepting[tail_greater] = less, greater
        # Places beyond those of the bound: zeros keep equality.
        rows[size - 1] = [(0x30, 0x30, size - 1), (0x31, 0x39, tail_greater)]
        accepting[size - 1] = "=" in order
        rows[point] = rows[size - 1] if not places else by_digit(places[0], tail_less, first_place, tail_greater)
        for j in range(1, len(places)):
            rows[first_place + j - 1] = by_digit(places[j], tail_less, first_place + j, tail_greater)
            accepting[first_place + j - 1] = less
    return Language.automaton(rows, accepting, 0)


def _end_at_bound(rows: list[_Row], accepting: list[bool], state: int, point: int, has_places: bool, order: Order, fraction: bool) -> None:
    """``state`` has read exactly the integer part of the bound: what follows the point decides."""
    accepting[state] = "<" in order if has_places else "=" in order
    if fraction:
        rows[state].append((0x2E, 0x2E, point))


def compare_scientific(bound: Fraction, order: Order) -> Language:
    """Scientific spellings whose value is in ``order`` to ``bound``, a decimal above 0: by exponent, then by mantissa."""
    whole, places = decimal_digits(bound)
    digits = (whole + places).lstrip("0")
    exponent = len(whole) - 1 if whole else -(len(places) - len(digits) + 1)
    mantissa = bound / Fraction(10) ** exponent
    parts: list[Language] = []
    if ">" in order:
        parts.append(Language.concat([_MANTISSA, EXPONENT_MARK, exponents(exponent + 1, None)]))
    if "<" in order:
        parts.append(Language.concat([_MANTISSA, EXPONENT_MARK, exponents(None, exponent - 1)]))
    if abs(exponent) <= MAX_EXPONENT:
        same = Language.intersection([compare_plain(mantissa, order), _MANTISSA])
        parts.append(Language.concat([same, EXPONENT_MARK, exponents(exponent, exponent)]))
    return Language.union(parts)


@functools.lru_cache(maxsize=1024)
def exponents(low: int | None, high: int | None) -> Language:
    """Spellings, of at most `MAX_EXPONENT_DIGITS` digits with or without sign, of the whole numbers from ``low`` to ``high``."""
    least = -MAX_EXPONENT if low is None else max(low, -MAX_EXPONENT)
    most = MAX_EXPONENT if high is None else min(high, MAX_EXPONENT)
    if least > most:
        return NOTHING
    parts: list[Language] = []
    if most >= 0:
        parts.append(Language.concat([_OPTIONAL_PLUS, _short_digits(max(least, 0), most)]))
    if least <= 0:
        parts.append(Language.concat([MINUS, _short_digits(max(-most, 0), -least)]))
    return Language.union(parts)


@functools.lru_cache(maxsize=1024)
def _short_digits(low: int, high: int) -> Language:
    """One to `MAX_EXPONENT_DIGITS` digits, leading zeros allowed, with a value from ``low`` to ``high``, both at least 0."""
    lengths = [length for length in range(1, MAX_EXPONENT_DIGITS + 1) if low < 10**length]
    return Language.union(
        [_fixed_digits(str(low).rjust(length, "0"), str(min(high, 10**length - 1)).rjust(length, "0")) for length in lengths]
    )


def _fixed_digits(low: str, high: str) -> Language:
    """Digit strings of one length from ``low`` to ``high``."""
    if not low:
        return EMPTY
    if set(low) == {"0"} and set(high) == {"9"}:
        return DIGIT.repeat(len(low), len(low))
    first, last = ord(low[0]), ord(high[0])
    if first == last:
        return Language.concat([Language.literal(low[0]), _fixed_digits(low[1:], high[1:])])
    rest = len(low) - 1
    parts = [
        Language.concat([Language.literal(low[0]), _fixed_digits(low[1:], "9" * rest)]),
        Language.concat([Language.literal(high[0]), _fixed_digits("0" * rest, high[1:])]),
    ]
    if last - first > 1:
        parts.append(Language.concat([Language.char_class([(first + 1, last - 1)]), DIGIT.repeat(rest, rest)]))
    return Language.union(parts)
