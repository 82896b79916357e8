"""How many different values a rule has, where these are few: what ``uniqueItems`` needs to know to tell that items run out.

Values are enumerated from the finished program, containers included, and compared as JSON Schema compares them (1 is 1.0, key order aside).
Enumeration stops at a limit: a rule with many values, an endless or a recursive one is only known to have at least that many.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from scansion._kernel import ALT, ARRAY, FAIL, LEX, OBJECT, TEXT
from scansion.json_schema.json_values import canonical
from scansion.json_schema.scalars import NumberSet
from scansion.program import ProgramBuilder

__all__ = ["DistinctValues", "can_differ"]

MAX_STEPS = 20_000  # members and items put together for one answer; past it a rule counts as having many values
MAX_POSITIONS = 200  # positions among which values are dealt out; more are taken to be possible


class _ManyError(Exception):
    """The limit was reached. Never leaves this module."""


class DistinctValues:
    """Enumerates the values of rules.

    Args:
        builder: the program, its rules written.
        numbers: the sets of numbers that lexemes spell: one number may have endless spellings.
        productive: the rules that match anything; all others have no value.
    """

    def __init__(self, builder: ProgramBuilder, numbers: Mapping[int, NumberSet], productive: set[int]) -> None:
        self._builder = builder
        self._numbers = numbers
        self._productive = productive
        self._open: set[int] = set()
        self._steps = 0

    def of(self, rules: Sequence[int], limit: int) -> set[Any] | None:
        """The values of some rules together, in the form ``canonical`` gives; None where there are ``limit`` or more."""
        self._open.clear()
        self._steps = 0
        found: set[Any] = set()
        try:
            for rule in rules:
                for value in self._of_rule(rule, limit):
                    found.add(value)
                    if len(found) >= limit:
                        return None
        except (_ManyError, RecursionError):  # what is nested deeper than can be followed is not known to be few
            return None
        return found

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise _ManyError

    def _of_rule(self, rule: int, limit: int) -> Iterator[Any]:
        if rule not in self._productive:
            return
        if rule in self._open:
            raise _ManyError  # a value inside a value of its own kind: no end of them
        self._open.add(rule)
        yield from self._of_node(self._builder.rules[rule], limit)
        self._open.discard(rule)

    def _of_node(self, node: int, limit: int) -> Iterator[Any]:
        op, a, b = self._builder.nodes[3 * node : 3 * node + 3]
        if op == ALT:
            for target in self._builder.targets(a, b):
                yield from self._of_node(target, limit)
        elif op == LEX:
            yield from self._of_lexeme(a, limit)
        elif op == OBJECT:
            yield from self._of_object(self._builder.objects[a], limit)
        elif op == ARRAY:
            yield from self._of_array(self._builder.arrays[a], limit)
        elif op != FAIL:
            raise _ManyError

    def _of_lexeme(self, index: int, limit: int) -> Iterator[Any]:
        language, encoding = self._builder.lexemes[index]
        numbers = self._numbers.get(index)
        if numbers is not None:
            values = numbers.values(limit)
            if values is None:
                raise _ManyError
            yield from (("number", value) for value in values)
            return
        words = language.words(limit) if language.max_length() is not None else None
        if words is None:
            raise _ManyError
        for word in words:
            yield canonical(json.loads(word, parse_float=Decimal)) if encoding == TEXT else ("str", word)

    def _ways(self, value: Any, limit: int) -> list[tuple[Any, tuple[int, ...]]]:
        """The values of a member or item with the events of each."""
        if type(value) is int:
            return [(found, ()) for found in self._of_rule(value, limit)] if value >= 0 else []
        return [(found, events) for rule, events in value for found in self._of_rule(rule, limit)]

    def _of_object(self, spec: tuple[Any, ...], limit: int) -> Iterator[Any]:
        _, properties, groups, minimum, maximum, condition, _ = spec
        if maximum and any(self._usable(value) for _, value in groups):
            raise _ManyError
        ways = [self._ways(value, limit) for _, value, _ in properties]

        def choose(index: int, members: tuple[Any, ...], events: frozenset[int]) -> Iterator[Any]:
            self._step()
            if 0 <= maximum < len(members):
                return
            if index == len(properties):
                if len(members) >= minimum and self._holds(condition, events):
                    yield "object", frozenset(members)
                return
            name, _, required = properties[index]
            if not required:
                yield from choose(index + 1, members, events)
            for value, own in ways[index]:
                yield from choose(index + 1, (*members, (name, value)), events | {index, *own})

        yield from choose(0, (), frozenset())

    def _usable(self, value: Any) -> bool:
        return value in self._productive if type(value) is int else any(rule in self._productive for rule, _ in value)

    def _holds(self, condition: int, events: frozenset[int]) -> bool:
        while condition > 1:
            event, no, yes = self._builder.condition_entry(condition)
            condition = yes if event in events else no
        return condition != 0

    def _of_array(self, spec: tuple[Any, ...], limit: int) -> Iterator[Any]:
        prefix, rest, minimum, maximum, unique, counters, _ = spec

        def choose(items: tuple[Any, ...], counts: tuple[int, ...]) -> Iterator[Any]:
            self._step()
            length = len(items)
            if length >= minimum and all(
                low <= count and (high < 0 or count <= high) for count, (low, high) in zip(counts, counters, strict=True)
            ):
                yield "array", items
            if length == maximum or (length >= len(prefix) and rest == -1):
                return
            for value, events in self._ways(prefix[length] if length < len(prefix) else rest, limit):
                if not unique or value not in items:
                    yield from choose((*items, value), tuple(count + (number in events) for number, count in enumerate(counts)))

        yield from choose((), (0,) * len(counters))


def can_differ(choices: Sequence[set[Any]]) -> bool:
    """Whether each position can have one of its values such that all differ: a matching (Kuhn's augmenting paths)."""
    if len(choices) > MAX_POSITIONS:
        return len(set().union(*choices)) >= len(choices)
    taken: dict[Any, int] = {}

    def place(position: int, tried: set[Any]) -> bool:
        for value in choices[position]:
            if value not in tried:
                tried.add(value)
                if value not in taken or place(taken[value], tried):
                    taken[value] = position
                    return True
        return False

    return all(place(position, set()) for position in range(len(choices)))
