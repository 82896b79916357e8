"""Random grammars for comparisons with brute force: as GBNF text and as productions for the recogniser, made side by side.

The productions are written here from the same random choices as the text, not by reading it, so that a fault of the
front end shows as well.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.oracles.grammar_recogniser import Chars, Productions, Symbol, TokenSet

CHARACTERS = "abcé€😀"
_CLASSES = ["ab", "bc", "aé", "é€", "a-c", "^a", "^bé", "€😀", "^a-c", "à-ÿ"]


@dataclass
class RandomGrammar:
    text: str = ""
    productions: Productions = field(default_factory=dict)


def random_grammar(seed: int, *, rules: int = 3, tokens: tuple[int, ...] = ()) -> RandomGrammar:
    """A grammar of a few rules that call each other at random, so that recursion of every kind comes up."""
    return _Maker(random.Random(seed), rules, tokens).make()


class _Maker:
    def __init__(self, draw: random.Random, rules: int, tokens: tuple[int, ...]) -> None:
        self.draw = draw
        self.names = ["root", *(f"r{i}" for i in range(1, rules))]
        self.tokens = tokens
        self.productions: Productions = {}

    def make(self) -> RandomGrammar:
        lines = []
        for name in self.names:
            texts, ways = zip(*(self.sequence(2) for _ in range(self.draw.randint(1, 3))), strict=True)
            lines.append(f"{name} ::= {' | '.join(texts)}")
            self.productions[name] = list(ways)
        return RandomGrammar("\n".join(lines) + "\n", self.productions)

    def fresh(self, ways: list[tuple[Symbol, ...]]) -> str:
        name = f"#{len(self.productions)}"
        self.productions[name] = ways
        return name

    def sequence(self, depth: int) -> tuple[str, tuple[Symbol, ...]]:
        texts: list[str] = []
        symbols: list[Symbol] = []
        for _ in range(self.draw.choice([0, 1, 1, 2, 2, 3])):
            text, part = self.item(depth)
            texts.append(text)
            symbols += part
        return " ".join(texts) or '""', tuple(symbols)

    def item(self, depth: int) -> tuple[str, tuple[Symbol, ...]]:
        text, part = self.atom(depth)
        sign = self.draw.choice(["", "", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,3}", "{2,}"])
        if not sign:
            return text, part
        low, high = {"*": (0, None), "+": (1, None), "?": (0, 1), "{2}": (2, 2), "{1,2}": (1, 2), "{0,3}": (0, 3), "{2,}": (2, None)}[sign]
        following: tuple[Symbol, ...] = ()
        if high is None:
            more = self.fresh([()])
            self.productions[more].append((*part, more))
            following = (more,)
        else:
            for _ in range(high - low):
                following = (self.fresh([(), (*part, *following)]),)
        return text + sign, (*part * low, *following)

    def atom(self, depth: int) -> tuple[str, tuple[Symbol, ...]]:
        kind = self.draw.choice(["literal", "literal", "class", "rule", "rule", "group", "token" if self.tokens else "literal"])
        if kind == "rule":
            name = self.draw.choice(self.names)
            return name, (name,)
        if kind == "group" and depth > 0:
            texts, ways = zip(*(self.sequence(depth - 1) for _ in range(self.draw.randint(1, 3))), strict=True)
            return f"({' | '.join(texts)})", (self.fresh(list(ways)),)
        if kind == "token":
            number, negated = self.draw.choice(self.tokens), self.draw.random() < 0.3
            return f"{'!' if negated else ''}<[{number}]>", (TokenSet((number,), negated),)
        if kind == "class":
            inside = self.draw.choice(_CLASSES)
            return f"[{inside}]", (Chars(_ranges(inside)),)
        word = "".join(self.draw.choice(CHARACTERS) for _ in range(self.draw.choice([1, 1, 1, 2])))
        return f'"{word}"', tuple(Chars(((ord(character), ord(character)),)) for character in word)


def _ranges(inside: str) -> tuple[tuple[int, int], ...]:
    negated = inside.startswith("^")
    body = inside[1:] if negated else inside
    if len(body) == 3 and body[1] == "-":
        ranges = [(ord(body[0]), ord(body[2]))]
    else:
        ranges = [(ord(character), ord(character)) for character in body]
    if not negated:
        return tuple(ranges)
    kept, following = [], 0
    for first, last in sorted(ranges):
        if first > following:
            kept.append((following, first - 1))
        following = last + 1
    return (*kept, (following, 0x10FFFF))
