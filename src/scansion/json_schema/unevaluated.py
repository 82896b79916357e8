"""``unevaluatedProperties`` and ``unevaluatedItems``: members that no other keyword of the schema has looked at.

Alternatives carry what they evaluate. Where several branches of ``anyOf`` hold, all of them evaluate; since evaluating more only
ever allows more, it is enough to offer every non-empty subset of branches as an alternative of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scansion.errors import LimitError
from scansion.json_schema.documents import Site
from scansion.json_schema.object_keywords import must_meet
from scansion.json_schema.shape_algebra import conjoin, evaluates, unite_all
from scansion.json_schema.shapes import (
    ANY,
    NOT_EVALUATED,
    ArrayAlternative,
    ArrayFacet,
    Counter,
    Evaluated,
    Expr,
    ObjectAlternative,
    ObjectFacet,
    Obligation,
    Shape,
    both,
)

if TYPE_CHECKING:
    from scansion.json_schema.normal_form import Normaliser

__all__ = ["any_subset", "positive", "violated"]

MAX_BRANCHES = 10  # branches of an anyOf whose subsets are told apart


def any_subset(norm: Normaliser, site: Site, exprs: list[Expr], branches: list[Shape]) -> Shape:
    """The union of all conjunctions of branches, each evaluating what all of its branches do.

    While ``norm.exact``, a conjunction also denies the branches it leaves out.
    """
    telling = [i for i, branch in enumerate(branches) if norm.exact or evaluates(branch)]
    if len(telling) > MAX_BRANCHES:
        raise LimitError(
            f"#{site.pointer}/anyOf: {len(telling)} branches under unevaluatedProperties or unevaluatedItems, more than {MAX_BRANCHES}",
            limit="unevaluated_branches",
            allowed=MAX_BRANCHES,
        )
    subsets: list[tuple[bool, Shape]] = [(False, ANY)]  # (whether a branch is in it, its shape)
    for i in telling:
        with_branch = [(True, conjoin(norm, subset, branches[i], site, "anyOf")) for _, subset in subsets]
        if norm.exact:
            denied = norm.shape(norm.negated(exprs[i]))
            subsets = [(some, conjoin(norm, subset, denied, site, "anyOf")) for some, subset in subsets]
        subsets += with_branch
    plain = [branch for i, branch in enumerate(branches) if i not in telling]
    united = [conjoin(norm, subset, branch, site, "anyOf") for branch in plain for _, subset in subsets]
    return unite_all((*united, *(subset for some, subset in subsets if some)))


def positive(norm: Normaliser, site: Site, bits: int, tracking: bool) -> Shape:
    """The shape of a site that has ``unevaluatedProperties`` or ``unevaluatedItems``."""
    schema = site.schema
    shape = norm.evaluating(site, bits, True)
    objects, arrays = shape.objects, shape.arrays
    if "unevaluatedProperties" in schema:
        expr = norm.child(site, schema["unevaluatedProperties"], "/unevaluatedProperties")
        objects = tuple(_close_object(item, expr, tracking) for item in objects)
    elif not tracking:
        objects = tuple(_forget_object(item) for item in objects)
    if "unevaluatedItems" in schema:
        expr = norm.child(site, schema["unevaluatedItems"], "/unevaluatedItems")
        arrays = tuple(_close_array(norm, site, item, expr, tracking) for item in arrays)
    elif not tracking:
        arrays = tuple(_forget_array(item) for item in arrays)
    return Shape(shape.literals, shape.numbers, shape.strings, objects, arrays)


_ALL_EVALUATED = Evaluated(frozenset(), (), True)


def _close_object(item: ObjectAlternative, expr: Expr, tracking: bool) -> ObjectAlternative:
    facets = item.facets
    if not item.evaluated.everything and expr != ():
        # Evaluated members are exempt; a key that is both named and under a pattern is simply exempt twice.
        patterns = tuple((language, ()) for language in item.evaluated.languages)
        facets = (*facets, ObjectFacet(dict.fromkeys(sorted(item.evaluated.names), ()), patterns, expr))
    evaluated = _ALL_EVALUATED if tracking else NOT_EVALUATED
    return ObjectAlternative(facets, item.required, item.minimum, item.maximum, item.condition, evaluated)


def _forget_object(item: ObjectAlternative) -> ObjectAlternative:
    if item.evaluated is NOT_EVALUATED:
        return item
    return ObjectAlternative(item.facets, item.required, item.minimum, item.maximum, item.condition)


def _close_array(norm: Normaliser, site: Site, item: ArrayAlternative, expr: Expr, tracking: bool) -> ArrayAlternative:
    facets = item.facets
    if item.evaluated >= 0 and expr != ():
        rest = expr
        if item.evaluated_by:
            # An item for which contains holds is evaluated by it.
            rest = norm.any_of((*item.evaluated_by, expr), site, "/unevaluatedItems")
        facets = (*facets, ArrayFacet(((),) * item.evaluated, rest))
    return ArrayAlternative(facets, item.minimum, item.maximum, item.unique, item.counters, -1 if tracking else 0, (), item.repeats)


def _forget_array(item: ArrayAlternative) -> ArrayAlternative:
    if not item.evaluated and not item.evaluated_by:
        return item
    return ArrayAlternative(item.facets, item.minimum, item.maximum, item.unique, item.counters, repeats=item.repeats)


def violated(norm: Normaliser, site: Site, bits: int) -> Shape:
    """Values that keep every other keyword of the site but have an unevaluated member outside its schema."""
    schema = site.schema
    outer, norm.exact = norm.exact, True
    try:
        shape = norm.evaluating(site, bits, True)
    finally:
        norm.exact = outer
    objects: list[ObjectAlternative] = []
    arrays: list[ArrayAlternative] = []
    if "unevaluatedProperties" in schema:
        wrong = norm.negated(norm.child(site, schema["unevaluatedProperties"], "/unevaluatedProperties"))
        for item in shape.objects:
            if item.evaluated.everything or wrong is None:
                continue
            exempt: dict[str, Expr] = dict.fromkeys(sorted(item.evaluated.names), None)
            patterns = tuple((language, None) for language in item.evaluated.languages)
            objects.append(_forget_object(item).intersect(must_meet(Obligation(exempt, patterns, wrong))))
    if "unevaluatedItems" in schema:
        good = norm.child(site, schema["unevaluatedItems"], "/unevaluatedItems")
        wrong = norm.negated(good)
        for array in shape.arrays:
            if array.evaluated < 0 or wrong is None:
                continue
            for expr in array.evaluated_by:
                wrong = both(wrong, norm.negated(expr))
            skipped: tuple[Expr, ...] = (None,) * array.evaluated
            counter = Counter(skipped, wrong, 1, -1, ())
            least = ArrayAlternative(minimum=array.evaluated + 1, counters=(counter,))
            arrays.append(_forget_array(array).intersect(least))
    return Shape(objects=tuple(objects), arrays=tuple(arrays))
