"""Spellings of unsigned JSON numbers that are multiples of a decimal step.

A step is taken apart as M · 10^e with M not divisible by 10. Powers of ten only ask for zeros at the end, or allow places after
the point; M asks for a residue, kept while digits are read. M itself is split into coprime factors, each with an automaton of its
own where together they would be too large, intersected in the kernel without being multiplied out. 1000000 costs nothing.
"""

from __future__ import annotations

import functools
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
"""States of the automaton of one factor of a step: its residues, and as many again for each decimal place."""

_TOGETHER = 40_000  # coprime factors up to this product share an automaton

_Row = list[tuple[int, int, int]]

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

    States: 0 the start, 1 a leading zero, 2 zeros behind the last place, 3 + r the integer part with residue r, and for
    each place j two blocks more: just after the point (j = 0) or after j places.
    """
    states = modulus * (places + 2 if places else 1)
    if states > MAX_RESIDUES:
        raise LimitError(
            f"multipleOf needs an automaton of {states:,} states; at most {MAX_RESIDUES:,} are kept",
            limit="number_residues",
            allowed=MAX_RESIDUES,
        )
    whole = 3
    point = whole + modulus
    rows: list[_Row] = [[] for _ in range(point + (modulus * (places + 1) if places else 0))]
    accepting = [False] * len(rows)
    rows[0] = [(0x30, 0x30, 1), *_digits(0, modulus, whole, least=1)]
    accepting[1] = True
    rows[2] = [(0x30, 0x30, 2)]
    accepting[2] = True
    scale = pow(10, places, modulus)
    for residue in range(modulus):
        rows[whole + residue] = _digits(residue, modulus, whole)
        accepting[whole + residue] = residue * scale % modulus == 0
        if places:
            rows[whole + residue].append((0x2E, 0x2E, point + residue))
    if places:
        rows[1].append((0x2E, 0x2E, point))
    for place in range(places):
        block = point + modulus * place
        for residue in range(modulus):
            rows[block + residue] = _digits(residue, modulus, block + modulus)
    for place in range(1, places + 1):
        block = point + modulus * place
        left = pow(10, places - place, modulus)
        for residue in range(modulus):
            accepting[block + residue] = residue * left % modulus == 0
            if place == places and residue == 0:
                rows[block] = [(0x30, 0x30, 2)]
    return Language.automaton(rows, accepting, 0)


@functools.lru_cache(maxsize=64)
def _residues_ignoring_point(modulus: int) -> Language:
    """Strings of digits and points whose digits, read as one whole number, are a multiple of ``modulus``."""
    rows = [[*_digits(residue, modulus, 0), (0x2E, 0x2E, residue)] for residue in range(modulus)]
    return Language.automaton(rows, [residue == 0 for residue in range(modulus)], 0)


def _digits(residue: int, modulus: int, block: int, least: int = 0) -> _Row:
    """Where each digit leads from ``residue`` in the block of states that starts at ``block``; equal neighbours joined."""
    start = residue * 10
    if modulus == 1:
        return [(0x30 + least, 0x39, block)]
    return [(0x30 + digit, 0x30 + digit, block + (start + digit) % modulus) for digit in range(least, 10)]
