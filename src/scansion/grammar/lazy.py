"""Lazy terminals end as soon as they match, and with them whatever else could have been read from the same place.

That is how llguidance's lexer has it, and what makes ``( call | text )*`` work where ``text`` is anything and ``call`` begins
with ``TEXT "<function"`` lazily: text that has come to ``<function`` is a call. Here it is said by the algebra: a terminal that
competes with a lazy one loses the words that begin with a word of it.

Terminals compete where one *place* of the grammar may begin both: the places are those between the parts of its rules, with
what may follow a rule taken from all its callers.
"""

from __future__ import annotations

from scansion._kernel import Language
from scansion.errors import LimitError
from scansion.grammar.nodes import Budget, Call, Choice, Expression, Repeat, Rules, Seq, Terminal, choice, repeat, seq
from scansion.grammar.nullable import is_nullable, nullable_rules

__all__ = ["MAX_LAZY_WORK", "let_lazy_terminals_win"]

MAX_LAZY_WORK = 5_000_000  # about a second
_KEPT_PLACES = 1000
_Places = frozenset[int]  # identities of terminals
_NONE: _Places = frozenset()
_SOME = Language.concat([Language.char_class([(0, 0xD7FF), (0xE000, 0x10FFFF)]), Language.anything()])


def let_lazy_terminals_win(rules: Rules) -> Rules:
    """The grammar with the terminals that compete with lazy ones cut short; as it is where no terminal is lazy."""
    if Terminal not in rules.survey.kinds or not any(_has_lazy(body) for body in rules.rules.values()):
        return rules
    return _Competition(rules).settled()


def _has_lazy(expression: Expression) -> bool:
    if isinstance(expression, (Seq, Choice)):
        return any(_has_lazy(part) for part in expression.parts)
    if isinstance(expression, Repeat):
        return _has_lazy(expression.body)
    return isinstance(expression, Terminal) and expression.lazy


class _Competition:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        # Equal terminals at two places must be told apart, so each gets a node of its own.
        self.bodies = {name: _copied(body) for name, body in rules.rules.items()}
        self.nullable = nullable_rules(rules)
        self.terminals: dict[int, Terminal] = {}
        self.firsts: dict[str, _Places] = dict.fromkeys(self.bodies, _NONE)
        self.follows: dict[str, _Places] = dict.fromkeys(self.bodies, _NONE)
        self.rivals: dict[int, set[Language]] = {}
        self.changed = False
        self.met: set[_Places] = set()  # places of which is noted who competes there
        self.work = 0

    def settled(self) -> Rules:
        self.changed = True
        while self.changed:
            self.changed = False
            for name, body in self.bodies.items():
                found = self.walk(body, _NONE)
                self.walk(body, self.follows[name])
                if not found <= self.firsts[name]:
                    self.firsts[name] |= found
                    self.changed = True
        for name, body in self.bodies.items():
            self.meet(self.walk(body, self.follows[name]))
        return self.rules.replaced({name: self.cut(body) for name, body in self.bodies.items()})

    def walk(self, expression: Expression, after: _Places) -> _Places:
        """The terminals that may be read from before the expression on, given those from behind it; notes who competes."""
        self.spend(10 + len(after))
        if isinstance(expression, Terminal):
            self.terminals[id(expression)] = expression
            own = frozenset((id(expression),))
            return own | after if expression.language.nullable else own
        if isinstance(expression, (Call, Budget)):
            if not after <= self.follows[expression.rule]:
                self.follows[expression.rule] |= after
                self.changed = True
            return self.firsts[expression.rule] | (after if expression.rule in self.nullable else _NONE)
        if isinstance(expression, Seq):
            for part in reversed(expression.parts):
                after = self.walk(part, after)
                self.meet(after)
            return after
        if isinstance(expression, Choice):
            here = _NONE.union(*(self.walk(part, after) for part in expression.parts))
            self.meet(here)
            return here
        if isinstance(expression, Repeat):
            inner = self.walk(expression.body, after)
            inner = self.walk(expression.body, after | inner)
            here = inner | (after if is_nullable(expression, self.nullable) else _NONE)
            self.meet(here | after)
            return here
        return _NONE

    def spend(self, steps: int) -> None:
        """Count terminals looked at, anew at each place.

        Raises:
            LimitError: more than ``MAX_LAZY_WORK`` in all.
        """
        self.work += steps
        if self.work > MAX_LAZY_WORK:
            raise LimitError(
                f"{self.rules.place(self.rules.start)} has lazy rules beside too many others: finding out which terminals compete "
                f"takes more than {MAX_LAZY_WORK:,} steps",
                limit="lazy_terminals",
                allowed=MAX_LAZY_WORK,
            )

    def meet(self, place: _Places) -> None:
        if place in self.met:
            return
        self.spend(len(place))
        if len(self.met) >= _KEPT_PLACES:
            self.met.clear()
        self.met.add(place)
        lazy = [self.terminals[number] for number in place if self.terminals[number].lazy]
        self.spend(len(lazy) * len(place))
        for number in place if lazy else ():
            known = self.rivals.setdefault(number, set())
            known |= {terminal.language for terminal in lazy if terminal is not self.terminals[number]}

    def cut(self, expression: Expression) -> Expression:
        if isinstance(expression, Terminal):
            rivals = self.rivals.get(id(expression))
            if not rivals:
                return expression
            # Of two lazy ones that match at once both go on; of a lazy one and another only the lazy one.
            behind = _SOME if expression.lazy else Language.anything()
            lost = Language.concat([Language.union(sorted(rivals, key=lambda language: language.id)), behind])
            return Terminal(Language.intersection([expression.language, lost.complement()]), expression.name, expression.lazy)
        if isinstance(expression, Seq):
            return seq([self.cut(part) for part in expression.parts])
        if isinstance(expression, Choice):
            return choice([self.cut(part) for part in expression.parts])
        if isinstance(expression, Repeat):
            return repeat(self.cut(expression.body), expression.low, expression.high)
        return expression


def _copied(expression: Expression) -> Expression:
    if isinstance(expression, Terminal):
        return Terminal(expression.language, expression.name, expression.lazy)
    if isinstance(expression, Seq):
        return Seq(tuple(_copied(part) for part in expression.parts))
    if isinstance(expression, Choice):
        return Choice(tuple(_copied(part) for part in expression.parts))
    if isinstance(expression, Repeat):
        return Repeat(_copied(expression.body), expression.low, expression.high)
    return expression
