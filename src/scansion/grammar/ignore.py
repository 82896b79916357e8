"""Writes what a grammar ignores into its rules.

A run of what is ignored may stand before every terminal but the first of the text. Where the grammar could go on and may
also end, a run may stand last as well, as llguidance has it: ``("x" | "y")+`` with ``%ignore " "`` takes ``x y `` and not `` x``.
Such places are found rule by rule: after what may be left out or repeated once more, and after rules that are left-recursive.
Runs that a longer match would have gone on with (see ``ignored_runs``) stand only before what it would not have taken, and last.
"""

from __future__ import annotations

from scansion._kernel import Language
from scansion.errors import LimitError
from scansion.grammar.ignored_runs import IgnoredRuns
from scansion.grammar.left_recursion import left_recursive_rules
from scansion.grammar.nodes import EMPTY, NOTHING, Call, Choice, Expression, Repeat, Rules, Seq, Terminal, Text, Tokens, choice, repeat, seq
from scansion.grammar.nullable import MAX_REWRITTEN_PARTS, is_nullable, nullable_rules

__all__ = ["place_ignored"]

_START = "~start"
_SOME = Language.concat([Language.char_class([(0, 0xD7FF), (0xE000, 0x10FFFF)]), Language.anything()])


def place_ignored(rules: Rules) -> Rules:
    """The grammar with terminals as plain texts and, where it ignores something, that written between them."""
    if not rules.ignored:
        if Terminal not in rules.survey.kinds:
            return rules
        return rules.replaced({name: _plain(body) for name, body in rules.rules.items()})
    return _Placer(rules).placed()


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
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.runs = IgnoredRuns(rules.ignored, rules.ignored_once, _terminals(rules))
        self.nullable = nullable_rules(rules)
        self.left_recursive = left_recursive_rules(rules, self.nullable)
        self.bodies: dict[str, Expression] = {}
        self.asked: list[tuple[str, bool, bool]] = []  # rules, whether each is the first and the last thing of the text
        self.before: dict[Language, Expression] = {}
        self.rule = rules.start  # being written, for messages
        self.parts = 0

    def placed(self) -> Rules:
        rules = self.rules
        start = self.call(rules.start, not rules.ignore_first, True)
        for name, first, last in self.asked:  # grows while rules are written
            self.rule = name
            body = rules.rules[name]
            self.bodies[self.name(name, first, last)] = self.first(body, last) if first else self.later(body, last)
        empty = not rules.ignore_first and rules.start in self.nullable
        self.bodies[_START] = choice([start, EMPTY]) if empty else start
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

    def name(self, rule: str, first: bool, last: bool) -> str:
        return rule + ("~first" if first else "") + ("~last" if last else "")

    def call(self, rule: str, first: bool, last: bool) -> Expression:
        last = last and bool(self.runs.blocking)  # without these a run at the end is one like any other
        name = self.name(rule, first, last)
        if name not in self.bodies:
            self.bodies[name] = EMPTY
            self.asked.append((rule, first, last))
        return seq([Call(name), self.run(last)]) if rule in self.left_recursive else Call(name)

    def run(self, last: bool) -> Expression:
        return Text(self.runs.last if last else self.runs.between)

    def later(self, expression: Expression, last: bool) -> Expression:
        """The expression where something stands before it; ``last`` where nothing stands behind it."""
        if isinstance(expression, Terminal):
            known = self.before.get(expression.language)
            if known is None:
                known = choice([seq(map(Text, way)) for way in self.runs.before(expression.language)])
                self.before[expression.language] = known
            return known
        if isinstance(expression, Tokens):
            return seq([self.run(True), expression])
        if isinstance(expression, Call):
            return self.call(expression.rule, False, last)
        if isinstance(expression, Seq):
            end = len(expression.parts) - 1
            return seq([self.later(part, last and index == end) for index, part in enumerate(expression.parts)])
        if isinstance(expression, Choice):
            parts = [self.later(part, last) for part in expression.parts]
            return choice([*parts, self.run(last)]) if is_nullable(expression, self.nullable) else choice(parts)
        if isinstance(expression, Repeat):
            low, high = expression.low, expression.high
            body = self.later(expression.body, False)
            if high is None:
                return seq([repeat(body, low, None), self.run(last)])
            most = seq([repeat(body, high - 1, high - 1), self.later(expression.body, last)])
            return most if low == high else choice([most, seq([repeat(body, low, high - 1), self.run(last)])])
        return expression

    def first(self, expression: Expression, last: bool) -> Expression:
        """The expression as the first thing of the text, without the empty text."""
        if isinstance(expression, (Terminal, Text)):
            language = expression.language
            if not language.nullable:
                return Text(language)
            some = Language.intersection([language, _SOME])
            return NOTHING if some.is_nothing else Text(some)
        if isinstance(expression, Call):
            return self.call(expression.rule, True, last)
        if isinstance(expression, Choice):
            return choice([part for part in (self.first(part, last) for part in expression.parts) if part != NOTHING])
        if isinstance(expression, Repeat):
            if expression.high == 1:
                return self.first(expression.body, last)
            fewer = None if expression.high is None else expression.high - 1
            low = 0 if is_nullable(expression.body, self.nullable) else max(expression.low - 1, 0)
            return seq([self.first(expression.body, False), self.later(repeat(expression.body, low, fewer), last)])
        if isinstance(expression, Seq):
            ways: list[Expression] = []
            end = len(expression.parts) - 1
            for index, part in enumerate(expression.parts):
                self.spend(end + 1 - index)
                rest = [self.later(other, last and end == at) for at, other in enumerate(expression.parts) if at > index]
                ways.append(seq([self.first(part, last and index == end), *rest]))
                if not is_nullable(part, self.nullable):
                    break
            return choice([way for way in ways if way != NOTHING])
        return expression


def _terminals(rules: Rules) -> list[Language]:
    """The languages of all terminals, each once."""
    found: dict[Language, None] = {}
    todo = list(rules.rules.values())
    while todo:
        node = todo.pop()
        if isinstance(node, (Seq, Choice)):
            todo += node.parts
        elif isinstance(node, Repeat):
            todo.append(node.body)
        elif isinstance(node, Terminal):
            found[node.language] = None
    return list(found)
