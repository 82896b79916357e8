"""Spellings of unsigned JSON numbers that are multiples of a decimal step.

A step is taken apart as M · 10^e with M not divisible by 10. Powers of ten only ask for zeros at the end, or allow places after
the point; M asks for a residue, kept while digits are read. M itself is split into coprime factors, each with an automaton of its
own where together they would be too large, intersected in the kernel without being multiplied out. 1000000 costs nothing.
"""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

from scansion._kernel import Language
from scansion.errors import LimitError
from scansion.json_schema.number_spellings import (
    DIGIT,
    EXPONENT_MARK,
    MAX_MANTISSA_FRACTION,
    NONZERO_DIGIT,
    POINT,
    UNSIGNED_INTEGER,
    ZERO_SCIENTIFIC,
    exponents,
)

__all__ = ["MAX_RESIDUES", "integer_multiples", "multiples"]

MAX_RESIDUES = 100_000
"""States of the automaton of one factor of a step: its residues, those told apart before the point and after each place."""

_TOGETHER = 40_000  # coprime factors up to this product share an automaton

_Row = list[tuple[int, int, int]]

_DIGITS = range(0x30, 0x3A)
_ZERO = Language.literal("0")
_ZEROS = _ZERO.repeat(0)
_ZERO_FRACTION = Language.concat([POINT, _ZERO.repeat(1)]).repeat(0, 1)


@functools.lru_cache(maxsize=512)
def multiples(step: Fraction) -> Language:
    """Decidable unsigned spellings (see `numbers`) of the multiples of ``step``, a finite decimal above 0.

    Raises:
        LimitError: a prime power in the step with more than `MAX_RESIDUES` states.
    """
    base, tens = _without_tens(step)
    return Language.union([_plain(base, tens), _scientific(base, tens), ZERO_SCIENTIFIC])


@functools.lru_cache(maxsize=512)
def integer_multiples(step: int) -> Language:
    """Multiples of a whole ``step`` above 0, written without fraction and exponent. Raises as `multiples`."""
    base, tens = _without_tens(Fraction(step))
    return Language.intersection([_residues(factor, 0) for factor in _factors(base)]) if not tens else _with_zeros(base, tens)


def _without_tens(step: Fraction) -> tuple[int, int]:
    """M and e with ``step`` = M · 10^e and M not divisible by 10."""
    tens = 0
    while step.denominator != 1:
        step *= 10
        tens -= 1
    base = step.numerator
    while base % 10 == 0:
        base //= 10
        tens += 1
    return base, tens


def _with_zeros(base: int, tens: int) -> Language:
    """Whole multiples of base · 10^tens, tens above 0: multiples of base with zeros behind."""
    return Language.union([_ZERO, Language.concat([*_nonzero(base), _ZERO.repeat(tens, tens)])])


def _nonzero(base: int) -> list[Language]:
    """Whole multiples of ``base`` other than zero, as parts of a concatenation."""
    if base == 1:
        return [NONZERO_DIGIT, DIGIT.repeat(0)]
    some = Language.concat([NONZERO_DIGIT, DIGIT.repeat(0)])
    return [Language.intersection([some, *(_residues(factor, 0) for factor in _factors(base))])]


def _plain(base: int, tens: int) -> Language:
    if tens > 0:
        return Language.concat([_with_zeros(base, tens), _ZERO_FRACTION])
    places = -tens
    if base == 1:
        if not places:
            return Language.concat([UNSIGNED_INTEGER, _ZERO_FRACTION])
        fraction = Language.concat([POINT, DIGIT.repeat(1, places), _ZEROS])
        return Language.concat([UNSIGNED_INTEGER, fraction.repeat(0, 1)])
    if not places:
        return Language.concat([Language.intersection([_residues(factor, 0) for factor in _factors(base)]), _ZERO_FRACTION])
    return Language.intersection([_residues(factor, places) for factor in _factors(base)])


def _scientific(base: int, tens: int) -> Language:
    """Numbers d.ddd e n by the count f of their places (less zeros at the end): with D their digits as a whole number and
    s = n - f - tens, the number is a multiple exactly when s >= 0 and base divides D · 10^s."""
    spread = 0  # the largest s that still supplies factors of base
    rest = base
    while rest % 2 == 0 or rest % 5 == 0:
        rest //= 2 if rest % 2 == 0 else 5
        spread += 1
    parts: list[Language] = []
    for places in range(MAX_MANTISSA_FRACTION + 1):
        for supplied in range(spread + 1):
            lowest = places + tens + supplied
            needed = base // _common(base, supplied)
            exponent = exponents(lowest, lowest if supplied < spread else None)
            if not exponent.is_nothing:
                parts.append(Language.concat([_mantissa(places, needed), EXPONENT_MARK, exponent]))
    return Language.union(parts)


def _common(base: int, tens: int) -> int:
    """gcd(base, 10^tens); base is not divisible by 10."""
    common = 1
    for prime in (2, 5):
        for _ in range(tens):
            if base % (common * prime) == 0:
                common *= prime
    return common


@functools.lru_cache(maxsize=4096)
def _mantissa(places: int, divisor: int) -> Language:
    """One digit, a point and ``places`` digits, the last not 0, whose digits are a multiple of ``divisor``; zeros behind."""
    if places:
        digits = Language.concat([NONZERO_DIGIT, POINT, DIGIT.repeat(places - 1, places - 1), NONZERO_DIGIT])
        zeros = _ZERO.repeat(0, MAX_MANTISSA_FRACTION - places)
    else:
        digits = NONZERO_DIGIT
        zeros = Language.concat([POINT, _ZERO.repeat(1, MAX_MANTISSA_FRACTION)]).repeat(0, 1)
    if divisor != 1:
        digits = Language.intersection([digits, *(_residues_ignoring_point(factor) for factor in _factors(divisor))])
    return Language.concat([digits, zeros])


def _factors(base: int) -> list[int]:
    """Coprime factors with the product ``base``, small ones together."""
    powers: list[int] = []
    rest, prime = base, 2
    while rest > _TOGETHER and prime <= MAX_RESIDUES and prime * prime <= rest:
        power = 1
        while rest % prime == 0:
            rest //= prime
            power *= prime
        if power > 1:
            powers.append(power)
        prime += 1 if prime == 2 else 2
    if rest > 1 or not powers:
        powers.append(rest)
    grouped: list[int] = []
    for power in sorted(powers):
        if power > MAX_RESIDUES:
            raise LimitError(
                f"multipleOf needs an automaton of {power:,} residues; at most {MAX_RESIDUES:,} are kept",
                limit="number_residues",
                allowed=MAX_RESIDUES,
            )
        if grouped and grouped[-1] * power <= _TOGETHER:
            grouped[-1] *= power
        else:
            grouped.append(power)
    return grouped


@functools.lru_cache(maxsize=64)
def _residues(modulus: int, places: int) -> Language:
    """Plain decimals that are multiples of modulus / 10^places: at most ``places`` digits after the point, then zeros.

    With k places to come, a number read so far matters by its residue modulo modulus / gcd(modulus, 10^k) alone: what is left out
    divides whatever the places can add to it. So the part before the point has few states, and each place more than the one before.

    States: 0 the start, 1 a leading zero, 2 zeros behind the last place, then a block of residues for the integer part and
    for each number of places read after the point but the last.
    """
    left = [_without_common(modulus, 10**count) for count in range(places, 0, -1)] or [modulus]
    starts = list(itertools.accumulate([left[0], *left], initial=3))  # of the integer part, and behind the point after each place
    states = starts[-1] - 3 if places else modulus
    if states > MAX_RESIDUES:
        raise LimitError(
            f"multipleOf needs an automaton of {states:,} states; at most {MAX_RESIDUES:,} are kept",
            limit="number_residues",
            allowed=MAX_RESIDUES,
        )
    whole, point = starts[:2]
    integers = _digit_rows(left[0], left[0], whole)
    leading = integers[0][1:] if left[0] > 1 else [(0x31, 0x39, whole)]
    rows: list[_Row] = [[(0x30, 0x30, 1), *leading], [], [(0x30, 0x30, 2)], *integers]
    accepting = [False, True, True, *_zero_first(left[0])]
    if places:
        rows[1].append((0x2E, 0x2E, point))
        for residue in range(left[0]):
            rows[whole + residue].append((0x2E, 0x2E, point + residue))
    for place in range(places):
        own = left[place]
        if place + 1 < places:
            rows += _digit_rows(own, left[place + 1], starts[place + 2])
        else:  # the last place: what is a multiple now is one, whatever zeros follow
            rows += [
                [(0x30 + digit, 0x30 + digit, 2) for digit in range(-start % modulus, 10, modulus)] for start in range(0, 10 * own, 10)
            ]
        accepting += _zero_first(own) if place else [False] * own  # a point must not come last
    return Language.automaton(rows, accepting, 0)


@functools.lru_cache(maxsize=64)
def _residues_ignoring_point(modulus: int) -> Language:
    """Strings of digits and points whose digits, read as one whole number, are a multiple of ``modulus``."""
    rows = [[*row, (0x2E, 0x2E, residue)] for residue, row in enumerate(_digit_rows(modulus, modulus, 0))]
    return Language.automaton(rows, _zero_first(modulus), 0)


def _digit_rows(residues: int, modulus: int, block: int) -> list[_Row]:
    """Where each digit leads from each residue, in the block of ``modulus`` states that starts at ``block``; equal neighbours joined."""
    if modulus == 1:
        return [[(0x30, 0x39, block)] for _ in range(residues)]
    targets = list(range(block, block + modulus)) * (9 // modulus + 2)  # as far as ten digits lead from any residue
    starts = (10 * residue % modulus for residue in range(residues))
    return [list(zip(_DIGITS, _DIGITS, targets[start : start + 10], strict=True)) for start in starts]


def _without_common(modulus: int, power: int) -> int:
    return modulus // math.gcd(modulus, power)


def _zero_first(modulus: int) -> list[bool]:
    """Which residues are a multiple."""
    return [True, *itertools.repeat(False, modulus - 1)]
