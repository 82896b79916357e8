"""Which keywords of a schema that allows nothing contradict each other: each in turn is left out, to see whether that helps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from scansion.errors import ScansionError, UnsatisfiableError
from scansion.json_schema.documents import Site
from scansion.json_schema.keywords import KEYWORDS
from scansion.json_schema.shapes import Expr

if TYPE_CHECKING:
    from scansion.json_schema.lower import Lowering

__all__ = ["conflict"]

MAX_TRIALS = 32  # keywords left out one by one
MAX_SITES = 500  # schemas with more subschemas are not tried again: each trial may read them all


def conflict(lowering: Lowering, expr: Expr) -> list[str]:
    """Pointers of the keywords, or of the conjoined schemas, without any one of which something would satisfy an expression.

    Empty where leaving out one does not help, or would take too long to find out.
    """
    documents = lowering.norm.documents
    if not expr or len(documents.sites) > MAX_SITES:
        return []
    if len(expr) == 1:
        if expr[0] & 1:
            return []
        site = documents.sites[expr[0] >> 1]
        trials = [(pointer, documents.synthetic(kept, site, site.pointer).expr) for pointer, kept in _without_one(site)]
    else:
        trials = [(documents.sites[atom >> 1].pointer, tuple(other for other in expr if other != atom)) for atom in expr]
    found = [pointer for pointer, rest in trials[:MAX_TRIALS] if _is_satisfiable(lowering, rest)]
    # Without its type any schema that contradicts itself allows something: it is named where it is one of two.
    return [pointer for pointer in found if not pointer.endswith("/type")] if len(found) > 2 else found


def _without_one(site: Site) -> Iterator[tuple[str, dict[str, Any]]]:
    """The schema of a site without one keyword, or one schema of its ``allOf``."""
    schema = site.schema
    for keyword in schema if isinstance(schema, dict) else ():
        if keyword not in KEYWORDS:
            continue
        parts = schema[keyword]
        if keyword == "allOf" and len(parts) > 1:
            for index in range(len(parts)):
                yield f"{site.pointer}/allOf/{index}", {**schema, "allOf": parts[:index] + parts[index + 1 :]}
        else:
            yield f"{site.pointer}/{keyword}", {name: value for name, value in schema.items() if name != keyword}


def _is_satisfiable(lowering: Lowering, expr: Expr) -> bool:
    try:
        lowering.again().run(expr)
    except UnsatisfiableError:
        return False
    except ScansionError:
        return False  # undecided
    return True
