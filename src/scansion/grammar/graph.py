"""What the passes ask about rules as a graph: reachability, strongly connected components, least fixpoints.

All iterate: a chain of rules may be as long as the grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping

from scansion.grammar.nodes import Budget, Call, Choice, Expression, Repeat, Rules, Seq

__all__ = ["holds", "least_fixpoint", "reachable", "strong_components"]


def reachable(start: str, calls: Mapping[str, Iterable[str]]) -> list[str]:
    """Names of the rules ``start`` leads to, itself first, in the order they are met."""
    order = [start]
    seen = {start}
    for name in order:
        for called in calls[name]:
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


def least_fixpoint(rules: Rules, leaf_holds: Callable[[Expression], bool]) -> set[str]:
    """The smallest set of rules that hold, where a call, also one with a budget, holds if its rule does.

    A sequence holds where all its parts do, a choice where one does, a repetition where its body does or may be left out.

    Args:
        rules: the grammar.
        leaf_holds: of a node that is none of these.
    """
    found: set[str] = set()
    # Rules are mostly written above the ones they call, so most are settled by one look in this order.
    undecided: list[str] = []
    for name in reversed(list(rules.rules)):
        if holds(rules.rules[name], found, leaf_holds):
            found.add(name)
        else:
            undecided.append(name)
    waiting = _Waiting(found)
    for name in undecided if found else ():
        body = rules.rules[name]
        if holds(body, rules.rules, leaf_holds):  # else it could not, whatever is found
            waiting.add(name, body, leaf_holds)
    return found


def holds(expression: Expression, found: Container[str], leaf_holds: Callable[[Expression], bool]) -> bool:
    """Whether an expression holds, given the rules that do (``least_fixpoint``)."""
    kind = type(expression)
    if kind is Call or kind is Budget:
        return expression.rule in found  # type: ignore[union-attr]
    if kind is Seq:
        return all(holds(part, found, leaf_holds) for part in expression.parts)  # type: ignore[union-attr]
    if kind is Choice:
        return any(holds(part, found, leaf_holds) for part in expression.parts)  # type: ignore[union-attr]
    if kind is Repeat:
        return expression.low == 0 or holds(expression.body, found, leaf_holds)  # type: ignore[union-attr]
    return leaf_holds(expression)


class _Node:
    """A part of a body that waits for ``missing`` of its own parts; the body of ``rule`` itself where that is named."""

    __slots__ = ("missing", "parent", "rule")

    def __init__(self, missing: int, parent: _Node | None, rule: str = "") -> None:
        self.missing = missing
        self.parent = parent
        self.rule = rule


class _Waiting:
    """Bodies that wait for rules, each part looked at once (Dowling and Gallier, "Linear-time algorithms for testing the
    satisfiability of propositional Horn formulae", 1984)."""

    def __init__(self, found: set[str]) -> None:
        self.found = found
        self.callers: dict[str, list[_Node]] = {}

    def add(self, name: str, body: Expression, leaf_holds: Callable[[Expression], bool]) -> None:
        self.wait(body, _Node(1, None, name), leaf_holds)

    def wait(self, expression: Expression, parent: _Node, leaf_holds: Callable[[Expression], bool]) -> None:
        """Have ``parent`` told when the expression holds."""
        kind = type(expression)
        if kind is Call or kind is Budget:
            rule: str = expression.rule  # type: ignore[union-attr]
            if rule in self.found:
                self.tell(parent)
            else:
                self.callers.setdefault(rule, []).append(parent)
        elif kind is Seq or kind is Choice:
            parts: tuple[Expression, ...] = expression.parts  # type: ignore[union-attr]
            node = _Node(len(parts) if kind is Seq else 1, parent)
            if not node.missing:
                self.tell(parent)
            for part in parts:
                self.wait(part, node, leaf_holds)
        elif kind is Repeat and expression.low > 0:  # type: ignore[union-attr]
            self.wait(expression.body, parent, leaf_holds)  # type: ignore[union-attr]
        elif kind is Repeat or leaf_holds(expression):
            self.tell(parent)

    def tell(self, node: _Node) -> None:
        """One part of a node holds; tells on what that settles."""
        todo = [node]
        while todo:
            told = todo.pop()
            told.missing -= 1
            if told.missing:  # below zero: a choice that has held before
                continue
            if told.parent is not None:
                todo.append(told.parent)
            elif told.rule not in self.found:
                self.found.add(told.rule)
                todo += self.callers.pop(told.rule, ())
