"""JSON objects and arrays of a program as rules.

A container is a walk through its members with a little state: how many there are, which are still to come, what is left
of its conditions. Each state is a rule. What a walk cannot remember is refused by name: distinct additional keys (which a
caller may waive), distinct items, and more free order, counts or conditions than ``MAX_CONTAINER_STATES`` states can hold.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from scansion._kernel import JSON_STRING, TEXT, Language
from scansion.errors import LimitError, UnsupportedError
from scansion.grammar.nodes import Call, Expression, choice, repeat, seq
from scansion.languages.rule_names import readable_name

if TYPE_CHECKING:
    from scansion.languages.program_rules import ProgramRules

__all__ = ["MAX_CONTAINER_STATES", "ContainerRules"]

MAX_CONTAINER_STATES = 20_000

# Places of the punctuation lexemes in ``ProgramData.punctuation``.
_OBJECT_OPEN, _OBJECT_CLOSE_EMPTY, _OBJECT_CLOSE, _COLON, _COMMA, _ARRAY_OPEN, _ARRAY_CLOSE_EMPTY, _ARRAY_CLOSE = range(8)
_MARKS = ("object-open", "object-empty", "object-close", "colon", "comma", "array-open", "array-empty", "array-close")


class _ObjectState(NamedTuple):
    position: int  # properties decided so far (declared order)
    used: int  # bits of the properties that are there (any order)
    members: int  # so far, up to what the bounds ask to know
    residual: int  # what is left of the condition: a node of the program's conditions, 0 false, 1 true
    first: bool


class _ArrayState(NamedTuple):
    items: int
    counters: tuple[int, ...]


class ContainerRules:
    """Writes containers for one conversion; each spec once."""

    def __init__(self, owner: ProgramRules, repeated_keys: bool) -> None:
        self.owner = owner
        self.repeated_keys = repeated_keys
        self.objects: dict[int, Expression] = {}
        self.arrays: dict[int, Expression] = {}
        self.restricted: dict[tuple[int, int, bool], int] = {}

    def object(self, index: int) -> Expression:
        """An object spec, whole."""
        if index not in self.objects:
            self.objects[index] = self.whole(_Object(self, index))
        return self.objects[index]

    def array(self, index: int) -> Expression:
        """An array spec, whole."""
        if index not in self.arrays:
            self.arrays[index] = self.whole(_Array(self, index))
        return self.arrays[index]

    def whole(self, container: _Object | _Array) -> Expression:
        """A container, with what it calls written as from its place."""
        outside, self.owner.place = self.owner.place, container.pointer
        expression = container.whole()
        self.owner.place = outside
        return expression

    def mark(self, which: int) -> Expression:
        """A punctuation mark with its white space."""
        return self.owner.lexeme(self.owner.program.punctuation[which], _MARKS[which])

    def values(self, value: Any) -> list[tuple[Expression, tuple[int, ...]]]:
        """The alternatives of a value, each with its events."""
        if isinstance(value, int):
            return [] if value < 0 else [(self.owner.call(value), ())]
        return [(self.owner.call(rule), tuple(events)) for rule, events in value]

    def restrict(self, node: int, event: int, happened: bool) -> int:
        """A condition once an event is known to have happened, or not to."""
        if node <= 1:
            return node
        key = (node, event, happened)
        known = self.restricted.get(key)
        if known is None:
            at, if_false, if_true = self.owner.conditions[node - 2]
            if at == event:
                known = if_true if happened else if_false
            elif at > event:
                known = node
            else:
                known = self.joined(at, self.restrict(if_false, event, happened), self.restrict(if_true, event, happened))
            self.restricted[key] = known
        return known

    def joined(self, event: int, if_false: int, if_true: int) -> int:
        """The condition that decides on an event; a new one is appended to this conversion's own copy."""
        if if_false == if_true:
            return if_false
        conditions = self.owner.conditions
        entry = (event, if_false, if_true)
        if entry not in self.owner.condition_numbers:
            self.owner.condition_numbers[entry] = len(conditions) + 2
            conditions.append(entry)
        return self.owner.condition_numbers[entry]

    def without_events(self, node: int) -> bool:
        """Whether a condition holds when nothing more happens."""
        while node > 1:
            _event, node, _if_true = self.owner.conditions[node - 2]
        return node == 1


class _Object:
    def __init__(self, containers: ContainerRules, index: int) -> None:
        self.containers = containers
        program = containers.owner.program
        order, properties, groups, low, high, condition, label = program.objects[index]
        self.any_order = order == 1
        self.properties = list(properties)
        self.groups = list(groups)
        self.low: int = low
        self.high: int = high
        self.pointer = program.labels[label] if label >= 0 else containers.owner.pointer
        self.name = containers.owner.fresh(f"{_short(self.pointer)}object")
        self.condition = 1 if condition < 0 else condition
        self.counts = low > 1 or high >= 0
        self.most = max(low, high + 1 if high >= 0 else 0)  # counts above this are all the same
        if groups and not containers.repeated_keys and high not in (0, 1):
            raise UnsupportedError(
                "keys that are not declared must all be different, which no context-free grammar can say",
                pointer=self.pointer,
                construct="additionalProperties",
                hint="set additionalProperties to false, or allow them to repeat: --repeated-keys, repeated_keys=True",
            )
        if self.any_order and len(self.properties) > 12:
            raise UnsupportedError(
                f"{len(self.properties)} keys in any order take too many rules",
                pointer=self.pointer,
                construct="properties",
                hint='use property_order="declared"',
            )
        declared = Language.literals([name for name, _, _ in self.properties]) if self.properties else Language.nothing()
        self.group_keys = [Language.intersection([keys, declared.complement()]) if self.properties else keys for keys, _ in self.groups]
        self.states: dict[_ObjectState, str] = {}
        self.todo: list[_ObjectState] = []

    def whole(self) -> Expression:
        start = _ObjectState(0, 0, 0, self.condition, True)
        mark = self.containers.mark
        body = seq([mark(_OBJECT_OPEN), self.state(start)])
        while self.todo:
            state = self.todo.pop()
            self.containers.owner.bodies[self.states[state]] = self.ways(state)
        self.containers.owner.bodies[self.name] = body
        return Call(self.name)

    def state(self, state: _ObjectState) -> Expression:
        name = self.states.get(state)
        if name is None:
            if len(self.states) >= MAX_CONTAINER_STATES:
                raise LimitError(
                    f"#{self.pointer}: the object takes more than {MAX_CONTAINER_STATES:,} rules",
                    limit="container_states",
                    allowed=MAX_CONTAINER_STATES,
                )
            hint = "rest" if self.any_order or state.position >= len(self.properties) else _short(self.properties[state.position][0])
            name = self.states[state] = self.containers.owner.fresh(f"{self.name}-{hint.strip('-') or 'member'}")
            self.todo.append(state)
        return Call(name)

    def ways(self, state: _ObjectState) -> Expression:
        return self.any_ways(state) if self.any_order else self.declared_ways(state)

    def declared_ways(self, state: _ObjectState) -> Expression:
        position = state.position
        if position == len(self.properties):
            return choice([*self.group_ways(state), *self.close(state)])
        name, value, required = self.properties[position]
        ways = self.members(state, position, value, name, state._replace(position=position + 1))
        if not required:
            residual = self.containers.restrict(state.residual, position, False)
            if residual != 0:
                ways.append(self.state(state._replace(position=position + 1, residual=residual)))
        return choice(ways)

    def any_ways(self, state: _ObjectState) -> Expression:
        ways: list[Expression] = []
        for number, (name, value, _) in enumerate(self.properties):
            if not state.used >> number & 1:
                ways += self.members(state, number, value, name, state._replace(used=state.used | 1 << number))
        if all(state.used >> number & 1 or not required for number, (_, _, required) in enumerate(self.properties)):
            ways += self.close(state)
        return choice([*ways, *self.group_ways(state)])

    def members(self, state: _ObjectState, number: int, value: Any, name: str, following: _ObjectState) -> list[Expression]:
        """The property, once for each alternative of its value."""
        if not self.may_grow(state):
            return []
        out: list[Expression] = []
        here = self.containers.restrict(state.residual, number, True)
        for expression, events in self.containers.values(value):
            residual = here
            for event in events:
                residual = self.containers.restrict(residual, event, True)
            if residual != 0:
                out.append(
                    seq(
                        [
                            *self.before(state),
                            self.key(name),
                            self.containers.mark(_COLON),
                            expression,
                            self.state(self.grown(following, residual)),
                        ]
                    )
                )
        return out

    def group_ways(self, state: _ObjectState) -> list[Expression]:
        out: list[Expression] = []
        if not self.may_grow(state):
            return out
        owner = self.containers.owner
        for keys, (_, value) in zip(self.group_keys, self.groups, strict=True):
            key = owner.language(keys, JSON_STRING, f"{self.name}-key")
            for expression, events in self.containers.values(value):
                residual = state.residual
                for event in events:
                    residual = self.containers.restrict(residual, event, True)
                if residual != 0:
                    out.append(
                        seq([*self.before(state), key, self.containers.mark(_COLON), expression, self.state(self.grown(state, residual))])
                    )
        return out

    def may_grow(self, state: _ObjectState) -> bool:
        return self.high < 0 or state.members < self.high

    def grown(self, state: _ObjectState, residual: int) -> _ObjectState:
        members = min(state.members + 1, self.most) if self.counts else 0
        return state._replace(members=members, residual=residual, first=False)

    def before(self, state: _ObjectState) -> list[Expression]:
        return [] if state.first else [self.containers.mark(_COMMA)]

    def close(self, state: _ObjectState) -> list[Expression]:
        members = state.members if self.counts else int(not state.first)
        if members < self.low or not self.containers.without_events(state.residual):
            return []
        return [self.containers.mark(_OBJECT_CLOSE_EMPTY if state.first else _OBJECT_CLOSE)]

    def key(self, name: str) -> Expression:
        owner = self.containers.owner
        if owner.program.canonical_keys:
            return owner.language(Language.literal(json.dumps(name, ensure_ascii=False)), TEXT, "key")
        return owner.language(Language.literal(name), JSON_STRING, "key")


class _Array:
    def __init__(self, containers: ContainerRules, index: int) -> None:
        self.containers = containers
        program = containers.owner.program
        prefix, rest, low, high, unique, counters, label = program.arrays[index]
        self.prefix = list(prefix)
        self.rest = rest
        self.low: int = low
        self.high: int = high
        self.counters = list(counters)
        self.pointer = program.labels[label] if label >= 0 else containers.owner.pointer
        self.name = containers.owner.fresh(f"{_short(self.pointer)}array")
        if unique and not 0 <= high <= 1:
            raise UnsupportedError(
                "items that must all be different are not context-free",
                pointer=self.pointer,
                construct="uniqueItems",
                hint="drop the keyword before converting",
            )
        self.most = max(low, high + 1 if high >= 0 else 0, len(self.prefix), 1)
        self.states: dict[_ArrayState, str] = {}
        self.todo: list[_ArrayState] = []

    def whole(self) -> Expression:
        plain = self.plain()
        if plain is None:
            start = self.state(_ArrayState(0, tuple(0 for _ in self.counters)))
            while self.todo:
                state = self.todo.pop()
                self.containers.owner.bodies[self.states[state]] = self.ways(state)
            plain = seq([self.containers.mark(_ARRAY_OPEN), start])
        self.containers.owner.bodies[self.name] = plain
        return Call(self.name)

    def plain(self) -> Expression | None:
        """Items that are all alike, as a repetition, which may be long."""
        if self.prefix or self.counters or not isinstance(self.rest, int) or self.rest < 0 or self.high == 0:
            return None
        mark = self.containers.mark
        item = self.containers.owner.call(self.rest)
        more_high = None if self.high < 0 else self.high - 1
        more = repeat(seq([mark(_COMMA), item]), max(self.low - 1, 0), more_high)
        some = seq([item, more, mark(_ARRAY_CLOSE)])
        return seq([mark(_ARRAY_OPEN), choice([mark(_ARRAY_CLOSE_EMPTY), some]) if self.low == 0 else some])

    def state(self, state: _ArrayState) -> Expression:
        name = self.states.get(state)
        if name is None:
            if len(self.states) >= MAX_CONTAINER_STATES:
                raise LimitError(
                    f"#{self.pointer}: the array takes more than {MAX_CONTAINER_STATES:,} rules",
                    limit="container_states",
                    allowed=MAX_CONTAINER_STATES,
                )
            name = self.states[state] = self.containers.owner.fresh(f"{self.name}-rest")
            self.todo.append(state)
        return Call(name)

    def ways(self, state: _ArrayState) -> Expression:
        mark = self.containers.mark
        ways: list[Expression] = []
        if state.items >= self.low and all(seen >= low for seen, (low, _) in zip(state.counters, self.counters, strict=True)):
            ways.append(mark(_ARRAY_CLOSE if state.items else _ARRAY_CLOSE_EMPTY))
        if self.high >= 0 and state.items >= self.high:
            return choice(ways)
        value = self.prefix[state.items] if state.items < len(self.prefix) else self.rest
        for expression, events in self.containers.values(value):
            counters = list(state.counters)
            for event in events:
                low, high = self.counters[event]
                counters[event] = min(counters[event] + 1, max(low, high + 1 if high >= 0 else 0))
            if any(0 <= high < seen for seen, (_, high) in zip(counters, self.counters, strict=True)):
                continue
            following = _ArrayState(min(state.items + 1, self.most), tuple(counters))
            ways.append(seq([*([mark(_COMMA)] if state.items else []), expression, self.state(following)]))
        return choice(ways)


def _short(pointer: str) -> str:
    name = readable_name(pointer) if pointer else ""
    return "" if name in ("", "value") else f"{name}-"
