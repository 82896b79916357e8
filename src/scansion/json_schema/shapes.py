"""The normal form of a schema at one instance location.

A ``Shape`` says, type by type, what a value may be: which of null, false and true, a set of numbers, a set of strings, and lists of
object and array *alternatives* (any one of them must hold). An alternative is a conjunction of *facets*: what one schema object says
about members by name, by pattern and otherwise. Facets are never merged into one another, so ``additionalProperties`` keeps meaning
"not named in its own schema object" however many schemas are conjoined.

An ``Expr`` stands for "all of these schemas": a tuple of atoms (``2 * site index``, plus 1 where negated), ``()`` for anything and
``None`` for nothing. Values inside containers are only named by their ``Expr`` here; each becomes a rule of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scansion._kernel import Language
from scansion.json_schema.formulas import Formula, conjunction
from scansion.json_schema.scalars import ANY_NUMBER, ANY_STRING, NumberSet, StringSet

__all__ = [
    "ALL_LITERALS",
    "ANY",
    "FALSE",
    "LITERAL_LANGUAGES",
    "LITERAL_TEXTS",
    "NOTHING",
    "NOT_EVALUATED",
    "NULL",
    "TRUE",
    "ArrayAlternative",
    "ArrayFacet",
    "Counter",
    "Evaluated",
    "Expr",
    "ObjectAlternative",
    "ObjectFacet",
    "Obligation",
    "Shape",
    "both",
]

NULL, FALSE, TRUE = 1, 2, 4
ALL_LITERALS = 7
# By the sum of such bits: the texts, and the language of them.
LITERAL_TEXTS = [[text for bit, text in ((NULL, "null"), (FALSE, "false"), (TRUE, "true")) if mask & bit] for mask in range(8)]
LITERAL_LANGUAGES = [Language.literals(texts) if len(texts) > 1 else Language.literal("".join(texts)) for texts in LITERAL_TEXTS]

Expr = Any  # tuple[int, ...] | None


def both(left: Expr, right: Expr) -> Expr:
    """The conjunction of two expressions."""
    if left is None or right is None:
        return None
    if not right or left is right:
        return left
    if not left:
        return right
    result = left
    for atom in right:
        if atom not in left:
            if atom ^ 1 in left:
                return None
            result = (*result, atom)
    return result


class ObjectFacet:
    """What one schema object says about members.

    Attributes:
        properties: key to value expression.
        patterns: pairs of a key language and a value expression; all that match apply.
        additional: the expression of keys neither named nor matched.
        names: the keys allowed at all, or None for every key.
        site: index of the site whose ``properties`` these are, -1 where they are no schema's (those of a negation).
    """

    __slots__ = ("additional", "names", "patterns", "properties", "site")

    def __init__(
        self,
        properties: dict[str, Expr],
        patterns: tuple[tuple[Language, Expr], ...] = (),
        additional: Expr = (),
        names: StringSet | None = None,
        site: int = -1,
    ) -> None:
        self.properties = properties
        self.patterns = patterns
        self.additional = additional
        self.names = names
        self.site = site

    def value(self, name: str) -> Expr:
        """The expression for the value of one key."""
        if self.names is not None and name not in self.names:
            return None
        found = name in self.properties
        expr: Expr = self.properties[name] if found else ()
        for language, pattern_expr in self.patterns:
            if language.matches(name):
                found = True
                expr = both(expr, pattern_expr)
        return expr if found else self.additional


class Obligation(ObjectFacet):
    """Some member must have a value in the expression its key is given here (None: that key cannot meet it)."""

    __slots__ = ()


class Evaluated:
    """The members a schema object and its in-place subschemas have evaluated: for ``unevaluatedProperties``."""

    __slots__ = ("everything", "languages", "names")

    def __init__(self, names: frozenset[str], languages: tuple[Language, ...], everything: bool) -> None:
        self.names = names
        self.languages = languages
        self.everything = everything

    def union(self, other: Evaluated) -> Evaluated:
        languages = self.languages + tuple(item for item in other.languages if item not in self.languages)
        return Evaluated(self.names | other.names, languages, self.everything or other.everything)


NOT_EVALUATED = Evaluated(frozenset(), (), False)


class ObjectAlternative:
    """One way to be an object: every facet, every required key, the counts and the condition."""

    __slots__ = ("condition", "evaluated", "facets", "maximum", "minimum", "required")

    def __init__(
        self,
        facets: tuple[ObjectFacet, ...] = (),
        required: tuple[str, ...] = (),
        minimum: int = 0,
        maximum: int = -1,
        condition: Formula = True,
        evaluated: Evaluated = NOT_EVALUATED,
    ) -> None:
        self.facets = facets
        self.required = required
        self.minimum = minimum
        self.maximum = maximum
        self.condition = condition
        self.evaluated = evaluated

    def value(self, name: str) -> Expr:
        """The expression for the value of one key under all facets."""
        expr: Expr = ()
        for facet in self.facets:
            expr = both(expr, facet.value(name))
            if expr is None:
                return None
        return expr

    def values(self, names: Iterable[str]) -> dict[str, Expr]:
        """``value`` of each of some keys."""
        found: dict[str, Expr] = dict.fromkeys(names, ())
        for facet in self.facets:
            if facet.patterns or facet.names is not None:
                for name, expr in found.items():
                    found[name] = both(expr, facet.value(name))
                continue
            stated, additional = facet.properties.get, facet.additional
            for name, expr in found.items():
                own = stated(name, additional)
                if own != ():
                    found[name] = both(expr, own) if expr != () else own
        return found

    def intersect(self, other: ObjectAlternative) -> ObjectAlternative:
        """Both alternatives at once."""
        if self is ANY_OBJECT:
            return other
        if other is ANY_OBJECT:
            return self
        facets = self.facets + tuple(facet for facet in other.facets if facet not in self.facets)
        required = self.required
        if other.required:
            required = tuple(dict.fromkeys(required + other.required)) if required else other.required
        maximum = self.maximum
        if other.maximum >= 0 and (maximum < 0 or other.maximum < maximum):
            maximum = other.maximum
        condition = self.condition
        if other.condition is not True:
            condition = conjunction((condition, other.condition))
        evaluated = self.evaluated
        if other.evaluated is not NOT_EVALUATED:
            evaluated = evaluated.union(other.evaluated)
        return ObjectAlternative(facets, required, max(self.minimum, other.minimum), maximum, condition, evaluated)


class ArrayFacet:
    """What one schema object says about items: by position, and from there on."""

    __slots__ = ("prefix", "rest")

    def __init__(self, prefix: tuple[Expr, ...], rest: Expr) -> None:
        self.prefix = prefix
        self.rest = rest

    def item(self, index: int) -> Expr:
        return self.prefix[index] if index < len(self.prefix) else self.rest


class Counter(ArrayFacet):
    """Between ``low`` and ``high`` (-1: no bound) items are in the expression of their position (None: never counts).

    ``inverse`` is what an item that does not count satisfies; it is needed only where ``high`` is not -1.
    """

    __slots__ = ("high", "inverse", "low")

    def __init__(self, prefix: tuple[Expr, ...], rest: Expr, low: int, high: int, inverse: Expr) -> None:
        super().__init__(prefix, rest)
        self.low = low
        self.high = high
        self.inverse = inverse


class ArrayAlternative:
    """One way to be an array.

    ``evaluated`` is how many leading items in-place subschemas have evaluated (-1: all); ``evaluated_by`` the expressions that
    evaluate whatever item they hold for (``contains``): for ``unevaluatedItems``. ``repeats`` is the pointer of a ``uniqueItems``
    that must be broken (two items equal), or None: it can be pruned, but not written.
    """

    __slots__ = ("counters", "evaluated", "evaluated_by", "facets", "maximum", "minimum", "repeats", "unique")

    def __init__(
        self,
        facets: tuple[ArrayFacet, ...] = (),
        minimum: int = 0,
        maximum: int = -1,
        unique: bool = False,
        counters: tuple[Counter, ...] = (),
        evaluated: int = 0,
        evaluated_by: tuple[Expr, ...] = (),
        repeats: str | None = None,
    ) -> None:
        self.facets = facets
        self.minimum = minimum
        self.maximum = maximum
        self.unique = unique
        self.repeats = repeats
        self.counters = counters
        self.evaluated = evaluated
        self.evaluated_by = evaluated_by

    def item(self, index: int) -> Expr:
        """The expression for the item at an index under all facets (any index past every prefix gives the rest)."""
        expr: Expr = ()
        for facet in self.facets:
            expr = both(expr, facet.item(index))
            if expr is None:
                return None
        return expr

    def intersect(self, other: ArrayAlternative) -> ArrayAlternative:
        """Both alternatives at once."""
        if self is ANY_ARRAY:
            return other
        if other is ANY_ARRAY:
            return self
        maximum = self.maximum
        if other.maximum >= 0 and (maximum < 0 or other.maximum < maximum):
            maximum = other.maximum
        evaluated = -1 if self.evaluated < 0 or other.evaluated < 0 else max(self.evaluated, other.evaluated)
        return ArrayAlternative(
            self.facets + tuple(facet for facet in other.facets if facet not in self.facets),
            max(self.minimum, other.minimum),
            maximum,
            self.unique or other.unique,
            self.counters + tuple(counter for counter in other.counters if counter not in self.counters),
            evaluated,
            self.evaluated_by + tuple(expr for expr in other.evaluated_by if expr not in self.evaluated_by),
            other.repeats if self.repeats is None else self.repeats,
        )


ANY_OBJECT = ObjectAlternative()
ANY_ARRAY = ArrayAlternative()


class Shape:
    """What a value may be, type by type (see the module's head)."""

    __slots__ = ("arrays", "literals", "numbers", "objects", "strings")

    def __init__(
        self,
        literals: int = 0,
        numbers: NumberSet | None = None,
        strings: StringSet | None = None,
        objects: tuple[ObjectAlternative, ...] = (),
        arrays: tuple[ArrayAlternative, ...] = (),
    ) -> None:
        self.literals = literals
        self.numbers = numbers
        self.strings = strings
        self.objects = objects
        self.arrays = arrays


ANY = Shape(ALL_LITERALS, ANY_NUMBER, ANY_STRING, (ANY_OBJECT,), (ANY_ARRAY,))
NOTHING = Shape()
