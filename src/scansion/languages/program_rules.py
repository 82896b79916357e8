"""A program back as rules, for converters: nodes become expressions, JSON containers become rules of their own.

The graph of a rule's nodes has no cycles (recursion is by ``CALL``), so a choice is written up to the node where its ways
meet again, which is its immediate postdominator.
"""

from __future__ import annotations

from collections.abc import Mapping

from scansion._kernel import ALT, ARRAY, BUDGET, CALL, FAIL, JSON_STRING, LEX, OBJECT, REPEAT, RET, TOKEN, Language
from scansion.errors import LimitError, UnsupportedError
from scansion.grammar.check import without_unused
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
    Text,
    Tokens,
    budgets,
    calls,
    choice,
    repeat,
    seq,
)
from scansion.grammar.productive import without_dead_ends
from scansion.languages.container_rules import ContainerRules
from scansion.languages.language_rules import LanguageRules
from scansion.languages.rule_names import RuleNames, readable_name
from scansion.program import ProgramData

__all__ = ["ProgramRules", "rules_of_program"]

_LARGE = 3  # classes and calls, or alternatives, in a lexeme that is written in place
_LIMIT_HINT = "bound its length less, or drop one of the constraints that are combined in it"
_MAX_EXPANDED = 2_000_000  # nodes visited: a tangled graph is written more than once


def rules_of_program(program: ProgramData, *, one_expression: bool = False, repeated_keys: bool = False) -> Rules:
    """The rules of a program, every text in them over classes of single characters.

    Args:
        program: what to write.
        one_expression: write lexemes without rules as far as they are small (for languages that have terminals).
        repeated_keys: let additional keys of an object repeat, which no context-free grammar can forbid.

    Raises:
        UnsupportedError: names what rules cannot say.
        LimitError: a lexeme, container or graph that is too large to write out.
    """
    rules = ProgramRules(program, one_expression, repeated_keys).rules()
    return without_aliases(without_unused(with_loops(without_dead_ends(rules))))


def without_aliases(rules: Rules) -> Rules:
    """Rules that only call another one, as that one. The other keeps its own name unless only the alias tells what it is."""
    aliases = {name: body.rule for name, body in rules.rules.items() if isinstance(body, Call) and name != rules.start}
    if not aliases:
        return rules
    ends: dict[str, str] = {}
    for name in aliases:
        seen = {name}
        end = name
        while end in aliases and aliases[end] not in seen:
            end = aliases[end]
            seen.add(end)
        ends[name] = end
    replacements = {name: Call(end) for name, end in ends.items() if end not in aliases}
    bodies = {name: _with_calls_replaced(body, replacements) for name, body in rules.rules.items() if name not in replacements}
    users: dict[str, list[str]] = {}
    for name, target in replacements.items():
        users.setdefault(target.rule, []).append(name)
    # An automaton's first state, reached by one name alone, takes that name.
    used = {called for body in bodies.values() for called in calls(body)}
    renamed = {end: Call(names[0]) for end, names in users.items() if len(names) == 1 and end != rules.start and end in used}
    return rules.replaced(
        {renamed[name].rule if name in renamed else name: _with_calls_replaced(body, renamed) for name, body in bodies.items()}
    )


def with_loops(rules: Rules) -> Rules:
    """Rules that only call themselves at their end, which is how loops are lowered, as repetitions where they are called."""
    bodies = dict(rules.rules)
    budgeted = budgets(rules)
    while True:
        loops = {name: loop for name, body in bodies.items() if (loop := _loop(name, body)) is not None}
        # A loop that holds another is written once the other one is.
        ready = {name: loop for name, loop in loops.items() if name == rules.start or not any(called in loops for called in calls(loop))}
        if not ready:
            return rules.replaced(bodies)
        inlined = {name: loop for name, loop in ready.items() if name != rules.start and name not in budgeted}
        bodies = {name: _with_calls_replaced(ready.get(name, body), inlined) for name, body in bodies.items() if name not in inlined}


def _loop(name: str, body: Expression) -> Expression | None:
    """``x*`` for ``name ::= x name | ""``, ``x+`` for ``name ::= x (name | "")``."""
    again = Call(name)
    if isinstance(body, Choice) and len(body.parts) == 2 and body.parts[1] == EMPTY:
        turn = body.parts[0]
        low = 0
    elif isinstance(body, Seq) and body.parts[-1:] == (Choice((again, EMPTY)),):
        turn = Seq((*body.parts[:-1], again))
        low = 1
    else:
        return None
    if not isinstance(turn, Seq) or len(turn.parts) < 2 or turn.parts[-1] != again:
        return None
    step = seq(turn.parts[:-1])
    return None if name in calls(step) else repeat(step, low, None)


def _with_calls_replaced(expression: Expression, replacements: Mapping[str, Expression]) -> Expression:
    if isinstance(expression, Call):
        return replacements.get(expression.rule, expression)
    if isinstance(expression, Budget):
        other = replacements.get(expression.rule)
        return Budget(other.rule, expression.tokens) if isinstance(other, Call) else expression
    if isinstance(expression, Seq):
        return seq([_with_calls_replaced(part, replacements) for part in expression.parts])
    if isinstance(expression, Choice):
        return choice([_with_calls_replaced(part, replacements) for part in expression.parts])
    if isinstance(expression, Repeat):
        return repeat(_with_calls_replaced(expression.body, replacements), expression.low, expression.high)
    return expression


class ProgramRules:
    """One conversion."""

    def __init__(self, program: ProgramData, one_expression: bool, repeated_keys: bool) -> None:
        self.program = program
        self.bodies: dict[str, Expression] = {}
        self.fresh = RuleNames().fresh
        self.names: list[str] = [""] * len(program.rules)
        self.written: set[int] = set()
        self.todo: list[int] = []
        self.languages = LanguageRules(self.bodies, self.fresh, one_expression=one_expression)
        self.containers = ContainerRules(self, repeated_keys)
        self.conditions: list[tuple[int, int, int]] = [
            (event, low, high) for event, low, high in program.conditions
        ]  # grows by what is left of them once some keys are known
        self.condition_numbers = {entry: number + 2 for number, entry in enumerate(self.conditions)}
        self.lexemes: dict[int, Expression] = {}
        self.visited = 0
        self.place: str | None = None  # label of what is being written: of the nearest caller, where a rule has none
        self.places: dict[int, str | None] = {}

    def rules(self) -> Rules:
        start = self.program.start
        self.names[start] = self.fresh("root")
        self.todo.append(start)
        self.written.add(start)
        self.places[start] = self.program.label(self.program.rules[start])
        while self.todo:
            rule = self.todo.pop()
            self.place = self.places[rule]
            self.bodies[self.names[rule]] = _RuleGraph(self, self.program.rules[rule], self.names[rule]).expression()
        return Rules(self.names[start], self.bodies)

    def call(self, rule: int) -> Expression:
        """A call of a program rule, which is then written."""
        if rule not in self.written:
            self.written.add(rule)
            label = self.program.label(self.program.rules[rule])
            self.names[rule] = self.fresh(readable_name(label or "rule"))
            self.places[rule] = self.place if label is None else label
            self.todo.append(rule)
        return Call(self.names[rule])

    def lexeme(self, index: int, hint: str) -> Expression:
        """A lexeme, in place or as a rule called after ``hint``."""
        known = self.lexemes.get(index)
        if known is None:
            language, encoding = self.program.lexemes[index]
            hint = "string" if encoding == JSON_STRING else hint
            known = self.language(language, encoding, hint)
            if _is_large(known):
                name = self.fresh(hint)
                self.bodies[name] = known
                known = Call(name)
            self.lexemes[index] = known
        return known

    def language(self, language: Language, encoding: int, hint: str) -> Expression:
        """A language as an expression.

        Raises:
            LimitError: it takes too many rules; says where it stands.
        """
        try:
            return self.languages.expression(language, encoding, hint)
        except LimitError as error:
            label = self.place
            where = "a terminal" if label is None else f"#{label}" if label[:1] in ("", "/", " ") else f"the rule {label}"
            message = f"{where}: written out, this takes more than {error.allowed:,} rules and alternatives ({_LIMIT_HINT})"
            raise LimitError(message, limit=error.limit, allowed=error.allowed) from None

    @property
    def pointer(self) -> str:
        """Of what is being written, in its schema; the whole schema where labels do not say."""
        return (self.place or "").partition(" must be ")[0] if (self.place or "").startswith("/") else ""

    def tokens(self, index: int) -> Expression:
        """A token set, with its marks as ``grammar.token_sets`` writes them."""
        ranges = self.program.token_sets[index]
        negated = bool(ranges) and tuple(ranges[0]) == (-1, -1)
        ids = tuple((first, last) for first, last in ranges if first >= 0)
        names = tuple(self.program.labels[-2 - first] for first, _ in ranges[1 if negated else 0 :] if first < 0)
        return Tokens(ids, names, negated)


class _RuleGraph:
    """The nodes of one rule."""

    def __init__(self, owner: ProgramRules, entry: int, name: str) -> None:
        self.owner = owner
        self.entry = entry
        self.name = name
        self.nodes = owner.program.nodes
        self.meets = self.postdominators()

    def successors(self, node: int) -> list[int]:
        op, a, b = self.nodes[3 * node : 3 * node + 3]
        if op in (RET, FAIL):
            return []
        return list(self.owner.program.targets[a : a + b]) if op == ALT else [b]

    def postdominators(self) -> dict[int, int]:
        """For each node, the first node that every way on from it passes; ``FAIL`` is no way."""
        order: list[int] = []
        state: dict[int, int] = {}
        stack = [(self.entry, iter(self.successors(self.entry)))]
        state[self.entry] = 1
        while stack:
            node, following = stack[-1]
            for target in following:
                if state.get(target) == 1:
                    raise UnsupportedError("a program whose rules go round without calling cannot be written as rules", construct="program")
                if target not in state:
                    state[target] = 1
                    stack.append((target, iter(self.successors(target))))
                    break
            else:
                stack.pop()
                state[node] = 2
                order.append(node)
        depth: dict[int, int] = {}
        meets: dict[int, int] = {}
        for node in order:
            live = [target for target in self.successors(node) if target in depth]
            if self.nodes[3 * node] == RET:
                depth[node] = 0
            elif live:
                meet = live[0]
                for other in live[1:]:
                    while meet != other:
                        if depth[meet] >= depth[other]:
                            meet = meets[meet]
                        else:
                            other = meets[other]
                meets[node] = meet
                depth[node] = depth[meet] + 1
        return meets

    def expression(self) -> Expression:
        return self.until(self.entry, None)

    def until(self, node: int, stop: int | None) -> Expression:
        """What is matched from a node to ``stop``, or to the end of the rule."""
        parts: list[Expression] = []
        while node != stop:
            self.owner.visited += 1
            if self.owner.visited > _MAX_EXPANDED:
                raise LimitError("the grammar is too large to be written out", limit="expanded_nodes", allowed=_MAX_EXPANDED)
            op, a, b = self.nodes[3 * node : 3 * node + 3]
            if op == RET:
                break
            if op == FAIL or node not in self.meets:
                return NOTHING
            if op == ALT:
                meet = self.meets[node]
                parts.append(choice([way for way in (self.until(target, meet) for target in self.successors(node)) if way != NOTHING]))
                node = meet
                continue
            parts.append(self.item(op, a, node))
            node = b
        return seq(parts)

    def item(self, op: int, a: int, node: int) -> Expression:
        owner = self.owner
        if op == LEX:
            outside, owner.place = owner.place, owner.program.label(node) or owner.place
            expression = owner.lexeme(a, f"{self.name}-text")
            owner.place = outside
            return expression
        if op == CALL:
            return owner.call(a)
        if op == TOKEN:
            return owner.tokens(a)
        if op == REPEAT:
            rule, low, high = owner.program.targets[a : a + 3]
            return repeat(owner.call(rule), low, None if high < 0 else high)
        if op == BUDGET:
            rule, tokens = owner.program.targets[a : a + 2]
            owner.call(rule)
            return Budget(owner.names[rule], tokens)
        if op == OBJECT:
            return owner.containers.object(a)
        assert op == ARRAY
        return owner.containers.array(a)


def _is_large(expression: Expression) -> bool:
    """Whether an expression is better written once, as a rule."""
    leaves = branches = 0
    todo = [expression]
    while todo and leaves <= _LARGE and branches <= _LARGE:
        node = todo.pop()
        if isinstance(node, (Seq, Choice)):
            todo += node.parts
            branches += len(node.parts) if isinstance(node, Choice) else 0
        elif isinstance(node, Repeat):
            todo.append(node.body)
        elif not (isinstance(node, Text) and node.language.max_length() == 1 and node.language.count(2) == 1):
            leaves += 1
    return leaves > _LARGE or branches > _LARGE
