"""Rules that can never finish: no text at all, however long, completes them."""

from __future__ import annotations

from scansion.errors import UnsatisfiableError
from scansion.grammar.graph import holds, least_fixpoint
from scansion.grammar.nodes import NOTHING, Choice, Expression, Repeat, Rules, Seq, Terminal, Text, Tokens, choice, repeat, seq

__all__ = ["let_rules_wait_forever", "require_productive", "without_dead_ends"]


def require_productive(rules: Rules) -> None:
    """Refuse rules that can never finish.

    Raises:
        UnsatisfiableError: names the rule, and the rule inside it that is to blame.
    """
    finishing = least_fixpoint(rules, _leaf_finishes)
    if len(finishing) == len(rules.rules):
        return
    calls = rules.survey.calls
    stuck = [name for name in rules.rules if name not in finishing]
    # Blame a rule that needs no other stuck rule than itself, where there is one: the root is rarely where the fault is.
    to_blame = next((name for name in stuck if all(called in finishing or called == name for called in calls[name])), stuck[0])
    own = [called for called in calls[to_blame] if called not in finishing]
    if not own:
        why = "it asks for something that no text matches"
    elif to_blame in own:
        why = "every alternative of it calls the rule itself again"
    else:
        why = f"every alternative of it needs {own[0]!r}, which never finishes either"
    line, column = rules.positions.get(to_blame, (None, None))
    raise UnsatisfiableError(
        f"the rule {to_blame!r} can never finish: {why}",
        construct=to_blame,
        hint="give it an alternative that ends",
        line=line,
        column=column,
    )


def let_rules_wait_forever(rules: Rules, never: Expression) -> Rules:
    """Give each rule that can never finish the alternative ``never``, which no text passes.

    The grammar keeps offering the beginnings of texts that cannot end, as llama.cpp does.
    """
    finishing = least_fixpoint(rules, _leaf_finishes)
    changed = {name: body if name in finishing else choice([body, never]) for name, body in rules.rules.items()}
    return rules.replaced(changed)


def without_dead_ends(rules: Rules) -> Rules:
    """Alternatives that need a rule that can never finish are taken out; the texts stay the same."""
    finishing = least_fixpoint(rules, _leaf_finishes)
    bodies = {name: _pruned(body, finishing) for name, body in rules.rules.items()}
    return rules.replaced(bodies)


def _pruned(expression: Expression, finishing: set[str]) -> Expression:
    if isinstance(expression, Seq):
        return seq([_pruned(part, finishing) for part in expression.parts])
    if isinstance(expression, Choice):
        return choice([part for part in (_pruned(part, finishing) for part in expression.parts) if part != NOTHING])
    if isinstance(expression, Repeat):
        return repeat(_pruned(expression.body, finishing), expression.low, expression.high)
    return expression if holds(expression, finishing, _leaf_finishes) else NOTHING


def _leaf_finishes(expression: Expression) -> bool:
    if isinstance(expression, (Text, Terminal)):
        return not expression.language.is_nothing
    if isinstance(expression, Tokens):
        return expression.negated or bool(expression.ranges or expression.names)
    return True  # a JSON value: its own front end refuses schemas nothing satisfies
