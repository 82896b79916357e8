"""``oneOf``: exactly one branch holds.

Branches that no value can satisfy together (other types, a discriminating ``const``, a key required here and forbidden there) are
simply united. The others are told apart: branches that differ only in which keys they require get one condition, scalars
are cut out of each other exactly, and what is left is expanded to "this branch and none of those it overlaps".

Whether branches overlap is asked of the values that the rest of the schema lets through: a discriminator is often required
beside the ``oneOf`` and not in its branches, and expanding what never meets costs alternatives by the hundred.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from scansion.json_schema import scalar_keywords
from scansion.json_schema.documents import Site
from scansion.json_schema.formulas import exactly_one as exactly_one_formula
from scansion.json_schema.formulas import leaves
from scansion.json_schema.overlaps import overlapping_numbers, overlaps
from scansion.json_schema.scalars import ANY_NUMBER, ANYTHING, NumberSet, StringSet
from scansion.json_schema.shape_algebra import (
    conjoin_arrays,
    conjoin_objects,
    impossible_array,
    impossible_object,
    presence,
    unite_objects,
)
from scansion.json_schema.shapes import ANY_ARRAY, ANY_OBJECT, ArrayAlternative, Expr, ObjectAlternative, Shape

if TYPE_CHECKING:
    from scansion.json_schema.normal_form import Normaliser

__all__ = ["exactly_one"]

_FEW = 4  # alternatives of the schema around a ``oneOf`` with which overlaps are looked for


def exactly_one(norm: Normaliser, site: Site, exprs: list[Expr], branches: list[Shape], around: Shape) -> Shape:
    """The shape of values that exactly one branch allows, to be conjoined with ``around``: outside of that it may hold more.

    Args:
        exprs: the branches as expressions, for their negations.
        branches: their shapes.
        around: what the other keywords of the schema allow.
    """
    apart = _apart(branches)
    if apart is not None:
        return apart
    once = twice = 0
    for branch in branches:
        twice |= once & branch.literals
        once |= branch.literals
    return Shape(
        once & ~twice,
        _numbers(norm, site, exprs, branches),
        _strings(branches),
        _objects(norm, site, exprs, branches, around.objects if len(around.objects) <= _FEW else (ANY_OBJECT,)),
        _arrays(norm, site, exprs, branches),
    )


def _apart(branches: list[Shape]) -> Shape | None:
    """The union of branches no two of which allow values of one type (a reference or null, say); None where some do."""
    literals = 0
    numbers: NumberSet | None = None
    strings: StringSet | None = None
    objects: tuple[ObjectAlternative, ...] = ()
    arrays: tuple[ArrayAlternative, ...] = ()
    for branch in branches:
        if branch.literals & literals:
            return None
        literals |= branch.literals
        if branch.numbers is not None:
            if numbers is not None:
                return None
            numbers = branch.numbers
        if branch.strings is not None:
            if strings is not None:
                return None
            strings = branch.strings
        if branch.objects:
            if objects:
                return None
            objects = branch.objects
        if branch.arrays:
            if arrays:
                return None
            arrays = branch.arrays
    return Shape(literals, numbers, strings, objects, arrays)


def _strings(branches: list[Shape]) -> StringSet | None:
    sets = [branch.strings for branch in branches if branch.strings is not None]
    if not sets or sum(item.language is ANYTHING for item in sets) > 1:
        return None
    if len(sets) == 1:
        return sets[0]
    words = Counter(word for item in sets for word in item.words)
    for item in sets:
        if item.language is not None:
            words.update([word for word in words if word not in item.words and word in item])
    kept: dict[str, None] = {word: None for word, number in words.items() if number == 1}
    languages = [item.language for item in sets if item.language is not None]
    if not languages:
        return StringSet(kept, None)
    # A word is spelled canonically, or in any way where only a language has it; the latter words are left to the language.
    once = StringSet({}, languages[0])
    more: StringSet | None = None
    for language in languages[1:]:
        item = StringSet({}, language)
        overlap = once.intersect(item)
        if not overlap.is_empty:
            more = overlap if more is None else more.union(overlap)
        once = once.union(item)
    if more is not None:
        once = once.intersect(more.complement())
    if words:
        once = once.intersect(StringSet(dict.fromkeys(words), None).complement())
    return StringSet(kept, once.language)


def _numbers(norm: Normaliser, site: Site, exprs: list[Expr], branches: list[Shape]) -> NumberSet | None:
    holders = [(expr, branch.numbers) for expr, branch in zip(exprs, branches, strict=True) if branch.numbers is not None]
    if not holders or sum(numbers is ANY_NUMBER for _, numbers in holders) > 1:
        return None
    if len(holders) == 1:
        return holders[0][1]
    # Numbers that are listed are counted; only the others are intersected with what the branches they may meet do not allow.
    listed = Counter(value for _, numbers in holders if numbers.language is None for value in set(numbers.words.values()))
    open_ended = [i for i, (_, numbers) in enumerate(holders) if numbers.language is not None]
    unlisted = scalar_keywords.numbers_except(listed) if listed and open_ended else ANY_NUMBER
    meeting = overlapping_numbers(site, [numbers for _, numbers in holders]) if open_ended else [[] for _ in holders]
    result: list[NumberSet] = []
    for i, (_, numbers) in enumerate(holders):
        if numbers.language is None:
            numbers = NumberSet({text: value for text, value in numbers.words.items() if listed[value] == 1}, None)
        else:
            numbers = numbers.intersect(unlisted)
        for j in meeting[i]:
            expr, other = holders[j]
            if other.language is not None:
                excluded = norm.shape(norm.negated(expr)).numbers
                numbers = numbers.intersect(excluded) if excluded is not None else NumberSet({}, None)
        result.append(numbers)
    return NumberSet.union_of(result)


def _objects(
    norm: Normaliser, site: Site, exprs: list[Expr], branches: list[Shape], around: tuple[ObjectAlternative, ...]
) -> tuple[ObjectAlternative, ...]:
    holders = [i for i, branch in enumerate(branches) if branch.objects]
    if len(holders) < 2:
        return branches[holders[0]].objects if holders else ()
    if sum(ANY_OBJECT in branches[i].objects for i in holders) > 1:
        return ()
    by_presence = _by_presence([branches[i].objects for i in holders])
    if by_presence is not None:
        return by_presence
    meeting = overlaps(norm, site, [branches[i].objects for i in holders], lambda left, right: _objects_meet(norm, left, right, around))
    result: list[ObjectAlternative] = []
    for i, others in zip(holders, meeting, strict=True):
        kept = branches[i].objects
        for j in others:
            kept = conjoin_objects(norm, kept, norm.shape(norm.negated(exprs[holders[j]])).objects, site, f"oneOf/{i}")
        result += kept
    return unite_objects(result)


def _by_presence(branches: list[tuple[ObjectAlternative, ...]]) -> tuple[ObjectAlternative, ...] | None:
    """One alternative with a condition, where branches differ only in the keys they ask for or deny; otherwise None."""
    first = branches[0][0]
    for alternatives in branches:
        if len(alternatives) != 1:
            return None
        only = alternatives[0]
        if only.facets != first.facets or only.minimum != first.minimum or only.maximum != first.maximum:
            return None
        if only.evaluated is not first.evaluated or any(kind == "met" for kind, _ in leaves(only.condition)):
            return None
    condition = exactly_one_formula([presence(alternatives[0]) for alternatives in branches])
    return (ObjectAlternative(first.facets, (), first.minimum, first.maximum, condition, first.evaluated),)


def _objects_meet(
    norm: Normaliser,
    left: Sequence[ObjectAlternative],
    right: Sequence[ObjectAlternative],
    around: tuple[ObjectAlternative, ...],
) -> bool:
    for one in left:
        for two in right:
            joined = one.intersect(two)
            if any(not impossible_object(norm, joined.intersect(outside)) for outside in around):
                return True
    return False


def _arrays(norm: Normaliser, site: Site, exprs: list[Expr], branches: list[Shape]) -> tuple[ArrayAlternative, ...]:
    holders = [i for i, branch in enumerate(branches) if branch.arrays]
    if len(holders) < 2:
        return branches[holders[0]].arrays if holders else ()
    if sum(ANY_ARRAY in branches[i].arrays for i in holders) > 1:
        return ()
    meeting = overlaps(norm, site, [branches[i].arrays for i in holders], partial(_arrays_meet, norm))
    result: list[ArrayAlternative] = []
    for i, others in zip(holders, meeting, strict=True):
        kept = branches[i].arrays
        for j in others:
            kept = conjoin_arrays(norm, kept, norm.shape(norm.negated(exprs[holders[j]])).arrays, site, f"oneOf/{i}")
        result += kept
    return tuple(result)


def _arrays_meet(norm: Normaliser, left: Sequence[ArrayAlternative], right: Sequence[ArrayAlternative]) -> bool:
    return any(not impossible_array(norm, one.intersect(two)) for one in left for two in right)
