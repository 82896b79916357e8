"""Writes what a grammar ignores into its rules.

A run of what is ignored may stand before every terminal but the first of the text. Where the grammar could go on and may
also end, a run may stand last as well, as llguidance has it: ``("x" | "y")+`` with ``%ignore " "`` takes ``x y `` and not `` x``.
Such places are found rule by rule: after what may be left out or repeated once more, and after rules that are left-recursive.
The run before a rule with a budget of tokens is no part of it: its tokens do not count.
Runs that a longer match would have gone on with (see ``ignored_runs``) stand only before what it would not have taken, and last.
"""

from __future__ import annotations

from dataclasses import dataclass

from scansion._kernel import Language
from scansion.errors import LimitError
from scansion.grammar.check import without_unused
from scansion.grammar.ignored_runs import IgnoredRuns
from scansion.grammar.left_recursion import left_recursive_rules
from scansion.grammar.nodes import (
    EMPTY,
    NOTHING,
    Budget,
    Call,
    Choice,
    Expression,
    Repeat,
    Rules,
    Seq,
    Terminal,
    Text,
    Tokens,
    choice,
    repeat,
    seq,
)
from scansion.grammar.nullable import MAX_REWRITTEN_PARTS, is_nullable, nullable_rules
from scansion.grammar.productive import without_dead_ends

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


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What a rule begins with where no run is written before its first part.

    Attributes:
        suffix: of the rule's name.
        terminals: whether it may begin with a terminal or a token, before which a run could stand.
        others: whether it may begin with anything else.
        lost: texts that no terminal may begin with there.
    """

    suffix: str
    terminals: bool = True
    others: bool = True
    lost: Language | None = None


_FIRST = _Beginning("~first")  # of the text
_OTHERS = _Beginning("~bare", terminals=False)


class _Placer:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.runs = IgnoredRuns(rules.ignored, rules.ignored_once, _terminals(rules))
        self.nullable = nullable_rules(rules)
        self.left_recursive = left_recursive_rules(rules, self.nullable)
        self.bodies: dict[str, Expression] = {}
        self.asked: list[tuple[str, _Beginning | None, bool]] = []  # rules, how each begins, whether it is the last thing of the text
        self.after = [(run, _Beginning(f"~after{at}", others=False, lost=lost)) for at, (run, lost) in enumerate(self.runs.ways)]
        self.before: dict[Language, Expression] = {}
        self.beginning = _FIRST  # of the rule being written
        self.rule = rules.start  # being written, for messages
        self.parts = 0

    def placed(self) -> Rules:
        rules = self.rules
        start = self.call(rules.start, None if rules.ignore_first else _FIRST, True)
        for name, beginning, last in self.asked:  # grows while rules are written
            self.rule = name
            body = rules.rules[name]
            if beginning is None:
                written = self.later(body, last)
            else:
                self.beginning = beginning
                written = self.first(body, last)
            self.bodies[self.name(name, beginning, last)] = written
        empty = not rules.ignore_first and rules.start in self.nullable
        self.bodies[_START] = choice([start, EMPTY]) if empty else start
        placed = Rules(_START, self.bodies, positions=rules.positions)
        return without_unused(without_dead_ends(placed)) if Budget in rules.survey.kinds else placed

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

    def name(self, rule: str, beginning: _Beginning | None, last: bool) -> str:
        return rule + (beginning.suffix if beginning else "") + ("~last" if last else "")

    def call(self, rule: str, beginning: _Beginning | None, last: bool, tokens: int | None = None) -> Expression:
        """A call of a rule that begins so, with a budget of ``tokens`` where there is one."""
        last = last and bool(self.runs.blocking)  # without these a run at the end is one like any other
        name = self.name(rule, beginning, last)
        if name not in self.bodies:
            self.bodies[name] = EMPTY
            self.asked.append((rule, beginning, last))
        called = Call(name) if tokens is None else Budget(name, tokens)
        return seq([called, self.run(last)]) if rule in self.left_recursive else called

    def limited(self, expression: Budget, last: bool) -> Expression:
        """A rule with a budget where something stands before it: the run before its first terminal stands before the rule."""
        ways = [seq([Text(run), self.call(expression.rule, beginning, last, expression.tokens)]) for run, beginning in self.after]
        ways.append(self.call(expression.rule, _OTHERS, last, expression.tokens))
        return choice([*ways, self.run(last)] if expression.rule in self.nullable else ways)

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
            return self.call(expression.rule, None, last)
        if isinstance(expression, Budget):
            return self.limited(expression, last)
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
        """The expression without the empty text and without a run before it, as far as it begins in the way asked for."""
        beginning = self.beginning
        if isinstance(expression, (Terminal, Text)):
            language = expression.language
            terminal = isinstance(expression, Terminal)
            if not (beginning.terminals if terminal else beginning.others):
                return NOTHING
            if terminal and beginning.lost is not None:
                language = Language.intersection([language, beginning.lost.complement()])
            if not language.nullable:
                return NOTHING if language.is_nothing else Text(language)
            some = Language.intersection([language, _SOME])
            return NOTHING if some.is_nothing else Text(some)
        if isinstance(expression, Call):
            return self.call(expression.rule, beginning, last)
        if isinstance(expression, Budget):
            return self.call(expression.rule, beginning, last, expression.tokens)
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
        if isinstance(expression, Tokens):
            return expression if beginning.terminals else NOTHING
        return expression if beginning.others else NOTHING


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
