"""A slow recogniser of grammars with budgets of tokens: every reading is a stack of its own, nothing is shared or remembered.

A grammar gives each rule its alternatives, lists of items, and perhaps a budget. An item is a character or the name of a rule; names that
are no names in Lark are what Lark writes in place of such a rule: a regex, a repetition.
Readings are tuples, the top first:

- a ``str``: a character or rule still to come,
- a ``bytes``: the rest of a character that has begun,
- a ``Mark``: the end of a rule with a budget; ``left`` tokens, counted once a byte below it was read.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

__all__ = ["Budgets", "Grammar", "Reading", "TooWide", "random_grammar"]


class Mark(NamedTuple):
    left: int
    begun: bool


Reading = tuple["str | bytes | Mark", ...]


class Grammar(NamedTuple):
    """``rules["start"]`` is the text; ``budgets`` holds the tokens of the rules that have a bound, at least 0."""

    rules: Mapping[str, Sequence[Sequence[str]]]
    budgets: Mapping[str, int]

    def lark(self) -> str:
        lines = []
        for name, ways in self.rules.items():
            if not name.isalnum():
                continue
            attribute = f"[max_tokens={self.budgets[name]}]" if name in self.budgets else ""
            written = (" ".join(item if item in self.rules else f'"{item}"' for item in way) or '""' for way in ways)
            lines.append(f"{name}{attribute}: {' | '.join(written)}")
        return "\n".join(lines)


class TooWide(Exception):
    """More readings than are worth following."""


class Budgets:
    """The readings of a grammar. Left recursion must not occur."""

    def __init__(self, grammar: Grammar, most: int = 3000, deepest: int = 60) -> None:
        self.grammar = grammar
        self.most = most
        self.deepest = deepest
        self.start = self.opened([("start",)])

    def opened(self, readings: Iterable[Reading]) -> frozenset[Reading]:
        """Until each reading wants a byte or is at its end."""
        todo = list(readings)
        seen = set(todo)
        found: set[Reading] = set()
        while todo:
            reading = todo.pop()
            if len(seen) > self.most or len(reading) > self.deepest:
                raise TooWide
            if not reading or isinstance(reading[0], bytes) or (isinstance(reading[0], str) and reading[0] not in self.grammar.rules):
                found.add(reading)
                continue
            top, rest = reading[0], reading[1:]
            after = [rest] if isinstance(top, Mark) else self.alternatives(top, rest)  # type: ignore[arg-type]
            for other in after:
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return frozenset(found)

    def alternatives(self, name: str, rest: Reading) -> list[Reading]:
        budget = self.grammar.budgets.get(name)
        if budget == 0:
            return [rest]
        mark: Reading = () if budget is None else (Mark(budget, False),)
        return [(*way, *mark, *rest) for way in self.grammar.rules[name]]

    def byte(self, readings: frozenset[Reading], value: int) -> frozenset[Reading]:
        found: set[Reading] = set()
        for reading in readings:
            if not reading:
                continue
            top = reading[0]
            wanted = top.encode() if isinstance(top, str) else top
            assert isinstance(wanted, bytes)
            if wanted[0] == value:
                below = tuple(Mark(item.left, True) if isinstance(item, Mark) else item for item in reading[1:])
                found.add((wanted[1:], *below) if len(wanted) > 1 else below)
        return self.opened(found)

    def text(self, readings: frozenset[Reading], data: bytes) -> frozenset[Reading]:
        for value in data:
            readings = self.byte(readings, value)
        return readings

    def token(self, readings: frozenset[Reading], data: bytes) -> frozenset[Reading]:
        """After a token: what was begun has one token less, and is cut where none is left and no character is open."""
        found: set[Reading] = set()
        for reading in self.text(readings, data):
            inside = bool(reading) and isinstance(reading[0], bytes)
            counted: Reading = ()
            for item in reading:
                if isinstance(item, Mark) and item.begun:
                    item = Mark(max(item.left - 1, 1 if inside else 0), True)
                counted = (*counted, item)
                if item == Mark(0, True):  # what is above it is over; so is this mark, if one below is too
                    counted = ()
            found.add(counted)
        return self.opened(found)


def random_grammar(draw: random.Random) -> Grammar | None:
    """A small grammar without left recursion, or None."""
    names = ["start", *(f"r{number}" for number in range(draw.randint(1, 5)))]

    def item(number: int) -> str:
        chance = draw.random()
        later = names[number + 1 :]
        if chance < 0.5:
            name = draw.choice(later if later and draw.random() < 0.7 else names[1:])
            return name if chance < 0.35 else name + draw.choice(("{1,3}", "*"))
        return draw.choice(("/[abé]*/", "/b+|ab/")) if chance < 0.6 else draw.choice("aabbé")

    rules: dict[str, list[list[str]]] = {}
    for number, name in enumerate(names):
        first = [draw.choice(("a", "a", "b", "b", "")) for _ in range(draw.choice((1, 2, 2, 3)))]
        rules[name] = [[*letter, *(item(number) for _ in range(draw.choice((0, 0, 1, 1, 2))))] for letter in first]
    rules |= {f"{name}{{1,3}}": [[name], [name, name], [name, name, name]] for name in names[1:]}
    rules |= {f"{name}*": [[], [name, f"{name}*"]] for name in names[1:]}
    rules |= {"/[abé]*/": [[], *([character, "/[abé]*/"] for character in "abé")], "/b+|ab/": [["a", "b"], ["b"], ["b", "/b*/"]]}
    rules["/b*/"] = [[], ["b", "/b*/"]]
    budgets = {name: draw.choice((0, 1, 1, 2, 2, 3, 4, 7)) for name in names if draw.random() < 0.55}
    grammar = Grammar(rules, budgets)
    return None if not budgets or _is_left_recursive(grammar) else grammar


def _is_left_recursive(grammar: Grammar) -> bool:
    empty: set[str] = {name for name, tokens in grammar.budgets.items() if tokens == 0}
    for _ in grammar.rules:
        empty |= {name for name, ways in grammar.rules.items() if any(all(item in empty for item in way) for way in ways)}
    corners: dict[str, set[str]] = {}
    for name, ways in grammar.rules.items():
        corners[name] = set()
        for way in ways:
            for item in way:
                if item in grammar.rules and grammar.budgets.get(item) != 0:
                    corners[name].add(item)
                if item not in empty:
                    break
    for _ in grammar.rules:
        for name in corners:
            corners[name] |= {other for corner in list(corners[name]) for other in corners[corner]}
    return any(name in corners[name] for name in corners)
