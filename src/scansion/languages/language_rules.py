"""Languages as rules over single characters, for writing them in other grammar languages.

What was built from classes, sequences, unions and repetitions is written back in these words. Intersections, complements
and automata have no such words: their derivative automaton is minimised, and either becomes rules (one a state, but for
states met once, which are written in place) or, where a language without rules is wanted, is folded into one expression by
state elimination (Brzozowski and McCluskey, 1963). A language that holds such a part is written as one automaton where that
is small, since it is deterministic, and part by part where it is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from scansion._kernel import JSON_STRING, Language
from scansion.errors import LimitError
from scansion.grammar.nodes import EMPTY, NOTHING, Call, Choice, Expression, Repeat, Seq, Text, choice, repeat, seq
from scansion.languages.json_spelling import json_spellings
from scansion.languages.language_automata import Automaton, Ranges, automaton, eliminated, minimised

__all__ = ["MAX_AUTOMATON_STATES", "LanguageRules", "class_ranges"]

MAX_AUTOMATON_STATES = 60_000
"""Of one automaton: a mailbox of RFC 5321, with both its bounds on length, has 52,000."""
_MAX_WAYS = 300_000  # edges of all automata together: some 10 MB of text
_SMALL = 1_000  # states of an automaton that is written whole although it could be written part by part
_MAX_TRIED = 50  # automata begun to find out whether they are small
_MAX_ELIMINATED = 60  # states folded into one expression: it grows fast beyond
_MAX_IN_PLACE = 60  # leaves of a state that is written where it is met
_MAX_DEPTH = 8  # choices inside each other in such a state
_MAX_NESTING = 30  # expressions inside each other: readers have bounds on groups
_MAX_SHARED = 500  # leaves of a part that is written out wherever it is met
_UNBOUNDED = 0xFFFFFFFF
_DIGITS = ((0x30, 0x39),)

# Operations of ``Language.__getstate__``.
_NOTHING, _EMPTY, _CLASS, _CONCAT, _UNION, _INTERSECTION, _COMPLEMENT, _REPEAT, _AUTOMATON = range(9)
_COMPOSED = (_CONCAT, _UNION, _REPEAT)

Leaf = Callable[[Ranges], Expression]


def class_ranges(language: Language) -> Ranges | None:
    """The ranges of a character class, or None for any other language."""
    entries = language.__getstate__()[0]
    return tuple(entries[0][1]) if len(entries) == 1 and entries[0][0] == _CLASS else None


class LanguageRules:
    """Writes languages into ``bodies``, shared automata and classes once.

    Args:
        bodies: where rules go.
        fresh: makes an unused rule name from a hint.
        one_expression: write rules only for automata of more than a few dozen states.
    """

    def __init__(self, bodies: dict[str, Expression], fresh: Callable[[str], str], *, one_expression: bool = False) -> None:
        self.bodies = bodies
        self.fresh = fresh
        self.one_expression = one_expression
        self.ways = 0
        self._done: dict[tuple[Language, int], Expression] = {}
        self._characters: dict[Ranges, Expression] = {}

    def expression(self, language: Language, encoding: int, hint: str) -> Expression:
        """An expression over classes of single characters, and calls of rules written for it.

        Raises:
            LimitError: an automaton, or all of them together, with too many states.
        """
        key = (language, encoding)
        known = self._done.get(key)
        if known is None:
            if encoding == JSON_STRING:
                quote = Text(Language.literal('"'))
                known = seq([quote, self._write(language, self._spelled, hint), quote])
            else:
                known = self._write(language, _text_class, hint)
            self._done[key] = known
        return known

    def _spelled(self, ranges: Ranges) -> Expression:
        """A character of a class as JSON strings spell it; a rule, unless no rules are wanted."""
        known = self._characters.get(ranges)
        if known is None:
            known = json_spellings(ranges)
            if not self.one_expression and known != NOTHING:
                name = self.fresh(_character_name(ranges))
                self.bodies[name] = known
                known = Call(name)
            self._characters[ranges] = known
        return known

    def _write(self, language: Language, leaf: Leaf, hint: str) -> Expression:
        entries = language.__getstate__()[0]
        if any(entry[0] in (_INTERSECTION, _COMPLEMENT, _AUTOMATON) for entry in entries):
            return self._in_parts(entries, leaf, hint)
        return self._composed(entries, range(len(entries)), {}, leaf, hint)

    def _in_parts(self, entries: list[Any], leaf: Leaf, hint: str) -> Expression:
        """A language that holds parts without words: the largest parts that are small or without words as automata."""
        languages: list[Language] = []
        wordless: list[bool] = []
        for entry in entries:
            languages.append(_rebuilt(entry, languages))
            below = entry[1] if entry[0] in _COMPOSED else ()
            wordless.append(entry[0] in (_INTERSECTION, _COMPLEMENT, _AUTOMATON) or any(wordless[part] for part in below))
        whole: dict[int, Automaton] = {}
        wanted = [False] * (len(entries) - 1) + [True]
        tries = _MAX_TRIED
        for number in range(len(entries) - 1, -1, -1):  # parts come before what they are parts of
            entry = entries[number]
            if not wanted[number]:
                continue
            if wordless[number]:
                composed = entry[0] in _COMPOSED
                tries -= composed
                if not composed or tries >= 0:
                    try:
                        whole[number] = automaton(languages[number], _SMALL if composed else MAX_AUTOMATON_STATES)
                        continue
                    except LimitError:
                        if not composed:
                            raise
            if entry[0] in _COMPOSED:
                for part in entry[1]:
                    wanted[part] = True
        written = {number: self._from_automaton(minimised(machine), leaf, hint) for number, machine in sorted(whole.items())}
        return self._composed(entries, [number for number in range(len(entries)) if wanted[number]], written, leaf, hint)

    def _composed(self, entries: list[Any], wanted: Iterable[int], written: dict[int, Expression], leaf: Leaf, hint: str) -> Expression:
        """The last of the entries, of the wanted ones; some are written already. What is deep, or large and met again, is a rule."""
        wanted = [number for number in wanted if number not in written]
        met = Counter(part for number in wanted if entries[number][0] in _COMPOSED for part in entries[number][1])
        done = dict(written)
        sizes = {number: _measure(expression) for number, expression in written.items()}  # levels, leaves
        # A literal is a concatenation of a character and the rest of it. Parts of those that stand last in another, back to front.
        tails: dict[int, list[Expression]] = {}

        def part(number: int) -> Expression:
            if number in tails:
                done[number] = seq(tails.pop(number)[::-1])
            return done[number]

        for number in wanted:
            entry = entries[number]
            below = [sizes[other] for other in entry[1]] if entry[0] in _COMPOSED else []
            if entry[0] == _CONCAT:
                last = entry[1][-1]
                parts = tails.pop(last, None) or [part(last)]
                parts += [part(other) for other in reversed(entry[1][:-1])]
                tails[number] = parts
            else:
                done[number] = _expression(entry, part, leaf)
            # A sequence in a sequence, or a choice in a choice, is one.
            flat = (
                [levels - (entries[other][0] == entry[0] != _REPEAT) for other, (levels, _) in zip(entry[1], below, strict=False)]
                if below
                else []
            )
            levels = 1 + max(flat, default=0)
            leaves = max(1, sum(leaves for _, leaves in below))
            again = met[number] > 1
            if number < len(entries) - 1 and (levels > _MAX_NESTING or (again and leaves > _MAX_SHARED)):
                name = self.fresh(hint)
                self.bodies[name] = part(number)
                done[number] = Call(name)
                levels = leaves = 1
            elif again:
                part(number)
            sizes[number] = levels, leaves
        return part(len(entries) - 1)

    def _from_automaton(self, machine: Automaton, leaf: Leaf, hint: str) -> Expression:
        edges, accepting = machine
        self.ways += sum(map(len, edges))
        if self.ways > _MAX_WAYS:
            raise LimitError(f"automata with more than {_MAX_WAYS:,} edges", limit="automaton_edges", allowed=_MAX_WAYS)
        if self.one_expression and len(edges) <= _MAX_ELIMINATED:
            folded = eliminated(machine, leaf)
            if folded is not None:
                return folded
        # A state met once is written in place. It was numbered after the state that leads to it, so going down it comes first.
        met = Counter(target for state, out in enumerate(edges) for _, target in out if target != state)
        names = {state: self.fresh(hint) for state, out in enumerate(edges) if out and (state == 0 or met[state] != 1)}
        rests: list[Expression] = [Call(names[state]) if state in names else EMPTY for state in range(len(edges))]
        bodies: dict[int, Expression] = {}
        sizes = [0] * len(edges)  # leaves of what is written in place, and choices inside each other
        depths = [0] * len(edges)
        for state in range(len(edges) - 1, -1, -1):
            out = edges[state]
            if not out:
                continue
            body = _state_body([(leaf(ranges), target, rests[target]) for ranges, target in out], state, accepting[state])
            size = len(out) + sum(sizes[target] for _, target in out)
            depth = max(depths[target] for _, target in out) + (len(out) > 1 or accepting[state])
            if state not in names and (size > _MAX_IN_PLACE or depth > _MAX_DEPTH):
                names[state] = self.fresh(hint)
                rests[state] = Call(names[state])
            if state in names:
                bodies[state] = body
            else:
                rests[state], sizes[state], depths[state] = body, size, depth
        for state in sorted(bodies):
            self.bodies[names[state]] = bodies[state]
        return rests[0]


def _state_body(ways: list[tuple[Expression, int, Expression]], state: int, accepts: bool) -> Expression:
    """What can follow at a state: ways of a character, the state it leads to and what follows there. A way back to itself is a loop."""
    others = [seq([character, rest]) for character, target, rest in ways if target != state]
    loop = next((character for character, target, _ in ways if target == state), None)
    if accepts and len(ways) == 1 and loop is None:
        character, _, rest = ways[0]
        if rest == EMPTY:
            return repeat(character, 0, 1)
        if isinstance(rest, Repeat) and rest.body == character and rest.low == 0 and rest.high is not None:
            return repeat(character, 0, rest.high + 1)
    rest = choice([*others, EMPTY] if accepts and others else others) if others else EMPTY
    return rest if loop is None else seq([repeat(loop, 0, None), rest])


def _character_name(ranges: Ranges) -> str:
    """A rule name for a class: what it is, where that is simple."""
    if ranges == _DIGITS:
        return "digit"
    first, last = ranges[0][0], ranges[-1][1]
    single = first == last and first < 0x80 and chr(first).isalnum()
    return f"char-{chr(first).lower()}" if single else "char"


def _text_class(ranges: Ranges) -> Expression:
    return Text(Language.char_class(ranges))


def _measure(expression: Expression) -> tuple[int, int]:
    """Expressions inside each other, and leaves."""
    parts = expression.parts if isinstance(expression, (Seq, Choice)) else (expression.body,) if isinstance(expression, Repeat) else ()
    below = [_measure(part) for part in parts]
    return 1 + max((levels for levels, _ in below), default=0), max(1, sum(leaves for _, leaves in below))


def _expression(entry: Any, part: Callable[[int], Expression], leaf: Leaf) -> Expression:
    """An entry of ``Language.__getstate__`` that has words, of its parts."""
    kind = entry[0]
    if kind == _CLASS:
        return leaf(tuple(entry[1]))
    if kind == _CONCAT:
        return seq([part(number) for number in entry[1]])
    if kind == _UNION:
        return choice([part(number) for number in entry[1]])
    if kind == _REPEAT:
        return repeat(part(entry[1][0]), entry[2], None if entry[3] == _UNBOUNDED else entry[3])
    return EMPTY if kind == _EMPTY else NOTHING


def _rebuilt(entry: Any, parts: list[Language]) -> Language:
    """The language of an entry of ``Language.__getstate__``."""
    kind = entry[0]
    if kind == _CLASS:
        return Language.char_class(entry[1])
    if kind == _AUTOMATON:
        return Language.automaton(entry[1], entry[2], entry[3])
    if kind in (_NOTHING, _EMPTY):
        return Language.nothing() if kind == _NOTHING else Language.empty()
    below: list[Language] = [parts[number] for number in entry[1]]
    if kind == _CONCAT:
        return Language.concat(below)
    if kind == _UNION:
        return Language.union(below)
    if kind == _INTERSECTION:
        return Language.intersection(below)
    if kind == _COMPLEMENT:
        return below[0].complement()
    return below[0].repeat(entry[2], None if entry[3] == _UNBOUNDED else entry[3])
