"""Writes what a grammar ignores into its rules."""

from __future__ import annotations

from scansion.grammar.nodes import Call, Choice, Expression, JsonValue, Repeat, Rules, Seq, Terminal, Text, Tokens, choice, repeat, seq

__all__ = ["place_ignored"]

_IGNORED = "~ignored"
_START = "~start"


def place_ignored(rules: Rules) -> Rules:
    """Terminals become plain texts; where something is ignored, any run of it may stand first and after each terminal.

    ``Text`` is left alone: it is a part of a terminal that a front end has already put together.
    """
    if rules.ignore is None:
        bodies = {name: _rewrite(body, None) for name, body in rules.rules.items()}
        return Rules(rules.start, bodies, None, rules.positions)
    run = repeat(_rewrite(rules.ignore, None), 0, None)
    bodies = {name: _rewrite(body, Call(_IGNORED)) for name, body in rules.rules.items()}
    bodies[_IGNORED] = run
    bodies[_START] = seq([Call(_IGNORED), Call(rules.start)])
    return Rules(_START, bodies, None, rules.positions)


def _rewrite(expression: Expression, after: Expression | None) -> Expression:
    if isinstance(expression, Terminal):
        text = Text(expression.language)
        return text if after is None else seq([text, after])
    if isinstance(expression, (Tokens, JsonValue)) and after is not None:
        return seq([expression, after])
    if isinstance(expression, Seq):
        return seq([_rewrite(part, after) for part in expression.parts])
    if isinstance(expression, Choice):
        return choice([_rewrite(part, after) for part in expression.parts])
    if isinstance(expression, Repeat):
        return repeat(_rewrite(expression.body, after), expression.low, expression.high)
    return expression
