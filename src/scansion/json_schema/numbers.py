"""Sets of JSON numbers as regular languages of their spellings.

Which numbers are between two bounds is decided from the left, digit by digit; which are multiples of a step, from residues.
Exponents are the difficulty: deciding ``123.45e-2`` needs the count of digits before the point added to the exponent, which no
automaton can do for every number. So there are two sets of spellings:

- *all*: every number of RFC 8259;
- *decidable* (`decidable_numbers`): plain decimals of any length; one digit other than 0, a fraction of at most
  `MAX_MANTISSA_FRACTION` digits, and an exponent of at most `MAX_EXPONENT_DIGITS` (``1e-05``, ``1.5e+300``: what programs write);
  and zero with such an exponent.

What `number_language` promises: a decidable spelling is in the language exactly when its value satisfies the limits; any other
spelling is in it only when its value does, and then only where the sign alone decides. So a complement is exact when taken
within `decidable_numbers`, and only there. ``-0`` is zero.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction

from scansion._kernel import Language
from scansion.errors import GrammarError, LimitError, UnsupportedError
from scansion.json_schema.number_multiples import integer_multiples, multiples
from scansion.json_schema.number_spellings import (
    MAX_EXPONENT_DIGITS,
    MAX_MANTISSA_FRACTION,
    MINUS,
    NOTHING,
    PLAIN,
    SCIENTIFIC,
    UNSIGNED,
    UNSIGNED_INTEGER,
    UNSIGNED_NONZERO,
    UNSIGNED_ZERO,
    ZERO_SCIENTIFIC,
    Order,
    compare_plain,
    compare_scientific,
    signed,
)

__all__ = ["MAX_BOUND_DIGITS", "MAX_EXPONENT_DIGITS", "MAX_MANTISSA_FRACTION", "decidable_numbers", "number_language"]

MAX_BOUND_DIGITS = 5_000
"""Digits a bound or step may have, written without exponent."""

_TOO_LARGE = 10**MAX_BOUND_DIGITS


@functools.cache
def decidable_numbers() -> Language:
    """The spellings within which a complement of `number_language` is exact (see the module's words)."""
    return signed(Language.union([PLAIN, SCIENTIFIC, ZERO_SCIENTIFIC]))


@functools.lru_cache(maxsize=4096)
def number_language(
    *,
    minimum: Fraction | int | None = None,
    maximum: Fraction | int | None = None,
    exclusive_minimum: bool = False,
    exclusive_maximum: bool = False,
    multiple_of: Fraction | int | None = None,
    integer: bool = False,
    integer_fraction: bool = False,
) -> Language:
    """The spellings of the numbers that satisfy all limits.

    Args:
        minimum, maximum: exact bounds; a float's value as its ``repr`` shows it is ``Fraction(repr(x))``.
        exclusive_minimum, exclusive_maximum: the bound itself is out.
        multiple_of: above 0.
        integer: whole numbers only, written without fraction and exponent.
        integer_fraction: with ``integer``: also ``1.0`` and ``1e2``.

    Raises:
        GrammarError: ``multiple_of`` is not above 0.
        UnsupportedError: a limit that is no finite decimal (1/3).
        LimitError: a limit of more than `MAX_BOUND_DIGITS` digits, or a step with too many residues
            (`number_multiples.MAX_RESIDUES`).
    """
    low, high = _limit(minimum, "minimum"), _limit(maximum, "maximum")
    step = _limit(multiple_of, "multipleOf")
    if step is not None and step <= 0:
        raise GrammarError(f"multipleOf must be above 0, not {step}", construct="multipleOf")
    plain_integer = integer and not integer_fraction
    parts: list[Language] = []
    if low is not None or high is not None:
        within = _between_integers if plain_integer else _between
        up = within((low, exclusive_minimum), (high, exclusive_maximum))
        down = within((None if high is None else -high, exclusive_maximum), (None if low is None else -low, exclusive_minimum))
        parts.append(Language.union([up, Language.concat([MINUS, down])]))
    elif plain_integer and step is None:
        return _plain_integers()
    if plain_integer:
        if step is not None:
            parts.append(signed(integer_multiples(step.numerator)))
    else:
        # A whole multiple of p/q (in lowest terms) is a multiple of p.
        divisor = Fraction(1 if step is None else step.numerator) if integer else step
        if divisor is not None:
            parts.append(signed(multiples(divisor)))
    if not parts:
        return signed(UNSIGNED)
    return parts[0] if len(parts) == 1 else Language.intersection(parts)


@functools.cache
def _plain_integers() -> Language:
    return signed(UNSIGNED_INTEGER)


def _limit(value: Fraction | int | None, keyword: str) -> Fraction | None:
    """``value`` as an exact decimal of reasonable length."""
    if value is None:
        return None
    limit = Fraction(value)
    if abs(limit.numerator) >= _TOO_LARGE or limit.denominator >= _TOO_LARGE:
        raise LimitError(f"{keyword} has more than {MAX_BOUND_DIGITS:,} digits", limit="number_digits", allowed=MAX_BOUND_DIGITS)
    rest = limit.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        raise UnsupportedError(f"{keyword} {limit} is no finite decimal", construct=keyword, hint="write it in decimal digits")
    return limit


def _between(low: tuple[Fraction | None, bool], high: tuple[Fraction | None, bool]) -> Language:
    """Unsigned spellings from ``low`` to ``high``, each (bound, exclusive)."""
    return _interval(low, high, UNSIGNED, UNSIGNED_ZERO, UNSIGNED_NONZERO, _compare)


def _between_integers(low: tuple[Fraction | None, bool], high: tuple[Fraction | None, bool]) -> Language:
    """Unsigned integers from ``low`` to ``high``, without fraction and exponent."""
    zero = Language.literal("0")
    nonzero = Language.concat([Language.char_class([(0x31, 0x39)]), Language.char_class([(0x30, 0x39)]).repeat(0)])
    return _interval(low, high, UNSIGNED_INTEGER, zero, nonzero, _compare_integers)


def _interval(
    low: tuple[Fraction | None, bool],
    high: tuple[Fraction | None, bool],
    everything: Language,
    zero: Language,
    nonzero: Language,
    compare: Callable[[Fraction, Order], Language],
) -> Language:
    least, above = low
    most, below = high
    parts: list[Language] = []
    if most is not None:
        if most < 0 or (most == 0 and below):
            return NOTHING
        if most == 0:
            excluded = least is not None and (least > 0 or (least == 0 and above))
            return NOTHING if excluded else zero
        if least is not None and (least > most or (least == most and (above or below))):
            return NOTHING
        if least == most:
            return compare(most, "=")
        parts.append(compare(most, "<" if below else "<="))
    if least is not None and least > 0:
        parts.append(compare(least, ">" if above else ">="))
    elif least == 0 and above:
        parts.append(nonzero)
    if not parts:
        return everything
    return parts[0] if len(parts) == 1 else Language.intersection(parts)


def _compare(bound: Fraction, order: Order) -> Language:
    """Unsigned decidable spellings in ``order`` to ``bound``, which is above 0."""
    parts = [compare_plain(bound, order), compare_scientific(bound, order)]
    if "<" in order:
        parts.append(ZERO_SCIENTIFIC)
    return Language.union(parts)


def _compare_integers(bound: Fraction, order: Order) -> Language:
    """Unsigned integers in ``order`` to ``bound``, which is above 0."""
    if bound.denominator != 1:
        if order == "=":
            return NOTHING
        # Between two whole numbers: the next one in the right direction, which is then in.
        bound = Fraction(bound.numerator // bound.denominator + (">" in order))
        if bound == 0:
            return Language.literal("0")
        order = ">=" if ">" in order else "<="
    return compare_plain(bound, order, fraction=False)
