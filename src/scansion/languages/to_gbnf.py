"""Writes a grammar as GBNF, to be read by llama.cpp.

The text is deterministic and means exactly what the program does. Classes are written as the ranges they hold, not negated:
llama.cpp lets a negated class match bytes that are no character. Its limit of 2,000 repetitions is kept by repeating blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from scansion.errors import UnsupportedError
from scansion.grammar.nodes import EMPTY, Budget, Call, Choice, Expression, Repeat, Rules, Seq, Terminal, Text, Tokens, choice, repeat, seq
from scansion.languages.language_rules import class_ranges
from scansion.languages.program_rules import rules_of_program
from scansion.languages.rule_names import RuleNames
from scansion.program import ProgramData

__all__ = ["to_gbnf"]

_BLOCK = 1000  # repetitions in one rule: half of llama.cpp's limit
_MAX_WEIGHT = 400  # rules llama.cpp would make of a repeated group, past which the group gets a rule of its own
_LINE = 120
_MAX_TOKENS = 1000  # ids written out of a range

_CHOICE, _SEQUENCE, _ITEM = range(3)


def to_gbnf(program: ProgramData, *, repeated_keys: bool = False) -> str:
    """The grammar of a program as GBNF.

    Args:
        program: of any grammar.
        repeated_keys: let keys that are not declared repeat, which no context-free grammar can forbid.

    Raises:
        UnsupportedError: names what GBNF cannot say.
        LimitError: too large to be written out.
    """
    return _Writer(rules_of_program(program, repeated_keys=repeated_keys)).text()


class _Writer:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.names = RuleNames()
        self.names.fresh("root")
        self.written = {name: "root" if name == rules.start else self.names.fresh(name) for name in rules.rules}
        self.extra: dict[str, Expression] = {}  # blocks of repetitions, by name
        self.blocks: dict[Expression, str] = {}

    def text(self) -> str:
        lines = [self.line(self.written[name], body) for name, body in self.rules.rules.items()]
        done: set[str] = set()
        while len(done) < len(self.extra):
            for name in [name for name in self.extra if name not in done]:
                lines.append(self.line(name, self.extra[name]))
                done.add(name)
        return "\n".join(lines) + "\n"

    def line(self, name: str, body: Expression) -> str:
        ways = [self.expression(way, _SEQUENCE) for way in (body.parts if isinstance(body, Choice) else (body,))]
        if not ways:
            raise UnsupportedError(f"the rule {name} matches nothing, which GBNF cannot say", construct=name)
        line = f"{name} ::= {' | '.join(ways)}"
        return line if len(line) <= _LINE else f"{name} ::= " + " |\n    ".join(ways)

    def expression(self, node: Expression, place: int) -> str:
        if isinstance(node, (Text, Terminal)):
            return _leaf(node)
        if isinstance(node, Call):
            return self.extra_name(node.rule)
        if isinstance(node, Tokens):
            return _tokens(node, place)
        if isinstance(node, Budget):
            raise UnsupportedError(
                f"GBNF cannot say that {self.written[node.rule]} has at most {node.tokens} tokens",
                construct="max_tokens",
                hint="bound its characters instead",
            )
        if isinstance(node, Seq):
            if not node.parts:
                return '""'
            inside = " ".join(self.sequence(node.parts))
            return inside if place <= _SEQUENCE else f"({inside})"
        if isinstance(node, Choice):
            optional = [part for part in node.parts if part != EMPTY]
            if len(optional) < len(node.parts) and optional:
                return self.expression(repeat(choice(optional), 0, 1), place)
            inside = " | ".join(self.expression(part, _SEQUENCE) for part in node.parts)
            return inside if place == _CHOICE else f"({inside})"
        if isinstance(node, Repeat):
            return self.repetition(node, place)
        raise UnsupportedError("a JSON schema inside another grammar cannot be written as GBNF before it is lowered", construct="%json")

    def extra_name(self, rule: str) -> str:
        return self.written.get(rule, rule)

    def sequence(self, parts: tuple[Expression, ...]) -> Iterator[str]:
        """The parts, characters side by side as one literal, three and more of the same part counted."""
        literal = ""
        for part, count in _runs(parts):
            character = _word(part)
            if character is not None:
                literal += character * count
                continue
            if literal:
                yield _literal(literal)
                literal = ""
            if count > 2 and not isinstance(part, Repeat):
                yield self.repetition(Repeat(part, count, count), _ITEM)
            else:
                yield from [self.expression(part, _ITEM)] * count
        if literal:
            yield _literal(literal)

    def repetition(self, node: Repeat, place: int) -> str:
        low, high = node.low, node.high
        body = node.body
        heavy = max(low, high or 0)
        simple = isinstance(body, (Call, Tokens)) or (isinstance(body, Text) and class_ranges(body.language) is not None)
        if heavy > 1 and not simple and heavy * _weight(body) > _MAX_WEIGHT:
            body = self.block(body)
        if heavy > _BLOCK:
            return self.expression(self.in_blocks(body, low, high), place)
        item = self.expression(body, _ITEM)
        if isinstance(body, Repeat):
            item = f"({item})"
        sign = {(0, 1): "?", (0, None): "*", (1, None): "+"}.get((low, high))
        if sign is None:
            sign = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
        return f"{item}{sign}"

    def in_blocks(self, body: Expression, low: int, high: int | None) -> Expression:
        """The repetition by whole blocks, and at the end one that need not be whole: each length in one way but a few."""
        whole = self.block(Repeat(body, _BLOCK, _BLOCK))
        parts: list[Expression] = []
        if low >= _BLOCK:
            parts.append(self.many(whole, low // _BLOCK, low // _BLOCK))
        if low % _BLOCK:
            parts.append(repeat(body, low % _BLOCK, low % _BLOCK))
        if high is None:
            parts.append(repeat(body, 0, None))
        elif high > low:
            more = high - low
            if more > _BLOCK:
                parts.append(self.many(whole, 0, more // _BLOCK - 1))
                more = more % _BLOCK + _BLOCK
                parts.append(repeat(body, 0, _BLOCK))
                parts.append(repeat(body, 0, more - _BLOCK))
            else:
                parts.append(repeat(body, 0, more))
        return seq(parts)

    def many(self, block: Expression, low: int, high: int) -> Expression:
        return self.in_blocks(block, low, high) if high > _BLOCK else repeat(block, low, high)

    def block(self, body: Expression) -> Expression:
        """A rule of its own for what is repeated."""
        name = self.blocks.get(body)
        if name is None:
            name = self.blocks[body] = self.names.fresh("block")
            self.extra[name] = body
        return Call(name)


def _runs(parts: tuple[Expression, ...]) -> Iterator[tuple[Expression, int]]:
    """Each part with how often it stands there in a row."""
    for part, same in groupby(parts):
        yield part, sum(1 for _ in same)


def _weight(node: Expression) -> int:
    """About how many rules llama.cpp makes of an expression: one a group and name, and one for each optional repetition."""
    if isinstance(node, (Seq, Choice)):
        return 1 + sum(map(_weight, node.parts))
    if isinstance(node, Repeat):
        return _weight(node.body) + (1 if node.high is None else node.high - node.low)
    return 1 if isinstance(node, Call) else 0


def _word(part: Expression) -> str | None:
    """The text of a leaf that is one word."""
    if not isinstance(part, (Text, Terminal)):
        return None
    words = part.language.words(1) if class_ranges(part.language) is None or part.language.count(2) == 1 else None
    return words[0] if words else None


def _leaf(node: Text | Terminal) -> str:
    ranges = class_ranges(node.language)
    word = _word(node)
    if word is not None:
        return _literal(word)
    if ranges is None:
        raise UnsupportedError("a language that was not written out as classes", construct="text")
    return f"[{''.join(_range(first, last) for first, last in ranges)}]"


def _range(first: int, last: int) -> str:
    if first == last:
        return _in_class(first)
    return _in_class(first) + ("-" if last > first + 1 else "") + _in_class(last)


def _in_class(code: int) -> str:
    character = chr(code)
    if character in "\\]":
        return f"\\{character}"
    if character in "^-[":
        return f"\\x{code:02X}"
    return _escaped(code)


def _literal(text: str) -> str:
    return '"' + "".join(f"\\{character}" if character in '\\"' else _escaped(ord(character)) for character in text) + '"'


def _escaped(code: int) -> str:
    short = {9: "\\t", 10: "\\n", 13: "\\r"}.get(code)
    if short:
        return short
    if 0x20 <= code < 0x7F or (0xA0 < code < 0xD800 and chr(code).isprintable()):
        return chr(code)
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _tokens(node: Tokens, place: int) -> str:
    names = [*node.names]
    total = len(names) + sum(last - first + 1 for first, last in node.ranges)
    if total > _MAX_TOKENS:
        raise UnsupportedError(f"a set of {total:,} tokens cannot be written as GBNF", construct="tokens")
    names += [f"<[{token}]>" for first, last in node.ranges for token in range(first, last + 1)]
    if node.negated:
        if len(names) != 1:
            raise UnsupportedError("GBNF negates one token at a time", construct="tokens")
        return f"!{names[0]}"
    inside = " | ".join(names)
    return inside if len(names) == 1 or place == _CHOICE else f"({inside})"
