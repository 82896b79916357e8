"""Rules and expressions that match the empty text, and the same without it."""

from __future__ import annotations

from scansion._kernel import Language
from scansion.errors import LimitError
from scansion.grammar.graph import holds, least_fixpoint
from scansion.grammar.nodes import EMPTY, NOTHING, Budget, Call, Choice, Expression, Repeat, Rules, Seq, Terminal, Text, choice, repeat, seq

__all__ = ["MAX_REWRITTEN_PARTS", "Nonempty", "is_nullable", "nullable_rules", "repeat_nonempty_bodies"]

MAX_REWRITTEN_PARTS = 200_000  # n parts that may all be empty are written n times
_RULE_PARTS = 10  # what a rule counts that is written a second time


def is_nullable(expression: Expression, nullable: set[str]) -> bool:
    """Whether an expression matches the empty text, given the rules that do."""
    return holds(expression, nullable, _leaf_is_nullable)


def nullable_rules(rules: Rules) -> set[str]:
    """The rules that match the empty text."""
    return least_fixpoint(rules, _leaf_is_nullable)


def _leaf_is_nullable(expression: Expression) -> bool:
    return isinstance(expression, (Text, Terminal)) and expression.language.nullable


class Nonempty:
    """Writes, for an expression, one that matches the same texts but not the empty one.

    Rules it needs in that form are added to ``bodies`` under new names by ``finish``.

    Args:
        rules: the grammar.
        bodies: its bodies, to which rules are added.
        nullable: its ``nullable_rules``.

    Attributes:
        rule: the rule whose parts are being written, for messages.
    """

    def __init__(self, rules: Rules, bodies: dict[str, Expression], nullable: set[str]) -> None:
        self.rules = rules
        self.bodies = bodies
        self.nullable = nullable
        self.rule = rules.start
        self._parts = 0
        self._names: dict[str, str] = {}
        self._todo: list[str] = []
        self._texts: dict[Language, Expression] = {}
        self._some = Language.concat([Language.char_class([(0, 0xD7FF), (0xE000, 0x10FFFF)]), Language.anything()])

    def of(self, expression: Expression) -> Expression:
        """The expression without the empty text."""
        if not is_nullable(expression, self.nullable):
            return expression
        if isinstance(expression, Call):
            return Call(self._rule(expression.rule))
        if isinstance(expression, Budget):
            return Budget(self._rule(expression.rule), expression.tokens)
        if isinstance(expression, (Text, Terminal)):
            return self._text(expression.language)
        if isinstance(expression, Choice):
            return choice([part for part in map(self.of, expression.parts) if part != NOTHING])
        if isinstance(expression, Repeat):
            if is_nullable(expression.body, self.nullable):
                body = self.of(expression.body)
                return NOTHING if body == NOTHING else repeat(body, 1, expression.high)
            return repeat(expression.body, 1, expression.high)
        if isinstance(expression, Seq):
            # The first part that is not empty is the first, the second, ...: all before it are empty.
            self.spend(len(expression.parts) ** 2 // 2)
            ways = [(self.of(part), expression.parts[index + 1 :]) for index, part in enumerate(expression.parts)]
            return choice([seq([first, *rest]) for first, rest in ways if first != NOTHING])
        return expression

    def spend(self, parts: int) -> None:
        """Count parts that are written anew.

        Raises:
            LimitError: more than ``MAX_REWRITTEN_PARTS`` in all.
        """
        self._parts += parts
        if self._parts > MAX_REWRITTEN_PARTS:
            raise LimitError(
                f"{self.rules.place(self.rule)} has too many parts that may be empty, or begins with itself in too many ways: more than "
                f"{MAX_REWRITTEN_PARTS:,} parts would be written to undo it",
                limit="rewritten_parts",
                allowed=MAX_REWRITTEN_PARTS,
            )

    def finish(self) -> None:
        """Write the bodies of the rules ``of`` has asked for."""
        while self._todo:
            name = self.rule = self._todo.pop()
            self.bodies[self._names[name]] = self.of(self.bodies[name])

    def _rule(self, name: str) -> str:
        if name not in self._names:
            self.spend(_RULE_PARTS)
            self._names[name] = f"{name}~some"
            if self._names[name] not in self.bodies:  # an earlier pass may have written it
                self._todo.append(name)
        return self._names[name]

    def _text(self, language: Language) -> Expression:
        known = self._texts.get(language)
        if known is None:
            some = Language.intersection([language, self._some])
            known = self._texts[language] = NOTHING if some.is_nothing else Text(some)
        return known


def repeat_nonempty_bodies(rules: Rules, nullable: set[str]) -> Rules:
    """Repetitions of what may be empty become repetitions of what is not: the same texts, and no turn without progress.

    Args:
        rules: the grammar. nullable: its ``nullable_rules``.
    """
    if Repeat not in rules.survey.kinds:
        return rules
    to_rewrite = [name for name, body in rules.rules.items() if _repeats_empty(body, nullable)]
    if not to_rewrite:
        return rules
    bodies = dict(rules.rules)
    nonempty = Nonempty(rules, bodies, nullable)
    for name in to_rewrite:
        nonempty.rule = name
        bodies[name] = _rewrite(bodies[name], nonempty)
    nonempty.finish()
    # The bodies just written may repeat nullable things too: they are copies of bodies already rewritten, so they do not.
    return rules.replaced(bodies)


def _repeats_empty(expression: Expression, nullable: set[str]) -> bool:
    if isinstance(expression, Repeat):
        return is_nullable(expression.body, nullable) or _repeats_empty(expression.body, nullable)
    if isinstance(expression, (Seq, Choice)):
        return any(_repeats_empty(part, nullable) for part in expression.parts)
    return False


def _rewrite(expression: Expression, nonempty: Nonempty) -> Expression:
    if isinstance(expression, Seq):
        return seq([_rewrite(part, nonempty) for part in expression.parts])
    if isinstance(expression, Choice):
        return choice([_rewrite(part, nonempty) for part in expression.parts])
    if isinstance(expression, Repeat):
        body = _rewrite(expression.body, nonempty)
        if not is_nullable(body, nonempty.nullable):
            return repeat(body, expression.low, expression.high)
        some = nonempty.of(body)
        return EMPTY if some == NOTHING else repeat(some, 0, expression.high)
    return expression
