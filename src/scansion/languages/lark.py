"""Lark grammars, in the variant llguidance documents (``docs/syntax.md`` there; ``docs/lark.md`` here for the differences).

Names in upper case are terminals: one regular language each. Names in lower case are rules. Every way to split a text into
terminals counts: a terminal may stop earlier than the longest match, so ``/[a-z]+/ "x"`` matches ``abx``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from scansion._kernel import Language
from scansion.errors import UnsupportedError
from scansion.grammar.nodes import (
    EMPTY,
    Budget,
    Call,
    Expression,
    JsonValue,
    Rules,
    Terminal,
    Tokens,
    choice,
    repeat,
    seq,
)
from scansion.languages.gbnf import MAX_TOKEN_ID
from scansion.languages.lark_nesting import NestedRules, inside, nested_files
from scansion.languages.lark_syntax import read_lark
from scansion.languages.lark_terminals import Terminals, shortest_matches
from scansion.languages.lark_trees import (
    Alternatives,
    Both,
    Definition,
    Import,
    JsonSchema,
    LarkFile,
    Name,
    NestedGrammar,
    Not,
    Repeated,
    Sequence,
    SpecialToken,
    String,
    Tree,
)
from scansion.languages.source import Source

__all__ = ["MAX_INSTANCES", "parse_lark"]

_START = "start~"  # the text, where the rule `start` has max_tokens
MAX_INSTANCES = 100_000  # alternatives of parametric rules, over all values that can come up

_TOKEN_RANGE = re.compile(r"([0-9]{1,11})(?:-([0-9]{1,11}))?")

# What %llguidance may set. The first two change what is matched; the others only how llguidance works.
_OPTIONS = {
    "allow_initial_skip": bool,
    "skip_repetition": str,
    "no_forcing": bool,
    "verbose_errors": bool,
    "allow_invalid_utf8": bool,
}


def parse_lark(text: str, *, grammars: Mapping[str, str | Rules] | None = None) -> Rules:
    """Read a Lark grammar.

    Args:
        text: the grammar; its rule of the whole text is ``start``.
        grammars: grammars that ``@name`` refers to, as Lark text or as rules.

    Raises:
        GrammarError: a syntax error, with line, column and what was expected; a name that is not defined.
        UnsupportedError: a construct with no meaning here (templates, imports of files).
        LimitError: a repetition, depth or number of rule instances over its bound.
    """
    source = Source(text, "Lark")
    file = read_lark(source)
    nested = NestedRules()
    for name, grammar in nested_files(source, file, grammars or {}):
        with inside(name):
            nested.known[name] = grammar if isinstance(grammar, Rules) else _Compiler(*grammar, nested).rules()
    return _Compiler(source, file, nested).rules()


class _Compiler:
    def __init__(self, source: Source, file: LarkFile, nested: NestedRules) -> None:
        self.source = source
        self.file = file
        self.grammars = nested
        self.definitions: dict[str, Definition] = {}
        for definition in file.definitions:
            first = self.definitions.setdefault(definition.name, definition)
            if first is not definition:
                line = source.position(first.offset)[0]
                raise source.error(
                    definition.offset,
                    f"{definition.name} is defined twice; the first definition is on line {line}",
                    construct=definition.name,
                )
        imports: dict[str, Import] = {}
        for item in file.imports:
            if item.alias in self.definitions or imports.setdefault(item.alias, item).name != item.name:
                raise source.error(
                    item.offset,
                    f"{item.alias} is imported and also defined or imported otherwise",
                    construct="%import",
                    hint=f"import it under another name: %import {item.name} -> OTHER",
                )
        self.terminals = Terminals(source, self.definitions, imports)
        self.bodies: dict[str, Expression] = {}
        self.positions: dict[str, tuple[int, int]] = {}
        self.pending: list[tuple[str, Definition, int]] = []
        self.asked: set[str] = set()
        self.embedded: dict[str, Expression] = {}
        self.instances = 0
        self.writing: Definition | None = None  # the rule whose body is being written
        self.initial_skip = False
        self.skip_once = False

    def rules(self) -> Rules:
        source = self.source
        self.options()
        start = self.definitions.get("start")
        if start is None or start.parametric:
            raise source.error(0, "the grammar has no rule `start`", construct="start", hint="name the rule of the whole text start")
        ignored = [self.terminals.language(tree) for tree in self.file.ignored]
        self.ask("start", start, 0)
        for item in self.file.imports:  # an import that means nothing is an error also where nothing uses it
            self.terminals.named(item.alias, item.offset)
        for definition in self.file.definitions:
            if definition.name.isupper():
                self.terminals.named(definition.name, definition.offset)
            elif not definition.parametric:
                self.ask(definition.name, definition, 0)
        while self.pending:
            name, definition, value = self.pending.pop()
            self.positions[name] = source.position(definition.offset)
            self.bodies[name] = self.body(definition, value)
        self.writing = None
        first = self.call("start", start)
        if not isinstance(first, Call):
            self.bodies[_START] = first
        name = "start" if isinstance(first, Call) else _START
        return Rules(name, self.bodies, tuple(ignored), self.skip_once, self.initial_skip, self.positions)

    def options(self) -> None:
        for value, offset in self.file.options:
            if not isinstance(value, dict):
                raise self.source.error(offset, "expected a JSON object after %llguidance", construct="%llguidance")
            for name, setting in value.items():
                if name not in _OPTIONS:
                    raise self.source.error(
                        offset,
                        f"the option {name!r} is not known",
                        construct="%llguidance",
                        hint=f"there are {', '.join(_OPTIONS)}",
                        kind=UnsupportedError,
                    )
                if not isinstance(setting, _OPTIONS[name]):
                    raise self.source.error(offset, f"the option {name!r} is {setting!r}", construct="%llguidance")
                if name == "allow_initial_skip":
                    self.initial_skip = bool(setting)
                elif name == "allow_invalid_utf8" and setting:
                    raise self.source.error(
                        offset, "text that is no UTF-8 cannot be allowed", construct="allow_invalid_utf8", kind=UnsupportedError
                    )
                elif name == "skip_repetition":
                    if setting not in ("once", "repeat"):
                        raise self.source.error(
                            offset, f"skip_repetition is {setting!r}", construct="%llguidance", hint="use 'once' or 'repeat'"
                        )
                    self.skip_once = setting == "once"

    def ask(self, name: str, definition: Definition, value: int) -> None:
        """Have a rule written, once; a parametric one for a value."""
        if name not in self.asked:
            self.asked.add(name)
            self.pending.append((name, definition, value))

    def body(self, definition: Definition, value: int) -> Expression:
        stop = definition.stop
        if "lazy" not in definition.attributes and stop is None:
            self.writing = definition
            return self.expression(definition.body, value if definition.parametric else None)
        language = self.terminals.language(definition.body)
        if stop is not None:
            language = Language.concat([language, self.terminals.language(stop)])
        if language.nullable:  # it is over before it begins
            return EMPTY
        return Terminal(shortest_matches(language), definition.name, lazy=True)

    def expression(self, tree: Tree, own: int | None) -> Expression:
        """A part of a rule; ``own`` is the value of the rule's parameter."""
        if isinstance(tree, Name):
            return self.name(tree, own)
        if isinstance(tree, Sequence):
            return seq([self.expression(part, own) for part in self.without_repeated_stops(tree)])
        if isinstance(tree, Alternatives):
            return self.alternatives(tree, own)
        if isinstance(tree, Repeated):
            return repeat(self.expression(tree.body, own), tree.low, tree.high)
        if isinstance(tree, SpecialToken):
            return self.token(tree)
        if isinstance(tree, JsonSchema):
            return JsonValue(tree.schema, (("whitespace", "flexible"),), self.source.position(tree.offset))
        if isinstance(tree, NestedGrammar):
            return self.nested(tree)
        if isinstance(tree, Both):
            raise self.source.error(
                tree.offset, "& joins terminals, not rules", construct="&", hint="give the terminal a name in upper case"
            )
        if isinstance(tree, Not):
            return Terminal(self.terminals.language(tree))
        if isinstance(tree, String) and not tree.text:
            return EMPTY
        return Terminal(self.terminals.language(tree))

    def without_repeated_stops(self, tree: Sequence) -> list[Tree]:
        """The parts of a sequence, without each text that only writes the ``stop`` of the rule before it a second time.

        llguidance hides the stop from the model and has it written by what follows: ``with_stop "<end>"`` matches it once.
        """
        parts: list[Tree] = []
        stop: str | None = None
        capped: Definition | None = None  # the rule of that stop, where it has max_tokens
        for part in _flat(tree):
            if stop is not None:
                text = self.terminals.fixed_text(part)
                if text is not None and text.startswith(stop):
                    if capped is not None:
                        raise self.source.error(
                            tree.offset,
                            f"the stop of {capped.name} is written again behind it, and would be missing where max_tokens cuts the rule",
                            construct="max_tokens",
                            hint="leave the stop out of the rule, or out of what follows",
                            kind=UnsupportedError,
                        )
                    part = String(text[len(stop) :], False, part.offset)
            parts.append(part)
            definition = self.definitions.get(part.name) if isinstance(part, Name) else None
            capped = definition if definition is not None and definition.max_tokens is not None else None
            written = definition.attributes.get("stop") if definition is not None else None
            stop = self.terminals.fixed_text(written) if written is not None and not isinstance(written, float) else None
        return parts

    def alternatives(self, tree: Alternatives, own: int | None) -> Expression:
        if all(isinstance(part, String) and part.text and not part.ignore_case and condition is None for part, condition in tree.parts):
            return Terminal(self.terminals.union(tree))  # a list of words: one terminal says the same
        ways: list[Expression] = []
        self.instances += len(tree.parts) if own is not None else 0
        if self.instances > MAX_INSTANCES:
            raise self.source.limit(
                tree.offset,
                f"the parametric rules come to more than {MAX_INSTANCES:,} alternatives over all their values",
                limit="rule_instances",
                allowed=MAX_INSTANCES,
            )
        for part, condition in tree.parts:
            if condition is not None:
                if own is None:
                    raise self.source.error(
                        tree.offset, "a condition in a rule that has no parameter", construct="%if", hint="write rule::_ : ..."
                    )
                if not condition.holds(own):
                    continue
            ways.append(self.expression(part, own))
        return choice(ways)

    def name(self, tree: Name, own: int | None) -> Expression:
        name = tree.name
        if name.isupper():
            if tree.parameter is not None:
                raise self.source.error(tree.offset, f"the terminal {name} takes no parameter", construct=name)
            return Terminal(self.terminals.named(name, tree.offset), name)
        definition = self.definitions.get(name)
        if definition is None:
            raise self.source.error(tree.offset, f"the rule {name} is not defined", construct=name, hint=f"add a line: {name}: ...")
        parameter = tree.parameter
        if definition.parametric != (parameter is not None):
            wanted = "takes a parameter, as in rule::0" if definition.parametric else "takes no parameter"
            raise self.source.error(tree.offset, f"the rule {name} {wanted}", construct=name)
        if parameter is None:
            self.ask(name, definition, 0)
            return self.call(name, definition)
        if parameter.needs_own and own is None:
            raise self.source.error(
                tree.offset, "the calling rule has no parameter to pass on", construct=name, hint="give a number: rule::0"
            )
        value = parameter.value(own or 0)
        instance = f"{name}::{value}"
        self.ask(instance, definition, value)
        return self.call(instance, definition)

    def call(self, name: str, definition: Definition) -> Expression:
        """A call of a rule, with its ``max_tokens``. Inside the rule itself that bound says nothing: the outer one is over first."""
        tokens = definition.max_tokens
        if tokens is None or definition is self.writing:
            return Call(name)
        return Budget(name, tokens) if tokens else EMPTY

    def token(self, tree: SpecialToken) -> Expression:
        text = tree.text
        if not text.startswith("<["):
            return Tokens(names=(text,))
        inside = text[2:-2] if text.endswith("]>") else ""
        if inside == "*":
            return Tokens(negated=True)
        negated = inside.startswith("^")
        ranges: list[tuple[int, int]] = []
        for piece in inside[negated:].split(","):
            written = _TOKEN_RANGE.fullmatch(piece)
            low, high = (int(written[1]), int(written[2] or written[1])) if written else (-1, -1)
            if not 0 <= low <= high <= MAX_TOKEN_ID:
                raise self.source.error(
                    tree.offset, f"{text} is no set of tokens", construct=text[:40], hint="write <[42]>, <[1-9,12]>, <[^42]> or <[*]>"
                )
            ranges.append((low, high))
        return Tokens(tuple(ranges), negated=negated)

    def nested(self, tree: NestedGrammar) -> Expression:
        known = self.embedded.get(tree.name)
        if known is not None:
            return known
        known, bodies = self.grammars.embedded(tree.name, self.source, tree.offset)
        self.bodies.update(bodies)
        self.embedded[tree.name] = known
        return known


def _flat(tree: Sequence) -> Iterator[Tree]:
    for part in tree.parts:
        if isinstance(part, Sequence):
            yield from _flat(part)
        else:
            yield part
