"""One grammar inside another."""

from __future__ import annotations

from scansion.grammar.ignore import place_ignored
from scansion.grammar.lazy import let_lazy_terminals_win
from scansion.grammar.nodes import Budget, Call, Choice, Expression, Repeat, Rules, Seq, choice, repeat, seq
from scansion.grammar.productive import without_dead_ends

__all__ = ["embed"]


def embed(rules: Rules, prefix: str) -> tuple[Expression, dict[str, Expression]]:
    """A grammar's start, and its rules under names that begin with ``prefix``.

    What it ignores is ignored inside it only, and its lazy terminals compete with its own.
    """
    settled = let_lazy_terminals_win(rules)
    placed = place_ignored(rules if settled is rules else without_dead_ends(settled))
    bodies = {f"{prefix}:{name}": _renamed(body, prefix) for name, body in placed.rules.items()}
    return Call(f"{prefix}:{placed.start}"), bodies


def _renamed(expression: Expression, prefix: str) -> Expression:
    if isinstance(expression, Call):
        return Call(f"{prefix}:{expression.rule}")
    if isinstance(expression, Budget):
        return Budget(f"{prefix}:{expression.rule}", expression.tokens)
    if isinstance(expression, Seq):
        return seq([_renamed(part, prefix) for part in expression.parts])
    if isinstance(expression, Choice):
        return choice([_renamed(part, prefix) for part in expression.parts])
    if isinstance(expression, Repeat):
        return repeat(_renamed(expression.body, prefix), expression.low, expression.high)
    return expression
