"""Presence formulas: which keys an object must have together, kept whole instead of split into alternatives.

A formula is ``True``, ``False`` or a tuple: ``("has", key)``, ``("met", obligation)``, ``("not", f)``, ``("and", fs)``, ``("or", fs)``,
``("one", fs)`` (exactly one of them).
At the end it becomes an ordered binary decision diagram over the events of one object spec (Bryant, "Graph-based algorithms for
Boolean function manipulation", 1986), which the kernel simplifies as keys arrive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scansion.errors import LimitError
from scansion.program import ProgramBuilder

__all__ = [
    "MAX_DECIDED",
    "MAX_DECISIONS",
    "Formula",
    "assume",
    "conjunction",
    "decide",
    "disjunction",
    "exactly_one",
    "has",
    "leaves",
    "negation",
]

MAX_DECISIONS = 20_000  # decision nodes made while one condition is built
MAX_DECIDED = 2_000  # keys and obligations one condition asks about

Formula = Any  # bool or a tuple, as described above


def has(name: str) -> Formula:
    """The object has this key."""
    return ("has", name)


def conjunction(parts: Iterable[Formula]) -> Formula:
    """All of the parts."""
    return _joined("and", parts, True)


def disjunction(parts: Iterable[Formula]) -> Formula:
    """Any of the parts."""
    return _joined("or", parts, False)


def _joined(kind: str, parts: Iterable[Formula], neutral: bool) -> Formula:
    """The parts under one ``and`` or ``or``: those of that kind taken in, repetitions left out."""
    kept: dict[Formula, None] = {}
    for part in parts:
        if part is True or part is False:
            if part is not neutral:
                return part
        elif part[0] == kind:
            kept.update(dict.fromkeys(part[1]))
        else:
            kept[part] = None
    if not kept:
        return neutral
    return next(iter(kept)) if len(kept) == 1 else (kind, tuple(kept))


def negation(part: Formula) -> Formula:
    """Not the part. Only for formulas without ``met`` leaves: an obligation's event says "was met", never "was broken"."""
    if part is True or part is False:
        return not part
    return part[1] if part[0] == "not" else ("not", part)


def exactly_one(parts: Iterable[Formula]) -> Formula:
    """Exactly one of the parts, none of which has ``met`` leaves."""
    kept = [part for part in parts if part is not False]
    certain = kept.count(True)
    if certain:
        return conjunction(negation(part) for part in kept if part is not True) if certain == 1 else False
    if len(kept) < 2:
        return kept[0] if kept else False
    return ("one", tuple(kept))


def leaves(part: Formula) -> Iterator[tuple[str, Any]]:
    """The ``has`` and ``met`` leaves, from left to right."""
    stack = [part]
    while stack:
        part = stack.pop()
        if part is True or part is False:
            continue
        if part[0] in ("has", "met"):
            yield part
        elif part[0] == "not":
            stack.append(part[1])
        else:
            stack += part[1][::-1]


def assume(part: Formula, known: Mapping[Any, bool]) -> Formula:
    """The formula with the leaves in ``known`` replaced by their truth values, simplified."""
    return _assume(part, known, {})


def _assume(part: Formula, known: Mapping[Any, bool], done: dict[int, Formula]) -> Formula:
    """``done``: results by identity: shared sub-formulas are looked at once."""
    if part is True or part is False:
        return part
    result = done.get(id(part))
    if result is None:
        kind, body = part
        if kind in ("has", "met"):
            result = known.get(part, part)
        elif kind == "not":
            result = negation(_assume(body, known, done))
        else:
            result = _JOINS[kind](_assume(inner, known, done) for inner in body)
        done[id(part)] = result
    return result


_JOINS = {"and": conjunction, "or": disjunction, "one": exactly_one}


def decide(builder: ProgramBuilder, formula: Formula, events: Mapping[Any, int | bool], names: str) -> int:
    """The decision node of a formula.

    Args:
        events: event number of each leaf, or the truth value it is already known to have.
        names: what to call the cause in a ``LimitError`` (a pointer).

    Raises:
        LimitError: the formula names too many keys, or its diagram is too large.
    """
    if len(events) > MAX_DECIDED and len(set(leaves(formula))) > MAX_DECIDED:
        raise LimitError(
            f"{names}: the condition on which properties go together names more than {MAX_DECIDED:,} of them "
            "(list in required those that must always be there)",
            limit="condition_keys",
            allowed=MAX_DECIDED,
        )
    return _Decisions(builder, events, names).build(formula)


class _Decisions:
    """One condition under construction (an object, not closures: those would be cycles, left to the garbage collector)."""

    __slots__ = ("_builder", "_done", "_events", "_made", "_memo", "_names")

    def __init__(self, builder: ProgramBuilder, events: Mapping[Any, int | bool], names: str) -> None:
        self._builder = builder
        self._events = events
        self._names = names
        self._made = 0
        self._memo: dict[tuple[Any, ...], int] = {}
        self._done: dict[int, int] = {}  # by identity, as in ``_assume``

    def build(self, part: Formula) -> int:
        if part is True:
            return 1
        if part is False:
            return 0
        known = self._done.get(id(part))
        if known is not None:
            return known
        kind, body = part
        if kind == "not":
            result = self._flip(self.build(body))
        elif kind in ("has", "met"):
            event = self._events[part]
            result = int(event) if event is True or event is False else self._builder.condition(event, 0, 1)
        else:
            result = self._fold(kind, [self.build(inner) for inner in body])
        self._done[id(part)] = result
        return result

    def _fold(self, kind: str, nodes: list[int]) -> int:
        """Join diagrams, those that ask late events first: what is joined to them then goes on top, at the cost of one decision."""
        entry = self._builder.condition_entry
        nodes.sort(key=lambda node: -entry(node)[0] if node > 1 else 1)
        if kind != "one":
            result = 1 if kind == "and" else 0
            for node in nodes:
                result = self._join(kind, node, result)
            return result
        none, one = 1, 0
        for node in nodes:
            other = self._flip(node)
            one = self._join("or", self._join("and", one, other), self._join("and", none, node))
            none = self._join("and", none, other)
        return one

    def _join(self, op: str, left: int, right: int) -> int:
        """Apply (and | or) to two diagrams."""
        result = self._joined(op, left, right)
        if result is not None:
            return result
        builder = self._builder
        stack = [(min(left, right), max(left, right))]
        while stack:
            left, right = stack[-1]
            if (op, left, right) in self._memo:
                stack.pop()
                continue
            event_left, left_no, left_yes = builder.condition_entry(left)
            event_right, right_no, right_yes = builder.condition_entry(right)
            if event_left < event_right:
                right_no = right_yes = right
            elif event_right < event_left:
                left_no = left_yes = left
            no = self._joined(op, left_no, right_no)
            yes = self._joined(op, left_yes, right_yes)
            if no is None:
                stack.append((min(left_no, right_no), max(left_no, right_no)))
            if yes is None:
                stack.append((min(left_yes, right_yes), max(left_yes, right_yes)))
            if no is not None and yes is not None:
                stack.pop()
                self._count()
                self._memo[op, left, right] = builder.condition(min(event_left, event_right), no, yes)
        return self._memo[op, left, right]

    def _joined(self, op: str, left: int, right: int) -> int | None:
        """The join of two diagrams where it is plain or known."""
        absorbing, neutral = (0, 1) if op == "and" else (1, 0)
        if left == absorbing or right == absorbing:
            return absorbing
        if left in (neutral, right):
            return right
        if right == neutral:
            return left
        return self._memo.get((op, left, right) if left < right else (op, right, left))

    def _count(self) -> None:
        self._made += 1
        if self._made > MAX_DECISIONS:
            raise LimitError(
                f"{self._names}: the conditions on which properties go together need more than {MAX_DECISIONS:,} decisions",
                limit="condition_decisions",
                allowed=MAX_DECISIONS,
            )

    def _flip(self, node: int) -> int:
        """The diagram that is true where one is false."""
        stack = [node]
        while stack:
            last = stack[-1]
            if self._flipped(last) is not None:
                stack.pop()
                continue
            event, no, yes = self._builder.condition_entry(last)
            other_no, other_yes = self._flipped(no), self._flipped(yes)
            if other_no is None:
                stack.append(no)
            if other_yes is None:
                stack.append(yes)
            if other_no is not None and other_yes is not None:
                stack.pop()
                other = self._builder.condition(event, other_no, other_yes)
                self._memo["not", last] = other
                self._memo["not", other] = last
        return 1 - node if node < 2 else self._memo["not", node]

    def _flipped(self, node: int) -> int | None:
        return 1 - node if node < 2 else self._memo.get(("not", node))
