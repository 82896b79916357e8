"""A slow, obviously right recogniser of ``ProgramData`` over whole texts.

It explores every way to match a text, as sets of end positions, and shares nothing with the kernel's matcher: containers are read
by backtracking over members, conditions by walking the diagram with the events that happened. Membership of a language is asked
of ``Language.matches``, which has tests of its own.
"""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

from scansion import _kernel
from scansion.program import ProgramData

__all__ = ["accepts"]


def accepts(program: ProgramData, text: str) -> bool:
    """Whether the program matches the whole text (programs with token terminals are not supported)."""
    return len(text) in _Recogniser(program, text).rule(program.start, 0)


class _Recogniser:
    def __init__(self, program: ProgramData, text: str) -> None:
        self.program = program
        self.text = text
        self.rule_memo: dict[tuple[int, int], frozenset[int]] = {}
        self.lexeme_memo: dict[tuple[int, int], frozenset[int]] = {}

    def rule(self, rule: int, start: int) -> frozenset[int]:
        """Where a match of the rule that starts at ``start`` may end."""
        key = (rule, start)
        if key not in self.rule_memo:
            self.rule_memo[key] = frozenset()  # left recursion matches nothing new: programs have none
            self.rule_memo[key] = frozenset(self.node(self.program.rules[rule], start))
        return self.rule_memo[key]

    def node(self, index: int, start: int) -> set[int]:
        op, a, b = self.program.nodes[3 * index : 3 * index + 3]
        if op == _kernel.RET:
            return {start}
        if op == _kernel.FAIL:
            return set()
        if op == _kernel.ALT:
            return {end for target in self.program.targets[a : a + b] for end in self.node(target, start)}
        if op == _kernel.LEX:
            middles = self.lexeme(a, start)
        elif op == _kernel.CALL:
            middles = self.rule(a, start)
        elif op == _kernel.REPEAT:
            middles = self.repeat(*self.program.targets[a : a + 3], start)
        elif op == _kernel.OBJECT:
            middles = self.object(self.program.objects[a], start)
        elif op == _kernel.ARRAY:
            middles = self.array(self.program.arrays[a], start)
        else:
            raise ValueError(f"node {index} has operation {op}, which has no text")
        return {end for middle in middles for end in self.node(b, middle)}

    def lexeme(self, index: int, start: int) -> frozenset[int]:
        key = (index, start)
        if key not in self.lexeme_memo:
            language, encoding = self.program.lexemes[index]
            if encoding == _kernel.JSON_STRING:
                end, value = self.string(start)
                found = {end} if value is not None and language.matches(value) else set()
            else:
                found = {end for end in range(start, len(self.text) + 1) if language.matches(self.text[start:end])}
            self.lexeme_memo[key] = frozenset(found)
        return self.lexeme_memo[key]

    def string(self, start: int) -> tuple[int, str | None]:
        """The end and the value of the JSON string literal at ``start``; value None where there is none."""
        if not self.text.startswith('"', start):
            return start, None
        end = start + 1
        while end < len(self.text) and self.text[end] != '"':
            end += 2 if self.text[end] == "\\" else 1
        try:
            value = json.loads(self.text[start : end + 1])
            value.encode("utf-8")
        except ValueError:
            return start, None
        return end + 1, value

    def repeat(self, rule: int, low: int, high: int, start: int) -> set[int]:
        found = set()
        level = {start}
        count = 0
        seen: set[frozenset[int]] = set()
        while level:
            if count >= low:
                found |= level
                if count == high or frozenset(level) in seen:
                    break  # not once more, not even in vain: the memo holds an unfinished match of the rule it is asked from
                seen.add(frozenset(level))
            level = {end for middle in level for end in self.rule(rule, middle)}
            count += 1
        return found

    def mark(self, which: int, start: int) -> frozenset[int]:
        return self.lexeme(self.program.punctuation[which], start)

    def value(self, value: Any, start: int) -> list[tuple[int, tuple[int, ...]]]:
        """(end, events) of each way to match a member's value."""
        if value == -1:
            return []
        ways = ((value, ()),) if isinstance(value, int) else value
        return [(end, events) for rule, events in ways for end in self.rule(rule, start)]

    # Objects

    def object(self, spec: tuple[Any, ...], start: int) -> set[int]:
        found: set[int] = set()
        empty = (-1, frozenset(), frozenset())
        for opened in self.mark(0, start):
            if self.object_complete(spec, *empty):
                found |= self.mark(1, opened)
            stack = [(opened, *empty)]
            seen = set()
            while stack:
                state = stack.pop()
                for after in self.member(spec, *state):
                    if after in seen:
                        continue
                    seen.add(after)
                    end, *rest = after
                    if self.object_complete(spec, *rest):
                        found |= self.mark(2, end)
                    stack += [(comma, *rest) for comma in self.mark(4, end)]
        return found

    def member(
        self, spec: tuple[Any, ...], start: int, last: int, keys: frozenset[str], events: frozenset[int]
    ) -> list[tuple[int, int, frozenset[str], frozenset[int]]]:
        order, properties, groups, *_ = spec
        end, key = self.string(start)
        if key is None or key in keys:
            return []
        names = [name for name, _, _ in properties]
        if key in names:
            position = names.index(key)
            if self.program.canonical_keys and self.text[start:end] != json.dumps(key, ensure_ascii=False):
                return []
            if order == 0 and position <= last:
                return []
            value = properties[position][1]
            events |= {position}
        else:
            position = len(names)
            value = next((value for language, value in groups if language.matches(key)), -1)
        return [
            (after, position, keys | {key}, events | set(more)) for colon in self.mark(3, end) for after, more in self.value(value, colon)
        ]

    def object_complete(self, spec: tuple[Any, ...], last: int, keys: frozenset[str], events: frozenset[int]) -> bool:
        _, properties, _, minimum, maximum, condition, _ = spec
        if any(required and name not in keys for name, _, required in properties):
            return False
        if len(keys) < minimum or 0 <= maximum < len(keys):
            return False
        while condition > 1:
            event, no, yes = self.program.conditions[condition - 2]
            condition = yes if event in events else no
        return condition != 0

    # Arrays

    def array(self, spec: tuple[Any, ...], start: int) -> set[int]:
        prefix, rest, minimum, maximum, unique, counters, _ = spec
        found: set[int] = set()
        counts = tuple(0 for _ in counters)

        def complete(length: int, counts: tuple[int, ...]) -> bool:
            within = all(low <= count and (high < 0 or count <= high) for count, (low, high) in zip(counts, counters, strict=True))
            return within and minimum <= length and (maximum < 0 or length <= maximum)

        for opened in self.mark(5, start):
            if complete(0, counts):
                found |= self.mark(6, opened)
            stack: list[tuple[int, int, tuple[int, ...], tuple[Any, ...]]] = [(opened, 0, counts, ())]
            seen = set()
            while stack:
                position, length, so_far, values = stack.pop()
                item = prefix[length] if length < len(prefix) else rest
                for end, events in self.value(item, position):
                    after = tuple(count + (i in events) for i, count in enumerate(so_far))
                    own = json_value(self.text[position:end]) if unique else None
                    if unique and own in values:
                        continue
                    state = (end, length + 1, after, (*values, own) if unique else ())
                    if state in seen:
                        continue
                    seen.add(state)
                    if complete(length + 1, after):
                        found |= self.mark(7, end)
                    stack += [(comma, *state[1:]) for comma in self.mark(4, end)]
        return found


def json_value(text: str) -> Any:
    """A JSON text as a hashable value: 1 equals 1.0, keys are unordered, true differs from 1."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return ("object", frozenset((key, plain(member)) for key, member in value.items()))
        if isinstance(value, list):
            return ("array", tuple(plain(item) for item in value))
        if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
            return ("number", Fraction(value))
        return (type(value).__name__, value)

    return plain(json.loads(text, parse_float=Decimal))
