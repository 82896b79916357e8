"""Regular expression text to syntax tree, in two spellings.

- `parse_ecma_tree`: ECMA-262 patterns as with the ``u`` flag, the dialect of JSON Schema's ``pattern``. What the ``u`` flag
  forbids but people write, and Annex B of the standard reads in one obvious way, is read that way: escaped punctuation
  (``\\-``, ``\\_``, ``\\:``), lone ``{``, ``}`` and ``]``, a hyphen next to a class escape (``[\\w-.]``).
- `parse_python_tree`: the common ground of Python's ``re`` and Rust's ``regex``, for Lark terminals and plain regexes.

What cannot be said by a regular language (back-references, conditionals, recursion) is an `UnsupportedError`; what is not
an expression of the dialect a `GrammarError`; both with the offset. docs/regex.md lists every construct.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from scansion.errors import GrammarError, LimitError
from scansion.languages import regex_classes
from scansion.languages.regex_reader import MAX_PATTERN_LENGTH, Flags, PatternReader
from scansion.languages.regex_syntax import Alternation, Assertion, CharacterClass, Literal, Look, Regex, Repeat, Sequence

__all__ = ["MAX_GROUP_DEPTH", "MAX_PATTERN_LENGTH", "MAX_REPETITION", "parse_ecma_tree", "parse_python_tree"]


MAX_GROUP_DEPTH = 100
MAX_REPETITION = 1_000_000

_PLAIN = re.compile(r"[^\\^$.*+?()\[\]{}|]+")
_COUNT = re.compile(r"\{(\d*)(?:(,)(\d*))?\}", re.ASCII)
_NAME = re.compile(r"[^\W\d][\w.\[\]]*|\$[\w$]*")
_ECMA_NAME = re.compile(r"(?:[^\W\d]|\$)[\w$]*")
_INLINE_FLAGS = re.compile(r"([A-Za-z]*)(?:-([A-Za-z]+))?([:)])")
_VERBOSE_SKIP = re.compile(r"(?:\s+|#[^\n]*)+", re.ASCII)
_EMPTY = Sequence(())
_FLAG_NAMES = {"i": "ignore_case", "m": "multi_line", "s": "dot_all", "x": "verbose", "a": "ascii"}


class _Group(NamedTuple):
    """What an open parenthesis put aside."""

    kind: str  # "group", "atomic", or a look-around's spelling such as "(?<!"
    offset: int
    options: list[Regex]
    parts: list[Regex]
    flags: Flags


def parse_ecma_tree(pattern: str) -> Regex:
    """The tree of an ECMA-262 pattern.

    Raises:
        GrammarError: not a pattern; ``offset`` says where.
        UnsupportedError: a back-reference.
        LimitError: longer than `MAX_PATTERN_LENGTH`, deeper than `MAX_GROUP_DEPTH`, or a count over `MAX_REPETITION`.
    """
    return _Parser(pattern, ecma=True, flags=Flags()).parse()


def parse_python_tree(pattern: str, flags: str = "", *, rust: bool = False) -> Regex:
    """The tree of a pattern in Python's or Rust's spelling; ``flags`` are letters out of ``imsxau``.

    ``rust`` says whose ``\\w`` and ``\\s`` are meant.

    Raises: as `parse_ecma_tree`; an atomic group or possessive quantifier that would change the language is unsupported.
    """
    start = Flags(rust=rust)
    for letter in flags:
        if letter not in "imsxau":
            raise GrammarError(f"unknown regex flag {letter!r}", construct="flags", hint="flags are i, m, s, x, a and u")
        if letter in _FLAG_NAMES:
            start = start._replace(**{_FLAG_NAMES[letter]: True})
    return _Parser(pattern, ecma=False, flags=start).parse()


class _Parser(PatternReader):
    """Structure: alternatives, groups, quantifiers."""

    def __init__(self, pattern: str, *, ecma: bool, flags: Flags) -> None:
        super().__init__(pattern, ecma=ecma, flags=flags)
        self.names: set[str] = set()
        self.lazy: dict[int, Repeat] = {}  # repetitions written lazily, by identity: an atomic group keeps their first match

    # Structure: one loop with a stack of open groups, so that depth costs no recursion

    def parse(self) -> Regex:
        text, length = self.text, len(self.text)
        groups: list[_Group] = []
        options: list[Regex] = []
        parts: list[Regex] = []
        while self.pos < length:
            if self.flags.verbose and (skipped := _VERBOSE_SKIP.match(text, self.pos)):
                self.pos = skipped.end()
                continue
            start = self.pos
            plain = None if self.flags.verbose else _PLAIN.match(text, start)
            if plain is not None:
                self._plain_run(plain.end(), parts)
                continue
            char = text[start]
            atom: Regex
            self.count(1, start)
            if char == "(":
                kind = self._open_group()
                if kind is not None:
                    if len(groups) == MAX_GROUP_DEPTH:
                        raise LimitError(
                            f"groups nest deeper than {MAX_GROUP_DEPTH} at offset {start}", limit="group_depth", allowed=MAX_GROUP_DEPTH
                        )
                    groups.append(_Group(kind[0], start, options, parts, kind[1]))
                    options, parts = [], []
                continue
            if char == "|":
                options.append(_sequence(parts))
                parts = []
                self.pos += 1
                continue
            if char == ")":
                if not groups:
                    self.fail("there is no open group to close", start, ")", "write \\) for the character")
                group = groups.pop()
                self.pos += 1
                start = group.offset
                atom = self._close_group(group, _alternation(options, parts))
                options, parts, self.flags = group.options, group.parts, group.flags
            elif char == "[":
                atom = self.bracket()
            elif char == "\\":
                atom = self.escape()
            elif char == ".":
                self.pos += 1
                atom = CharacterClass(regex_classes.dot(self.ecma, self.flags.dot_all))
            elif char == "^":
                self.pos += 1
                atom = self._line_assertion("line_start", "text_start", start)
            elif char == "$":
                self.pos += 1
                atom = self._line_assertion("line_end", "text_end", start)
            elif char in "*+?" or (char == "{" and self._count_at(start) is not None):
                self.fail(f"{char!r} has nothing before it to repeat", start, "quantifier", f"write \\{char} for the character")
            else:
                self.pos += 1
                atom = self.character(ord(char))
            parts.append(self._quantified(atom, start))
        if groups:
            self.fail("this group is never closed", groups[-1].offset, "(", "add ) or write \\( for the character")
        return _alternation(options, parts)

    def _plain_run(self, end: int, parts: list[Regex]) -> None:
        """Characters that stand for themselves; a quantifier after them takes only the last one."""
        start, text = self.pos, self.text
        if end < len(text) and text[end] in "*+?{" and end - start > 1:
            end -= 1
        self.pos = end
        run = text[start:end]
        try:
            run.encode()
        except UnicodeEncodeError as error:
            self.fail("half of a surrogate pair is no character", start + error.start, "surrogate", "write the whole character")
        if not self.flags.ignore_case:
            atom: Regex = Literal(run)
        else:
            self.count(len(run), start)
            letters = [self.character(ord(c)) for c in run]
            atom = letters[0] if len(letters) == 1 else Sequence(tuple(letters))
        if len(run) == 1:
            atom = self._quantified(atom, start)
        parts.append(atom)

    def _line_assertion(self, line: str, whole: str, start: int) -> Assertion:
        if self.flags.multi_line:
            return Assertion(line, regex_classes.line_terminators(self.ecma), start)  # type: ignore[arg-type]
        return Assertion(whole, (), start)  # type: ignore[arg-type]

    # Quantifiers

    def _count_at(self, start: int) -> tuple[int, int | None, int] | None:
        """``{m}``, ``{m,}``, ``{m,n}`` (and ``{,n}`` outside ECMA) at ``start``: low, high, end; None where it is no count."""
        match = _COUNT.match(self.text, start)
        if match is None:
            return None
        low, comma, high = match.groups()
        if not low and (self.ecma or not comma):
            return None
        for digits in (low.lstrip("0"), (high or "").lstrip("0")):
            if len(digits) > 7 or int(digits or 0) > MAX_REPETITION:
                raise LimitError(
                    f"the repetition {match.group()[:40]} at offset {start} is over {MAX_REPETITION:,}",
                    limit="repetition",
                    allowed=MAX_REPETITION,
                )
        least = int(low or 0)
        most = least if not comma else int(high) if high else None
        if most is not None and most < least:
            self.fail(f"the repetition {match.group()} ends below its start", start, "quantifier", f"write {{{most},{least}}}")
        return least, most, match.end()

    def _quantified(self, atom: Regex, start: int) -> Regex:
        """``atom`` with the quantifier that follows it, if one does."""
        text = self.text
        if self.flags.verbose and (skipped := _VERBOSE_SKIP.match(text, self.pos)):
            self.pos = skipped.end()
        offset = self.pos
        if offset == len(text) or text[offset] not in "*+?{":
            return atom
        char = text[offset]
        high: int | None
        if char == "{":
            counted = self._count_at(offset)
            if counted is None:
                return atom  # a brace that counts nothing stands for itself
            low, high, self.pos = counted
        else:
            low, high = (0, None) if char == "*" else (1, None) if char == "+" else (0, 1)
            self.pos += 1
        following = text[self.pos : self.pos + 1]
        lazy = following == "?"
        if lazy:
            self.pos += 1  # other matches first, the same texts
        elif following == "+" and not self.ecma:
            if self.flags.rust:
                self.unsupported(
                    f"{text[offset : self.pos + 1]} means different things to Python and Rust",
                    offset,
                    "quantifier",
                    "use a group: (?:...)+",
                )
            self.pos += 1
            return self._possessive(atom, low, high, start)
        following = text[self.pos : self.pos + 1]
        if following and (following in "*+?" or (following == "{" and self._count_at(self.pos) is not None)):
            self.fail("a quantifier follows a quantifier", self.pos, "quantifier", "put the repeated part into a group (?:...)")
        if text[start] in "^$\\" and type(atom) is Assertion:
            self.fail(f"{text[start:offset]} matches no text and cannot be repeated", offset, "quantifier")
        if low == high == 1:
            return atom
        if high == 0:
            return _EMPTY
        repeated = Repeat(atom, low, high, start)
        if lazy:
            self.lazy[id(repeated)] = repeated
        return repeated

    def _possessive(self, atom: Regex, low: int, high: int | None, start: int) -> Regex:
        """``C*+``: as many as there are and none given back, exact where the body is one character."""
        if type(atom) is Literal and len(atom.text) == 1:
            once: Regex = atom
        elif type(atom) is CharacterClass:
            once = atom
        else:
            self.unsupported(
                "a possessive quantifier over more than one character is not enforced", start, "possessive quantifier", "drop the +"
            )
        stop = Look(once, True, True, start)
        if high is None:
            return Sequence((Repeat(once, low, None, start), stop))
        if high == 0:
            return _EMPTY
        full = Repeat(once, high, high, start) if high > 1 else once
        if low == high:
            return full
        return Alternation((Sequence((Repeat(once, low, high - 1, start), stop)), full))

    # Groups

    def _open_group(self) -> tuple[str, Flags] | None:
        """Read what follows ``(``: the kind of group and the flags to restore after it, or None for ``(?i)`` and comments."""
        text, start = self.text, self.pos
        outside = self.flags
        if not text.startswith("(?", start):
            self.pos += 1
            return "group", outside
        for spelling in ("(?=", "(?!", "(?<=", "(?<!"):
            if text.startswith(spelling, start):
                self.pos += len(spelling)
                return spelling, outside
        if text.startswith("(?:", start):
            self.pos += 3
            return "group", outside
        if text.startswith("(?<", start):
            return self._group_name(start, 3), outside
        if self.ecma:
            return self._ecma_modifiers(start)
        return self._python_group(start)

    def _group_name(self, start: int, length: int) -> str:
        close = self.text.find(">", start + length)
        name = self.text[start + length : close] if close > 0 else ""
        if not (_ECMA_NAME if self.ecma else _NAME).fullmatch(name):
            self.fail("a group name must be an identifier and end in >", start, self.text[start : start + length])
        if name in self.names and not self.ecma:  # ECMA allows one name in several alternatives
            self.fail(f"the group name {name!r} is used twice", start, self.text[start : start + length])
        self.names.add(name)
        self.pos = close + 1
        return "group"

    def _ecma_modifiers(self, start: int) -> tuple[str, Flags]:
        outside = self.flags
        match = _INLINE_FLAGS.match(self.text, start + 2)
        if match is None or match.group(3) == ")" or not set((match.group(1) or "") + (match.group(2) or "")) <= set("ims"):
            hint = "ECMA-262 has (?:, (?=, (?!, (?<=, (?<!, (?<name> and scoped flags (?i:...)"
            self.fail(f"{self.text[start : start + 4]!r} opens no group", start, "(?", hint)
        self.flags = self._with_flags(match, start)
        self.pos = match.end()
        return "group", outside

    def _python_group(self, start: int) -> tuple[str, Flags] | None:
        text, outside = self.text, self.flags
        if text.startswith("(?P<", start):
            return self._group_name(start, 4), outside
        if text.startswith("(?P=", start):
            self.unsupported("a back-reference is not regular", start, "(?P=", "repeat the group's expression instead")
        if text.startswith("(?>", start):
            self.pos += 3
            return "atomic", outside
        if text.startswith("(?#", start):
            close = text.find(")", start)
            if close < 0:
                self.fail("this comment is never closed", start, "(?#")
            self.pos = close + 1
            return None
        if text.startswith("(?(", start):
            self.unsupported("a conditional group is not regular", start, "(?(", "write both cases as alternatives")
        if text[start + 2 : start + 3] in tuple("R&+0123456789") or text.startswith("(?P>", start):
            self.unsupported("recursion is not regular", start, "(?", "use a grammar rule instead")
        match = _INLINE_FLAGS.match(text, start + 2)
        if match is None or not (match.group(1) or match.group(2)):
            self.fail(f"{text[start : start + 4]!r} opens no group", start, "(?")
        self.flags = self._with_flags(match, start)
        self.pos = match.end()
        return None if match.group(3) == ")" else ("group", outside)

    def _with_flags(self, match: re.Match[str], start: int) -> Flags:
        flags = self.flags
        for letters, value in ((match.group(1), True), (match.group(2) or "", False)):
            for letter in letters:
                if letter in _FLAG_NAMES:
                    flags = flags._replace(**{_FLAG_NAMES[letter]: value})
                elif letter == "u":  # (?u) is the default; (?-u) is Rust's spelling of ASCII classes
                    flags = flags._replace(ascii=not value)
                elif letter != "U":  # Rust's swap of greed leaves the language as it is
                    self.fail(f"unknown flag {letter!r}", start, "flags", "flags are i, m, s, x, a and u")
        return flags

    def _close_group(self, group: _Group, body: Regex) -> Regex:
        if group.kind == "group":
            return body
        if group.kind == "atomic":
            return self._atomic(body, group.offset)
        return Look(body, ahead="<" not in group.kind, negative=group.kind.endswith("!"), offset=group.offset)

    def _atomic(self, body: Regex, offset: int) -> Regex:
        """``(?>...)``: harmless where there is one way to match, exact over a repeated character."""
        if type(body) in (Literal, CharacterClass):
            return body
        if type(body) is Sequence and all(type(part) in (Literal, CharacterClass) for part in body.parts):
            return body
        if type(body) is Repeat:
            least = body.low
            high = least if id(body) in self.lazy else body.high
            return self._possessive(body.body, least, high, offset)
        return self.unsupported("an atomic group with more than one way to match is not enforced", offset, "(?>", "write (?:...)")


def _sequence(parts: list[Regex]) -> Regex:
    """The parts in order, sequences among them opened and neighbouring characters joined."""
    if len(parts) == 1:
        return parts[0]
    joined: list[Regex] = []
    text: list[str] = []
    for part in parts:
        for item in part.parts if type(part) is Sequence else (part,):
            if type(item) is Literal:
                text.append(item.text)
                continue
            if text:
                joined.append(Literal("".join(text)))
                text = []
            joined.append(item)
    if text:
        joined.append(Literal("".join(text)))
    return joined[0] if len(joined) == 1 else Sequence(tuple(joined)) if joined else _EMPTY


def _alternation(options: list[Regex], parts: list[Regex]) -> Regex:
    last = _sequence(parts)
    return Alternation((*options, last)) if options else last
