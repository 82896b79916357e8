"""Conditions of an object to decision diagrams, and what each member can contribute to them.

Obligations become events of the members that can meet them: a member's value gets alternatives, each with the events that are true when
it matched. Alternatives may overlap, since a condition only ever asks that an obligation *was* met; they are kept apart where what
does not meet it is plain scalars, so that a discriminating ``enum`` under many obligations makes one alternative for each
of its values and not one for each set of them.

Decision diagrams live or die by the order of their variables. Events are numbered as the condition names them, so that what is decided
together is numbered together; where presence is asked beside obligations, it gets an event of its own there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from scansion.errors import LimitError
from scansion.json_schema.formulas import Formula, assume, decide, leaves
from scansion.json_schema.needed_ways import clauses_of, covering_choices, needed_sets, reachable
from scansion.json_schema.shapes import Expr, Obligation, both

if TYPE_CHECKING:
    from scansion.json_schema.lower import Lowering

__all__ = ["MAX_WAYS", "Member", "WrittenCondition", "write_condition"]

MAX_WAYS = 512  # alternatives of one member's value
MAX_STEPS = 20_000  # ways and obligations put together for one member
MAX_OVERLAPPING = 4  # obligations for all of whose sets a member gets alternatives

Way = tuple[Expr, tuple[int, ...]]  # a value expression, and the obligations (by index) it meets


class Member:
    """A key, or a region of keys (``name`` None): its value, and what each obligation asks of it (None: it cannot meet that one)."""

    __slots__ = ("asked", "name", "required", "value")

    def __init__(self, name: str | None, value: Expr, asked: tuple[Expr, ...], required: bool = False) -> None:
        self.required = required
        self.name = name
        self.value = value
        self.asked = asked


class WrittenCondition:
    """The decision node of a condition (0 never, 1 always), and the value of each member with its events."""

    def __init__(
        self, lowering: Lowering, node: int, ways: dict[int, list[Way]], events: dict[Any, int], obligations: Sequence[Any]
    ) -> None:
        self.node = node
        self._lowering = lowering
        self._ways = ways
        self._events = events
        self._met = [events.get(("met", item)) for item in obligations] if events else [None] * len(obligations)

    def value(self, member: Member) -> Any:
        """-1, a rule, or a tuple of (rule, events)."""
        if member.value is None:
            return -1
        rule = self._lowering.rule
        ways = self._ways.get(id(member))
        present = self._events.get(("has", member.name)) if self._events else None
        own: tuple[int, ...] = () if present is None else (present,)
        if ways is None:
            return rule(member.value) if not own else ((rule(member.value), own),)
        events = self._met
        numbered = []
        for value, met in ways:
            known = [event for event in (events[i] for i in met) if event is not None]
            numbered.append((rule(value), tuple(sorted((*own, *known))) if known else own))
        if len(numbered) == 1 and not numbered[0][1]:
            return numbered[0][0]
        return tuple(dict.fromkeys(numbered))


def write_condition(
    lowering: Lowering, condition: Formula, obligations: Sequence[Obligation], members: Sequence[Member], regions: Sequence[Member]
) -> WrittenCondition:
    """Decide a condition over the events of members and regions.

    Args:
        condition: without leaves whose truth is known.
        obligations: those in the condition, in the order of ``Member.asked``.

    Raises:
        LimitError: the diagram, or the alternatives of a member, are too many.
    """
    if condition is True:
        return WrittenCondition(lowering, 1, {}, {}, obligations)
    ways: dict[int, list[Way]] = {}
    meetable: set[int] = set()
    for member in (*members, *regions):
        if member.value is not None and any(expr is not None for expr in member.asked):
            found = _ways(lowering, member)
            if found is None:  # too many sets of obligations: only those the condition may call for
                found = _needed_ways(lowering, condition, obligations, members, regions, member)
            ways[id(member)] = found
            meetable.update(i for _, met in found for i in met)
    condition = assume(condition, {("met", item): False for i, item in enumerate(obligations) if i not in meetable})
    events: dict[Any, int] = {}
    if not obligations:
        presence = {("has", member.name): i for i, member in enumerate(members)}
        try:
            node = decide(lowering.builder, condition, presence, lowering.where)
            return WrittenCondition(lowering, node, ways, {}, obligations)
        except LimitError:
            pass  # the order of the keys is a bad order of decisions: number them as the condition names them
    for leaf in leaves(condition):
        if leaf not in events:
            events[leaf] = len(members) + len(events)
    node = decide(lowering.builder, condition, events, lowering.where)
    return WrittenCondition(lowering, node, ways, events, obligations)


def _ways(lowering: Lowering, member: Member) -> list[Way] | None:
    """The ways to meet some of the obligations a member can meet; None where they are too many."""
    norm = lowering.norm
    ways: list[Way] = [(member.value, ())]
    overlapping = steps = 0
    for expr, numbers in _asked(lowering, member).items():
        steps += len(ways)
        fresh: list[Way] = []
        overlaps = False
        for way, met in ways:
            inside = both(way, expr)
            if inside == way:
                fresh.append((way, (*met, *numbers)))
            elif norm.impossible(inside):
                fresh.append((way, met))
            else:
                fresh.append((inside, (*met, *numbers)))
                outside = way
                if len(expr) == 1:
                    apart = both(way, norm.negated(expr))
                    if norm.impossible(apart):
                        continue
                    shape = norm.shape(apart)
                    if not shape.objects and not shape.arrays:
                        outside = apart
                overlaps = overlaps or outside is way
                fresh.append((outside, met))
        ways = fresh
        overlapping += overlaps
        if overlapping > MAX_OVERLAPPING or len(ways) > MAX_WAYS or steps > MAX_STEPS:
            return None
    return ways


def _asked(lowering: Lowering, member: Member) -> dict[Expr, list[int]]:
    """What is asked of a member, and by which obligations; what is written alike is asked once."""
    asked = [(number, expr) for number, expr in enumerate(member.asked) if expr is not None]
    if len(asked) == 1:
        return {asked[0][1]: [asked[0][0]]}
    alike: dict[Expr, list[int]] = {}
    for number, expr in asked:
        alike.setdefault(lowering.norm.representative(expr), []).append(number)
    return alike


def _needed_ways(
    lowering: Lowering,
    condition: Formula,
    obligations: Sequence[Obligation],
    members: Sequence[Member],
    regions: Sequence[Member],
    member: Member,
) -> list[Way]:
    """The ways to meet what the condition may call for once the other members have done what they can (see ``needed_ways``)."""
    clauses = clauses_of(condition)
    needed: set[int] | None = None
    masks: dict[Any, int] = {}
    if clauses is not None:
        for bit, clause in enumerate(clauses):
            for leaf in clause:
                masks[leaf] = masks.get(leaf, 0) | 1 << bit

        def meets(numbers: Iterable[int]) -> int:
            mask = 0
            for number in numbers:
                mask |= masks.get(("met", obligations[number]), 0)
            return mask

        satisfied = {0}
        others = 0
        for other in (*members, *regions):
            if other.value is None:
                continue
            here = masks.get(("has", other.name), 0)
            absent = masks.get(("lacks", other.name), 0)
            if other is member:
                satisfied = {mask | here for mask in satisfied}
                continue
            found = _ways(lowering, other) if any(expr is not None for expr in other.asked) else [(other.value, ())]
            if found is None:
                others |= meets(number for number, expr in enumerate(other.asked) if expr is not None)
                found = [(other.value, ())]
            options = {here | meets(met) for _, met in found}
            if not other.required:
                options.add(absent)
            if options != {0}:
                satisfied = reachable(satisfied, sorted(options), other.name is None, lowering.where)
        own = meets(number for number, expr in enumerate(member.asked) if expr is not None)
        if member.name is None:
            others |= own  # more keys of the region may come, and share what is to be met
        needed = needed_sets(satisfied, (1 << len(clauses)) - 1, own, others, MAX_WAYS)
    if needed is None:
        raise _too_many_ways(lowering)
    asked = _asked(lowering, member)
    covers = {expr: meets(numbers) for expr, numbers in asked.items()}
    ways: dict[frozenset[Expr], Way] = {}
    for mask in sorted(needed | {0}):
        for chosen in covering_choices(covers, mask, lowering.where):
            way, met = member.value, []
            for expr in chosen:
                way = both(way, expr)
                met += asked[expr]
            if not lowering.norm.impossible(way):
                ways[chosen] = (way, tuple(met))
        if len(ways) > MAX_WAYS:
            raise _too_many_ways(lowering)
    return list(ways.values())


def _too_many_ways(lowering: Lowering) -> LimitError:
    return LimitError(
        f"{lowering.where}: one property decides conditions in more than {MAX_WAYS} ways", limit="member_alternatives", allowed=MAX_WAYS
    )
