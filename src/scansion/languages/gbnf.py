"""GBNF, the grammar language of llama.cpp.

The dialect is the one llama.cpp's ``src/llama-grammar.cpp`` reads (``llama_grammar_parser``), with a few things it
refuses taken as well: underscores in names, a line that begins with ``|``, left recursion, repetitions up to a million.
``docs/gbnf.md`` lists every difference, and what ``compat="llama.cpp"`` changes.

The parser is one loop over tokens with its own stack of open groups, so nesting costs memory and no recursion.
"""

from __future__ import annotations

import re

from scansion.errors import GrammarError, LimitError
from scansion.grammar.check import check
from scansion.grammar.nodes import EMPTY, Call, Expression, Rules, Text, Tokens, choice, repeat, seq
from scansion.grammar.productive import let_rules_wait_forever
from scansion.languages import gbnf_characters
from scansion.languages.llama_cpp_symbols import ANY_MIDDLE, ENDING, SymbolClasses
from scansion.languages.source import Positions, Source

__all__ = ["COMPATIBILITY_MODES", "LLAMA_CPP_MAX_REPETITIONS", "MAX_REPETITIONS", "MAX_TOKEN_ID", "parse_gbnf"]

COMPATIBILITY_MODES = ("grammar", "llama.cpp")
MAX_REPETITIONS = 1_000_000
LLAMA_CPP_MAX_REPETITIONS = 2000  # MAX_REPETITION_THRESHOLD in src/llama-grammar.cpp
MAX_TOKEN_ID = 2**31 - 2
_MAX_ITEMS = 400_000  # about a second of work; a mebibyte of grammar as people and converters write it has 200,000 to 300,000
_RULE_ITEMS = 3  # what a rule costs beside its parts
_LIFTED_ITEMS = 8
_MAX_NESTED_GROUPS = 16  # deeper groups get a rule of their own, to keep expressions shallow
_MAX_STACKED_REPETITIONS = 4  # x{2}{3}...: more get a rule of their own as well

_RULE = re.compile(r"([A-Za-z0-9_-]+)(?:[ \t]+|\#[^\r\n]*)*::=(?:[ \t\r\n]+|\#[^\r\n]*)*")
# A token and the white space after it, on the same line or where a line may end. Group numbers are the kinds below.
_TOKEN = re.compile(
    r"""(?:
      ("[^"\\]*(?:\\.[^"\\]*)*")
    | (\[[^\]\\]*(?:\\.[^\]\\]*)*\])
    | ([A-Za-z0-9_-]+)
    | ([(|])(?:[ \t\r\n]+|\#[^\r\n]*)*
    | ([)*+?.])
    | (\{)
    | (!?<\[[0-9]+\]>|!?<[^\[>\r\n][^>\r\n]*>)
    )(?:[ \t]+|\#[^\r\n]*)*""",
    re.VERBOSE | re.DOTALL,
)
_LITERAL, _CLASS, _NAME, _OPENING, _SIGN, _BRACE, _TOKEN_ID = range(1, 8)
_INLINE_SPACE = re.compile(r"(?:[ \t]+|\#[^\r\n]*)*")
_ANY_SPACE = re.compile(r"(?:[ \t\r\n]+|\#[^\r\n]*)*")
_COUNTS = re.compile(r"\{[ \t\r\n]*([0-9]+)[ \t\r\n]*(?:(,)[ \t\r\n]*([0-9]+)?[ \t\r\n]*)?\}")
_WORD = re.compile(r"[A-Za-z0-9_-]+")

_BOUNDS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_EXPECTED = "a rule name, a literal, a class, a token, a group, '.' or a repetition"


def parse_gbnf(text: str, *, root: str = "root", compat: str = "grammar") -> Rules:
    """Read a GBNF grammar.

    Args:
        text: the grammar.
        root: the rule of the whole text.
        compat: ``grammar`` does what the grammar says; ``llama.cpp`` also reproduces llama.cpp's quirks
            (``docs/gbnf.md``).

    Raises:
        GrammarError: a syntax error, with line, column and what was expected; a rule that is used and not defined, or
            defined twice; a repetition whose bounds are the wrong way round.
        LimitError: a repetition over ``MAX_REPETITIONS``, or too large a grammar.
    """
    if compat not in COMPATIBILITY_MODES:
        raise GrammarError(f"compat is {compat!r}", construct="compat", hint=f"use one of {', '.join(COMPATIBILITY_MODES)}")
    source = Source(text, "GBNF")
    if compat == "grammar":
        return _Parser(source, None).parse(root)
    classes = SymbolClasses(begins="!<" in text)
    rules = check(_Parser(source, classes).parse(root))
    whole = {**rules.rules, "~whole": seq([Call(rules.start), choice([EMPTY, Text(ENDING)])])}
    return let_rules_wait_forever(Rules("~whole", whole, positions=rules.positions), gbnf_characters.NEVER)


class _Group:
    """An open parenthesis, or the rule itself: finished alternatives, and the sequence being read."""

    __slots__ = ("alternatives", "offset", "sequence", "symbols_before")

    def __init__(self, offset: int, symbols_before: int) -> None:
        self.offset = offset
        self.symbols_before = symbols_before
        self.alternatives: list[Expression] = []
        self.sequence: list[Expression] = []

    def close(self) -> Expression:
        self.alternatives.append(_sequence(self.sequence))
        return self.alternatives[0] if len(self.alternatives) == 1 else choice(self.alternatives)


def _sequence(parts: list[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else seq(parts)


class _Parser:
    def __init__(self, source: Source, llama_cpp: SymbolClasses | None) -> None:
        self.source = source
        self.llama_cpp = llama_cpp  # classes as llama.cpp reads them, where its ways are asked for
        self.rules: dict[str, Expression] = {}
        self.defined_at: dict[str, int] = {}
        self.used_at: dict[str, int] = {}
        self.leaves: dict[str, Expression] = {}  # one node a spelling: grammars repeat their literals and classes
        self.lifted = 0
        self.items = 0  # what has been read, by what it costs: a leaf, an alternative, a group and a repetition one each
        # What llama.cpp counts for its limit on repetitions: symbols so far (named and made), and the weight of the last item.
        self.symbols: set[str] = set()
        self.made_symbols = 0
        self.weight = 1

    def parse(self, root: str) -> Rules:
        source, end = self.source, len(self.source.text)
        position = self.skip(_ANY_SPACE, 0)
        while position < end:
            position = self.rule(position)
        if not self.rules:
            raise source.error(0, "the grammar has no rules", hint='write at least: root ::= "..."')
        if root not in self.rules:
            known = ", ".join(list(self.defined_at)[:8])
            raise GrammarError(f"the grammar has no rule {root!r}; it defines {known}", construct="root", hint="name the start rule `root`")
        missing = [(offset, name) for name, offset in self.used_at.items() if name not in self.rules]
        if missing:
            offset, name = min(missing)
            raise source.error(offset, f"the rule {name!r} is used and not defined", construct=name, hint=f"add a line: {name} ::= ...")
        return Rules(root, self.rules, positions=Positions(source, self.defined_at))

    def skip(self, space: re.Pattern[str], position: int) -> int:
        match = space.match(self.source.text, position)
        return match.end() if match else position

    def rule(self, position: int) -> int:
        source, text = self.source, self.source.text
        head = _RULE.match(text, position)
        if head is None:
            word = _WORD.match(text, position)
            if word is None:
                raise source.error(position, f"expected the name of a rule, found {source.found(position)}", construct="rule")
            after = self.skip(_INLINE_SPACE, word.end())
            name = word.group()
            raise source.error(after, f"expected '::=' after the rule name {name!r}, found {source.found(after)}", construct=name)
        name = head.group(1)
        self.symbols.add(name)
        body, end = self.alternates(head.end(), name)
        self.items += _RULE_ITEMS
        if self.items > _MAX_ITEMS:
            raise self.too_large(position)
        if name in self.rules and self.rules[name] != body and not self.llama_cpp:
            line = source.position(self.defined_at[name])[0]
            raise source.error(
                position,
                f"the rule {name!r} is defined twice; the first definition is on line {line}",
                construct=name,
                hint='join them with |, or use compat="llama.cpp", where the last one counts',
            )
        self.rules[name] = body
        self.defined_at[name] = position
        return self.skip(_ANY_SPACE, end)

    def alternates(self, position: int, name: str) -> tuple[Expression, int]:
        """The right side of a rule, from its first item to the end of its line."""
        source, text, end = self.source, self.source.text, len(self.source.text)
        symbols = self.symbols
        match_token, leaves = _TOKEN.match, self.leaves
        group = _Group(position, 0)
        stack: list[_Group] = []
        sequence = group.sequence
        stacked = 0  # repetitions on the last item
        kind, spelling, start = 0, "", position  # of the last token
        while position < end:
            token = match_token(text, position)
            if token is None:
                if text[position] not in "\r\n":
                    if kind == _NAME and not stack and text.startswith("::=", position):
                        raise self.next_rule_too_early(start, spelling)
                    raise self.unreadable(position)
                after = self.skip(_ANY_SPACE, position)
                # Inside a group a line may end anywhere. Outside, the rule goes on only where the next line begins with a bar.
                if not stack and not text.startswith("|", after):
                    self.items += len(sequence) + 1
                    return group.close(), after
                position = after
                continue
            kind = token.lastindex or 0
            spelling = token[kind]
            start, position = position, token.end()
            leaf = leaves.get(spelling)
            if leaf is not None:
                pass
            elif kind == _OPENING:
                if spelling == "|":
                    self.items += len(sequence) + 1
                    if self.items > _MAX_ITEMS:
                        raise self.too_large(start)
                    group.alternatives.append(_sequence(sequence))
                    sequence = group.sequence = []
                else:
                    if self.items + len(stack) >= _MAX_ITEMS:
                        raise self.too_large(start)
                    stack.append(group)
                    group = _Group(start, len(symbols) + self.made_symbols)
                    self.made_symbols += 1
                    sequence = group.sequence
                continue
            elif kind == _SIGN and spelling != ".":
                if spelling == ")":
                    if not stack:
                        raise source.error(start, "expected the end of the rule, found ')', which closes no group", construct=")")
                    self.items += len(sequence) + 1
                    body = group.close()
                    if len(stack) >= _MAX_NESTED_GROUPS and not isinstance(body, (Call, Text)):
                        body = self.lift(name, body)
                    self.weight = max(1, len(symbols) + self.made_symbols - group.symbols_before)
                    group = stack.pop()
                    sequence = group.sequence
                    sequence.append(body)
                    stacked = 0
                else:
                    self.repeat_last(sequence, start, _BOUNDS[spelling], name, stacked)
                    stacked = 0 if stacked >= _MAX_STACKED_REPETITIONS else stacked + 1
                continue
            elif kind == _BRACE:
                bounds, position = self.counts(start)
                self.repeat_last(sequence, start, bounds, name, stacked)
                stacked = 0 if stacked >= _MAX_STACKED_REPETITIONS else stacked + 1
                continue
            else:
                leaf = leaves[spelling] = self.leaf(kind, spelling, start)
            sequence.append(leaf)
            self.weight = 1
            stacked = 0
        if stack:
            raise source.error(group.offset, "this group is never closed: expected ')'", construct="(")
        self.items += len(sequence) + 1
        return group.close(), position

    def leaf(self, kind: int, spelling: str, start: int) -> Expression:
        """The node of a spelling that is met for the first time."""
        if kind == _NAME:
            self.used_at[spelling] = start
            self.symbols.add(spelling)
            return Call(spelling)
        if kind == _LITERAL:
            return gbnf_characters.literal(self.source, start, spelling, self.llama_cpp)
        if kind == _CLASS:
            return gbnf_characters.character_class(self.source, start, spelling, self.llama_cpp)
        if kind == _TOKEN_ID:
            return self.token(spelling, start)
        return gbnf_characters.any_character(self.llama_cpp)

    def token(self, spelling: str, start: int) -> Expression:
        negated = spelling[0] == "!"
        inside = spelling[1:] if negated else spelling
        if not inside.startswith("<["):
            tokens = Tokens(names=(inside,), negated=negated)
        else:
            number = int(inside[2:-2]) if len(inside) < 16 else MAX_TOKEN_ID + 1
            if number > MAX_TOKEN_ID:
                raise self.source.error(start, f"the token id {inside[2:-2][:20]} is too large", construct=spelling[:40])
            tokens = Tokens(((number, number),), negated=negated)
        if negated and self.llama_cpp:
            # In the middle of a token llama.cpp's mask compares the id alone, so that nearly every token passes; none can then be accepted.
            return choice([tokens, seq([Text(ANY_MIDDLE), gbnf_characters.NEVER])])
        return tokens

    def counts(self, start: int) -> tuple[tuple[int, int | None], int]:
        """The bounds of ``{m}``, ``{m,}`` or ``{m,n}`` and the offset after it."""
        source = self.source
        match = _COUNTS.match(source.text, start)
        if match is None:
            raise source.error(start, "expected a repetition {m}, {m,} or {m,n} in decimal digits", construct="repetition")
        low_text, comma, high_text = match.groups()
        low = _number(low_text)
        high = (None if high_text is None else _number(high_text)) if comma else low
        if high is not None and high < low:
            raise source.error(
                start, f"the repetition {match.group()} allows at most {high} and asks for at least {low}", construct="repetition"
            )
        if self.llama_cpp:
            if low > LLAMA_CPP_MAX_REPETITIONS:
                raise source.error(
                    start,
                    f"llama.cpp refuses repetitions of at least {low}; its limit is {LLAMA_CPP_MAX_REPETITIONS}",
                    construct="repetition",
                )
            if high is not None and high > LLAMA_CPP_MAX_REPETITIONS:
                high = None
        elif max(low, high or 0) > MAX_REPETITIONS:
            raise source.limit(
                start,
                f"the repetition {match.group()[:40]} is over the limit of {MAX_REPETITIONS:,}; leave the upper bound out, as in {{m,}}",
                limit="repetition",
                allowed=MAX_REPETITIONS,
            )
        return (low, high), self.skip(_INLINE_SPACE, match.end())

    def repeat_last(self, sequence: list[Expression], start: int, bounds: tuple[int, int | None], name: str, stacked: int) -> None:
        if not sequence:
            sign = self.source.text[start]
            raise self.source.error(start, f"expected an item before {sign!r}, which repeats the item on its left", construct="repetition")
        low, high = bounds
        if self.llama_cpp:
            self.check_llama_cpp_weight(start, low, high)
        body = sequence[-1]
        if stacked >= _MAX_STACKED_REPETITIONS and not isinstance(body, Call):
            body = self.lift(name, body)
        sequence[-1] = repeat(body, low, high)
        self.items += 1

    def check_llama_cpp_weight(self, start: int, low: int, high: int | None) -> None:
        """llama.cpp multiplies what nested repetitions expand to and refuses past its limit (``handle_repetitions``)."""
        total = high if high else low if low else 1
        if self.weight * total > LLAMA_CPP_MAX_REPETITIONS:
            raise self.source.error(
                start,
                f"llama.cpp refuses this repetition: it expands to more than {LLAMA_CPP_MAX_REPETITIONS} rules",
                construct="repetition",
            )
        self.weight *= total
        self.made_symbols += 1 if high is None else high - low

    def lift(self, name: str, body: Expression) -> Expression:
        """Give a deep part a rule of its own, under a name no grammar can write."""
        self.lifted += 1
        self.items += _LIFTED_ITEMS
        lifted = f"{name}~{self.lifted}"
        self.rules[lifted] = body
        return Call(lifted)

    def unreadable(self, position: int) -> GrammarError:
        """The error for a place where no token begins."""
        source, text = self.source, self.source.text
        character = text[position]
        if character == '"':
            return source.error(position, "this literal is never closed: expected '\"'", construct="literal")
        if character == "[":
            return source.error(position, "this class is never closed: expected ']'", construct="class")
        if character in "<!":
            return source.error(position, "expected a token such as <[42]>, <name> or !<name>", construct="token")
        if character == "]":
            return source.error(position, f"expected {_EXPECTED}, found ']'", construct="]", hint="a class that holds ] is written [\\]]")
        return source.error(position, f"expected {_EXPECTED} or the end of the rule, found {source.found(position)}")

    def too_large(self, offset: int) -> LimitError:
        return self.source.limit(
            offset,
            f"the grammar has more than {_MAX_ITEMS:,} items (literals, classes, rule names, alternatives, groups, repetitions, rules)",
            limit="grammar_items",
            allowed=_MAX_ITEMS,
        )

    def next_rule_too_early(self, start: int, name: str) -> GrammarError:
        return self.source.error(
            start,
            f"expected {_EXPECTED}, found the beginning of the rule {name!r}",
            construct=name,
            hint='an empty rule is written: name ::= ""; each rule begins on a line of its own',
        )


def _number(digits: str) -> int:
    """The number of a run of digits; past what matters here all large numbers are the same."""
    return int(digits) if len(digits) <= 12 else 10**12
