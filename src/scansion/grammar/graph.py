"""What the passes ask about rules as a graph: reachability, strongly connected components, least fixpoints.

All iterate: a chain of rules may be as long as the grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from scansion.grammar.nodes import Expression, calls

__all__ = ["least_fixpoint", "reachable", "strong_components"]


def reachable(start: str, rules: Mapping[str, Expression]) -> list[str]:
    """Names of the rules ``start`` leads to, itself first, in the order they are met."""
    order = [start]
    seen = {start}
    for name in order:
        for called in calls(rules[name]):
            if called not in seen:
                seen.add(called)
                order.append(called)
    return order


def strong_components(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Strongly connected components, callees before callers (Tarjan, "Depth-first search and linear graph algorithms", 1972).

    Edges to names that are no key are ignored.
    """
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_names: list[str] = []
    is_open: set[str] = set()
    components: list[list[str]] = []
    for root in graph:
        if root in index:
            continue
        index[root] = lowest[root] = len(index)
        open_names.append(root)
        is_open.add(root)
        walk = [(root, iter(graph[root]))]
        while walk:
            name, edges = walk[-1]
            for target in edges:
                if target not in graph:
                    continue
                if target not in index:
                    index[target] = lowest[target] = len(index)
                    open_names.append(target)
                    is_open.add(target)
                    walk.append((target, iter(graph[target])))
                    break
                if target in is_open:
                    lowest[name] = min(lowest[name], index[target])
            else:
                walk.pop()
                if walk:
                    caller = walk[-1][0]
                    lowest[caller] = min(lowest[caller], lowest[name])
                if lowest[name] == index[name]:
                    component: list[str] = []
                    while True:
                        member = open_names.pop()
                        is_open.discard(member)
                        component.append(member)
                        if member == name:
                            break
                    components.append(component[::-1])
    return components


def least_fixpoint(rules: Mapping[str, Expression], holds: Callable[[Expression, set[str]], bool]) -> set[str]:
    """The smallest set of rules closed under ``holds(body, set so far)``, which must be monotone in the set."""
    callers: dict[str, list[str]] = {}
    found: set[str] = set()
    todo: list[str] = []
    for name, body in rules.items():
        if holds(body, found):
            found.add(name)
            todo.append(name)
        for called in calls(body):
            callers.setdefault(called, []).append(name)
    while todo:
        for name in callers.get(todo.pop(), ()):
            if name not in found and holds(rules[name], found):
                found.add(name)
                todo.append(name)
    return found
