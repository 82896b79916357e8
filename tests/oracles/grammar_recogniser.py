"""A slow recogniser of grammars that is right by being plain: Earley's algorithm run to a fixpoint, byte by byte.

It shares nothing with the kernel's matcher. A grammar is productions over three kinds of symbols: rule names, leaves
(one character of a set, or a word of a language stepped one character at a time) and token sets. A question is a list of
tokens, each an id and its bytes (None for a special token); the answers are whether the tokens are a whole text, and
whether they are the beginning of one. A prefix that ends inside a UTF-8 sequence counts where some character completes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scansion._kernel import Language
from scansion.grammar.nodes import Call, Choice, Expression, Repeat, Rules, Seq, Terminal, Text, Tokens


@dataclass(frozen=True)
class Chars:
    """One character of a set of inclusive ranges."""

    ranges: tuple[tuple[int, int], ...]

    def start(self) -> Any:
        return False

    def step(self, state: Any, code: int) -> Any:
        return True if not state and any(first <= code <= last for first, last in self.ranges) else None

    def accepts(self, state: Any) -> bool:
        return bool(state)


@dataclass(frozen=True)
class Word:
    """A word of a language, by derivatives."""

    language: Language

    def start(self) -> Any:
        return self.language

    def step(self, state: Any, code: int) -> Any:
        following = state.derivative(chr(code))
        return None if following.is_nothing else following

    def accepts(self, state: Any) -> bool:
        return bool(state.nullable)


@dataclass(frozen=True)
class TokenSet:
    """One token by its id."""

    ids: tuple[int, ...]
    negated: bool = False

    def has(self, token: int) -> bool:
        return (token in self.ids) != self.negated


Leaf = Chars | Word
Symbol = str | Chars | Word | TokenSet
Productions = dict[str, list[tuple[Symbol, ...]]]
Token = tuple[int, bytes | None]
Item = tuple[str, tuple[Symbol, ...], int, int, Any]  # rule, production, dot, column where it began, state of the leaf at the dot


def productions_of(rules: Rules) -> Productions:
    """Plain productions of a grammar's rules; what it ignores must have been placed."""
    out: Productions = {}

    def fresh(ways: list[tuple[Symbol, ...]]) -> str:
        name = f"#{len(out)}"
        out[name] = ways
        return name

    def symbols(node: Expression) -> tuple[Symbol, ...]:
        if isinstance(node, (Text, Terminal)):
            return () if node.language == Language.empty() else (Word(node.language),)
        if isinstance(node, Call):
            return (node.rule,)
        if isinstance(node, Seq):
            return tuple(symbol for part in node.parts for symbol in symbols(part))
        if isinstance(node, Choice):
            return (fresh([symbols(part) for part in node.parts]),)
        if isinstance(node, Tokens):
            return (TokenSet(tuple(i for first, last in node.ranges for i in range(first, last + 1)), node.negated),)
        assert isinstance(node, Repeat)
        body = symbols(node.body)
        if node.high is None:
            more = fresh([()])
            out[more].append((*body, more))
            return (*body * node.low, more)
        following: tuple[Symbol, ...] = ()
        for _ in range(node.high - node.low):
            following = (fresh([(), (*body, *following)]),)
        return (*body * node.low, *following)

    for name, body in rules.rules.items():
        out[name] = [symbols(body)]
    return out


def productive_only(productions: Productions) -> Productions:
    """Productions whose every symbol can be finished."""
    good: set[str] = set()

    def finishes(symbol: Symbol) -> bool:
        if isinstance(symbol, str):
            return symbol in good
        return not isinstance(symbol, Word) or not symbol.language.is_nothing

    changed = True
    while changed:
        changed = False
        for name, ways in productions.items():
            if name not in good and any(all(map(finishes, way)) for way in ways):
                good.add(name)
                changed = True
    return {name: [way for way in ways if all(map(finishes, way))] for name, ways in productions.items()}


class Recogniser:
    """Answers questions about texts given as tokens."""

    def __init__(self, productions: Productions, start: str) -> None:
        self.productions = productive_only(productions)
        self.start = start
        self.nothing_read = Chart(self, b"", {0: {(start, way, 0, 0, state_at(way, 0)) for way in self.productions[start]}}, frozenset())
        self.nothing_read.close(0)

    def chart(self, tokens: Sequence[Token]) -> Chart:
        chart = self.nothing_read
        for token in tokens:
            chart = chart.after(token)
        return chart

    def is_text(self, tokens: Sequence[Token]) -> bool:
        """Whether the tokens are a whole text."""
        return self.chart(tokens).is_text

    def is_prefix(self, tokens: Sequence[Token]) -> bool:
        """Whether some text begins with the tokens."""
        return self.chart(tokens).is_prefix


class Chart:
    """Earley's columns by byte offset, after some tokens. A special token takes one byte of its own that is no text."""

    def __init__(self, recogniser: Recogniser, data: bytes, columns: dict[int, set[Item]], special: frozenset[int]) -> None:
        self.recogniser = recogniser
        self.data = data
        self.columns = columns
        self.special = special  # offsets of special tokens

    @property
    def is_text(self) -> bool:
        end, start = len(self.data), self.recogniser.start
        return any(rule == start and origin == 0 and dot == len(way) for rule, way, dot, origin, _ in self.columns.get(end, ()))

    @property
    def is_prefix(self) -> bool:
        end = len(self.data)
        if self.columns.get(end):
            return True
        return any(self.reads_part(begin) for begin in range(max(0, end - 3), end) if not self.special & set(range(begin, end)))

    def reads_part(self, begin: int) -> bool:
        """Whether the bytes from ``begin`` on are the beginning of a character that some item there reads."""
        first, last = completions(self.data[begin:])
        for _, way, dot, _, state in self.columns.get(begin, ()) if first <= last else ():
            leaf = way[dot] if dot < len(way) else None
            if isinstance(leaf, Chars):
                # Where a range of the set begins is the only place that can decide.
                codes: Iterable[int] = [first, 0xE000, *(low for low, _ in leaf.ranges)]
            elif isinstance(leaf, Word):
                codes = range(first, last + 1)
            else:
                continue
            if any(first <= code <= last and not 0xD800 <= code <= 0xDFFF and leaf.step(state, code) is not None for code in codes):
                return True
        return False

    def after(self, token: Token) -> Chart:
        """The chart one token further. Columns before the new bytes do not change, but for characters cut by the end."""
        number, piece = token
        before = len(self.data)
        data = self.data + (b"\xff" if piece is None else piece)
        special = self.special | {before} if piece is None else self.special
        chart = Chart(self.recogniser, data, dict(self.columns), special)
        for rule, way, dot, origin, _ in self.columns.get(before, ()):
            symbol = way[dot] if dot < len(way) else None
            if isinstance(symbol, TokenSet) and symbol.has(number):
                chart.add(len(data), (rule, way, dot + 1, origin, state_at(way, dot + 1)))
        for offset in range(max(0, before - 3), len(data) + 1):
            if offset > before:
                chart.close(offset)
            chart.read_character(offset, before)
        return chart

    def read_character(self, offset: int, before: int) -> None:
        """Step over the character at an offset, if it is whole, is text and ends past ``before``."""
        character = None if offset in self.special else character_at(self.data, offset)
        if character is None or character[1] <= before or self.special & set(range(offset, character[1])):
            return
        code, end = character
        for rule, way, dot, origin, state in self.columns.get(offset, ()):
            symbol = way[dot] if dot < len(way) else None
            if isinstance(symbol, (Chars, Word)):
                following = symbol.step(state, code)
                if following is not None:
                    self.add(end, (rule, way, dot, origin, following))

    def add(self, offset: int, item: Item) -> None:
        self.columns.setdefault(offset, set()).add(item)

    def close(self, offset: int) -> None:
        """Predict and complete in one column until nothing is new."""
        column = self.columns.get(offset)
        if not column:
            return
        productions = self.recogniser.productions
        while True:
            new: set[Item] = set()
            for rule, way, dot, origin, state in column:
                if dot == len(way):
                    for other_rule, other, at, begin, _ in self.columns[origin]:
                        if at < len(other) and other[at] == rule:
                            new.add((other_rule, other, at + 1, begin, state_at(other, at + 1)))
                    continue
                symbol = way[dot]
                if isinstance(symbol, str):
                    new |= {(symbol, option, 0, offset, state_at(option, 0)) for option in productions[symbol]}
                elif not isinstance(symbol, TokenSet) and symbol.accepts(state):
                    new.add((rule, way, dot + 1, origin, state_at(way, dot + 1)))
            if new <= column:
                return
            column |= new


def state_at(way: tuple[Symbol, ...], dot: int) -> Any:
    symbol = way[dot] if dot < len(way) else None
    return symbol.start() if isinstance(symbol, (Chars, Word)) else None


def character_at(data: bytes, offset: int) -> tuple[int, int] | None:
    """The well-formed UTF-8 character at an offset and where it ends, or None."""
    for length in range(1, 5):
        try:
            return ord(data[offset : offset + length].decode()), offset + length
        except (UnicodeDecodeError, TypeError):
            continue
    return None


def completions(partial: bytes) -> tuple[int, int]:
    """The first and last character whose UTF-8 begins with the bytes and is longer; (1, 0) where there is none."""
    first = partial[0]
    length = 2 if 0xC2 <= first <= 0xDF else 3 if 0xE0 <= first <= 0xEF else 4 if 0xF0 <= first <= 0xF4 else 0
    if length <= len(partial) or any(not 0x80 <= byte <= 0xBF for byte in partial[1:]):
        return 1, 0
    value = first & (0xFF >> (length + 1))
    for byte in partial[1:]:
        value = value << 6 | byte & 0x3F
    left = 6 * (length - len(partial))
    low = max(value << left, {2: 0x80, 3: 0x800, 4: 0x10000}[length])
    high = min((value + 1 << left) - 1, 0x10FFFF)
    if low >= 0xD800 and high <= 0xDFFF:
        return 1, 0
    return low, high
