"""Writes a grammar in Lark syntax, in the variant of llguidance that ``lark.py`` reads.

What is regular becomes a terminal, or a regex in place where it is short; the rest are rules. Whitespace is written out:
nothing is ignored, so the text means exactly what the program does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from scansion.errors import LimitError, UnsupportedError
from scansion.grammar.nodes import (
    EMPTY,
    Budget,
    Call,
    Choice,
    Expression,
    Repeat,
    Rules,
    Seq,
    Terminal,
    Text,
    Tokens,
    budgets,
    calls,
    choice,
    seq,
)
from scansion.languages.language_rules import class_ranges
from scansion.languages.lark_terminals import MAX_TERMINAL_SIZE
from scansion.languages.program_rules import rules_of_program
from scansion.languages.regex_parser import MAX_PATTERN_LENGTH
from scansion.program import ProgramData

__all__ = ["to_lark"]

_LINE = 120
_CHOICE, _SEQUENCE, _ITEM = range(3)
_META = frozenset("\\.^$*+?{}[]()|/#&~-")


def to_lark(program: ProgramData, *, repeated_keys: bool = False) -> str:
    """The grammar of a program in Lark syntax.

    Args:
        program: of any grammar.
        repeated_keys: let keys that are not declared repeat, which no context-free grammar can forbid.

    Raises:
        UnsupportedError: names what the syntax cannot say.
        LimitError: too large to be written out.
    """
    return _Writer(rules_of_program(program, one_expression=True, repeated_keys=repeated_keys)).text()


class _Writer:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        # A rule that is called with one budget only has it as its own; for others there are rules that call them.
        plainly = {called for body in rules.rules.values() for called in _plain_calls(body)} | {rules.start}
        self.limits: dict[str, int] = {}
        with_limit: list[tuple[str, int]] = []
        for name, numbers in budgets(rules).items():
            if name not in plainly and len(numbers) == 1:
                self.limits[name] = min(numbers)
            else:
                with_limit += [(name, number) for number in sorted(numbers)]
        self.terminals = {
            name
            for name, body in rules.rules.items()
            if name != rules.start and name not in self.limits and _is_regular(body) and not _is_empty(body)
            if len(self.regular(body)) <= MAX_TERMINAL_SIZE  # in a rule it may be larger
        }
        self.names: dict[str, str] = {rules.start: "start"}
        self.taken = {"start"}
        for name in rules.rules:
            if name not in self.names:
                unique = self.fresh(name.replace("-", "_").lower())
                self.names[name] = unique.upper() if name in self.terminals else unique
        self.limited = {call: self.fresh(f"{self.names[call[0]].lower()}_max_{call[1]}") for call in with_limit}

    def fresh(self, plain: str) -> str:
        unique = plain
        count = 1
        while unique in self.taken:
            count += 1
            unique = f"{plain}_{count}"
        self.taken.add(unique)
        return unique

    def text(self) -> str:
        lines = [self.line(name, body) for name, body in self.rules.rules.items()]
        lines += [f"{limited}[max_tokens={tokens}]: {self.names[name]}\n" for (name, tokens), limited in self.limited.items()]
        return "%llguidance {}\n" + "".join(lines)

    def line(self, name: str, body: Expression) -> str:
        if name in self.terminals:
            return f"{self.names[name]}: {self.regular(body)}\n"
        whole = name in self.limits and _is_regular(body) and body != EMPTY  # one terminal, which is all llguidance takes there
        ways = [self.expression(way, _SEQUENCE) for way in (body.parts if isinstance(body, Choice) and not whole else (body,))]
        if not ways:
            raise UnsupportedError(f"the rule {name} matches nothing, which Lark cannot say", construct=name)
        head = self.names[name] + (f"[max_tokens={self.limits[name]}]" if name in self.limits else "")
        line = f"{head}: {' | '.join(ways)}"
        return (line if len(line) <= _LINE else f"{head}: " + "\n    | ".join(ways)) + "\n"

    def expression(self, node: Expression, place: int) -> str:
        if node == EMPTY:
            return '""'
        if _is_regular(node):
            return self.regular(node)
        if isinstance(node, Call):
            return self.names[node.rule]
        if isinstance(node, Budget):
            return self.limited.get((node.rule, node.tokens)) or self.names[node.rule]
        if isinstance(node, Tokens):
            return _tokens(node, place)
        if isinstance(node, Seq):
            inside = " ".join(self.sequence(node.parts))
            return inside if place <= _SEQUENCE else f"({inside})"
        if isinstance(node, Choice):
            inside = " | ".join(self.expression(part, _SEQUENCE) for part in node.parts)
            return inside if place == _CHOICE else f"({inside})"
        if isinstance(node, Repeat):
            item = self.expression(node.body, _ITEM)
            if isinstance(node.body, Repeat):
                item = f"({item})"
            return item + _bounds(node.low, node.high)
        raise UnsupportedError("a JSON schema inside another grammar cannot be written before it is lowered", construct="%json")

    def sequence(self, parts: tuple[Expression, ...]) -> list[str]:
        """The parts, regular ones side by side as one regex."""
        out: list[str] = []
        run: list[Expression] = []
        for part in (*parts, None):
            if part is not None and _is_regular(part):
                run.append(part)
                continue
            if run:
                out.append(self.regular(seq(run)))
                run = []
            if part is not None:
                out.append(self.expression(part, _ITEM))
        return out

    def regular(self, node: Expression) -> str:
        """A regular part: a string where it is one word, a regex otherwise."""
        word = _word(node)
        if word is not None:
            return json.dumps(word, ensure_ascii=False)
        written = f"/{_regex(node, _CHOICE)}/"
        if len(written) > MAX_PATTERN_LENGTH:
            raise LimitError(
                f"a regular part takes a regex of {len(written):,} characters; at most {MAX_PATTERN_LENGTH:,} are read",
                limit="pattern_length",
                allowed=MAX_PATTERN_LENGTH,
            )
        return written


def _plain_calls(node: Expression) -> Iterator[str]:
    if isinstance(node, Call):
        yield node.rule
    elif isinstance(node, (Seq, Choice)):
        for part in node.parts:
            yield from _plain_calls(part)
    elif isinstance(node, Repeat):
        yield from _plain_calls(node.body)


def _is_regular(node: Expression) -> bool:
    return not calls(node) and not _has_tokens(node)


def _has_tokens(node: Expression) -> bool:
    if isinstance(node, (Seq, Choice)):
        return any(_has_tokens(part) for part in node.parts)
    return _has_tokens(node.body) if isinstance(node, Repeat) else isinstance(node, Tokens)


def _is_empty(node: Expression) -> bool:
    return node in (EMPTY, Choice(()))


def _word(node: Expression) -> str | None:
    """The one text of an expression that has one and no choice about it."""
    if isinstance(node, Seq):
        words = [_word(part) for part in node.parts]
        return None if any(word is None for word in words) else "".join(word or "" for word in words)
    if isinstance(node, (Text, Terminal)):
        words_or_none = node.language.words(1)
        return words_or_none[0] if words_or_none else None
    return None


def _regex(node: Expression, place: int) -> str:
    if isinstance(node, (Text, Terminal)):
        word = _word(node)
        if word is not None:
            inside = "".join(_character(ord(character)) for character in word)
            return inside if place < _ITEM or len(word) == 1 else f"({inside})"
        ranges = class_ranges(node.language)
        if ranges is None:
            raise UnsupportedError("a language that was not written out as classes", construct="text")
        return f"[{''.join(_range(first, last) for first, last in ranges)}]"
    if isinstance(node, Seq):
        inside = "".join(_regex(part, _SEQUENCE) for part in node.parts)
        return inside if place < _ITEM and inside else f"({inside})"
    if isinstance(node, Choice):
        others = tuple(part for part in node.parts if part != EMPTY)
        if others and len(others) < len(node.parts):
            return _regex(Repeat(choice(others), 0, 1), place)
        return (
            f"({'|'.join(_regex(part, _SEQUENCE) for part in node.parts)})" if place else "|".join(_regex(p, _SEQUENCE) for p in node.parts)
        )
    if isinstance(node, Repeat):
        inside = _regex(node.body, _ITEM) + _bounds(node.low, node.high)
        return inside if place < _ITEM else f"({inside})"
    raise UnsupportedError("this is not regular", construct="terminal")


def _bounds(low: int, high: int | None) -> str:
    sign = {(0, 1): "?", (0, None): "*", (1, None): "+"}.get((low, high))
    if sign is not None:
        return sign
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


def _range(first: int, last: int) -> str:
    if first == last:
        return _character(first)
    return _character(first) + ("-" if last > first + 1 else "") + _character(last)


def _character(code: int) -> str:
    short = {9: "\\t", 10: "\\n", 13: "\\r"}.get(code)
    if short:
        return short
    character = chr(code)
    if character in _META:
        return f"\\{character}"
    if 0x20 <= code < 0x7F or (0xA0 < code < 0xD800 and character.isprintable()):
        return character
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _tokens(node: Tokens, place: int) -> str:
    ranges = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in node.ranges)
    if node.negated:
        if node.names:
            raise UnsupportedError("Lark syntax negates token ids, not names", construct="tokens")
        return f"<[^{ranges}]>" if ranges else "<[*]>"
    parts = [*node.names, *([f"<[{ranges}]>"] if ranges else [])]
    inside = " | ".join(parts)
    return inside if len(parts) == 1 or place == _CHOICE else f"({inside})"
