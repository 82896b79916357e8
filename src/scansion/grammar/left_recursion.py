"""Left recursion, direct, indirect and hidden behind rules that may be empty, becomes recursion at the end.

A rule is read bottom-up: a text of A begins with a text that does not begin with any of the rules A is entangled with
(a *seed*), which completes some rule B; then, as long as wanted, what follows B in a rule that begins with B completes that rule
in turn; and once A is complete it may stop. For ``expr ::= expr "-" num | num`` that is ``num ("-" num)*``.

This is the left-corner transform (Rosenkrantz and Lewis, "Deterministic left corner parsing", 1970) applied to the strongly
connected components of the left-corner relation only, as Moore proposes ("Removing left recursion from context-free
grammars", NAACL 2000). Every way to split a text is kept; how texts were bracketed is not, which a recogniser does not see.
"""

from __future__ import annotations

from collections.abc import Iterator

from scansion.errors import LimitError, UnsupportedError
from scansion.grammar.check import without_unused
from scansion.grammar.graph import strong_components
from scansion.grammar.nodes import EMPTY, NOTHING, Budget, Call, Choice, Expression, Repeat, Rules, Seq, choice, repeat, seq
from scansion.grammar.nullable import Nonempty, is_nullable, nullable_rules

__all__ = ["has_left_recursion", "left_recursive_rules", "remove_left_recursion"]

_MAX_CLIMBS = 200_000  # climbing rules written: the square of a component's size at worst


def remove_left_recursion(rules: Rules, nullable: set[str]) -> Rules:
    """The same texts without left recursion.

    Args:
        rules: the grammar; its repetitions have bodies that are not empty (``repeat_nonempty_bodies``).
        nullable: its ``nullable_rules``.

    Raises:
        LimitError: thousands of rules entangled with each other.
        UnsupportedError: rules entangled through one that has a budget of tokens.
    """
    entangled = _entangled(rules, nullable)
    if not entangled:
        return rules
    bodies = dict(rules.rules)
    nonempty = Nonempty(rules, bodies, nullable)
    rewritten: dict[str, Expression] = {}
    budget = _MAX_CLIMBS
    for component in entangled:
        budget -= len(component) ** 2
        if budget < 0:
            raise LimitError(
                f"{len(component):,} rules are left-recursive through each other, which takes more than {_MAX_CLIMBS:,} rules to undo",
                limit="left_recursion",
                allowed=_MAX_CLIMBS,
            )
        rewritten.update(_Component(component, bodies, nonempty).rewritten())
    nonempty.finish()  # copies the old bodies of rules in a component: they are written again below
    bodies.update(rewritten)
    for component in entangled:
        for name in component:
            some = f"{name}~some"
            if some in bodies and some not in rules.rules:
                bodies[some] = _without_empty(bodies[name])
    return without_unused(rules.replaced(bodies))


def left_recursive_rules(rules: Rules, nullable: set[str]) -> set[str]:
    """The rules whose texts may begin with another text of the rule."""
    return {name for component in _entangled(rules, nullable) for name in component}


def _entangled(rules: Rules, nullable: set[str]) -> list[list[str]]:
    corners = _corner_graph(rules, nullable)
    return [component for component in strong_components(corners) if len(component) > 1 or component[0] in corners[component[0]]]


def _corner_graph(rules: Rules, nullable: set[str]) -> dict[str, list[str]]:
    """The rules a text of each rule may begin with; rules that begin with none are left out."""
    graph: dict[str, list[str]] = {}
    for name, body in rules.rules.items():
        corners = _left_corners(body, nullable)
        if corners:
            graph[name] = sorted(corners) if len(corners) > 1 else list(corners)
    return graph


def _left_corners(expression: Expression, nullable: set[str]) -> set[str]:
    """Rules a text of the expression may begin with."""
    found: set[str] = set()
    todo = [expression]
    while todo:
        node = todo.pop()
        kind = type(node)
        if kind is Call or kind is Budget:
            found.add(node.rule)  # type: ignore[union-attr]
        elif kind is Seq:
            for part in node.parts:  # type: ignore[union-attr]
                todo.append(part)
                if not is_nullable(part, nullable):
                    break
        elif kind is Choice:
            todo += node.parts  # type: ignore[union-attr]
        elif kind is Repeat:
            todo.append(node.body)  # type: ignore[union-attr]
    return found


class _Component:
    """Rules that are left corners of each other."""

    def __init__(self, names: list[str], bodies: dict[str, Expression], nonempty: Nonempty) -> None:
        self.names = names
        self.members = set(names)
        self.nonempty = nonempty
        self.seeds: dict[str, Expression] = {}  # texts of the rule that begin with no member, the empty one left out
        self.steps: dict[str, list[tuple[str, Expression]]] = {name: [] for name in names}  # B: (rule it completes, what follows B there)
        self.chains: dict[str, list[str]] = {name: [] for name in names}  # B: rules that B alone completes
        for name in names:
            nonempty.rule = name
            seeds: list[Expression] = []
            for member, rest in self.split(bodies[name], seeds):
                if is_nullable(rest, nonempty.nullable):
                    self.chains[member].append(name)
                some = nonempty.of(rest)
                for way in some.parts if isinstance(some, Choice) else (some,):
                    if way not in (EMPTY, NOTHING):
                        self.steps[member].append((name, way))
            self.seeds[name] = choice(seeds)

    def split(self, expression: Expression, seeds: list[Expression]) -> Iterator[tuple[str, Expression]]:
        """Collect the seeds of an expression; yield each member it may begin with and what follows there."""
        nullable = self.nonempty.nullable
        if self.members.isdisjoint(_left_corners(expression, nullable)):
            some = self.nonempty.of(expression)
            if some not in (EMPTY, NOTHING):
                seeds.append(some)
        elif isinstance(expression, Call):
            yield expression.rule, EMPTY
        elif isinstance(expression, Budget):
            raise self.refused(expression)
        elif isinstance(expression, Choice):
            for part in expression.parts:
                yield from self.split(part, seeds)
        elif isinstance(expression, Seq):
            for index, part in enumerate(expression.parts):
                self.nonempty.spend(len(expression.parts) - index)
                rest = expression.parts[index + 1 :]
                inner: list[Expression] = []
                for member, follows in self.split(part, inner):
                    yield member, seq([follows, *rest])
                seeds += [seq([seed, *rest]) for seed in inner]
                if not is_nullable(part, nullable):
                    return
        elif isinstance(expression, Repeat):
            fewer = None if expression.high is None else expression.high - 1
            rest_of_turns = repeat(expression.body, max(expression.low - 1, 0), fewer)
            inner = []
            for member, follows in self.split(expression.body, inner):
                yield member, seq([follows, rest_of_turns])
            seeds += [seq([seed, rest_of_turns]) for seed in inner]

    def refused(self, limited: Budget) -> UnsupportedError:
        """Of a member that begins with another one whose budget of tokens the bottom-up reading has no place for."""
        rules, name = self.nonempty.rules, self.nonempty.rule
        line, column = rules.positions.get(name.partition("~")[0], (None, None))
        return UnsupportedError(
            f"the rule {name.partition('~')[0]!r} begins with {limited.rule.partition('~')[0]!r}, which has max_tokens and may begin "
            "with it again",
            construct="max_tokens",
            hint="let a rule with max_tokens be left-recursive by itself only",
            line=line,
            column=column,
        )

    def rewritten(self) -> dict[str, Expression]:
        """New bodies of the members, and the climbing rules they need."""
        bodies: dict[str, Expression] = {}
        completed = {name: self.completed_by(name) for name in self.names}
        if len(self.names) > 1:
            self.nonempty.spend(len(self.names) * sum(len(self.steps[done]) for member in self.names for done in completed[member]))
        for goal in self.names:
            starts = [seq([self.seeds[member], self.climb(goal, member)]) for member in self.names if self.seeds[member] != NOTHING]
            if goal in self.nonempty.nullable:
                starts.append(EMPTY)
            bodies[goal] = choice(starts)
            if len(self.names) == 1:
                break
            for member in self.names:
                ways: list[Expression] = [EMPTY] if goal in completed[member] else []
                for done in completed[member]:
                    ways += [seq([follows, self.climb(goal, completes)]) for completes, follows in self.steps[done]]
                bodies[_climb_name(goal, member)] = choice(ways)
        return bodies

    def climb(self, goal: str, member: str) -> Expression:
        """From a complete ``member`` to a complete ``goal``."""
        if len(self.names) == 1:
            return repeat(choice(self.plain_steps(member)), 0, None)
        return Call(_climb_name(goal, member))

    def plain_steps(self, name: str) -> list[Expression]:
        """What may follow a text of a rule that is recursive by itself only, to make a longer one.

        Where the rule itself may (``s ::= s s | "a"``), its seeds may as well, for a text of the rule is a seed and steps; said
        so, a text has one way to be read in place of one for each way to bracket it.
        """
        steps = [follows for _, follows in self.steps[name]]
        itself = (Call(name), Call(f"{name}~some"))
        if not any(step in itself for step in steps):
            return steps
        others = [step for step in steps if not all(part in itself for part in (step.parts if isinstance(step, Seq) else (step,)))]
        return [self.seeds[name], *others]

    def completed_by(self, name: str) -> list[str]:
        """The rules a complete ``name`` completes with nothing more, itself first."""
        order = [name]
        seen = {name}
        for member in order:
            self.nonempty.spend(len(self.chains[member]))
            for completes in self.chains[member]:
                if completes not in seen:
                    seen.add(completes)
                    order.append(completes)
        return order


def _climb_name(goal: str, member: str) -> str:
    return f"{goal}<{member}>"


def _without_empty(body: Expression) -> Expression:
    parts = body.parts if isinstance(body, Choice) else (body,)
    return choice([part for part in parts if part != EMPTY])


def has_left_recursion(rules: Rules) -> bool:
    """Whether any rule may begin with itself."""
    return bool(_entangled(rules, nullable_rules(rules)))
