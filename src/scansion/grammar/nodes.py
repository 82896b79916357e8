"""The intermediate representation of grammar texts: rules over regular languages.

Front ends build it, the passes of this folder rewrite it, ``lower`` writes it into a program. Nodes are frozen, compare
by content and hold no position: ``Rules.positions`` keeps where each rule began, for messages.

Front ends keep expressions shallow (``MAX_EXPRESSION_DEPTH``) by giving deep groups rules of their own, so that passes
may recurse over an expression; over *rules*, which may call each other to any depth, every pass iterates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from scansion._kernel import Language

__all__ = [
    "EMPTY",
    "MAX_BUDGET",
    "MAX_EXPRESSION_DEPTH",
    "NOTHING",
    "Budget",
    "Call",
    "Choice",
    "Expression",
    "JsonValue",
    "Repeat",
    "Rules",
    "Seq",
    "Survey",
    "Terminal",
    "Text",
    "Tokens",
    "budgets",
    "calls",
    "choice",
    "repeat",
    "seq",
]

MAX_EXPRESSION_DEPTH = 160
MAX_BUDGET = 2**31 - 1  # tokens


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
class Budget:
    """Another rule, by name, which is over after so many tokens (at least 1) wherever its text is then.

    The first token counted is the one that holds the rule's first byte. The rule may end earlier, where its text does.
    """

    rule: str
    tokens: int


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
    """A JSON value that keeps to a schema: ``schema`` is its JSON text, ``options`` are those of ``from_json_schema``.

    ``position`` is the line and column, from 1, where it stands in a grammar's text, for messages.
    """

    schema: str
    options: tuple[tuple[str, str], ...] = ()
    position: tuple[int, int] | None = field(default=None, compare=False)


Expression = Text | Terminal | Call | Budget | Seq | Choice | Repeat | Tokens | JsonValue

EMPTY = Seq(())
NOTHING = Choice(())


@dataclass(frozen=True, slots=True)
class Survey:
    """What one walk over all rules finds.

    Attributes:
        calls: names of the rules each rule calls, each once, in the order they are met.
        kinds: the types of nodes other than ``Seq``, ``Choice`` and ``Call`` that occur; that of a part of a grammar may name more.
    """

    calls: Mapping[str, Sequence[str]]
    kinds: frozenset[type]


@dataclass(frozen=True, slots=True)
class Rules:
    """A grammar.

    Attributes:
        start: name of the rule of the whole text.
        rules: body of each rule by its name.
        ignored: the languages of what may stand between terminals; runs of their words do.
        ignored_once: whether such a run is one word at most.
        ignore_first: whether such a run may also stand before the first terminal.
        positions: line and column (from 1) where a rule was defined, of those that stand in the text.
    """

    start: str
    rules: Mapping[str, Expression]
    ignored: tuple[Language, ...] = ()
    ignored_once: bool = False
    ignore_first: bool = False
    positions: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    _survey: Survey | None = field(default=None, init=False, repr=False, compare=False)

    def replaced(self, rules: Mapping[str, Expression]) -> Rules:
        """The same grammar with other bodies."""
        return Rules(self.start, rules, self.ignored, self.ignored_once, self.ignore_first, self.positions)

    def only(self, names: Sequence[str]) -> Rules:
        """The same grammar with these rules alone, which call no others."""
        rules = self.replaced({name: self.rules[name] for name in names})
        known = self.survey
        object.__setattr__(rules, "_survey", Survey({name: known.calls[name] for name in names}, known.kinds))
        return rules

    def place(self, name: str) -> str:
        """``line 3, column 1: the rule 'name'``, to begin a message with; rules that a pass made have no line."""
        position = self.positions.get(name)
        return f"line {position[0]}, column {position[1]}: the rule {name!r}" if position else f"the rule {name!r}"

    @property
    def survey(self) -> Survey:
        """What the rules call and are made of; walked once and kept."""
        known = self._survey
        if known is None:
            kinds: set[type] = set()
            known = Survey({name: _walk(body, kinds) for name, body in self.rules.items()}, frozenset(kinds))
            object.__setattr__(self, "_survey", known)
        return known


def _walk(expression: Expression, kinds: set[type]) -> Sequence[str]:
    """Names of the rules an expression calls, each once; adds the types of its nodes to ``kinds``."""
    kind = type(expression)
    if kind is Call or kind is Budget:
        if kind is Budget:
            kinds.add(kind)
        return (expression.rule,)  # type: ignore[union-attr]
    if kind is not Seq and kind is not Choice and kind is not Repeat:
        kinds.add(kind)
        return ()
    found: dict[str, None] = {}
    todo = [expression]
    while todo:
        node = todo.pop()
        kind = type(node)
        if kind is Call or kind is Budget:
            if kind is Budget:
                kinds.add(kind)
            found[node.rule] = None  # type: ignore[union-attr]
        elif kind is Seq or kind is Choice:
            todo += node.parts[::-1]  # type: ignore[union-attr]
        else:
            kinds.add(kind)
            if kind is Repeat:
                todo.append(node.body)  # type: ignore[union-attr]
    return tuple(found)


def seq(parts: Iterable[Expression]) -> Expression:
    """A sequence with nested ones opened, empty ones gone, and nothing where one part is nothing."""
    flat: list[Expression] = []
    for part in parts:
        kind = type(part)
        if kind is Seq:
            flat += part.parts  # type: ignore[union-attr]
        elif kind is Choice and not part.parts:  # type: ignore[union-attr]
            return NOTHING
        else:
            flat.append(part)
    if len(flat) == 1:
        return flat[0]
    return Seq(tuple(flat)) if flat else EMPTY


def choice(parts: Iterable[Expression]) -> Expression:
    """A choice with nested ones opened and what matches nothing gone; parts keep their order, the same object twice is kept once."""
    kept: dict[int, Expression] = {}
    for part in parts:
        if type(part) is Choice:
            for leaf in part.parts:
                kept.setdefault(id(leaf), leaf)
        else:
            kept.setdefault(id(part), part)
    flat = tuple(kept.values())
    if len(flat) == 1:
        return flat[0]
    return Choice(flat) if flat else NOTHING


def repeat(body: Expression, low: int, high: int | None) -> Expression:
    """A repetition; plain forms where it is none."""
    kind = type(body)
    if high == 0 or (kind is Seq and not body.parts):  # type: ignore[union-attr]
        return EMPTY
    if kind is Choice and not body.parts:  # type: ignore[union-attr]
        return EMPTY if low == 0 else NOTHING
    if low == high == 1:
        return body
    if high is None and low <= 1 and isinstance(body, Repeat) and body.high is None and body.low <= 1:
        return Repeat(body.body, low * body.low, None)
    return Repeat(body, low, high)


def budgets(rules: Rules) -> dict[str, set[int]]:
    """The rules called with budgets, and the numbers of tokens they are called with."""
    found: dict[str, set[int]] = {}
    todo = list(rules.rules.values()) if Budget in rules.survey.kinds else []
    while todo:
        node = todo.pop()
        if isinstance(node, Budget):
            found.setdefault(node.rule, set()).add(node.tokens)
        elif isinstance(node, (Seq, Choice)):
            todo += node.parts
        elif isinstance(node, Repeat):
            todo.append(node.body)
    return found


def calls(expression: Expression) -> Sequence[str]:
    """Names of the rules an expression calls, each once, in the order they are met."""
    return _walk(expression, set())
