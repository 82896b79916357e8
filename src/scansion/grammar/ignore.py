"""Writes what a grammar ignores into its rules.

A run of what is ignored may stand before every terminal but the first of the text. Where the grammar could go on and may
also end, a run may stand last as well, as llguidance has it: ``("x" | "y")+`` with ``%ignore " "`` takes ``x y `` and not `` x``.
"""

from __future__ import annotations

from scansion._kernel import Language
from scansion.errors import LimitError
from scansion.grammar.nodes import EMPTY, NOTHING, Call, Choice, Expression, Repeat, Rules, Seq, Terminal, Text, Tokens, choice, repeat, seq
from scansion.grammar.nullable import MAX_REWRITTEN_PARTS, is_nullable, nullable_rules

__all__ = ["place_ignored"]

_START = "~start"
_SOME = Language.concat([Language.char_class([(0, 0xD7FF), (0xE000, 0x10FFFF)]), Language.anything()])


def place_ignored(rules: Rules) -> Rules:
    """The grammar with terminals as plain texts and, where it ignores something, that written between them."""
    if rules.ignore is None:
        if Terminal not in rules.survey.kinds:
            return rules
        return rules.replaced({name: _plain(body) for name, body in rules.rules.items()})
    return _Placer(rules, rules.ignore).placed()


def _plain(expression: Expression) -> Expression:
    if isinstance(expression, Terminal):
        return Text(expression.language)
    if isinstance(expression, Seq):
        return seq([_plain(part) for part in expression.parts])
    if isinstance(expression, Choice):
        return choice([_plain(part) for part in expression.parts])
    if isinstance(expression, Repeat):
        return repeat(_plain(expression.body), expression.low, expression.high)
    return expression


class _Placer:
    def __init__(self, rules: Rules, run: Language) -> None:
        self.rules = rules
        self.run = Text(run)
        self.nullable = nullable_rules(rules)
        self.bodies: dict[str, Expression] = {}
        self.firsts: list[str] = []  # rules needed as the first thing of the text
        self.asked: set[str] = set()  # the same
        self.rule = rules.start  # being written, for messages
        self.parts = 0

    def placed(self) -> Rules:
        rules = self.rules
        for name, body in rules.rules.items():
            self.bodies[name] = self.later(body)
        start = rules.start
        if rules.ignore_first:
            self.bodies[_START] = Call(start)
        else:
            first = self.first(Call(start))
            self.bodies[_START] = choice([first, EMPTY]) if start in self.nullable else first
            for name in self.firsts:  # grows while rules are written
                self.rule = name
                self.bodies[_first_name(name)] = self.first(rules.rules[name])
        return Rules(_START, self.bodies, positions=rules.positions)

    def spend(self, parts: int) -> None:
        """Count parts that are written for the beginning of the text.

        Raises:
            LimitError: more than ``MAX_REWRITTEN_PARTS`` in all.
        """
        self.parts += parts
        if self.parts > MAX_REWRITTEN_PARTS:
            raise LimitError(
                f"{self.rules.place(self.rule)} may begin in too many ways: more than {MAX_REWRITTEN_PARTS:,} parts would be written "
                "to have nothing ignored before the first terminal; set allow_initial_skip, or let fewer parts be empty",
                limit="rewritten_parts",
                allowed=MAX_REWRITTEN_PARTS,
            )

    def later(self, expression: Expression) -> Expression:
        """The expression where something stands before it."""
        if isinstance(expression, Terminal):
            return seq([self.run, Text(expression.language)])
        if isinstance(expression, Tokens):
            return seq([self.run, expression])
        if isinstance(expression, Seq):
            return seq([self.later(part) for part in expression.parts])
        if isinstance(expression, Choice):
            parts = [self.later(part) for part in expression.parts]
            return choice([*parts, self.run]) if is_nullable(expression, self.nullable) else choice(parts)
        if isinstance(expression, Repeat):
            body, low, high = self.later(expression.body), expression.low, expression.high
            if high is None:
                return seq([repeat(body, low, None), self.run])
            if low == high:
                return repeat(body, low, high)
            return choice([repeat(body, high, high), seq([repeat(body, low, high - 1), self.run])])
        return expression

    def first(self, expression: Expression) -> Expression:
        """The expression as the first thing of the text, without the empty text."""
        if isinstance(expression, (Terminal, Text)):
            language = expression.language
            if not language.nullable:
                return Text(language)
            some = Language.intersection([language, _SOME])
            return NOTHING if some.is_nothing else Text(some)
        if isinstance(expression, Call):
            if expression.rule not in self.asked:
                self.asked.add(expression.rule)
                self.firsts.append(expression.rule)
            return Call(_first_name(expression.rule))
        if isinstance(expression, Choice):
            return choice([part for part in map(self.first, expression.parts) if part != NOTHING])
        if isinstance(expression, Repeat):
            fewer = None if expression.high is None else expression.high - 1
            low = 0 if is_nullable(expression.body, self.nullable) else max(expression.low - 1, 0)
            return seq([self.first(expression.body), self.later(repeat(expression.body, low, fewer))])
        if isinstance(expression, Seq):
            ways: list[Expression] = []
            for index, part in enumerate(expression.parts):
                self.spend(len(expression.parts) - index)
                ways.append(seq([self.first(part), *map(self.later, expression.parts[index + 1 :])]))
                if not is_nullable(part, self.nullable):
                    break
            return choice([way for way in ways if way != NOTHING])
        return expression


def _first_name(name: str) -> str:
    return f"{name}~first"
