"""Rules into a flat program: the passes in their order, then one program rule for each rule that is left.

Continuations are written last part first. A repetition without bound becomes a rule that calls itself last, which needs
no stack; a counted one becomes a ``REPEAT`` node, which is never expanded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scansion._kernel import CALL, LEX, TEXT, TOKEN
from scansion.errors import GrammarError, LimitError, UnsupportedError
from scansion.grammar.check import check, without_unused
from scansion.grammar.collapse import collapse
from scansion.grammar.ignore import place_ignored
from scansion.grammar.lazy import let_lazy_terminals_win
from scansion.grammar.left_recursion import remove_left_recursion
from scansion.grammar.nodes import Budget, Call, Choice, Expression, JsonValue, Repeat, Rules, Seq, Terminal, Text, Tokens
from scansion.grammar.nullable import nullable_rules, repeat_nonempty_bodies
from scansion.grammar.productive import require_productive, without_dead_ends
from scansion.grammar.token_sets import encode_token_set
from scansion.program import ProgramBuilder, ProgramData

__all__ = ["JsonValueWriter", "lower", "simplify", "write_rules"]

JsonValueWriter = Callable[[ProgramBuilder, JsonValue], int]


def simplify(rules: Rules) -> Rules:
    """All passes: a grammar of the same texts that is defined, productive, folded and free of left recursion.

    Raises:
        GrammarError: a rule that is not defined.
        UnsatisfiableError: a rule that can never finish.
        LimitError: a bound of a pass.
    """
    rules = check(rules)
    require_productive(rules)
    settled = let_lazy_terminals_win(rules)
    if settled is not rules:
        rules = without_dead_ends(settled)
        require_productive(without_unused(rules))
    rules = collapse(place_ignored(rules))
    nullable = nullable_rules(rules)
    repeated = repeat_nonempty_bodies(rules, nullable)
    rewritten = remove_left_recursion(repeated, nullable if repeated is rules else nullable_rules(repeated))
    # Only taking the empty text out of something can leave a rule without texts.
    return rules if rewritten is rules else without_unused(without_dead_ends(rewritten))


def lower(rules: Rules, *, json_value: JsonValueWriter | None = None) -> ProgramData:
    """The program of a grammar.

    Args:
        rules: the grammar; errors are those of ``simplify``.
        json_value: writes a ``JsonValue`` into the builder and gives its rule.
    """
    bodies = rules.rules.values() if JsonValue in rules.survey.kinds else ()
    policies = {dict(value.options).get("whitespace", "bounded") for body in bodies for value in _json_values(body)}
    if len(policies) > 1:
        raise UnsupportedError(
            f"JSON values with different white space policies ({', '.join(sorted(policies))}) in one grammar", construct="whitespace"
        )
    builder = ProgramBuilder(whitespace=policies.pop() if policies else "bounded")
    return builder.finish(write_rules(builder, simplify(rules), json_value))


def _json_values(expression: Expression) -> Iterator[JsonValue]:
    if isinstance(expression, JsonValue):
        yield expression
    elif isinstance(expression, (Seq, Choice)):
        for part in expression.parts:
            yield from _json_values(part)
    elif isinstance(expression, Repeat):
        yield from _json_values(expression.body)


def write_rules(builder: ProgramBuilder, rules: Rules, json_value: JsonValueWriter | None = None) -> int:
    """Write simplified rules into a builder; the program rule of the start."""
    writer = _Writer(builder, rules, json_value)
    for name in rules.rules:
        writer.write(name)
    return writer.numbers[rules.start]


class _Writer:
    def __init__(self, builder: ProgramBuilder, rules: Rules, json_value: JsonValueWriter | None) -> None:
        self.builder = builder
        self.rules = rules
        self.json_value = json_value
        self.numbers = {name: builder.new_rule() for name in rules.rules}
        self.label = -1
        self.written: dict[tuple[int, int], int] = {}  # passes share parts of expressions: (part, next) is written once a rule

    def write(self, name: str) -> None:
        self.label = self.builder.label(written_name(name))
        self.written.clear()
        self.builder.set_rule(self.numbers[name], self.node(self.rules.rules[name], self.builder.ret))

    def node(self, expression: Expression, following: int) -> int:
        """The node that matches the expression and then goes on at ``following``."""
        key = (id(expression), following)
        known = self.written.get(key)
        if known is None:
            known = self.written[key] = self.new_node(expression, following)
        return known

    def new_node(self, expression: Expression, following: int) -> int:
        builder, label = self.builder, self.label
        if isinstance(expression, (Text, Terminal)):
            return builder.node(LEX, builder.lexeme(expression.language, TEXT), following, label)
        if isinstance(expression, Call):
            return builder.node(CALL, self.numbers[expression.rule], following, label)
        if isinstance(expression, Budget):
            return builder.budget(self.numbers[expression.rule], expression.tokens, following, label)
        if isinstance(expression, Seq):
            for part in reversed(expression.parts):
                following = self.node(part, following)
            return following
        if isinstance(expression, Choice):
            return builder.alt([self.node(part, following) for part in expression.parts], label)
        if isinstance(expression, Repeat):
            return self.repetition(expression, following)
        if isinstance(expression, Tokens):
            return builder.node(TOKEN, encode_token_set(builder, expression), following, label)
        return builder.node(CALL, self.schema(expression), following, label)

    def schema(self, value: JsonValue) -> int:
        """The program rule of a JSON value. Its errors name the place in the grammar's text too."""
        if self.json_value is None:
            raise UnsupportedError("this grammar language holds a JSON schema where none can be used", construct="%json")
        try:
            return self.json_value(self.builder, value)
        except GrammarError as error:
            if value.position is not None and error.line is None:
                error.line, error.column = value.position
                error.args = (str(error),)
            raise
        except LimitError as error:
            if value.position is None:
                raise
            line, column = value.position
            raise LimitError(f"line {line}, column {column}: {error}", limit=error.limit, allowed=error.allowed) from None

    def repetition(self, expression: Repeat, following: int) -> int:
        builder, label = self.builder, self.label
        body, low, high = expression.body, expression.low, expression.high
        if (low, high) == (0, 1):
            return builder.alt([self.node(body, following), following], label)
        turns = builder.new_rule()
        if high is None and low <= 1:
            again = builder.node(CALL, turns, builder.ret, label)
            if low == 0:
                entry = builder.alt([self.node(body, again), builder.ret], label)
            else:
                entry = self.node(body, builder.alt([again, builder.ret], label))
            builder.set_rule(turns, entry)
            return builder.node(CALL, turns, following, label)
        builder.set_rule(turns, self.node(body, builder.ret))
        return builder.repeat(turns, low, -1 if high is None else high, following, label)


def written_name(name: str) -> str:
    """The rule of the text that a rule made by a pass stands for."""
    for sign in "<~":
        end = name.find(sign, 1)
        if end > 0:
            name = name[:end]
    return name.lstrip("~")
