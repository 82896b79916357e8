"""Keywords on arrays: what one schema object says about items, and how it can be broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scansion.json_schema.documents import Site
from scansion.json_schema.json_values import kind_of
from scansion.json_schema.keywords import above, below, least, most
from scansion.json_schema.shapes import ArrayAlternative, ArrayFacet, Counter, Expr

if TYPE_CHECKING:
    from scansion.json_schema.normal_form import Normaliser

__all__ = ["alternative", "violations"]


def alternative(norm: Normaliser, site: Site, tracking: bool) -> ArrayAlternative:
    """The arrays that the array keywords of a site allow."""
    schema = site.schema
    facet, complete = _facet(norm, site)
    minimum = least(site, "minItems") if "minItems" in schema else 0
    maximum = most(site, "maxItems") if "maxItems" in schema else -1
    unique = schema.get("uniqueItems", False)
    if not isinstance(unique, bool):
        raise site.wrong(f"uniqueItems must be a boolean, not {kind_of(unique)}", "uniqueItems")
    counters: tuple[Counter, ...] = ()
    evaluated_by: tuple[Expr, ...] = ()
    if "contains" in schema:
        expr, low, high = _contains(norm, site)
        if low or high >= 0:
            counters = (Counter((), expr, low, high, norm.negated(expr)),)
            minimum = max(minimum, low)
        if tracking and site.resource.draft >= 2020:
            evaluated_by = (expr,)
    evaluated = 0
    if tracking and facet is not None:
        evaluated = -1 if complete else len(facet.prefix)
    return ArrayAlternative((facet,) if facet is not None else (), minimum, maximum, unique, counters, evaluated, evaluated_by)


def _facet(norm: Normaliser, site: Site) -> tuple[ArrayFacet | None, bool]:
    """What the site says about items by position, and whether that covers all of them."""
    schema = site.schema
    prefix: tuple[Expr, ...] = ()
    rest: Any = None
    rest_keyword = "items"
    if "prefixItems" in schema:
        listed = schema["prefixItems"]
        if not isinstance(listed, list):
            raise site.wrong(f"prefixItems must be an array of schemas, not {kind_of(listed)}", "prefixItems")
        prefix = tuple(norm.child(site, item, f"/prefixItems/{i}") for i, item in enumerate(listed))
        stated = "items" in schema
        rest = schema.get("items", True)
        if isinstance(rest, list):
            raise site.wrong("items is an array of schemas beside prefixItems", "items", "give it one schema: that of the further items")
    elif isinstance(schema.get("items"), list):  # before 2020-12: by position, and additionalItems from there on
        prefix = tuple(norm.child(site, item, f"/items/{i}") for i, item in enumerate(schema["items"]))
        stated = "additionalItems" in schema
        rest_keyword = "additionalItems"
        rest = schema.get("additionalItems", True)
    else:
        stated = "items" in schema
        rest = schema.get("items", True)
    if not prefix and not stated:
        return None, False
    return ArrayFacet(prefix, norm.child(site, rest, f"/{rest_keyword}")), stated


def _contains(norm: Normaliser, site: Site) -> tuple[Expr, int, int]:
    schema = site.schema
    expr = norm.child(site, schema["contains"], "/contains")
    return expr, least(site, "minContains", 1), most(site, "maxContains")


def violations(norm: Normaliser, site: Site) -> tuple[ArrayAlternative, ...]:
    """The ways an array can break the array keywords of a site, as alternatives."""
    schema = site.schema
    broken: list[ArrayAlternative] = []
    fewer, more = below(site, "minItems"), above(site, "maxItems")
    if fewer is not None:
        broken.append(ArrayAlternative(maximum=fewer))
    if more is not None:
        broken.append(ArrayAlternative(minimum=more))
    if schema.get("uniqueItems") is True:
        broken.append(ArrayAlternative(minimum=2, repeats=f"{site.pointer}/uniqueItems"))
    if "contains" in schema:
        expr, low, high = _contains(norm, site)
        negated = norm.negated(expr)
        if low == 1:
            broken.append(ArrayAlternative((ArrayFacet((), negated),)))
        elif low > 1:
            broken.append(ArrayAlternative(counters=(Counter((), expr, 0, low - 1, negated),)))
        if high >= 0:
            broken.append(ArrayAlternative(minimum=high + 1, counters=(Counter((), expr, high + 1, -1, negated),)))
    facet, _ = _facet(norm, site)
    if facet is not None:
        for index, item in enumerate(facet.prefix):
            if item != ():
                wrong = (*[()] * index, norm.negated(item))
                broken.append(ArrayAlternative((ArrayFacet(wrong, ()),), minimum=index + 1))
        if facet.rest is None:
            broken.append(ArrayAlternative(minimum=len(facet.prefix) + 1))
        elif facet.rest != ():
            skipped: tuple[Expr, ...] = (None,) * len(facet.prefix)
            counter = Counter(skipped, norm.negated(facet.rest), 1, -1, facet.rest)
            broken.append(ArrayAlternative(minimum=len(facet.prefix) + 1, counters=(counter,)))
    return tuple(broken)
