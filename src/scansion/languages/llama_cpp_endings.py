"""Texts that end inside a character: llama.cpp allows the end token there wherever it was allowed before the character.

Its stacks do not move until a character is whole (``llama_grammar_accept_token``), so a text that may end, and may also go on with
some character, may end after the first bytes of that character too. For each rule there is then a second one: its texts
followed by the beginning of a character that could have gone on there. (Where two alternatives begin alike and only one goes on,
the other one's texts do not count.)
"""

from __future__ import annotations

from collections.abc import Mapping

from scansion._kernel import Language
from scansion.grammar.nodes import NOTHING, Call, Choice, Expression, Repeat, Rules, Seq, Text, choice, repeat, seq
from scansion.grammar.nullable import is_nullable, nullable_rules

__all__ = ["with_endings_inside_characters"]

_START = "~whole"


def with_endings_inside_characters(rules: Rules, cut_short: Mapping[Language, Language]) -> Rules:
    """The grammar with those texts as well. ``cut_short`` has, for each class, where its characters may be cut."""
    return _Endings(rules, cut_short).added()


class _Endings:
    def __init__(self, rules: Rules, cut_short: Mapping[Language, Language]) -> None:
        self.rules = rules
        self.cut_short = cut_short
        self.nullable = nullable_rules(rules)
        self.firsts = self.first_characters()
        self.asked: list[str] = []
        self.seen: set[str] = set()

    def added(self) -> Rules:
        bodies = dict(self.rules.rules)
        bodies[_START] = choice([Call(self.rules.start), self.call(self.rules.start)])
        for name in self.asked:
            bodies[_cut_name(name)] = self.cut(self.rules.rules[name])
        return Rules(_START, bodies, positions=self.rules.positions)

    def first_characters(self) -> dict[str, frozenset[Language]]:
        """For each rule, the classes that may begin its texts."""
        firsts: dict[str, frozenset[Language]] = dict.fromkeys(self.rules.rules, frozenset())
        changed = True
        while changed:
            changed = False
            for name, body in self.rules.rules.items():
                found = self.first(body, firsts)
                if found != firsts[name]:
                    firsts[name] = found
                    changed = True
        return firsts

    def first(self, expression: Expression, firsts: Mapping[str, frozenset[Language]]) -> frozenset[Language]:
        if isinstance(expression, Text):
            return frozenset((expression.language,))
        if isinstance(expression, Call):
            return firsts[expression.rule]
        if isinstance(expression, Choice):
            return frozenset().union(*(self.first(part, firsts) for part in expression.parts))
        if isinstance(expression, Repeat):
            return self.first(expression.body, firsts)
        found: frozenset[Language] = frozenset()
        if isinstance(expression, Seq):
            for part in expression.parts:
                found |= self.first(part, firsts)
                if not is_nullable(part, self.nullable):
                    break
        return found

    def beginning(self, expression: Expression) -> Expression:
        """The first bytes of a character that may begin the expression."""
        cuts = [self.cut_short[language] for language in self.first(expression, self.firsts) if language in self.cut_short]
        union = Language.union(sorted(cuts, key=lambda cut: cut.id))
        return NOTHING if union.is_nothing else Text(union)

    def call(self, name: str) -> Expression:
        if name not in self.seen:
            self.seen.add(name)
            self.asked.append(name)
        return Call(_cut_name(name))

    def cut(self, expression: Expression) -> Expression:
        """Texts of the expression with the beginning of a character that could go on after them."""
        if isinstance(expression, Call):
            return self.call(expression.rule)
        if isinstance(expression, Choice):
            ways = [self.cut(part) for part in expression.parts]
            if is_nullable(expression, self.nullable):
                ways.append(self.beginning(expression))
            return _some_of(ways)
        if isinstance(expression, Repeat):
            body, low, high = expression.body, expression.low, expression.high
            fewer = None if high is None else high - 1
            again = NOTHING if fewer is not None and fewer < low else seq([repeat(body, low, fewer), self.beginning(body)])
            return _some_of([again, seq([repeat(body, max(low - 1, 0), fewer), self.cut(body)])])
        ways = []
        if isinstance(expression, Seq):
            for index in reversed(range(len(expression.parts))):
                ways.append(seq([*expression.parts[:index], self.cut(expression.parts[index])]))
                if not is_nullable(expression.parts[index], self.nullable):
                    break
        return _some_of(ways)


def _some_of(ways: list[Expression]) -> Expression:
    return choice([way for way in ways if way != NOTHING])


def _cut_name(name: str) -> str:
    return f"{name}~cut"
