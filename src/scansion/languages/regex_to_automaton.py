"""Syntax tree of a regular expression with any context to an explicit deterministic automaton.

An *alternating* automaton run by subsets (Chandra, Kozen and Stockmeyer, "Alternation", 1981):

- A **thread** is a point of the expression and the set of **obligations** met on the way: look-aheads that must hold (or must not)
  of the text still to come. A **configuration** is a set of threads, any of which may lead to a match.
- An obligation is itself a configuration, that of the look-ahead's body, and advances with every character.
- Look-behinds depend only on what was read, so each is one configuration of "anything, then its body", advanced from the start
  of the text and asked, where the expression meets it, whether it has just matched.

``^``, ``$``, ``\\b`` and the rest are look-arounds over one character. The alphabet is cut into the classes that no
character set of the expression tells apart. Counts are written out, hence the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from scansion._kernel import Language
from scansion.errors import LimitError
from scansion.languages import unicode_classes
from scansion.languages.regex_syntax import Alternation, Assertion, CharacterClass, Literal, Look, Ranges, Regex, Repeat, Sequence

__all__ = ["MAX_POINTS", "MAX_STATES", "MAX_WORK", "automaton_language"]

MAX_POINTS = 20_000
MAX_STATES = 4_000
MAX_WORK = 200_000
"""Thread steps in all: the bound on time, about half a second."""

_ANY_CLASS = CharacterClass(unicode_classes.ANY)
_HINT = "shorten what repeats around look-arounds and word boundaries"


@dataclass(slots=True)
class _Point:
    """A place in the expression, told apart by ``index``."""

    index: int


@dataclass(slots=True)
class _Read(_Point):
    """Reads one character of a class, then goes on."""

    ranges: Ranges
    next: int = -1
    atoms: frozenset[int] = frozenset()


@dataclass(slots=True)
class _Split(_Point):
    """Goes on at any of the points."""

    targets: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _LookAt(_Point):
    """Goes on where the look-around holds: a body's first point ahead, or a look-behind's number."""

    target: int
    ahead: bool
    negative: bool
    next: int


@dataclass(slots=True)
class _End(_Point):
    """A match. ``stays``: anything may follow it."""

    stays: bool


Obligations = frozenset["tuple[bool, Configuration]"]
Thread = tuple[int, Obligations]
Configuration = frozenset[Thread]

_NONE: Obligations = frozenset()
_DEAD: Configuration = frozenset()


def automaton_language(tree: Regex, *, search: bool) -> Language:
    """The language of ``tree`` as an automaton.

    Raises:
        LimitError: over `MAX_POINTS` points, `MAX_STATES` states or `MAX_WORK` steps.
    """
    return _Builder().language(tree, search)


def _too_large(limit: str, allowed: int) -> LimitError:
    message = f"the look-arounds of this pattern need more than {allowed:,} {limit}; {_HINT}"
    return LimitError(message, limit=f"regex_{limit}", allowed=allowed)


class _Builder:
    def __init__(self) -> None:
        self.points: list[_Point] = []
        self.behinds: list[int] = []  # first points of the look-behinds, inner ones before those around them
        self.accepted: list[Configuration] = []  # per look-behind, its configuration at the current place
        self.atoms: list[Ranges] = []
        self.work = 0
        self._at_end: dict[Configuration, bool] = {}

    # The expression as points, built from its end

    def new(self, point_type: type[_Point], *args: object) -> int:
        if len(self.points) >= MAX_POINTS:
            raise _too_large("points", MAX_POINTS)
        self.points.append(point_type(len(self.points), *args))
        return len(self.points) - 1

    def build(self, tree: Regex, after: int) -> int:
        """The first point of ``tree`` followed by point ``after``."""
        if isinstance(tree, Literal):
            for char in reversed(tree.text):
                after = self.new(_Read, ((ord(char), ord(char)),), after)
            return after
        if isinstance(tree, CharacterClass):
            return self.new(_Read, tree.ranges, after)
        if isinstance(tree, Sequence):
            for part in reversed(tree.parts):
                after = self.build(part, after)
            return after
        if isinstance(tree, Alternation):
            return self.new(_Split, [self.build(option, after) for option in tree.options])
        if isinstance(tree, Repeat):
            return self._repeat(tree, after)
        if isinstance(tree, Look):
            return self._look(tree.body, tree.ahead, tree.negative, after)
        return self._assertion(tree, after)

    def _repeat(self, tree: Repeat, after: int) -> int:
        if tree.high is None:
            loop = self.new(_Split, [])
            body = self.build(tree.body, loop)
            split = self.points[loop]
            if isinstance(split, _Split):
                split.targets = [body, after]
            after = loop
        else:
            done = after
            for _ in range(tree.high - tree.low):
                after = self.new(_Split, [self.build(tree.body, after), done])
        for _ in range(tree.low):
            after = self.build(tree.body, after)
        return after

    def _look(self, body: Regex, ahead: bool, negative: bool, after: int) -> int:
        if ahead:
            return self.new(_LookAt, self.build(body, self.new(_End, True)), True, negative, after)
        start = self._anywhere(self.build(body, self.new(_End, False)))
        self.behinds.append(start)
        return self.new(_LookAt, len(self.behinds) - 1, False, negative, after)

    def _anywhere(self, start: int) -> int:
        """Any text, then what starts at ``start``."""
        loop = self.new(_Split, [])
        skip = self.new(_Read, unicode_classes.ANY, loop)
        split = self.points[loop]
        if isinstance(split, _Split):
            split.targets = [skip, start]
        return loop

    def _assertion(self, tree: Assertion, after: int) -> int:
        inside = CharacterClass(tree.ranges)
        outside = CharacterClass(unicode_classes.complement(tree.ranges))
        if tree.kind == "text_start":
            return self._look(_ANY_CLASS, False, True, after)
        if tree.kind == "text_end":
            return self._look(_ANY_CLASS, True, True, after)
        if tree.kind == "line_start":
            return self._look(outside, False, True, after)
        if tree.kind == "line_end":
            return self._look(outside, True, True, after)
        same = tree.kind == "no_boundary"
        after_word = self._look(inside, False, False, self._look(inside, True, not same, after))
        after_other = self._look(inside, False, True, self._look(inside, True, same, after))
        return self.new(_Split, [after_word, after_other])

    # The alphabet

    def cut_alphabet(self) -> None:
        """Cut all characters into atoms that no class of the expression tells apart."""
        classes = {point.ranges for point in self.points if isinstance(point, _Read)}
        borders = sorted({0, 0xE000} | {edge for ranges in classes for first, last in ranges for edge in (first, last + 1)})
        signature_of: dict[frozenset[Ranges], list[tuple[int, int]]] = {}
        # Sweep the borders; ``inside`` holds the classes that cover the current stretch.
        starts: dict[int, list[Ranges]] = {}
        ends: dict[int, list[Ranges]] = {}
        for ranges in classes:
            for first, last in ranges:
                starts.setdefault(first, []).append(ranges)
                ends.setdefault(last + 1, []).append(ranges)
        inside: set[Ranges] = set()
        for index, border in enumerate(borders):
            inside.difference_update(ends.get(border, ()))
            inside.update(starts.get(border, ()))
            last = (borders[index + 1] if index + 1 < len(borders) else 0x110000) - 1
            if border <= 0x10FFFF and inside and not 0xD800 <= border <= 0xDFFF:
                signature_of.setdefault(frozenset(inside), []).append((border, last))
        members: dict[Ranges, set[int]] = {ranges: set() for ranges in classes}
        for atom, (signature, stretch) in enumerate(signature_of.items()):
            self.atoms.append(unicode_classes.union(stretch))
            for ranges in signature:
                members[ranges].add(atom)
        for point in self.points:
            if isinstance(point, _Read):
                point.atoms = frozenset(members[point.ranges])

    # Configurations

    def close(self, start: int, obligations: Obligations, out: set[Thread]) -> None:
        """Add to ``out`` the threads that reading nothing leads to from ``start`` at the current place."""
        stack: list[Thread] = [(start, obligations)]
        seen = set(stack)
        while stack:
            self.work += 1
            if self.work > MAX_WORK:
                raise _too_large("steps", MAX_WORK)
            thread = stack.pop()
            index, due = thread
            point = self.points[index]
            following: list[Thread] = []
            if isinstance(point, _Split):
                following = [(target, due) for target in point.targets]
            elif isinstance(point, _LookAt):
                following = [(point.next, due | more) for more in self._look_holds(point)]
            else:
                out.add(thread)
            for reached in following:
                if reached not in seen:
                    seen.add(reached)
                    stack.append(reached)

    def _look_holds(self, point: _LookAt) -> list[Obligations]:
        """Ways in which the look-around holds here, each with what it still asks of the text to come."""
        if point.ahead:
            reached: set[Thread] = set()
            self.close(point.target, _NONE, reached)
            obligation = self.settle(point.negative, frozenset(reached))
            return [] if obligation is None else [obligation]
        matched = [due for index, due in self.accepted[point.target] if isinstance(self.points[index], _End)]
        if not point.negative:
            return matched
        # None of the ways in which the look-behind matched may hold to the end.
        refused: Obligations = _NONE
        for due in matched:
            one = self.settle(True, frozenset({(self.always, due)}))
            if one is None:
                return []
            refused |= one
        return [refused]

    def settle(self, negative: bool, configuration: Configuration) -> Obligations | None:
        """The obligation, where it is not yet decided; nothing due where it holds; None where it has failed."""
        if any(not due and self._stays(index) for index, due in configuration):
            return None if negative else _NONE
        if not configuration:
            return _NONE if negative else None
        return frozenset({(negative, configuration)})

    def _stays(self, index: int) -> bool:
        point = self.points[index]
        return isinstance(point, _End) and point.stays

    def step(self, configuration: Configuration, atom: int) -> Configuration:
        """The threads after one more character, look-behinds being at the new place already."""
        out: set[Thread] = set()
        for index, due in configuration:
            point = self.points[index]
            if isinstance(point, _Read):
                if atom not in point.atoms:
                    continue
                target = point.next
            elif self._stays(index):
                target = index
            else:
                continue
            left = self._advance(due, atom)
            if left is not None:
                self.close(target, left, out)
        return self.reduce(out)

    def _advance(self, obligations: Obligations, atom: int) -> Obligations | None:
        left = _NONE
        for negative, configuration in obligations:
            settled = self.settle(negative, self.step(configuration, atom))
            if settled is None:
                return None
            left |= settled
        return left

    def reduce(self, threads: set[Thread]) -> Configuration:
        """Threads without those that ask more than another at the same point."""
        if any(not due and self._stays(index) for index, due in threads):
            return frozenset({(self.always, _NONE)})
        by_point: dict[int, list[Obligations]] = {}
        for index, due in threads:
            by_point.setdefault(index, []).append(due)
        kept: set[Thread] = set()
        for index, dues in by_point.items():
            for due in dues:
                if len(dues) == 1 or not any(other < due for other in dues):
                    kept.add((index, due))
        return frozenset(kept)

    def accepts(self, configuration: Configuration) -> bool:
        """Whether the text may end here."""
        found = self._at_end.get(configuration)
        if found is None:
            found = any(
                isinstance(self.points[index], _End) and all(self.accepts(inner) != negative for negative, inner in due)
                for index, due in configuration
            )
            self._at_end[configuration] = found
        return found

    # The whole automaton

    def language(self, tree: Regex, search: bool) -> Language:
        self.always = self.new(_End, True)
        start = self.build(tree, self.always if search else self.new(_End, False))
        if search:
            start = self._anywhere(start)
        self.cut_alphabet()
        for behind in self.behinds:
            reached: set[Thread] = set()
            self.close(behind, _NONE, reached)
            self.accepted.append(self.reduce(reached))
        threads: set[Thread] = set()
        self.close(start, _NONE, threads)
        first = (self.reduce(threads), tuple(self.accepted))
        numbers = {first: 0}
        order = [first]
        transitions: list[list[tuple[int, int, int]]] = []
        accepting: list[bool] = []
        for configuration, behinds in order:  # grows while it is walked
            accepting.append(self.accepts(configuration))
            row: list[tuple[int, int, int]] = []
            for atom, ranges in enumerate(self.atoms):
                reached_state = self._next(configuration, behinds, atom)
                if reached_state is None:
                    continue
                if reached_state not in numbers:
                    if len(numbers) == MAX_STATES:
                        raise _too_large("states", MAX_STATES)
                    numbers[reached_state] = len(order)
                    order.append(reached_state)
                target = numbers[reached_state]
                row.extend((low, high, target) for low, high in ranges)
            transitions.append(row)
        return Language.automaton(transitions, accepting, 0)

    def _next(
        self, configuration: Configuration, behinds: tuple[Configuration, ...], atom: int
    ) -> tuple[Configuration, tuple[Configuration, ...]] | None:
        # Inner look-behinds come first, so an outer one that asks them finds them advanced.
        self.accepted = list(behinds)
        for number, behind in enumerate(behinds):
            self.accepted[number] = self.step(behind, atom)
        after = self.step(configuration, atom)
        if not after:
            return None
        if after == frozenset({(self.always, _NONE)}):
            return after, ()  # whatever follows: look-behinds no longer matter
        return after, tuple(self.accepted)
