"""Conjunction and union of normal forms, with the pruning that keeps the number of alternatives small."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from scansion.errors import LimitError
from scansion.json_schema.documents import Site
from scansion.json_schema.formulas import Formula, conjunction, disjunction, has, negation
from scansion.json_schema.scalars import ANY_NUMBER, ANY_STRING, NumberSet, StringSet
from scansion.json_schema.shapes import (
    ALL_LITERALS,
    ANY,
    ANY_ARRAY,
    ANY_OBJECT,
    NOT_EVALUATED,
    NOTHING,
    ArrayAlternative,
    ObjectAlternative,
    Shape,
)

if TYPE_CHECKING:
    from scansion.json_schema.normal_form import Normaliser

__all__ = [
    "MAX_ALTERNATIVES",
    "conjoin",
    "evaluates",
    "impossible_array",
    "impossible_object",
    "presence",
    "unite",
    "unite_all",
    "unite_objects",
    "with_key",
    "without_key",
]

MAX_ALTERNATIVES = 1_000  # object (or array) alternatives of one value, after pruning
MAX_PRODUCT = 20_000  # pairs looked at in one conjunction


def conjoin(norm: Normaliser, left: Shape, right: Shape, site: Site, keyword: str = "") -> Shape:
    """Values both shapes allow.

    Raises:
        LimitError: the conjunction of alternatives is too large; names the place.
    """
    if left is ANY or left is right:
        return right
    if right is ANY:
        return left
    if left is NOTHING or right is NOTHING:
        return NOTHING
    numbers = strings = None
    if left.numbers is not None and right.numbers is not None:
        numbers = left.numbers.intersect(right.numbers)
    if left.strings is not None and right.strings is not None:
        strings = left.strings.intersect(right.strings)
    return Shape(
        left.literals & right.literals,
        numbers,
        strings,
        conjoin_objects(norm, left.objects, right.objects, site, keyword),
        conjoin_arrays(norm, left.arrays, right.arrays, site, keyword),
    )


def conjoin_objects(
    norm: Normaliser, left: tuple[ObjectAlternative, ...], right: tuple[ObjectAlternative, ...], site: Site, keyword: str
) -> tuple[ObjectAlternative, ...]:
    """Every pair of alternatives that some object can satisfy."""
    if not left or not right:
        return ()
    if left == (ANY_OBJECT,) or left is right:
        return right
    if right == (ANY_OBJECT,):
        return left
    if len(left) == 1 and len(right) == 1:
        return (left[0].intersect(right[0]),)
    _check_product(norm, len(left) * len(right), "objects", site, keyword)
    result = []
    for one in left:
        for two in right:
            joined = one.intersect(two)
            if not impossible_object(norm, joined):
                result.append(joined)
    _check_alternatives(norm, len(result), "objects", site, keyword)
    return tuple(result)


def conjoin_arrays(
    norm: Normaliser, left: tuple[ArrayAlternative, ...], right: tuple[ArrayAlternative, ...], site: Site, keyword: str
) -> tuple[ArrayAlternative, ...]:
    """Every pair of alternatives that some array can satisfy."""
    if not left or not right:
        return ()
    if left == (ANY_ARRAY,) or left is right:
        return right
    if right == (ANY_ARRAY,):
        return left
    if len(left) == 1 and len(right) == 1:
        return (left[0].intersect(right[0]),)
    _check_product(norm, len(left) * len(right), "arrays", site, keyword)
    result = []
    for one in left:
        for two in right:
            joined = one.intersect(two)
            if not impossible_array(norm, joined):
                result.append(joined)
    _check_alternatives(norm, len(result), "arrays", site, keyword)
    return tuple(result)


def impossible_object(norm: Normaliser, alternative: ObjectAlternative) -> bool:
    """Whether an alternative is seen to be empty from its counts and its required keys alone."""
    if alternative.condition is False or (0 <= alternative.maximum < max(alternative.minimum, len(alternative.required))):
        return True
    for name in alternative.required:
        expr = alternative.value(name)
        if expr is None or (len(expr) > 1 and norm.impossible(expr)):
            return True
    return alternative.condition is not True and _contradicts(alternative.condition, alternative)


def _contradicts(condition: Formula, alternative: ObjectAlternative) -> bool:
    """Whether one conjunct of the condition denies a required key (the frequent case of ``if`` and ``dependencies``)."""
    for part in condition[1] if condition[0] == "and" else (condition,):
        if part[0] == "not" and part[1][0] == "has" and part[1][1] in alternative.required:
            return True
    return False


def impossible_array(norm: Normaliser, alternative: ArrayAlternative) -> bool:
    """Whether an alternative is seen to be empty from its counts and the items it must have."""
    if 0 <= alternative.maximum < alternative.minimum or (alternative.unique and alternative.repeats is not None):
        return True
    longest = max((len(facet.prefix) for facet in alternative.facets), default=0)
    return any(norm.impossible(alternative.item(index)) for index in range(min(alternative.minimum, longest + 1)))


def unite(left: Shape, right: Shape) -> Shape:
    """Values either shape allows."""
    return unite_all((left, right))


def unite_all(shapes: Iterable[Shape]) -> Shape:
    """Values some shape allows."""
    kept = [shape for shape in dict.fromkeys(shapes) if shape is not NOTHING]
    if len(kept) < 2:
        return kept[0] if kept else NOTHING
    if ANY in kept and not any(shape is not ANY and evaluates(shape) for shape in kept):
        return ANY
    literals = 0
    numbers: list[NumberSet] = []
    strings: list[StringSet] = []
    objects: list[ObjectAlternative] = []
    arrays: dict[ArrayAlternative, None] = {}
    for shape in kept:
        literals |= shape.literals
        if shape.numbers is not None:
            numbers.append(shape.numbers)
        if shape.strings is not None:
            strings.append(shape.strings)
        objects += shape.objects
        if shape.arrays:
            arrays.update(dict.fromkeys(shape.arrays))
    if ANY_ARRAY in arrays:
        arrays = dict.fromkeys((ANY_ARRAY, *(item for item in arrays if item.evaluated or item.evaluated_by)))
    return Shape(literals, NumberSet.union_of(numbers), StringSet.union_of(strings), unite_objects(objects), tuple(arrays))


def evaluates(shape: Shape) -> bool:
    """Whether some alternative says that it evaluates members or items."""
    return any(item.evaluated is not NOT_EVALUATED for item in shape.objects) or any(
        item.evaluated or item.evaluated_by for item in shape.arrays
    )


def unite_objects(alternatives: Sequence[ObjectAlternative]) -> tuple[ObjectAlternative, ...]:
    """The alternatives, those that differ only in which keys must be present made one with a condition."""
    if len(alternatives) < 2:
        return tuple(alternatives)
    if ANY_OBJECT in alternatives:
        # Alternatives that evaluate members say more than "any object" does, where someone asks what is unevaluated.
        return (ANY_OBJECT, *(item for item in alternatives if item.evaluated is not NOT_EVALUATED))
    groups: dict[object, list[ObjectAlternative]] = {}
    for item in alternatives:
        groups.setdefault((item.facets, item.minimum, item.maximum, item.evaluated), []).append(item)
    if len(groups) == len(alternatives):
        return tuple(alternatives)
    result = []
    for group in groups.values():
        if len(group) == 1:
            result.append(group[0])
            continue
        shared = frozenset(group[0].required).intersection(*(item.required for item in group))
        common = tuple(name for name in group[0].required if name in shared)
        condition = disjunction(presence(item, shared) for item in group)
        first = group[0]
        if condition is True and not common and not first.facets and not first.minimum and first.maximum < 0 and len(groups) == 1:
            return (ANY_OBJECT,)
        result.append(ObjectAlternative(first.facets, common, first.minimum, first.maximum, condition, first.evaluated))
    return tuple(result)


def presence(alternative: ObjectAlternative, known: frozenset[str] = frozenset()) -> Formula:
    """The presence formula of an alternative; keys in ``known`` are taken to be there."""
    required = [has(name) for name in alternative.required if name not in known]
    return conjunction((*required, alternative.condition))


def with_key(name: str) -> Shape:
    """Objects that have a key."""
    return Shape(objects=(ObjectAlternative(required=(name,)),))


def without_key(name: str) -> Shape:
    """Objects that lack a key, and everything that is not an object."""
    return Shape(ALL_LITERALS, ANY_NUMBER, ANY_STRING, (ObjectAlternative(condition=negation(has(name))),), (ANY_ARRAY,))


def _check_product(norm: Normaliser, product: int, what: str, site: Site, keyword: str) -> None:
    if product > MAX_PRODUCT:
        raise LimitError(
            f"{norm.words(site, keyword)}: combining alternatives for {what} gives {product:,} pairs, more than {MAX_PRODUCT:,}",
            limit="alternatives",
            allowed=MAX_PRODUCT,
        )


def _check_alternatives(norm: Normaliser, number: int, what: str, site: Site, keyword: str) -> None:
    if number > MAX_ALTERNATIVES:
        raise LimitError(
            f"{norm.words(site, keyword)}: {number:,} alternatives for {what} remain, more than {MAX_ALTERNATIVES:,}",
            limit="alternatives",
            allowed=MAX_ALTERNATIVES,
        )
