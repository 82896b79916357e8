"""Presence formulas: which keys an object must have together, kept whole instead of split into alternatives.

A formula is ``True``, ``False`` or a tuple: ``("has", key)``, ``("met", obligation)``, ``("not", f)``, ``("and", fs)``, ``("or", fs)``.
At the end it becomes an ordered binary decision diagram over the events of one object spec (Bryant, "Graph-based algorithms for
Boolean function manipulation", 1986), which the kernel simplifies as keys arrive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scansion.errors import LimitError
from scansion.program import ProgramBuilder

__all__ = ["MAX_DECISIONS", "Formula", "assume", "conjunction", "decide", "disjunction", "exactly_one", "has", "leaves", "negation"]

MAX_DECISIONS = 20_000  # decision nodes made while one condition is built

Formula = Any  # bool or a tuple, as described above


def has(name: str) -> Formula:
    """The object has this key."""
    return ("has", name)


def conjunction(parts: Iterable[Formula]) -> Formula:
    """All of the parts."""
    kept: list[Formula] = []
    for part in parts:
        if part is False:
            return False
        if part is True:
            continue
        if part[0] == "and":
            kept += [inner for inner in part[1] if inner not in kept]
        elif part not in kept:
            kept.append(part)
    if not kept:
        return True
    return kept[0] if len(kept) == 1 else ("and", tuple(kept))


def disjunction(parts: Iterable[Formula]) -> Formula:
    """Any of the parts."""
    kept: list[Formula] = []
    for part in parts:
        if part is True:
            return True
        if part is not False and part not in kept:
            kept.append(part)
    if not kept:
        return False
    return kept[0] if len(kept) == 1 else ("or", tuple(kept))


def negation(part: Formula) -> Formula:
    """Not the part. Only for formulas without ``met`` leaves: an obligation's event says "was met", never "was broken"."""
    if part is True or part is False:
        return not part
    return part[1] if part[0] == "not" else ("not", part)


def exactly_one(parts: list[Formula]) -> Formula:
    """Exactly one of the parts, in linear size."""
    none: Formula = True
    one: Formula = False
    for part in parts:
        one = disjunction((conjunction((one, negation(part))), conjunction((none, part))))
        none = conjunction((none, negation(part)))
    return one


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
    """``done``: results by identity: shared sub-formulas (``exactly_one``) are looked at once."""
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
            result = (conjunction if kind == "and" else disjunction)(_assume(inner, known, done) for inner in body)
        done[id(part)] = result
    return result


def decide(builder: ProgramBuilder, formula: Formula, events: Mapping[Any, int | bool], names: str) -> int:
    """The decision node of a formula.

    Args:
        events: event number of each leaf, or the truth value it is already known to have.
        names: what to call the cause in a ``LimitError`` (a pointer).
    """
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
            result = 1 if kind == "and" else 0
            for inner in body:
                result = self._join(kind, result, self.build(inner))
        self._done[id(part)] = result
        return result

    def _join(self, op: str, left: int, right: int) -> int:
        """Apply (and | or) to two diagrams."""
        absorbing, neutral = (0, 1) if op == "and" else (1, 0)
        if left == absorbing or right == absorbing:
            return absorbing
        if left in (neutral, right):
            return right
        if right == neutral:
            return left
        if left > right:
            left, right = right, left
        key = (op, left, right)
        known = self._memo.get(key)
        if known is not None:
            return known
        self._made += 1
        if self._made > MAX_DECISIONS:
            raise LimitError(
                f"{self._names}: the conditions on which properties go together need more than {MAX_DECISIONS:,} decisions",
                limit="condition_decisions",
                allowed=MAX_DECISIONS,
            )
        builder = self._builder
        event_left, left_no, left_yes = builder.condition_entry(left)
        event_right, right_no, right_yes = builder.condition_entry(right)
        if event_left == event_right:
            result = builder.condition(event_left, self._join(op, left_no, right_no), self._join(op, left_yes, right_yes))
        elif event_left < event_right:
            result = builder.condition(event_left, self._join(op, left_no, right), self._join(op, left_yes, right))
        else:
            result = builder.condition(event_right, self._join(op, left, right_no), self._join(op, left, right_yes))
        self._memo[key] = result
        return result

    def _flip(self, node: int) -> int:
        if node < 2:
            return 1 - node
        known = self._memo.get(("not", node))
        if known is None:
            event, no, yes = self._builder.condition_entry(node)
            known = self._memo["not", node] = self._builder.condition(event, self._flip(no), self._flip(yes))
        return known
