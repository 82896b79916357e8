"""Which sets of obligations a member may have to meet, where all sets would be too many.

A member whose value is an object or an array cannot be told apart by what it meets: each set of obligations would be an alternative
of its own, 2^n of them. But most sets are never called for. Take a union of record types told apart by an optional ``type``: with a
``type`` the record meets what all other types ask, and its ``parameters`` need to meet nothing or one thing; without one, they
must meet everything. So the condition is written as clauses, all that the other members can do is enumerated as sets of satisfied
clauses, and only what can then be missing is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from scansion.errors import LimitError
from scansion.json_schema.formulas import Formula, conjunction, disjunction, negation
from scansion.json_schema.shapes import Expr

__all__ = ["MAX_SETS", "clauses_of", "covering_choices", "needed_sets", "reachable"]

MAX_CLAUSES = 512
MAX_EXCLUSIVE = 32  # parts of which exactly one holds: as clauses they are a clause for every two
MAX_SETS = 20_000  # sets of satisfied clauses looked at

Clause = frozenset[tuple[str, object]]  # leaves: ("has", key), ("lacks", key), ("met", obligation); any one satisfies it


def clauses_of(condition: Formula) -> list[Clause] | None:
    """The condition as a conjunction of clauses, or None where that is too large."""
    if condition is True:
        return []
    if condition is False:
        return [frozenset()]
    kind, body = condition
    if kind in ("has", "met"):
        return [frozenset((condition,))]
    if kind == "not":
        if body[0] == "has":
            return [frozenset((("lacks", body[1]),))]
        if body[0] in ("and", "or"):
            return clauses_of((disjunction if body[0] == "and" else conjunction)(negation(part) for part in body[1]))
        return None
    if kind == "one":  # some part, and of any two not both
        apart = (disjunction((negation(one), negation(two))) for one, two in combinations(body, 2))
        return clauses_of(conjunction((disjunction(body), *apart))) if len(body) <= MAX_EXCLUSIVE else None
    parts = [clauses_of(part) for part in body]
    if any(part is None for part in parts):
        return None
    if kind == "and":
        joined = [clause for part in parts if part is not None for clause in part]
    else:
        joined = [frozenset()]
        for part in parts:
            joined = [left | right for left in joined for right in part or ()] if part is not None else joined
            if len(joined) > MAX_CLAUSES:
                return None
    return joined if len(joined) <= MAX_CLAUSES else None


def reachable(start: set[int], options: Sequence[int], repeated: bool, where: str) -> set[int]:
    """The sets of satisfied clauses (as bit masks) after one more member takes one of its options.

    Args:
        options: what each option satisfies.
        repeated: the member is a region of keys: any number of them may come.
        where: the place, for a ``LimitError``.
    """
    found = {mask | option for mask in start for option in options}
    while repeated:
        more = found | {mask | option for mask in found for option in options}
        if len(more) == len(found):
            break
        found = more
    if len(found) > MAX_SETS:
        raise LimitError(
            f"{where}: the properties of one object decide conditions in more than {MAX_SETS:,} ways",
            limit="condition_sets",
            allowed=MAX_SETS,
        )
    return found


def needed_sets(satisfied: set[int], everything: int, own: int, others: int, limit: int) -> set[int] | None:
    """The sets of clauses (as masks) a member may have to satisfy.

    Args:
        satisfied: what the members that can be enumerated may have satisfied.
        everything: all clauses. own, others: what the member, and the other members that cannot be enumerated, could satisfy.
        limit: None is returned past this many sets.
    """
    needed: set[int] = set()
    for mask in satisfied:
        missing = everything & ~mask
        if missing & ~(own | others):
            continue  # nothing can complete this
        must = missing & ~others
        free = missing & own & others
        subset = free
        while True:
            needed.add(must | subset)
            if len(needed) > limit:
                return None
            if not subset:
                break
            subset = (subset - 1) & free
    return needed


def covering_choices(covers: dict[Expr, int], clauses: int, where: str) -> list[frozenset[Expr]]:
    """The ways to satisfy some clauses: sets of expressions, one chosen for each clause that those before do not satisfy.

    Args:
        covers: the clauses (as a mask) that each expression satisfies.
        clauses: those to satisfy.
        where: the place, for a ``LimitError``.
    """
    choices: list[tuple[frozenset[Expr], int]] = [(frozenset(), 0)]
    bit = 1
    while bit <= clauses:
        if clauses & bit:
            fresh = [choice for choice in choices if choice[1] & bit]
            for chosen, covered in choices:
                if not covered & bit:
                    fresh += [(chosen | {expr}, covered | mask) for expr, mask in covers.items() if mask & bit]
            choices = list(dict.fromkeys(fresh))
            if len(choices) > MAX_SETS:
                raise LimitError(
                    f"{where}: one property decides conditions in more than {MAX_SETS:,} ways", limit="condition_sets", allowed=MAX_SETS
                )
        bit <<= 1
    return [chosen for chosen, _ in choices]
