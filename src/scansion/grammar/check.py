"""Rules that are called and not defined, and rules nothing calls."""

from __future__ import annotations

from scansion.errors import GrammarError
from scansion.grammar.graph import reachable
from scansion.grammar.nodes import Rules

__all__ = ["check", "without_unused"]


def check(rules: Rules) -> Rules:
    """The grammar without rules nothing calls.

    Raises:
        GrammarError: a rule calls one that does not exist.
    """
    bodies = rules.rules
    if rules.start not in bodies:
        raise GrammarError(f"the grammar has no rule {rules.start!r}, where it starts", construct=rules.start)
    for name, called_rules in rules.survey.calls.items():
        for called in called_rules:
            if called not in bodies:
                line, column = rules.positions.get(name, (None, None))
                raise GrammarError(f"the rule {name!r} calls {called!r}, which is not defined", construct=called, line=line, column=column)
    return without_unused(rules)


def without_unused(rules: Rules) -> Rules:
    """Only the rules the start leads to, in the order they are met from there."""
    return rules.only(reachable(rules.start, rules.survey.calls))
