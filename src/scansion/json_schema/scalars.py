"""Sets of strings and sets of numbers: the scalar half of a normal form.

A set is a few *words* (values of ``const`` and ``enum``, which have one canonical spelling) and a *language*. Keeping the words
apart lets them be spelled canonically, filtered exactly by whatever is conjoined, and compared without an automaton.

Numbers are sets of spellings. A positive set may leave spellings out (``integer`` is written without fraction); a negated one is
taken from value-closed sets, so that ``not: {type: integer}`` does not let ``1.0`` through.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from scansion._kernel import Language
from scansion.json_schema.numbers import number_language

__all__ = [
    "ANYTHING",
    "ANY_NUMBER",
    "ANY_STRING",
    "MAX_APART",
    "MAX_POINTS",
    "Grid",
    "NumberSet",
    "StringSet",
    "number_text",
    "same_number",
    "string_text",
]

MAX_POINTS = 5_000  # numbers tried one by one where the conditions on them are too many for an automaton
_COARSE = 1_000  # steps above it have so many residues that the kernel may not get through them
MAX_APART = 8  # languages of one set of strings that are kept apart
_COSTLY = 4  # intersections of this many languages are not united
ANYTHING = Language.anything()
string_text = json.encoder.encode_basestring  # of a string: what json.dumps(text, ensure_ascii=False) writes


class StringSet:
    """A set of strings: ``words`` (written canonically) and every string of ``language`` (in any legal spelling; None: no more).

    Attributes:
        apart: where the language is a union of intersections of many, these; otherwise empty. The automaton of such a union has a
            state for every combination of theirs, those of its parts side by side only their sum.
        factors: how many languages the language is an intersection of.
    """

    __slots__ = ("apart", "factors", "language", "words")

    def __init__(self, words: dict[str, None], language: Language | None, apart: tuple[Language, ...] = (), factors: int = 1) -> None:
        self.words = words
        self.language = language
        self.apart = apart
        self.factors = factors

    def __contains__(self, text: str) -> bool:
        return text in self.words or (self.language is not None and (self.language is ANYTHING or self.language.matches(text)))

    def intersect(self, other: StringSet) -> StringSet:
        """Strings in both."""
        if self.language is ANYTHING:
            return other
        if other.language is ANYTHING:
            return self
        words = {word: None for word in self.words if word in other}
        if other.words:
            words.update((word, None) for word in other.words if word not in words and word in self)
        language = None
        if self.language is not None and other.language is not None:
            language = self.language if self.language is other.language else Language.intersection([self.language, other.language])
        factors = self.factors + other.factors
        if language is None or not (self.apart or other.apart):
            return StringSet(words, language, (), factors)
        pairs = [(one, two) for one in self.parts for two in other.parts]
        apart = tuple(Language.intersection(pair) for pair in pairs) if len(pairs) <= MAX_APART else ()
        return StringSet(words, language, apart, factors)

    def union(self, other: StringSet) -> StringSet:
        """Strings in either."""
        return _union_of_strings((self, other))

    @staticmethod
    def union_of(sets: Sequence[StringSet]) -> StringSet | None:
        """Strings in any of some sets; None where there are no sets."""
        return _union_of_strings(sets) if len(sets) > 1 else sets[0] if sets else None

    @property
    def parts(self) -> tuple[Language, ...]:
        """Languages whose union is the language: those kept apart, or the one."""
        return self.apart or (() if self.language is None else (self.language,))

    def complement(self) -> StringSet:
        """All other strings."""
        return StringSet({}, self.as_language().complement())

    def as_language(self) -> Language:
        """The set as one language of decoded values."""
        if not self.words:
            return self.language if self.language is not None else Language.nothing()
        words = Language.literals(list(self.words))
        return words if self.language is None else Language.union([words, self.language])

    @property
    def is_empty(self) -> bool:
        return not self.words and (self.language is None or (self.language is not ANYTHING and all(part.is_nothing for part in self.parts)))


class Grid:
    """Where a set of numbers can be: from ``low`` to ``high`` (None: no bound), multiples of ``step`` (None: any number)."""

    __slots__ = ("high", "low", "step")

    def __init__(self, low: Fraction | None = None, high: Fraction | None = None, step: Fraction | None = None) -> None:
        self.low = low
        self.high = high
        self.step = step

    @staticmethod
    def around(values: Iterable[Fraction]) -> Grid:
        """The closest grid that has all of some values."""
        listed = list(values)
        step = functools.reduce(_greatest_common, listed, Fraction(0))
        return Grid(min(listed), max(listed), step or Fraction(1))

    def intersect(self, other: Grid) -> Grid:
        low = self.low if other.low is None else other.low if self.low is None else max(self.low, other.low)
        high = self.high if other.high is None else other.high if self.high is None else min(self.high, other.high)
        step = self.step if other.step is None else other.step if self.step is None else _least_common(self.step, other.step)
        return Grid(low, high, step)

    def union(self, other: Grid) -> Grid:
        low = None if self.low is None or other.low is None else min(self.low, other.low)
        high = None if self.high is None or other.high is None else max(self.high, other.high)
        step = None if self.step is None or other.step is None else _greatest_common(self.step, other.step)
        return Grid(low, high, step)

    def points(self, limit: int) -> Iterator[Fraction] | None:
        """The numbers one by one, or None where there are more than ``limit``."""
        if self.low is None or self.high is None or self.step is None:
            return None
        first, last = math.ceil(self.low / self.step), math.floor(self.high / self.step)
        step = self.step
        return (step * count for count in range(first, last + 1)) if last - first < limit else None


def _greatest_common(left: Fraction, right: Fraction) -> Fraction:
    denominator = math.lcm(left.denominator, right.denominator)
    return Fraction(math.gcd(int(left * denominator), int(right * denominator)), denominator)


def _least_common(left: Fraction, right: Fraction) -> Fraction:
    return left * right / _greatest_common(left, right)


ANYWHERE = Grid()


class NumberSet:
    """A set of numbers: ``words`` (canonical text to exact value) and the spellings of ``language`` (None: no more).

    Attributes:
        grid: where the numbers of the language are.
        conditions: how many languages it was put together from.
    """

    __slots__ = ("conditions", "grid", "language", "words")

    def __init__(self, words: dict[str, Fraction], language: Language | None, grid: Grid = ANYWHERE, conditions: int = 1) -> None:
        self.words = words
        self.language = language
        self.grid = grid
        self.conditions = conditions

    def intersect(self, other: NumberSet) -> NumberSet:
        """Numbers in both."""
        if self is ANY_NUMBER:
            return other
        if other is ANY_NUMBER or self is other:
            return self
        words: dict[str, Fraction] = {}
        values = set(other.words.values())
        for text, value in self.words.items():
            if value in values:
                words[text] = value
            elif other.language is not None:
                _add_spelled(words, text, value, other.language)
        if self.language is not None:
            for text, value in other.words.items():
                _add_spelled(words, text, value, self.language)
        language = None
        if self.language is not None and other.language is not None:
            language = self.language if self.language == other.language else Language.intersection([self.language, other.language])
        return NumberSet(words, language, self.grid.intersect(other.grid), self.conditions + other.conditions)

    def union(self, other: NumberSet) -> NumberSet:
        """Numbers in either."""
        return _union_of_numbers((self, other))

    @staticmethod
    def union_of(sets: Sequence[NumberSet]) -> NumberSet | None:
        """Numbers in any of some sets; None where there are no sets."""
        return _union_of_numbers(sets) if len(sets) > 1 else sets[0] if sets else None

    @property
    def is_empty(self) -> bool:
        if self.words or self.language is None:
            return not self.words
        self.decide()
        return self.language.is_nothing

    @property
    def range(self) -> tuple[Fraction | float, Fraction | float]:
        """The least and the greatest number there can be (infinite: no bound is known; the wrong way round: there is none)."""
        values = self.words.values()
        low: Fraction | float = min(values, default=math.inf)
        high: Fraction | float = max(values, default=-math.inf)
        if self.language is not None:
            low = -math.inf if self.grid.low is None else min(low, self.grid.low)
            high = math.inf if self.grid.high is None else max(high, self.grid.high)
        return low, high

    def decide(self) -> None:
        """Make the language one whose states the kernel can look through.

        Conditions on many steps make a state for each combination of residues. Where they leave few places for a number to be
        (bounds, and a step), the numbers are tried one by one and the language becomes the list of them.

        Raises:
            LimitError: they do not, and the states are too many.
        """
        language = self.language
        coarse = self.grid.step is not None and self.grid.step.numerator > _COARSE
        if language is None or not (coarse or self.conditions >= _COSTLY):
            return
        points = self.grid.points(MAX_POINTS)
        if points is not None:
            self.conditions = 1
            self.language = Language.union([spelled for point in points if (spelled := _spellings(point, language)) is not None])
        elif not language.is_nothing:
            # What the kernel will ask in the middle of a number, asked now: whether it can still be finished.
            for begun in _BEGUN:
                Language.intersection([language, begun]).is_nothing  # noqa: B018

    def values(self, limit: int) -> set[Fraction] | None:
        """The numbers themselves, however they are spelled; None where there are ``limit`` or more, or no end of them is seen."""
        found = set(self.words.values())
        language = self.language
        if language is not None and not language.is_nothing:
            points = self.grid.points(max(limit, MAX_POINTS))
            if points is not None:
                found.update(point for point in points if language.matches(_decimal_text(point)))
            else:
                words = language.words(limit) if language.max_length() is not None else None
                if words is None:
                    return None
                found.update(map(Fraction, words))
        return found if len(found) < limit else None


def _union_of_strings(sets: Sequence[StringSet]) -> StringSet:
    """A word the language of some set has is dropped: the language spells it too."""
    words: dict[str, None] = {}
    for item in sets:
        if item.language is ANYTHING:
            return ANY_STRING
        words.update(item.words)
    holders = [item for item in sets if item.language is not None]
    language = _union_of_languages([item.language for item in holders])
    if words and language is not None:
        words = {word: None for word in words if not language.matches(word)}
    if len(holders) < 2:
        return StringSet(words, language, holders[0].apart, holders[0].factors) if holders else StringSet(words, None)
    factors = min(item.factors for item in holders)
    apart = tuple(dict.fromkeys(part for item in holders for part in item.parts)) if factors >= _COSTLY else ()
    return StringSet(words, language, apart if 1 < len(apart) <= MAX_APART else (), factors if apart else 1)


def _union_of_numbers(sets: Sequence[NumberSet]) -> NumberSet:
    words: dict[str, Fraction] = {}
    for item in sets:
        if item is ANY_NUMBER:
            return ANY_NUMBER
        words.update(item.words)
    holders = [item for item in sets if item.language is not None]
    if not holders:
        return NumberSet(words, None)
    grid = functools.reduce(Grid.union, [item.grid for item in holders])
    return NumberSet(words, _union_of_languages([item.language for item in holders]), grid, sum(item.conditions for item in holders))


def _union_of_languages(languages: Sequence[Language | None]) -> Language | None:
    found = [language for language in dict.fromkeys(languages) if language is not None]
    return Language.union(found) if len(found) > 1 else found[0] if found else None


ANY_STRING = StringSet({}, ANYTHING)


def number_text(number: Any) -> str:
    """A JSON number as ``json.dumps`` writes it; a ``Decimal`` (from a schema text) keeps the digits it was given with."""
    if isinstance(number, Decimal):
        text = repr(float(number))
        return text if Decimal(text) == number else str(number).replace("E", "e")
    return json.dumps(number)


def same_number(text: str, value: Fraction, language: Language) -> str | None:
    """A spelling of a number that a language has: the text itself, or its plain integer; None where it has neither."""
    if language.matches(text):
        return text
    if value.denominator == 1:
        plain = str(value.numerator)
        if plain != text and language.matches(plain):
            return plain
    return None


def _add_spelled(words: dict[str, Fraction], text: str, value: Fraction, language: Language) -> None:
    spelled = same_number(text, value, language)
    if spelled is not None:
        words.setdefault(spelled, value)


def _spellings(value: Fraction, language: Language) -> Language | None:
    """Those spellings of a number that a language has: the shortest, or all."""
    text = _decimal_text(value)
    if not language.matches(text):
        return None
    longer = f"{text}0" if "." in text else f"{text}.0"
    return number_language(minimum=value, maximum=value) if language.matches(longer) else Language.literal(text)


def _decimal_text(value: Fraction) -> str:
    """A finite decimal without exponent and trailing zeros."""
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{text}" if value < 0 else text


# Every JSON number in every spelling RFC 8259 has.
_DIGITS = Language.char_class([(48, 57)])
_MORE = _DIGITS.repeat(0, None)
_INTEGER = Language.union([Language.literal("0"), Language.concat([Language.char_class([(49, 57)]), _MORE])])
_BEGUN = [Language.concat([Language.literal(text), ANYTHING]) for text in ("1", "-7", "1234567", "98765432109", "1.23", "3.1e")]
ANY_NUMBER = NumberSet(
    {},
    Language.concat(
        [
            Language.literal("-").repeat(0, 1),
            _INTEGER,
            Language.concat([Language.literal("."), _DIGITS.repeat(1, None)]).repeat(0, 1),
            Language.concat([Language.literals(["e", "E"]), Language.literals(["+", "-"]).repeat(0, 1), _DIGITS.repeat(1, None)]).repeat(
                0, 1
            ),
        ]
    ),
)
