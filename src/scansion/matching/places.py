"""From what the kernel's stacks say to rule names and JSON pointers.

A thread of the matcher knows where it goes on once its lexeme is read, not which node read it. The name of what is being
read is therefore that of the nodes which lead to that place: exact but for rules that share a continuation, where all are named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from scansion._kernel import ARRAY, BUDGET, CALL, LEX, OBJECT, REPEAT, TOKEN

if TYPE_CHECKING:
    from scansion.program import ProgramData

__all__ = ["Places"]

# The kinds `_kernel.Matcher.expected` gives (kernel/engine.h, `Resume`): what is resumed after the lexeme being read.
_NODE, _REPEAT, _OBJECT_OPEN, _OBJECT_AFTER, _OBJECT_NEXT, _ARRAY_OPEN, _ARRAY_AFTER, _ARRAY_NEXT = 0, 1, 2, 6, 7, 8, 9, 10
_BUDGET, _ACCEPT = 11, 15
_LEADING_ON = frozenset((LEX, CALL, TOKEN, OBJECT, ARRAY, REPEAT, BUDGET))


class Places:
    """Names of program points of one program."""

    def __init__(self, program: ProgramData) -> None:
        self._program = program
        self._leading_to: dict[int, dict[str, None]] | None = None

    def names(self, expected: Iterable[tuple[int, int, int]]) -> tuple[str, ...]:
        """Rule names or JSON pointers of ``_kernel.Matcher.expected()``, each once; ``#`` is the whole schema."""
        found: dict[str, None] = {}
        for kind, where, detail in expected:
            for name in self._names(kind, where, detail):
                found[name or "#"] = None
        return tuple(found)

    def _names(self, kind: int, where: int, detail: int) -> Iterator[str]:
        program = self._program
        if kind in (_NODE, _REPEAT):
            # A repetition is resumed after a turn of its own, so its node names itself.
            leading = self._leading().get(where) if kind == _NODE else None
            if leading:
                yield from leading
            else:
                yield from self._label(program.node_labels[where])
        elif kind == _OBJECT_AFTER:
            _order, properties, groups, *_ = program.objects[where]
            value = properties[detail][1] if detail < len(properties) else groups[detail - len(properties)][1]
            yield from self._value(value)
        elif _OBJECT_OPEN <= kind <= _OBJECT_NEXT:
            yield from self._label(program.objects[where][-1])
        elif kind == _ARRAY_AFTER:
            prefix, rest, *_ = program.arrays[where]
            yield from self._value(prefix[detail] if detail < len(prefix) else rest)
        elif _ARRAY_OPEN <= kind <= _ARRAY_NEXT:
            yield from self._label(program.arrays[where][-1])
        elif kind == _BUDGET:
            yield from self._rule(program.targets[program.nodes[3 * where + 1]])
        elif kind == _ACCEPT:
            yield from self._rule(program.start)

    def _leading(self) -> dict[int, dict[str, None]]:
        """For each node, the labels of the nodes that go on at it."""
        if self._leading_to is None:
            program, leading = self._program, dict[int, dict[str, None]]()
            for index, label in enumerate(program.node_labels):
                operation, _, following = program.nodes[3 * index : 3 * index + 3]
                if label >= 0 and operation in _LEADING_ON:
                    leading.setdefault(following, {})[program.labels[label]] = None
            self._leading_to = leading
        return self._leading_to

    def _value(self, value: Any) -> Iterator[str]:
        """Names of a container's value: a rule, -1, or alternatives ``(rule, events)``."""
        if isinstance(value, int):
            if value >= 0:
                yield from self._rule(value)
        else:
            for rule, _events in value:
                yield from self._rule(rule)

    def _rule(self, rule: int) -> Iterator[str]:
        yield from self._label(self._program.node_labels[self._program.rules[rule]])

    def _label(self, label: int) -> Iterator[str]:
        if label >= 0:
            yield self._program.labels[label]
