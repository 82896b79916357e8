"""Which rules match anything: a least fixpoint over the finished rules.

A rule is *productive* once one of its alternatives is known to have a finite instance. What is never found productive matches nothing:
its uses become forbidden keys and closed ends of arrays, its alternatives ``FAIL``; if the root is one, the schema is
unsatisfiable and the error names the innermost cause.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scansion._kernel import FAIL, OBJECT
from scansion.errors import UnsatisfiableError
from scansion.json_schema.conflicts import conflict
from scansion.json_schema.distinct_values import DistinctValues, can_differ
from scansion.json_schema.keywords import KEYWORDS
from scansion.json_schema.scalars import NumberSet
from scansion.program import ProgramBuilder

if TYPE_CHECKING:
    from scansion.json_schema.lower import Lowering

__all__ = ["MAX_COMBINATIONS", "MAX_ITEMS_FOLLOWED", "Feasibility"]

MAX_COMBINATIONS = 2_000  # sets of what keys can bring about, looked at for one object with a condition
MAX_ITEMS_FOLLOWED = 10_000  # items looked at one by one to see whether counts can be reached; more are taken to be able to


_Member = tuple[set[int], bool]  # sets of events, one of which it brings about; whether it must be there


class Feasibility:
    """What is known so far about the rules and container nodes written into a builder."""

    def __init__(self, builder: ProgramBuilder) -> None:
        self._builder = builder
        # A grammar may hold several schemas: what was written before this one is not its business.
        self._first_rule, self._first_object, self._first_array = len(builder.rules), len(builder.objects), len(builder.arrays)
        self._productive: set[int] = set()
        self._pending: list[tuple[int, int, Sequence[int] | None]] = []  # as ``add`` and ``add_needing`` are given them
        self.numbers: dict[int, NumberSet] = {}  # by lexeme: the numbers it spells

    def certain(self, rule: int) -> None:
        """A rule that surely matches something."""
        self._productive.add(rule)

    def add(self, rule: int, node: int, certain: bool) -> None:
        """A container alternative of a rule; ``certain``: its empty container is an instance."""
        if certain:
            self._productive.add(rule)
        else:
            self._pending.append((rule, node, None))

    def add_needing(self, rule: int, node: int, needed: Sequence[int]) -> None:
        """A container alternative of a rule that is possible where all of some rules (-1: none) match anything."""
        if needed:
            self._pending.append((rule, node, needed))
        else:
            self._productive.add(rule)

    def settle(self, lowering: Lowering, root: int) -> None:
        """Find what is impossible and take it out of the program.

        Raises:
            UnsatisfiableError: the root is.
        """
        pending = self._pending[::-1]  # members are written after what contains them
        productive = self._productive
        while pending:
            left = []
            for container in pending:
                rule, node, needed = container
                if self._possible(node) if needed is None else productive.issuperset(needed):
                    productive.add(rule)
                else:
                    left.append(container)
            if len(left) == len(pending):
                break
            pending = left
        self._pending = pending
        if root not in productive:
            raise self._unsatisfiable(lowering, root)
        nodes = self._builder.nodes
        for _, node, _ in pending:
            nodes[3 * node] = FAIL
        if len(productive) < len(self._builder.rules) - self._first_rule:
            self._correct_specs()

    # Possibility of one container

    def _usable(self, value: Any) -> bool:
        if type(value) is int:
            return value in self._productive
        return any(rule in self._productive for rule, _ in value)

    def _possible(self, node: int) -> bool:
        op, spec, _ = self._builder.nodes[3 * node : 3 * node + 3]
        if op == OBJECT:
            return self._object_possible(self._builder.objects[spec])
        return self._array_possible(self._builder.arrays[spec])

    def _object_possible(self, spec: tuple[Any, ...]) -> bool:
        _, properties, groups, minimum, maximum, condition, _ = spec
        productive = self._productive
        for _, value, required in properties:
            if required and not (value in productive if type(value) is int else self._usable(value)):
                return False
        if condition < 0:
            if minimum == 0 or any(self._usable(value) for _, value in groups):
                return True
            return bool(sum(self._usable(value) for _, value, _ in properties) >= minimum)
        bits = {event: 1 << number for number, event in enumerate(self._events_of(condition))}  # sets of events are written as numbers
        members = [(self._options(value, bits.get(index, 0), bits), required) for index, (_, value, required) in enumerate(properties)]
        for pick in (min, max):  # most conditions hold for the least or the most there can be
            for optional in (False, True):
                chosen = [pick(options) for options, required in members if options and (required or optional)]
                counted = minimum <= len(chosen) and (maximum < 0 or len(chosen) <= maximum)
                if counted and self._holds(condition, functools.reduce(operator.or_, chosen, 0), bits):
                    return True
        usable = [bool(options) for options, _ in members]
        if sum(usable) < minimum and not any(self._usable(value) for _, value in groups):
            return False
        others = [(self._options(value, 0, bits), False) for _, value in groups]
        met = functools.reduce(operator.or_, (events for options, _ in (*members, *others) for events in options), 0)
        least = self._least_keys(condition, properties, usable, {event for event, bit in bits.items() if met & bit})
        if least is None or (0 <= maximum < sum(required for _, required in members) + least):
            return False
        # With presences alone that was exact; a key that brings about several events at once decides them together.
        return self._fits(spec, members, others, bits) if maximum >= 0 or max(bits) >= len(properties) else True

    def _fits(self, spec: tuple[Any, ...], members: list[_Member], others: list[_Member], bits: dict[int, int]) -> bool:
        """Whether some set of keys makes the condition hold, within the counts: what can be brought about is followed member by member.

        ``_least_keys`` takes events for independent, and an obligation for no key. Here each comes with a key that brings it about.
        Taken to fit past ``MAX_COMBINATIONS``.

        Args:
            members, others: what each property, and what the keys of each group can bring about, and whether it must be there.
            bits: the bit of each event in such sets.
        """
        _, properties, _, minimum, maximum, condition, _ = spec
        most = maximum if maximum >= 0 else minimum  # keys past this many are not counted
        reached: set[tuple[int, int]] = {(0, 0)}
        for number, (options, required) in enumerate((*members, *others)):
            if not most and maximum < 0 and options == {0}:  # such a key brings about nothing, and is not counted
                continue
            while True:
                taken = {(events | more, count + 1) for events, count in reached if count != maximum for more in options}
                if maximum < 0:
                    taken = {(events, count if count < most else most) for events, count in taken}
                before = len(reached)
                reached = taken if required else reached | taken
                if len(reached) > MAX_COMBINATIONS:
                    return True
                if number < len(properties) or len(reached) == before:  # a group's keys may come any number of times
                    break
        return any(count >= minimum and self._holds(condition, events, bits) for events, count in reached)

    def _options(self, value: Any, present: int, bits: dict[int, int]) -> set[int]:
        """The sets of events that one member can bring about, ``present`` among them."""
        productive = self._productive
        if type(value) is int:
            return {present} if value in productive else set()
        options = set()
        for rule, events in value:
            if rule in productive:
                brought = present
                for event in events:
                    brought |= bits.get(event, 0)
                options.add(brought)
        return options

    def _events_of(self, condition: int) -> list[int]:
        """The events a diagram asks about."""
        found: dict[int, None] = {}
        seen = {0, 1}
        stack = [condition]
        entry = self._builder.condition_entry
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                event, no, yes = entry(node)
                found[event] = None
                stack += (no, yes)
        return list(found)

    def _holds(self, condition: int, events: int, bits: dict[int, int]) -> bool:
        while condition > 1:
            event, no, yes = self._builder.condition_entry(condition)
            condition = yes if events & bits[event] else no
        return condition == 1

    def _least_keys(self, condition: int, properties: Any, usable: list[bool], met: set[int]) -> int | None:
        """The fewest optional keys with which the condition can hold; None where it cannot."""
        memo: dict[int, int | None] = {0: None, 1: 0}
        stack = [condition]
        while stack:
            node = stack[-1]
            if node in memo:
                stack.pop()
                continue
            event, no, yes = self._builder.condition_entry(node)
            missing = [child for child in (no, yes) if child not in memo]
            if missing:
                stack += missing
                continue
            stack.pop()
            if event < len(properties):
                options = [] if properties[event][2] else [memo[no]]
                with_key = memo[yes]
                if usable[event] and with_key is not None:
                    options.append(with_key + (0 if properties[event][2] else 1))
            else:
                options = [memo[no]] + ([memo[yes]] if event in met else [])
            memo[node] = min((option for option in options if option is not None), default=None)
        return memo[condition]

    def _array_possible(self, spec: tuple[Any, ...]) -> bool:
        prefix, rest, minimum, maximum, unique, counters, _ = spec
        rest_usable = rest != -1 and self._usable(rest)
        length = 0
        for value in prefix:
            if not self._usable(value):
                break
            length += 1
        longest = -1 if length == len(prefix) and rest_usable else length
        if maximum >= 0 and (longest < 0 or maximum < longest):
            longest = maximum
        if 0 <= longest < minimum:
            return False
        if unique and not self._can_differ(spec):
            return False
        return not counters or self._counts_possible(spec, longest)

    def _can_differ(self, spec: tuple[Any, ...]) -> bool:
        """Whether as many different items as there must be can be found."""
        prefix, rest, minimum, _, _, counters, _ = spec
        distinct = DistinctValues(self._builder, self.numbers, self._productive)
        for number, (low, _) in enumerate(counters):
            if 2 <= low <= MAX_ITEMS_FOLLOWED:
                ways = [way for value in (*prefix, rest) if type(value) is not int for way in value]
                counted = distinct.of([rule for rule, events in ways if number in events], low)
                if counted is not None:
                    return False
        if minimum < 2 or minimum > MAX_ITEMS_FOLLOWED:
            return True
        choices = [distinct.of(_rules(value), minimum) for value in prefix[:minimum]]
        more = minimum - len(prefix)
        if more > 0:
            last = distinct.of(_rules(rest), minimum)
            if last is not None and len(last) < more:
                return False
            choices += [last] * more
        # A position with as many values as there are positions can always be given one that is left.
        return can_differ([choice for choice in choices if choice is not None])

    def _counts_possible(self, spec: tuple[Any, ...], longest: int) -> bool:
        """Whether some number of items reaches every count: the counts that can be had are followed item by item.

        Args:
            longest: the most items there can be, -1 without bound.
        """
        prefix, rest, minimum, _, _, counters, _ = spec
        caps = [high + 1 if high >= 0 else low for low, high in counters]  # counts beyond are alike: too many, or enough
        reached = {(0,) * len(counters)}
        enough = max(minimum, len(prefix)) + sum(low for low, _ in counters)
        for length in range(min(enough, longest if longest >= 0 else enough, MAX_ITEMS_FOLLOWED) + 1):
            if length >= minimum and any(
                all(low <= count and (high < 0 or count <= high) for count, (low, high) in zip(counts, counters, strict=True))
                for counts in reached
            ):
                return True
            value = prefix[length] if length < len(prefix) else rest
            ways = ((value, ()),) if type(value) is int else value
            usable = [set(events) for rule, events in ways if rule in self._productive]
            following = {
                tuple(min(cap, count + (number in events)) for number, (count, cap) in enumerate(zip(counts, caps, strict=True)))
                for counts in reached
                for events in usable
            }
            if following == reached and length >= max(minimum, len(prefix)):
                return False
            reached = following
        return bool(enough > MAX_ITEMS_FOLLOWED)

    # Taking out the impossible

    def _correct_specs(self) -> None:
        builder = self._builder
        first = self._first_rule
        impossible = {rule for rule in range(first, len(builder.rules)) if rule not in self._productive}
        for index, (order, properties, groups, minimum, maximum, condition, label) in enumerate(
            builder.objects[self._first_object :], self._first_object
        ):
            if not _names_any(impossible, [part[1] for part in (*properties, *groups)]):
                continue
            kept = [(name, self._pruned(value), required) for name, value, required in properties]
            open_groups = [(language, self._pruned(value)) for language, value in groups]
            open_groups = [(language, value) for language, value in open_groups if value != -1]
            builder.replace_object(index, (order, kept, open_groups, minimum, maximum, condition, label))
        for index, (prefix, rest, minimum, maximum, unique, counters, label) in enumerate(
            builder.arrays[self._first_array :], self._first_array
        ):
            if not _names_any(impossible, (*prefix, rest)):
                continue
            items: list[Any] = []
            for value in prefix:
                value = self._pruned(value)
                if value == -1:
                    maximum = len(items) if maximum < 0 else min(maximum, len(items))
                    break
                items.append(value)
            rest = self._pruned(rest) if len(items) == len(prefix) and rest != -1 else -1
            builder.replace_array(index, (items, rest, minimum, maximum, unique, counters, label))

    def _pruned(self, value: Any) -> Any:
        if type(value) is int:
            return value if value in self._productive else -1
        kept = tuple((rule, events) for rule, events in value if rule in self._productive)
        return kept or -1

    # Saying why

    def _unsatisfiable(self, lowering: Lowering, root: int) -> UnsatisfiableError:
        """Follow what fails down to the innermost schema that allows nothing."""
        rule = inner = root
        seen: set[int] = set()
        last = ""
        construct: str | None = None
        reason: str | None = None
        while rule not in seen and rule not in self._productive:
            seen.add(rule)
            inner = rule
            last = lowering.pointer(rule) or last
            below = self._blame(rule)
            if below is None:
                construct = reason = None
                break
            construct, rule, reason = below
            if rule < 0:
                break
        found = conflict(lowering, lowering.expr_of(inner)) if lowering.explains else []
        hint = "remove one of the constraints that meet here"
        if len(found) > 1:
            listed = ", ".join(f"#{pointer}" for pointer in found[:-1])
            told = f": {reason}" if reason and "can have no value" in reason else ""
            reason = f"{listed} and #{found[-1]} contradict each other{told}"
            hint = "remove or loosen one of them"
        elif found:
            reason = f"nothing satisfies #{found[0]} beside what else is asked there"
            hint = "remove or loosen it"
        elif reason is None:
            asked = _asking(lowering, last)
            together = (
                f"{', '.join(asked[:-1])} and {asked[-1]} together allow" if len(asked) > 1 else f"{asked[0] if asked else 'it'} allows"
            )
            reason = f"{together} nothing"
        if found and found[0].startswith(f"{last}/"):
            construct = found[0][len(last) + 1 :].split("/")[0]
        elif construct is None:
            construct = _construct(lowering, last)
        return UnsatisfiableError(f"no value satisfies the schema: {reason}", pointer=last, construct=construct, hint=hint)

    def _blame(self, rule: int) -> tuple[str, int, str] | None:
        """A required key or item whose value cannot be: (keyword, its rule or -1, what is wrong)."""
        for owner, node, _ in self._pending:
            if owner != rule:
                continue
            op, spec, _ = self._builder.nodes[3 * node : 3 * node + 3]
            if op == OBJECT:
                for name, value, required in self._builder.objects[spec][1]:
                    if required and (value == -1 or not self._usable(value)):
                        below = value if type(value) is int else value[0][0]
                        return "required", below, f"the required key {name!r} can have no value"
                return "required", rule, "the keys that must and must not be there contradict each other"
            for value in self._builder.arrays[spec][0]:
                if not self._usable(value):
                    return "minItems", value if type(value) is int else value[0][0], "an item that must be there can have no value"
            rest = self._builder.arrays[spec][1]
            if rest != -1 and not self._usable(rest):
                return "minItems", rest if type(rest) is int else rest[0][0], "an item that must be there can have no value"
            return "minItems", rule, "the number of items asked for cannot be reached"
        return None


def _names_any(rules: set[int], values: Sequence[Any]) -> bool:
    """Whether some value of a container leads to one of some rules."""
    return any(value in rules if type(value) is int else any(rule in rules for rule, _ in value) for value in values)


def _rules(value: Any) -> list[int]:
    """The rules of a container's value."""
    if type(value) is int:
        return [value] if value >= 0 else []
    return [rule for rule, _ in value]


def _asking(lowering: Lowering, pointer: str) -> list[str]:
    """The keywords that constrain values at a place."""
    for site in lowering.norm.documents.sites:
        if site.pointer == pointer and isinstance(site.schema, dict):
            return [keyword for keyword in site.schema if keyword in KEYWORDS]
    return []


def _construct(lowering: Lowering, pointer: str) -> str | None:
    """The keyword to name for a schema that allows nothing: the first that constrains values there."""
    for site in lowering.norm.documents.sites:
        if site.pointer == pointer and isinstance(site.schema, dict):
            for keyword in ("enum", "const", "oneOf", "allOf", "not", "anyOf", "type", "minimum", "minLength", "pattern", "$ref"):
                if keyword in site.schema:
                    return keyword
    return None
