"""The intermediate representation of grammar texts: rules over regular languages.

Front ends build it, the passes of this folder rewrite it, ``lower`` writes it into a program. Nodes are frozen, compare
by content and hold no position: ``Rules.positions`` keeps where each rule began, for messages.

Front ends keep expressions shallow (``MAX_EXPRESSION_DEPTH``) by giving deep groups rules of their own, so that passes
may recurse over an expression; over *rules*, which may call each other to any depth, every pass iterates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from scansion._kernel import Language

__all__ = [
    "EMPTY",
    "MAX_EXPRESSION_DEPTH",
    "NOTHING",
    "Call",
    "Choice",
    "Expression",
    "JsonValue",
    "Repeat",
    "Rules",
    "Seq",
    "Terminal",
    "Text",
    "Tokens",
    "calls",
    "choice",
    "repeat",
    "seq",
]

MAX_EXPRESSION_DEPTH = 160


@dataclass(frozen=True, slots=True)
class Text:
    """A word of a language, in UTF-8. Neighbouring texts may be merged into one."""

    language: Language


@dataclass(frozen=True, slots=True)
class Terminal:
    """A word of a language, as one terminal: what the grammar ignores may stand before it and never inside.

    A ``lazy`` terminal ends as soon as it matches, and so does every other terminal that could have been read from the same place.
    """

    language: Language
    name: str = ""
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """Another rule, by name."""

    rule: str


@dataclass(frozen=True, slots=True)
class Seq:
    """One part after the other. No parts: the empty text."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Any of the parts. No parts: nothing matches."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """The body, from ``low`` to ``high`` times; ``high`` None is without bound."""

    body: Expression
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Tokens:
    """One token by its id, never by its bytes.

    The set is the ids in ``ranges`` (inclusive) and those of the tokens called ``names``, which are looked up when a
    vocabulary is known. ``negated``: every token of the vocabulary that is not in the set and is no end token.
    """

    ranges: tuple[tuple[int, int], ...] = ()
    names: tuple[str, ...] = ()
    negated: bool = False


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A JSON value that keeps to a schema: ``schema`` is its JSON text, ``options`` are those of ``from_json_schema``."""

    schema: str
    options: tuple[tuple[str, str], ...] = ()


Expression = Text | Terminal | Call | Seq | Choice | Repeat | Tokens | JsonValue

EMPTY = Seq(())
NOTHING = Choice(())


@dataclass(frozen=True, slots=True)
class Rules:
    """A grammar.

    Attributes:
        start: name of the rule of the whole text.
        rules: body of each rule by its name.
        ignore: a run of what may stand between terminals, the empty run included; None: nothing is ignored.
        ignore_first: whether such a run may also stand before the first terminal.
        positions: line and column (from 1) where a rule was defined, of those that stand in the text.
    """

    start: str
    rules: Mapping[str, Expression]
    ignore: Language | None = None
    ignore_first: bool = False
    positions: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def replaced(self, rules: Mapping[str, Expression]) -> Rules:
        """The same grammar with other bodies."""
        return Rules(self.start, rules, self.ignore, self.ignore_first, self.positions)


def seq(parts: Iterable[Expression]) -> Expression:
    """A sequence with nested ones opened, empty ones gone, and nothing where one part is nothing."""
    flat: list[Expression] = []
    for part in parts:
        if isinstance(part, Seq):
            flat += part.parts
        elif part == NOTHING:
            return NOTHING
        else:
            flat.append(part)
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def choice(parts: Iterable[Expression]) -> Expression:
    """A choice with nested ones opened and what matches nothing gone; parts keep their order, the same object twice is kept once."""
    flat: list[Expression] = []
    seen: set[int] = set()
    for part in parts:
        for leaf in part.parts if isinstance(part, Choice) else (part,):
            if id(leaf) not in seen:
                seen.add(id(leaf))
                flat.append(leaf)
    return flat[0] if len(flat) == 1 else Choice(tuple(flat))


def repeat(body: Expression, low: int, high: int | None) -> Expression:
    """A repetition; plain forms where it is none."""
    if high == 0 or body == EMPTY:
        return EMPTY
    if body == NOTHING:
        return EMPTY if low == 0 else NOTHING
    if low == high == 1:
        return body
    if high is None and low <= 1 and isinstance(body, Repeat) and body.high is None and body.low <= 1:
        return Repeat(body.body, low * body.low, None)
    return Repeat(body, low, high)


def calls(expression: Expression) -> list[str]:
    """Names of the rules an expression calls, in order and with repetitions."""
    found: list[str] = []
    todo = [expression]
    while todo:
        node = todo.pop()
        kind = type(node)
        if kind is Call:
            found.append(node.rule)  # type: ignore[union-attr]
        elif kind is Seq or kind is Choice:
            todo += reversed(node.parts)  # type: ignore[union-attr]
        elif kind is Repeat:
            todo.append(node.body)  # type: ignore[union-attr]
    return found
