"""Reads Lark text into trees: tokens, then items, by recursive descent with a bound on depth.

The grammar is that of llguidance's ``docs/syntax.md`` (a variant of the Lark toolkit's): rules in lower case, terminals in
upper case, ``/regex/flags``, ``"text"i``, ``"a".."z"``, ``( )``, ``[ ]``, ``* + ? ~n ~n..m {n,m}``, ``&`` and ``~`` in terminals,
``<special>`` tokens, ``@name``, ``%json``, ``%regex`` and the statements. Nothing is looked up here.
"""

from __future__ import annotations

import json
import re
from typing import Any

from scansion.errors import GrammarError, UnsupportedError
from scansion.grammar.nodes import MAX_BUDGET
from scansion.languages.lark_parameters import Condition, Parameter
from scansion.languages.lark_strings import read_string
from scansion.languages.lark_trees import (
    Alternatives,
    Both,
    CharacterRange,
    Definition,
    Import,
    JsonSchema,
    LarkFile,
    Name,
    NestedGrammar,
    Not,
    Pattern,
    Repeated,
    Sequence,
    SpecialToken,
    String,
    StructuredRegex,
    Tree,
)
from scansion.languages.source import Source

__all__ = ["read_lark"]

_MAX_DEPTH = 60  # groups inside groups

_MAX_TOKENS = 400_000
_MAX_IGNORED = 1000

_SPACE = re.compile(r"(?:[ \t]+|(?:#|//)[^\r\n]*)*+")
_TOKEN = re.compile(
    r"""
    (?:[ \t]+|(?:\#|//)[^\r\n]*)*+
    (?:
      (?P<newline>\r\n|\r|\n)
    | (?P<string>"[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+"i?)
    | (?P<regex>/(?:[^/\\]|\\.)++/[a-z]*)
    | (?P<directive>%[a-z]+)
    | (?P<special><[^<>\s]+>)
    | (?P<reference>@[A-Za-z0-9_-]+)
    | (?P<name>[?!]{0,2}_*[A-Za-z](?:[A-Za-z0-9_]|-(?!>))*)
    | (?P<number>[+-]?(?:0[xX][0-9A-Fa-f_]*|0[bB][01_]*|[0-9]+(?:\.[0-9]+)?))
    | (?P<mark>::|->|\.\.|[:,.(){}\[\]~|&=+*?_])
    | (?P<end>\Z)
    )
    """,
    re.VERBOSE | re.DOTALL,
)


def read_lark(source: Source) -> LarkFile:
    """The items of a Lark text.

    Raises:
        GrammarError: a syntax error, with line, column and what was expected.
        LimitError: groups nested deeper than ``_MAX_DEPTH``.
    """
    return _Reader(source).file()


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.offset = 0
        self.depth = 0
        self.tokens = 0
        self.kind = ""
        self.text = ""
        self.start = 0
        self.references: list[tuple[str, int]] = []
        self.advance()

    # Tokens

    def advance(self) -> None:
        """Step to the next token; inside parentheses and brackets line ends are white space."""
        while True:
            match = _TOKEN.match(self.source.text, self.offset)
            if match is None:
                raise self.unreadable()
            self.kind = kind = match.lastgroup or ""
            self.start, self.offset = match.span(kind)
            if kind == "newline" and self.depth > 0:
                continue
            self.text = match[kind]
            self.tokens += 1
            if self.tokens > _MAX_TOKENS:
                raise self.source.limit(
                    self.start, f"the grammar has more than {_MAX_TOKENS:,} words and signs", limit="grammar_items", allowed=_MAX_TOKENS
                )
            return

    def unreadable(self) -> GrammarError:
        space = _SPACE.match(self.source.text, self.offset)
        self.offset = space.end() if space else self.offset
        character = self.source.text[self.offset]
        if character == '"':
            return self.source.error(self.offset, "this string is never closed, or holds a line end", construct="string")
        if character == "'":
            return self.source.error(self.offset, "strings are written in double quotes", construct="string")
        if character == "/":
            return self.source.error(self.offset, "this regex is never closed: expected '/'", construct="regex")
        if character == "<":
            return self.source.error(self.offset, "expected a token: <name>, <[42]>, <[1-9,12]>, <[^42]> or <[*]>", construct="token")
        return self.source.error(self.offset, f"{character!r} means nothing here")

    def at(self, *marks: str) -> bool:
        return self.kind == "mark" and self.text in marks

    def take(self, mark: str) -> bool:
        if self.at(mark):
            self.advance()
            return True
        return False

    def expect(self, mark: str, where: str) -> None:
        if not self.take(mark):
            raise self.unexpected(f"{mark!r} {where}")

    def unexpected(self, wanted: str) -> GrammarError:
        found = {"end": "the end of the grammar", "newline": "the end of the line"}.get(self.kind, repr(self.text[:40]))
        return self.source.error(self.start, f"expected {wanted}, found {found}")

    def skip_lines(self) -> None:
        while self.kind == "newline":
            self.advance()

    # Items

    def file(self) -> LarkFile:
        out = LarkFile()
        self.skip_lines()
        while self.kind != "end":
            if self.kind == "name":
                out.definitions.append(self.definition())
            elif self.kind == "directive":
                self.statement(out)
            else:
                raise self.unexpected("a rule, a terminal or a statement")
            if self.kind not in ("newline", "end"):
                raise self.unexpected("the end of the line")
            self.skip_lines()
        out.references = self.references
        return out

    def definition(self) -> Definition:
        offset = self.start
        name = self.text.lstrip("?!")
        self.check_name(name, offset)
        self.advance()
        out = Definition(name, offset, Sequence((), offset))
        if self.at("{"):
            raise self.source.error(self.start, "templates are not supported", construct="template", kind=UnsupportedError)
        if self.take("."):
            if self.kind != "number":
                raise self.unexpected("a priority")
            self.advance()
        if self.take("::"):
            if not self.take("_"):
                raise self.unexpected("'_', the parameter of the rule")
            if name.isupper():
                raise self.source.error(offset, f"the terminal {name} takes no parameter", construct=name, hint="rules are in lower case")
            out.parametric = True
        if self.take("["):
            self.attributes(out)
        self.expect(":", f"after {name}")
        out.body = self.alternatives()
        return out

    def check_name(self, name: str, offset: int) -> None:
        if name != name.lower() and name != name.upper():
            raise self.source.error(
                offset, f"the name {name} mixes cases", construct=name, hint="rules are in lower case, terminals in upper case"
            )

    def attributes(self, out: Definition) -> None:
        while not self.take("]"):
            name, offset = self.text, self.start
            if self.kind != "name" or name not in ("lazy", "stop", "suffix", "max_tokens", "temperature", "capture", "stop_capture"):
                raise self.unexpected("lazy, stop, suffix, max_tokens, temperature, capture or stop_capture")
            if name.isupper() or out.name.isupper():
                raise self.source.error(offset, "terminals take no attributes", construct=name, hint="put them on a rule of that terminal")
            if name in out.attributes:
                raise self.source.error(offset, f"{name} is given twice", construct=name)
            self.advance()
            out.attributes[name] = self.attribute(name)
            if not self.take(",") and not self.at("]"):
                raise self.unexpected("',' or ']'")
        if "stop" in out.attributes and "suffix" in out.attributes:
            raise self.source.error(
                out.offset, f"the rule {out.name} has a stop and a suffix", construct="stop", hint="give it one of them"
            )
        if "stop_capture" in out.attributes and not {"stop", "suffix"} & out.attributes.keys():
            raise self.source.error(
                out.offset, "stop_capture names the text of a stop or suffix, and the rule has neither", construct="stop_capture"
            )

    def attribute(self, name: str) -> Tree | float | None:
        """What stands after the name of an attribute."""
        if name == "lazy" or (name == "capture" and not self.at("=")):
            return None
        self.expect("=", f"after {name}")
        if name in ("max_tokens", "temperature"):
            if self.kind != "number":
                raise self.unexpected("a number")
            value = float(self.number()) if "." not in self.text else float(self.text)
            if name == "max_tokens" and not (0 <= value <= MAX_BUDGET and value.is_integer()):
                raise self.source.error(self.start, f"max_tokens is a whole number from 0 to {MAX_BUDGET}", construct="max_tokens")
            self.advance()
            return value
        if name in ("capture", "stop_capture") and self.kind != "string":
            raise self.unexpected("a name in double quotes")
        return self.value()

    def statement(self, out: LarkFile) -> None:
        directive, offset = self.text, self.start
        if directive == "%llguidance":
            out.options.append((self.json_value(directive)[0], offset))
            return
        self.advance()
        if directive == "%ignore":
            if len(out.ignored) >= _MAX_IGNORED:
                raise self.source.limit(offset, f"more than {_MAX_IGNORED:,} %ignore lines", limit="ignored", allowed=_MAX_IGNORED)
            out.ignored.append(self.alternatives())
        elif directive == "%import":
            self.imports(out, offset)
        elif directive in ("%declare", "%override", "%extend"):
            raise self.source.error(
                offset,
                f"{directive} is not supported",
                construct=directive,
                hint="a declared terminal has no text to match; define it in the grammar",
                kind=UnsupportedError,
            )
        else:
            raise self.source.error(
                offset, f"{directive} is no statement", construct=directive, hint="the statements are %ignore, %import and %llguidance"
            )

    def imports(self, out: LarkFile, offset: int) -> None:
        path: list[str] = []
        if self.take("."):
            raise self.source.error(offset, "files cannot be imported", construct="%import", kind=UnsupportedError)
        while self.kind == "name":
            path.append(self.text)
            self.advance()
            if not self.take("."):
                break
        if not path:
            raise self.unexpected("a name such as common.INT")
        if self.take("("):
            while not self.take(")"):
                if self.kind != "name":
                    raise self.unexpected("a name")
                out.imports.append(Import(".".join([*path, self.text]), self.text, self.start))
                self.advance()
                if not self.take(",") and not self.at(")"):
                    raise self.unexpected("',' or ')'")
            return
        alias = path[-1]
        if self.take("->"):
            if self.kind != "name":
                raise self.unexpected("a name")
            alias = self.text
            self.advance()
        out.imports.append(Import(".".join(path), alias, offset))

    # Expressions

    def alternatives(self) -> Tree:
        offset = self.start
        parts = [self.alternative()]
        while self.next_alternative():
            parts.append(self.alternative())
        if len(parts) == 1 and parts[0][1] is None:
            return parts[0][0]
        return Alternatives(tuple(parts), offset)

    def next_alternative(self) -> bool:
        """Step over a bar, which may stand on one of the next lines."""
        if self.kind == "newline":
            before = self.offset, self.start, self.kind, self.text
            self.skip_lines()
            if not self.at("|"):
                self.offset, self.start, self.kind, self.text = before
                return False
        if not self.at("|"):
            return False
        self.advance()
        return True

    def alternative(self) -> tuple[Tree, Condition | None]:
        offset = self.start
        parts = [self.sequence()]
        while self.take("&"):
            parts.append(self.sequence())
        if self.take("->"):  # names a node of a parse tree, which nobody builds here
            if self.kind != "name":
                raise self.unexpected("the name of an alias")
            self.advance()
        condition = None
        if self.kind == "directive" and self.text == "%if":
            self.advance()
            condition = self.condition()
        return (parts[0] if len(parts) == 1 else Both(tuple(parts), offset)), condition

    def sequence(self) -> Tree:
        offset = self.start
        parts: list[Tree] = []
        while self.kind not in ("newline", "end") and not self.at("|", "&", "->", ")", "]", "}"):
            if self.kind == "directive" and self.text not in ("%json", "%regex"):
                break
            parts.append(self.repeated())
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts), offset)

    def repeated(self) -> Tree:
        offset = self.start
        if self.take("~"):
            body: Tree = Not(self.atom(), offset)
        else:
            body = self.atom()
        if self.at("*", "+", "?"):
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[self.text]
            self.advance()
            return Repeated(body, low, high, offset)
        if self.kind == "name" and self.text.startswith("?"):  # "a"?b: the mark belongs to what is on its left
            self.offset = self.start + 1
            self.advance()
            return Repeated(body, 0, 1, offset)
        if self.at("~") and re.compile(r"~[ \t]*[0-9]").match(self.source.text, self.start):
            self.advance()
            low = self.count()
            return self.bounded(body, low, self.count() if self.take("..") else low, offset)
        if self.at("{"):
            self.advance()
            low = 0 if self.at(",") else self.count()
            high = low
            if self.take(","):
                high = None if self.at("}") else self.count()
            self.expect("}", "after the bounds of a repetition")
            return self.bounded(body, low, high, offset)
        return body

    def bounded(self, body: Tree, low: int, high: int | None, offset: int) -> Tree:
        if high is not None and high < low:
            raise self.source.error(offset, f"a repetition of at least {low} and at most {high}", construct="repetition")
        most = max(low, high or 0)
        if most > 1_000_000:
            raise self.source.limit(offset, f"a repetition of {most:,}; the limit is 1,000,000", limit="repetition", allowed=1_000_000)
        return Repeated(body, low, high, offset)

    def count(self) -> int:
        if self.kind != "number" or not self.text.isdigit():
            raise self.unexpected("a number")
        number = self.number()
        self.advance()
        return number

    def number(self) -> int:
        text = self.text.replace("_", "")
        if len(text) > 70:  # 64 bits and what stands before them
            raise self.source.error(self.start, "this number is too large", construct="number")
        try:
            return int(text) if text.lstrip("+-").isdigit() else int(text, 0)
        except ValueError:  # a fraction; 0x without digits
            raise self.unexpected("a whole number") from None

    def atom(self) -> Tree:
        offset = self.start
        if self.at("(", "["):
            closing = ")" if self.text == "(" else "]"
            self.depth += 1
            if self.depth > _MAX_DEPTH:
                raise self.source.limit(offset, f"groups are nested deeper than {_MAX_DEPTH}", limit="depth", allowed=_MAX_DEPTH)
            self.advance()
            body = self.alternatives()
            if not self.at(closing):
                raise self.unexpected(f"{closing!r} to close the group")
            self.depth -= 1
            self.advance()
            return body if closing == ")" else Repeated(body, 0, 1, offset)
        return self.value()

    def value(self) -> Tree:
        kind, text, offset = self.kind, self.text, self.start
        if kind == "directive" and text in ("%json", "%regex"):
            value, span = self.json_value(text)
            return JsonSchema(span, offset) if text == "%json" else StructuredRegex(value, offset)
        if kind == "name":
            return self.name()
        if kind not in ("string", "regex", "special", "reference"):
            raise self.unexpected("a name, a string, a regex, a token or a group")
        self.advance()
        if kind == "string":
            value_text, ignore_case = read_string(self.source, text, offset)
            if not self.at(".."):
                return String(value_text, ignore_case, offset)
            self.advance()
            if self.kind != "string":
                raise self.unexpected("a string of one character")
            last, _ = read_string(self.source, self.text, self.start)
            self.advance()
            if len(value_text) != 1 or len(last) != 1 or last < value_text:
                raise self.source.error(offset, "a range runs from one character up to another", construct="range")
            return CharacterRange(value_text, last, offset)
        if kind == "regex":
            end = text.rindex("/")
            return Pattern(text[1:end], text[end + 1 :], offset)
        if kind == "special":
            return SpecialToken(text, offset)
        self.references.append((text[1:], offset))
        return NestedGrammar(text[1:], offset)

    def name(self) -> Tree:
        text, offset = self.text, self.start
        self.check_name(text, offset)
        if text[0] in "?!":
            raise self.source.error(offset, f"{text[0]!r} stands before the name of a rule only where it is defined", construct=text)
        self.advance()
        if self.at("{") and not re.compile(r"\{[ \t]*[-+,0-9}]").match(self.source.text, self.start):
            raise self.source.error(self.start, "templates are not supported", construct="template", kind=UnsupportedError)
        if not self.take("::"):
            return Name(text, offset)
        return Name(text, offset, self.parameter())

    def json_value(self, directive: str) -> tuple[Any, str]:
        """The JSON text after a directive, as a value and as written."""
        text = self.source.text
        begin = self.offset
        while begin < len(text) and text[begin] in " \t\r\n":
            begin += 1
        try:
            # No option and no %regex has a number; those of a schema are judged by its own reader. A float is read whatever its length.
            value, end = json.JSONDecoder(parse_int=float).raw_decode(text, begin)
        except json.JSONDecodeError as error:
            raise self.source.error(error.pos, f"{directive} is followed by what is no JSON: {error.msg}", construct=directive) from None
        except RecursionError:
            raise self.source.limit(begin, f"the JSON after {directive} is nested too deeply", limit="depth", allowed=900) from None
        self.offset = end
        self.advance()
        return value, text[begin:end]

    # Parameters of rules

    def parameter(self) -> Parameter:
        """What stands after ``rule::`` where the rule is called."""
        if self.kind == "number":
            value = self.number()
            if not 0 <= value < 1 << 64:
                raise self.source.error(self.start, f"{value} is no 64-bit number", construct="parameter")
            self.advance()
            return Parameter("const", (value,))
        if self.take("_"):
            return Parameter("self", ())
        name, arguments = self.function()
        return Parameter.checked(self.source, self.start, name, arguments)

    def condition(self) -> Condition:
        offset = self.start
        name, arguments = self.function()
        return Condition.checked(self.source, offset, name, arguments)

    def function(self) -> tuple[str, list[Any]]:
        """``name(argument, ...)``; an argument is a number, a span of bits, ``_`` for all bits, or a function again."""
        if self.kind != "name":
            raise self.unexpected("a function")
        name = self.text
        self.advance()
        arguments: list[Any] = []
        if not self.take("("):
            return name, arguments
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.source.limit(self.start, f"conditions are nested deeper than {_MAX_DEPTH}", limit="depth", allowed=_MAX_DEPTH)
        while not self.at(")"):
            arguments.append(self.argument())
            if not self.take(",") and not self.at(")"):
                raise self.unexpected("',' or ')'")
        self.depth -= 1
        self.advance()
        return name, arguments

    def argument(self) -> Any:
        if self.kind == "number":
            value = self.number()
            self.advance()
            return value
        if self.take("_"):
            return (0, 64)
        if self.take("["):
            first = self.count()
            self.expect(":", "between the ends of a span of bits")
            last = self.count()
            self.expect("]", "after a span of bits")
            if not 0 <= first < last <= 64:
                raise self.source.error(self.start, f"[{first}:{last}] is no span of the bits 0 to 64", construct="parameter")
            return (first, last)
        offset = self.start
        name, arguments = self.function()
        return Condition.checked(self.source, offset, name, arguments)
