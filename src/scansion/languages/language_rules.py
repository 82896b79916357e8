"""Languages as rules over single characters, for writing them in other grammar languages.

What was built from classes, sequences, unions and repetitions is written back in these words. Intersections, complements
and automata have no such words: their derivative automaton is minimised, and either becomes one rule a state or, where a
language without rules is wanted, is folded into one expression by state elimination (Brzozowski and McCluskey, 1963).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from scansion._kernel import JSON_STRING, Language
from scansion.errors import LimitError
from scansion.grammar.nodes import EMPTY, NOTHING, Call, Expression, Text, choice, repeat, seq
from scansion.languages.json_spelling import json_spellings

__all__ = ["MAX_AUTOMATON_STATES", "LanguageRules", "class_ranges"]

MAX_AUTOMATON_STATES = 4000
_MAX_ELIMINATED = 60  # states folded into one expression: it grows fast beyond
_MAX_EXPRESSION = 1000  # classes in that expression
_UNBOUNDED = 0xFFFFFFFF

# Operations of ``Language.__getstate__``.
_NOTHING, _EMPTY, _CLASS, _CONCAT, _UNION, _INTERSECTION, _COMPLEMENT, _REPEAT, _AUTOMATON = range(9)

Ranges = tuple[tuple[int, int], ...]
Edges = list[list[tuple[Ranges, int]]]


def class_ranges(language: Language) -> Ranges | None:
    """The ranges of a character class, or None for any other language."""
    entries = language.__getstate__()[0]
    return tuple(entries[0][1]) if len(entries) == 1 and entries[0][0] == _CLASS else None


class LanguageRules:
    """Writes languages into ``bodies``, shared automata once.

    Args:
        bodies: where rules for automaton states go.
        fresh: makes an unused rule name from a hint.
        one_expression: write rules only for automata of more than a few dozen states.
    """

    def __init__(self, bodies: dict[str, Expression], fresh: Callable[[str], str], *, one_expression: bool = False) -> None:
        self.bodies = bodies
        self.fresh = fresh
        self.one_expression = one_expression
        self._done: dict[tuple[Language, int], Expression] = {}

    def expression(self, language: Language, encoding: int, hint: str) -> Expression:
        """An expression over classes of single characters, and calls of rules written for it."""
        key = (language, encoding)
        known = self._done.get(key)
        if known is None:
            leaf = json_spellings if encoding == JSON_STRING else _text_class
            known = self._write(language, leaf, hint)
            if encoding == JSON_STRING:
                quote = Text(Language.literal('"'))
                known = seq([quote, known, quote])
            self._done[key] = known
        return known

    def _write(self, language: Language, leaf: Callable[[Ranges], Expression], hint: str) -> Expression:
        entries = language.__getstate__()[0]
        if any(entry[0] in (_INTERSECTION, _COMPLEMENT, _AUTOMATON) for entry in entries):
            return self._from_automaton(language, leaf, hint)
        done: list[Expression] = []
        for entry in entries:
            kind = entry[0]
            if kind == _CLASS:
                done.append(leaf(tuple(entry[1])))
            elif kind == _CONCAT:
                done.append(seq([done[part] for part in entry[1]]))
            elif kind == _UNION:
                done.append(choice([done[part] for part in entry[1]]))
            elif kind == _REPEAT:
                done.append(repeat(done[entry[1][0]], entry[2], None if entry[3] == _UNBOUNDED else entry[3]))
            else:
                done.append(EMPTY if kind == _EMPTY else NOTHING)
        return done[-1]

    def _from_automaton(self, language: Language, leaf: Callable[[Ranges], Expression], hint: str) -> Expression:
        edges, accepting = _minimised(*_automaton(language))
        if self.one_expression and len(edges) <= _MAX_ELIMINATED:
            folded = _eliminated(edges, accepting, leaf)
            if folded is not None:
                return folded
        # A state where a word ends and nothing more may come needs no rule.
        names = [self.fresh(hint) if edges[state] or state == 0 else "" for state in range(len(edges))]
        rests = [Call(name) if name else EMPTY for name in names]
        for state, name in enumerate(names):
            if name:
                ways = [seq([leaf(ranges), rests[target]]) for ranges, target in edges[state]]
                self.bodies[name] = choice([*ways, EMPTY] if accepting[state] else ways)
        return rests[0]


def _text_class(ranges: Ranges) -> Expression:
    return Text(Language.char_class(ranges))


def _automaton(language: Language) -> tuple[Edges, list[bool]]:
    """States from the start on, with the classes that lead from each to each."""
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
                if len(states) >= MAX_AUTOMATON_STATES:
                    raise LimitError(
                        f"a language has more than {MAX_AUTOMATON_STATES:,} states", limit="automaton_states", allowed=MAX_AUTOMATON_STATES
                    )
                number = numbers[target] = len(states)
                states.append(target)
            classes.setdefault(number, []).append((first, last))
        edges.append([(_joined(ranges), number) for number, ranges in classes.items()])
    return edges, [state.nullable for state in states]


def _joined(ranges: list[tuple[int, int]]) -> Ranges:
    out: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if out and out[-1][1] + 1 == first:
            out[-1] = (out[-1][0], last)
        else:
            out.append((first, last))
    return tuple(out)


def _minimised(edges: Edges, accepting: list[bool]) -> tuple[Edges, list[bool]]:
    """States that accept the same words become one (Moore's partition refinement); the start stays first."""
    block = [int(accepts) for accepts in accepting]
    count = len(set(block))
    while True:
        signatures: dict[tuple[int, tuple[tuple[int, Ranges], ...]], int] = {}
        following: list[int] = []
        for state, out in enumerate(edges):
            classes: dict[int, list[tuple[int, int]]] = {}
            for ranges, target in out:
                classes.setdefault(block[target], []).extend(ranges)
            signature = (block[state], tuple(sorted((target, _joined(ranges)) for target, ranges in classes.items())))
            following.append(signatures.setdefault(signature, len(signatures)))
        block = following
        if len(signatures) == count:
            break
        count = len(signatures)
    kept: dict[int, int] = {}
    for state in range(len(edges)):
        kept.setdefault(block[state], state)
    out_edges: Edges = []
    for number in range(count):
        classes = {}
        for ranges, target in edges[kept[number]]:
            classes.setdefault(block[target], []).extend(ranges)
        out_edges.append([(_joined(ranges), target) for target, ranges in classes.items()])
    return out_edges, [accepting[kept[number]] for number in range(count)]


def _eliminated(edges: Edges, accepting: list[bool], leaf: Callable[[Ranges], Expression]) -> Expression | None:
    """One expression for an automaton: states are taken out, those with the fewest ways through first. None: it grows too large."""
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
