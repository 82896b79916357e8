"""Automata of languages, for writing them as rules: derivatives as states, equivalent ones merged, or folded into one expression."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from scansion._kernel import Language
from scansion.errors import LimitError
from scansion.grammar.nodes import EMPTY, NOTHING, Expression, choice, repeat, seq

__all__ = ["Automaton", "Edges", "Ranges", "automaton", "eliminated", "joined", "minimised"]

_MAX_EXPRESSION = 1000  # classes in the expression an automaton is folded into

Ranges = tuple[tuple[int, int], ...]
Edges = list[list[tuple[Ranges, int]]]
Automaton = tuple[Edges, list[bool]]
"""Edges out of each state, at most one from each to each, and which states accept. State 0 is the start; all lead to an end."""


def automaton(language: Language, max_states: int) -> Automaton:
    """The derivatives of a language as states, with the classes that lead from each to each.

    Raises:
        LimitError: more than ``max_states``.
    """
    states = [language]
    numbers = {language: 0}
    edges: Edges = []
    for state in states:
        classes: dict[int, list[tuple[int, int]]] = {}
        for first, last, target in state.transitions():
            if target.is_nothing:
                continue
            number = numbers.get(target)
            if number is None:
                if len(states) >= max_states:
                    raise LimitError(f"a language has more than {max_states:,} states", limit="automaton_states", allowed=max_states)
                number = numbers[target] = len(states)
                states.append(target)
            classes.setdefault(number, []).append((first, last))
        edges.append([(joined(ranges), number) for number, ranges in classes.items()])
    return edges, [state.nullable for state in states]


def joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Disjoint ranges as few as there can be: equal sets are then equal."""
    out: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if out and out[-1][1] + 1 == first:
            out[-1] = (out[-1][0], last)
        else:
            out.append((first, last))
    return tuple(out)


def minimised(machine: Automaton) -> Automaton:
    """States that accept the same words become one; the start stays first.

    Partition refinement in which only states whose successors moved are looked at again, and the largest part of a block
    that splits keeps its number (after Hopcroft, "An n log n algorithm for minimizing states in a finite automaton", 1971).
    """
    edges, accepting = machine
    block = [int(accepts) for accepts in accepting]
    members: list[set[int]] = [{state for state, accepts in enumerate(accepting) if accepts == wanted} for wanted in (False, True)]
    into: list[list[int]] = [[] for _ in edges]
    for state, out in enumerate(edges):
        for _, target in out:
            into[target].append(state)
    dirty = set(range(len(edges)))
    while dirty:
        changed: dict[int, list[int]] = {}
        for state in dirty:
            changed.setdefault(block[state], []).append(state)
        # All are looked at before any block changes: states left alone agree only on the blocks as they were.
        splits: list[tuple[int, list[list[int]]]] = []
        for number, states in changed.items():
            inside = members[number]
            if len(inside) == 1:
                continue
            groups: dict[frozenset[tuple[int, Ranges]], list[int]] = {}
            for state in states:
                groups.setdefault(_signature(edges[state], block), []).append(state)
            if len(states) < len(inside):
                alone = next(state for state in inside if state not in dirty)
                groups.pop(_signature(edges[alone], block), None)
                staying = len(inside) - sum(map(len, groups.values()))
            else:
                staying = 0
            parts = sorted(groups.values(), key=len)
            if parts and len(parts[-1]) > staying:
                largest = parts.pop()
                if staying:
                    parts.append(list(inside.difference(largest, *parts)))
            if parts:
                splits.append((number, parts))
        dirty = set()
        for number, parts in splits:
            for part in parts:
                members[number].difference_update(part)
                for state in part:
                    block[state] = len(members)
                    dirty.update(into[state])
                members.append(set(part))
    return _merged(machine, block)


def _signature(out: list[tuple[Ranges, int]], block: list[int]) -> frozenset[tuple[int, Ranges]]:
    targets = [block[target] for _, target in out]
    if len(set(targets)) == len(targets):
        return frozenset((target, ranges) for target, (ranges, _) in zip(targets, out, strict=True))
    classes: dict[int, list[tuple[int, int]]] = {}
    for target, (ranges, _) in zip(targets, out, strict=True):
        classes.setdefault(target, []).extend(ranges)
    return frozenset((target, joined(ranges)) for target, ranges in classes.items())


def _merged(machine: Automaton, block: list[int]) -> Automaton:
    edges, accepting = machine
    numbers: dict[int, int] = {}
    kept: list[int] = []
    for state, number in enumerate(block):
        if number not in numbers:
            numbers[number] = len(kept)
            kept.append(state)
    out: Edges = []
    for state in kept:
        classes: dict[int, list[tuple[int, int]]] = {}
        for ranges, target in edges[state]:
            classes.setdefault(numbers[block[target]], []).extend(ranges)
        out.append([(joined(ranges), target) for target, ranges in classes.items()])
    return out, [accepting[state] for state in kept]


def eliminated(machine: Automaton, leaf: Callable[[Ranges], Expression]) -> Expression | None:
    """One expression for an automaton: states are taken out, those with the fewest ways through first. None: it grows too large."""
    edges, accepting = machine
    start, end = len(edges), len(edges) + 1
    ways: dict[tuple[int, int], Expression] = {(start, 0): EMPTY}
    sizes: dict[tuple[int, int], int] = {(start, 0): 0}
    for state, out in enumerate(edges):
        for ranges, target in out:
            ways[(state, target)] = leaf(ranges)
            sizes[(state, target)] = 1
        if accepting[state]:
            ways[(state, end)] = EMPTY
            sizes[(state, end)] = 0
    left = set(range(len(edges)))
    while left:
        into_each = Counter(b for _, b in ways)
        out_of_each = Counter(a for a, _ in ways)
        ranked = [(into_each[candidate] * out_of_each[candidate], candidate) for candidate in left]
        state = min(ranked)[1]
        left.discard(state)
        loop = ways.pop((state, state), None)
        loop_size = sizes.pop((state, state), 0)
        middle = EMPTY if loop is None else repeat(loop, 0, None)
        into = [(a, way, sizes[(a, b)]) for (a, b), way in ways.items() if b == state]
        out_of = [(b, way, sizes[(a, b)]) for (a, b), way in ways.items() if a == state]
        ways = {(a, b): way for (a, b), way in ways.items() if state not in (a, b)}
        for a, before, before_size in into:
            for b, after, after_size in out_of:
                way = seq([before, middle, after])
                known = ways.get((a, b))
                ways[(a, b)] = way if known is None else choice([known, way])
                sizes[(a, b)] = (0 if known is None else sizes[(a, b)]) + before_size + loop_size + after_size
                if sizes[(a, b)] > _MAX_EXPRESSION:
                    return None
    return ways.get((start, end), NOTHING)
