"""Keywords on strings and numbers, ``enum`` and ``const``: schema text to scalar sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from scansion._kernel import Language
from scansion.errors import GrammarError, LimitError, UnsupportedError
from scansion.json_schema.documents import Site
from scansion.json_schema.formats import format_language
from scansion.json_schema.json_values import exact, is_number, kind_of
from scansion.json_schema.keywords import NUMBER, STRING, TYPE_INTEGER, TYPE_NUMBER, above, below, least, most, whole
from scansion.json_schema.numbers import decidable_numbers, number_language
from scansion.json_schema.scalars import ANY_NUMBER, ANY_STRING, Grid, NumberSet, StringSet, number_text
from scansion.json_schema.shape_algebra import conjoin, unite
from scansion.json_schema.shapes import ALL_LITERALS, ANY_ARRAY, ANY_OBJECT, FALSE, NOTHING, NULL, TRUE, Shape
from scansion.languages.regex import parse_ecma

if TYPE_CHECKING:
    from scansion.json_schema.normal_form import Normaliser

__all__ = ["format_of", "numbers", "other_numbers", "other_strings", "other_values", "pattern", "strings", "values"]

_WRITTEN_OUT = 10**16  # whole numbers of enum and const below it may be written without fraction; beyond, json.dumps has an exponent
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_SHORT = 2**63  # a bound up to it may be remembered
_CHARACTER = Language.char_class([(0, 0x10FFFF)])


# Strings


def strings(norm: Normaliser, site: Site, bits: int) -> StringSet:
    """The strings that ``minLength``, ``maxLength``, ``pattern`` and ``format`` of a site allow."""
    if not bits & STRING:
        return ANY_STRING
    parts = _patterns(norm, site)
    schema = site.schema
    low = least(site, "minLength") if "minLength" in schema else 0
    high = most(site, "maxLength") if "maxLength" in schema else -1
    if not parts:
        return _sized(low, high)
    if low or high >= 0:
        parts.insert(0, _length(low, high))
    return StringSet({}, parts[0] if len(parts) == 1 else Language.intersection(parts), (), len(parts))


def other_strings(norm: Normaliser, site: Site, bits: int) -> StringSet | None:
    """The strings that they do not allow. Lengths are lengths again: only those of words would be searched for one by one."""
    if not bits & STRING:
        return None
    parts = [part.complement() for part in _patterns(norm, site)]
    shorter, longer = below(site, "minLength"), above(site, "maxLength")
    if shorter is not None:
        parts.append(_length(0, shorter))
    if longer is not None:
        parts.append(_length(longer, -1))
    return StringSet({}, parts[0] if len(parts) == 1 else Language.union(parts)) if parts else None


def _patterns(norm: Normaliser, site: Site) -> list[Language]:
    """The languages of ``pattern`` and ``format``."""
    schema = site.schema
    parts = []
    if "pattern" in schema:
        parts.append(pattern(site, schema["pattern"], "pattern"))
    if "format" in schema and norm.options.formats != "annotate":
        language = _format(norm, site, schema["format"])
        if language is not None:
            parts.append(language)
    return parts


@lru_cache(maxsize=4096)
def _sized(low: int, high: int) -> StringSet:
    """The strings of a length; -1: no bound."""
    return StringSet({}, _length(low, high)) if low or high >= 0 else ANY_STRING


@lru_cache(maxsize=4096)
def _length(low: int, high: int) -> Language:
    if 0 <= high < low:
        return Language.nothing()
    return _CHARACTER.repeat(low, None if high < 0 else high)


def pattern(site: Site, text: Any, keyword: str) -> Language:
    """The strings in which an ECMA-262 regular expression matches somewhere.

    Raises:
        GrammarError, UnsupportedError, LimitError: with the pointer of the keyword and the offset in the pattern.
    """
    if not isinstance(text, str):
        raise site.wrong(f"{keyword} must be a string, not {kind_of(text)}", keyword)
    try:
        return parse_ecma(text)
    except GrammarError as error:
        error.pointer = f"{site.pointer}/{keyword}"
        error.message = (
            f"in the pattern {text!r:.60}" + ("" if error.offset is None else f", at offset {error.offset}") + f": {error.message}"
        )
        error.args = (str(error),)
        raise
    except LimitError as error:
        raise LimitError(
            f"#{site.pointer}/{keyword}: in the pattern {text!r:.60}: {error} (simplify it, or leave {keyword} to the lenient option)",
            limit=error.limit,
            allowed=error.allowed,
        ) from None


def _format(norm: Normaliser, site: Site, name: Any) -> Language | None:
    if not isinstance(name, str):
        raise site.wrong(f"format must be a string, not {kind_of(name)}", "format")
    language = format_of(site, name)
    if language is None and norm.options.formats == "strict":
        raise UnsupportedError(
            f"the format {name!r} is not known",
            pointer=f"{site.pointer}/format",
            construct="format",
            hint="formats='enforce' reads unknown formats as annotations",
        )
    return language


def format_of(site: Site, name: str) -> Language | None:
    """The strings of a format as the draft of a site knows it; None where the name is not known."""
    resource = site.resource
    return format_language(name, resource.draft if resource.explicit else 2020)


# Numbers


def numbers(norm: Normaliser, site: Site, bits: int, integer: bool) -> NumberSet:
    """The numbers that the numeric keywords of a site allow, ``integer`` where its ``type`` asks for whole ones."""
    if not bits & NUMBER:
        return _integers(norm.options.integers == "any") if integer else ANY_NUMBER
    any_spelling = norm.options.integers == "any" or not integer
    bounds = tuple((keyword, site.schema[keyword]) for keyword in _BOUNDS if keyword in site.schema)
    if "multipleOf" not in site.schema and all(type(bound) is int and abs(bound) <= _SHORT for _, bound in bounds):
        return _within(bounds, integer, any_spelling)
    return _number_set(_limits(site, integer, any_spelling), integer)


@lru_cache(maxsize=4096)
def _within(bounds: tuple[tuple[str, int], ...], integer: bool, any_spelling: bool) -> NumberSet:
    """The numbers within whole bounds by keyword. Shared by all schemas: a set without a step of its own is never changed (``decide``)."""
    return _number_set(_spelled(_bounds(dict(bounds), lambda bound, _: Fraction(bound)), integer, any_spelling), integer)


def _number_set(limits: dict[str, Any], integer: bool) -> NumberSet:
    step = limits.get("multiple_of", Fraction(1) if integer else None)
    return NumberSet({}, _limited(limits), Grid(limits.get("minimum"), limits.get("maximum"), step))


def other_numbers(norm: Normaliser, site: Site, bits: int, types: int) -> NumberSet | None:
    """The numbers that ``type`` and the numeric keywords of a site do not allow."""
    if not types & (TYPE_NUMBER | TYPE_INTEGER):
        return ANY_NUMBER
    integer = not types & TYPE_NUMBER
    if bits & NUMBER:
        return _all_but(_limited(_limits(site, integer, True)))
    return _all_but(number_language(integer=True, integer_fraction=True)) if integer else None


def _all_but(language: Language) -> NumberSet:
    return NumberSet({}, Language.intersection([decidable_numbers(), language.complement()]))


@lru_cache(maxsize=2)
def _integers(any_spelling: bool) -> NumberSet:
    return NumberSet({}, number_language(integer=True, integer_fraction=any_spelling), Grid(step=Fraction(1)))


@lru_cache(maxsize=4096)
def _value(value: Fraction) -> Language:
    """Every spelling of one number."""
    return number_language(minimum=value, maximum=value)


def _limits(site: Site, integer: bool, fraction: bool) -> dict[str, Any]:
    """The numeric keywords of a site, as arguments of ``number_language``."""
    limits = _bounds(site.schema, partial(_number, site))
    if "multipleOf" in site.schema:
        step = _number(site, site.schema["multipleOf"], "multipleOf")
        if step <= 0:
            raise site.wrong(f"multipleOf must be above 0, not {site.schema['multipleOf']}", "multipleOf")
        limits["multiple_of"] = step
    return _spelled(limits, integer, fraction)


def _spelled(limits: dict[str, Any], integer: bool, fraction: bool) -> dict[str, Any]:
    """Limits with what is asked of whole numbers, if these are asked for."""
    return {**limits, "integer": True, "integer_fraction": fraction} if integer else limits


def _bounds(schema: dict[str, Any], number: Callable[[Any, str], Fraction]) -> dict[str, Any]:
    """The bounds among the keywords; ``number`` reads one."""
    limits: dict[str, Any] = {}
    for keyword, side in (("minimum", "minimum"), ("maximum", "maximum")):
        if keyword in schema:
            limits[side] = number(schema[keyword], keyword)
    for keyword, side in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if keyword not in schema:
            continue
        bound = schema[keyword]
        if isinstance(bound, bool):  # draft 4: a modifier of minimum or maximum
            if bound and side in limits:
                limits[f"exclusive_{side}"] = True
            continue
        value = number(bound, keyword)
        plain = limits.get(side)
        if plain is None or (value >= plain if side == "minimum" else value <= plain):
            limits[side] = value
            limits[f"exclusive_{side}"] = True
    return limits


def _limited(limits: dict[str, Any]) -> Language:
    return number_language(**limits) if limits else ANY_NUMBER.language or Language.nothing()


def _number(site: Site, value: Any, keyword: str) -> Fraction:
    if not is_number(value):
        wanted = "a JSON value" if keyword in ("enum", "const") else "a number"
        raise site.wrong(f"{keyword} must be {wanted}, not {kind_of(value)}", keyword)
    return exact(value)


# Values


def values(norm: Normaliser, site: Site) -> Shape:
    """The shape of ``enum`` and ``const``."""
    schema = site.schema
    shape: Shape | None = None
    if "enum" in schema:
        shape = _one_of_values(norm, site, _enum(site), "enum")
    if "const" in schema:
        constant = _one_of_values(norm, site, [schema["const"]], "const")
        shape = constant if shape is None else conjoin(norm, shape, constant, site, "const")
    return shape if shape is not None else NOTHING


def _enum(site: Site) -> list[Any]:
    listed = site.schema["enum"]
    if not isinstance(listed, list):
        raise site.wrong(f"enum must be an array of values, not {kind_of(listed)}", "enum")
    return listed


def _one_of_values(norm: Normaliser, site: Site, listed: list[Any], keyword: str) -> Shape:
    literals = 0
    words: dict[str, None] = {}
    texts: dict[str, Fraction] = {}
    objects: tuple[Any, ...] = ()
    arrays: tuple[Any, ...] = ()
    for index, value in enumerate(listed):
        if type(value) is str:
            words[value if value.isascii() else whole(site, value, keyword)] = None
        elif value is None:
            literals |= NULL
        elif value is True:
            literals |= TRUE
        elif value is False:
            literals |= FALSE
        elif isinstance(value, (dict, list)):
            found = norm.positive(_container(norm, site, value, keyword, index))
            objects += found.objects
            arrays += found.arrays
        else:
            number = texts[number_text(value)] = _number(site, value, keyword)
            if number.denominator == 1 and not isinstance(value, int) and abs(number) < _WRITTEN_OUT:
                texts.setdefault(str(number.numerator), number)  # whoever reads 2.0 may well write 2
    strings_: StringSet | None = None
    numbers_: NumberSet | None = None
    if words:
        strings_ = StringSet(words, None) if norm.options.spelling == "canonical" else StringSet({}, Language.literals(list(words)))
    if texts:
        if norm.options.spelling == "canonical":
            numbers_ = NumberSet(texts, None)
        else:
            numbers_ = NumberSet({}, Language.union([_value(value) for value in texts.values()]), Grid.around(texts.values()))
    return Shape(literals, numbers_, strings_, objects, arrays)


def other_values(norm: Normaliser, site: Site) -> Shape:
    """What ``enum`` and ``const`` do not allow: either may be the one that is broken."""
    schema = site.schema
    shape = NOTHING
    if "enum" in schema:
        shape = _none_of_values(norm, site, _enum(site), "enum")
    if "const" in schema:
        shape = unite(shape, _none_of_values(norm, site, [schema["const"]], "const"))
    return shape


def _none_of_values(norm: Normaliser, site: Site, listed: list[Any], keyword: str) -> Shape:
    literals = ALL_LITERALS
    words: list[str] = []
    numbers: list[Fraction] = []
    containers = Shape(ALL_LITERALS, ANY_NUMBER, ANY_STRING, (ANY_OBJECT,), (ANY_ARRAY,))
    for index, value in enumerate(listed):
        if type(value) is str:
            words.append(whole(site, value, keyword))
        elif value is None:
            literals &= ~NULL
        elif value is True:
            literals &= ~TRUE
        elif value is False:
            literals &= ~FALSE
        elif isinstance(value, (dict, list)):
            other = norm.negative(_container(norm, site, value, keyword, index))
            containers = conjoin(norm, containers, other, site, keyword)
        else:
            numbers.append(_number(site, value, keyword))
    strings_ = StringSet({}, Language.literals(words).complement()) if words else ANY_STRING
    numbers_ = numbers_except(numbers) if numbers else ANY_NUMBER
    return Shape(literals, numbers_, strings_, containers.objects, containers.arrays)


def numbers_except(values: Iterable[Fraction]) -> NumberSet:
    """All numbers but some, however they are spelled."""
    return _all_but(Language.union([_value(value) for value in values]))


def _container(norm: Normaliser, site: Site, value: Any, keyword: str, index: int) -> Site:
    """The schema that an object or array constant means."""
    pointer = f"{site.pointer}/{keyword}/{index}" if keyword == "enum" else f"{site.pointer}/{keyword}"
    schema: dict[str, Any]
    if isinstance(value, dict):
        members = {name: {"const": member} for name, member in value.items()}
        schema = {"type": "object", "properties": members, "required": list(value), "additionalProperties": False}
    else:
        size = len(value)
        schema = {"type": "array", "items": [{"const": item} for item in value], "minItems": size, "maxItems": size}
    return norm.documents.constant(value, schema, site, pointer)
