"""Reading single items of a regular expression: characters, escapes, bracketed classes, under the flags in force."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple, NoReturn, TypeVar

from scansion.errors import GrammarError, LimitError, UnsupportedError
from scansion.languages import regex_classes, unicode_classes
from scansion.languages.regex_syntax import Assertion, CharacterClass, Literal, Ranges, Regex

__all__ = ["MAX_PATTERN_ITEMS", "MAX_PATTERN_LENGTH", "Flags", "PatternReader"]

MAX_PATTERN_LENGTH = 1 << 20
MAX_PATTERN_ITEMS = 200_000  # characters in a row are one item, unless their case is ignored

_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]+")
_OCTAL = re.compile(r"0[0-7]{0,2}|[0-3][0-7]{2}")
_WORD_EDGE = re.compile(r"\\b\{(?:start|end)(?:-half)?\}")
_IN_BRACKET = re.compile(r"\\.|\[:\^?[a-z]+:\]|[\[\]\s]", re.DOTALL)  # what a class is counted by; escapes and POSIX names are stepped over
_BRACKET = re.compile(r"\[\^?(?:[^\]\\]|\\.){1,60}\]")  # most classes; where one really ends only reading it tells
_CLASS_ESCAPE = re.compile(r"\\(?:[dDwWsS]|[pP](?:\{[^}]*\}|.))", re.DOTALL)
_KEPT_CLASSES = 512


class Flags(NamedTuple):
    ignore_case: bool = False
    multi_line: bool = False
    dot_all: bool = False
    verbose: bool = False
    ascii: bool = False
    rust: bool = False  # no flag of a pattern: whose classes are meant where ``ascii`` is not set


_Read = TypeVar("_Read", Regex, "Regex | None")
_classes: dict[tuple[str, bool, Flags], Regex] = {}


@functools.lru_cache(maxsize=512)
def _property(name: str, value: str | None, negated: bool) -> Ranges | None:
    ranges = unicode_classes.property_ranges(name, value)
    return unicode_classes.complement(ranges) if negated and ranges is not None else ranges


class PatternReader:
    """A pattern, a position in it, and what stands there."""

    def __init__(self, pattern: str, *, ecma: bool, flags: Flags) -> None:
        if len(pattern) > MAX_PATTERN_LENGTH:
            raise LimitError(
                f"the pattern has {len(pattern):,} characters; at most {MAX_PATTERN_LENGTH:,} are read",
                limit="pattern_length",
                allowed=MAX_PATTERN_LENGTH,
            )
        self.text = pattern
        self.pos = 0
        self.ecma = ecma
        self.flags = flags
        self.items = 0
        self.looked_at = 0  # items looked at to tell classes in classes

    # Errors

    def count(self, items: int, offset: int) -> None:
        """Count what has been read against `MAX_PATTERN_ITEMS`."""
        self.items += items
        if self.items > MAX_PATTERN_ITEMS:
            raise LimitError(
                f"the pattern has more than {MAX_PATTERN_ITEMS:,} items up to offset {offset}",
                limit="pattern_items",
                allowed=MAX_PATTERN_ITEMS,
            )

    def fail(self, message: str, offset: int, construct: str, hint: str | None = None) -> NoReturn:
        raise GrammarError(message, construct=construct, hint=hint, offset=offset)

    def unsupported(self, message: str, offset: int, construct: str, hint: str | None = None) -> NoReturn:
        raise UnsupportedError(message, construct=construct, hint=hint, offset=offset)

    # Characters and classes

    def character(self, point: int) -> Regex:
        """One code point under the flags in force."""
        if 0xD800 <= point <= 0xDFFF:
            return CharacterClass(())  # no text holds half of a surrogate pair
        if self.flags.ignore_case:
            key = (chr(point), self.ecma, self.flags)
            return _classes.get(key) or self._kept(key, self.char_class(((point, point),)))
        return Literal(chr(point))

    def char_class(self, ranges: Ranges, negated: bool = False) -> Regex:
        if self.flags.ignore_case:
            ranges = unicode_classes.case_closure(ranges, ascii_only=self.flags.ascii)
        if negated:
            ranges = unicode_classes.complement(ranges)
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return Literal(chr(ranges[0][0]))
        return CharacterClass(ranges)

    # Escapes

    def escape(self) -> Regex:
        start, text = self.pos, self.text
        if start + 1 == len(text):
            self.fail("the pattern ends in a backslash", start, "\\", "write \\\\ for the character")
        char = text[start + 1]
        if char in "bB":
            self.pos += 2
            if not self.ecma and char == "b" and (half := _WORD_EDGE.match(text, start)) is not None:
                what = half.group()
                self.unsupported(f"{what} means different things to Python and Rust", start, what, "write \\b and a look-around")
            word = regex_classes.word(self._meaning())
            if self.flags.ignore_case:
                word = unicode_classes.case_closure(word, ascii_only=self.flags.ascii)
            return Assertion("boundary" if char == "b" else "no_boundary", word, start)
        if not self.ecma and char in "AZz":
            self.pos += 2
            return Assertion("text_start" if char == "A" else "text_end", (), start)
        if (written := _CLASS_ESCAPE.match(text, start)) is not None:
            found = self._once(written, self._escaped_class)
            if found is not None:
                return found
        if char == "k" or ("1" <= char <= "9" and not self._octal_at(start + 1)):
            self.unsupported("a back-reference is not regular", start, f"\\{char}", "repeat the group's expression instead")
        if char in "<>" and self.flags.rust:
            self.unsupported(f"\\{char} means different things to Python and Rust", start, f"\\{char}", f"write {char} for the character")
        return self.character(self._character_escape(in_class=False))

    def _meaning(self) -> regex_classes.Meaning:
        return "ecma" if self.ecma else "ascii" if self.flags.ascii else "rust" if self.flags.rust else "python"

    def _octal_at(self, start: int) -> bool:
        """Python reads three octal digits as a character (``\\101``)."""
        return not self.ecma and _OCTAL.match(self.text, start) is not None

    def _class_escape(self) -> Ranges | None:
        """``\\d \\w \\s \\D \\W \\S \\p{...} \\P{...}`` at the position: its set. None, and nothing read, for anything else."""
        start, text = self.pos, self.text
        char = text[start + 1 : start + 2]
        if char and char in "dDwWsS":
            self.pos += 2
            return regex_classes.escape(char, self._meaning())
        if char not in ("p", "P"):
            return None
        if text.startswith("{", start + 2):
            close = text.find("}", start)
            if close < 0:
                self.fail("this property name is never closed", start, f"\\{char}{{")
            name, self.pos = text[start + 3 : close], close + 1
        else:
            if self.ecma or start + 2 == len(text):
                self.fail(f"\\{char} needs a property in braces", start, f"\\{char}", f"write \\{char}{{L}}")
            name, self.pos = text[start + 2], start + 3
        negated = char == "P"
        if not self.ecma and name.startswith("^"):
            name, negated = name[1:], not negated
        head, equals, value = name.partition("=")
        ranges = _property(head, value if equals else None, negated)
        if ranges is None:
            hint = "general categories (Lu), scripts (Script=Greek) and binary properties (Alphabetic) are known"
            self.fail(f"there is no Unicode property {name!r}", start, text[start : self.pos], hint)
        return ranges

    def _character_escape(self, in_class: bool) -> int:
        """The code point of the escape at the position."""
        start, text = self.pos, self.text
        if start + 1 == len(text):
            self.fail("the pattern ends in a backslash", start, "\\", "write \\\\ for the character")
        char = text[start + 1]
        self.pos += 2
        if char in regex_classes.CONTROL_ESCAPES:
            return regex_classes.CONTROL_ESCAPES[char]
        if char == "b" and in_class:
            return 8
        if char == "x":
            return self._hexadecimal(start, 2, braces=not self.ecma)
        if char == "u":
            return self._unicode_escape(start)
        if self.ecma:
            return self._ecma_character(start, char)
        return self._python_character(start, char)

    def _ecma_character(self, start: int, char: str) -> int:
        text = self.text
        if char == "0" and not text[start + 2 : start + 3].isdigit():
            return 0
        if char == "c":
            letter = text[start + 2 : start + 3]
            if not (letter.isascii() and letter.isalpha()):
                self.fail("\\c needs a letter", start, "\\c")
            self.pos += 1
            return ord(letter) % 32
        if char.isascii() and char.isalnum():
            hints = {"A": "use ^", "Z": "use $", "z": "use $", "h": "use [ \\t]", "Q": "escape each character"}
            self.fail(f"\\{char} is no escape of ECMA-262", start, f"\\{char}", hints.get(char))
        return ord(char)

    def _python_character(self, start: int, char: str) -> int:
        text = self.text
        if char in "01234567":
            digits = _OCTAL.match(text, start + 1)
            if digits is None:
                self.fail(f"\\{char} is no octal escape", start, f"\\{char}")
            self.pos = digits.end()
            return int(digits.group(), 8)
        if char == "a":
            return 7
        if char == "U":
            return self._hexadecimal(start, 8, braces=True)
        if char == "N" and text.startswith("{", start + 2):
            close = text.find("}", start)
            name = text[start + 3 : close] if close > 0 else ""
            try:
                point = ord(unicodedata.lookup(name))
            except (KeyError, TypeError):
                self.fail(f"there is no character named {name!r}", start, "\\N{")
            self.pos = close + 1
            return point
        if char.isascii() and char.isalnum():
            self.fail(f"\\{char} is no escape", start, f"\\{char}")
        return ord(char)

    def _hexadecimal(self, start: int, digits: int, braces: bool) -> int:
        text = self.text
        if braces and text.startswith("{", self.pos):
            close = text.find("}", self.pos)
            written = text[self.pos + 1 : close] if close > 0 else ""
            end = close + 1
            valid = 0 < len(written.lstrip("0")) <= 6 or (written != "" and not written.strip("0"))
        else:
            written = text[self.pos : self.pos + digits]
            end = self.pos + digits
            valid = len(written) == digits
        if not valid or not _HEXADECIMAL.fullmatch(written) or int(written, 16) > 0x10FFFF:
            self.fail("this escape needs hexadecimal digits of a code point", start, text[start : start + 2])
        self.pos = end
        return int(written, 16)

    def _unicode_escape(self, start: int) -> int:
        """``\\uHHHH``, two of which may make a surrogate pair, or ``\\u{H...}``."""
        point = self._hexadecimal(start, 4, braces=True)
        if 0xD800 <= point <= 0xDBFF and self.text.startswith("\\u", self.pos):
            low = self.text[self.pos + 2 : self.pos + 6]
            if len(low) == 4 and _HEXADECIMAL.fullmatch(low) and 0xDC00 <= int(low, 16) <= 0xDFFF:
                self.pos += 6
                return 0x10000 + ((point - 0xD800) << 10) + int(low, 16) - 0xDC00
        return point

    # Bracketed classes

    def bracket(self) -> Regex:
        """A class in brackets. Patterns of one schema repeat a few of them, so those read without error are remembered."""
        if self.flags.rust:
            self._refuse_what_rust_reads_otherwise(self.pos)
        written = _BRACKET.match(self.text, self.pos)
        return self._bracket() if written is None else self._once(written, self._bracket)

    def _once(self, written: re.Match[str], read: Callable[[], _Read]) -> Regex | _Read:
        """What ``read`` makes of the text at the position, remembered where that is all of ``written``."""
        key = (written.group(), self.ecma, self.flags)
        known = _classes.get(key)
        if known is not None:
            self.pos = written.end()
            return known
        found = read()
        if found is not None and self.pos == written.end():
            self._kept(key, found)
        return found

    def _kept(self, key: tuple[str, bool, Flags], found: Regex) -> Regex:
        """Remember what a spelling stands for."""
        if len(_classes) >= _KEPT_CLASSES:
            _classes.clear()
        _classes[key] = found
        return found

    def _escaped_class(self) -> Regex | None:
        ranges = self._class_escape()
        return None if ranges is None else self.char_class(ranges)

    def _bracket(self) -> Regex:
        text, start, length = self.text, self.pos, len(self.text)
        self.pos += 1
        negated = text.startswith("^", self.pos)
        if negated:
            self.pos += 1
        ranges: list[tuple[int, int]] = []
        sets: dict[int, Ranges] = {}  # of escapes, each once however often it is written
        first = True
        while True:
            if self.pos >= length:
                self.fail("this class is never closed", start, "[", "add ] or write \\[ for the character")
            if text[self.pos] == "]" and (self.ecma or not first):
                self.pos += 1
                break
            first = False
            self._bracket_item(ranges, sets)
        return self.char_class(unicode_classes.union(ranges, *sets.values()), negated)

    def _refuse_what_rust_reads_otherwise(self, start: int) -> None:
        """Unsupported: a class inside the class at ``start``, where the brackets match; white space in it that Rust skips."""
        depth = inner = 0
        for item in _IN_BRACKET.finditer(self.text, start):
            sign = item.group()
            if sign == "[":
                depth += 1
                inner = inner or (item.start() if depth == 2 else 0)
            elif sign == "]" and item.start() not in (start + 1, inner + 1) and self.text[item.start() - 2 : item.start()] != "[^":
                depth -= 1
            elif self.flags.verbose and not inner and sign.isspace():
                self.unsupported("white space in a class under the flag x is skipped by Rust alone", item.start(), "flag x", "escape it")
            self.looked_at += 1
            if depth == 0 or self.looked_at > 4 * len(self.text):  # [[][[][[]: each looks for its end up to the end of the pattern
                break
        if inner and (depth == 0 or self.looked_at > 4 * len(self.text)):
            self.unsupported("[ in a class means different things to Python and Rust", inner, "[", "write \\[ for the character")

    def _bracket_item(self, ranges: list[tuple[int, int]], sets: dict[int, Ranges]) -> None:
        """Read one item of a class: characters go to ``ranges``, what escapes stand for to ``sets`` by identity."""
        text, start = self.text, self.pos
        if not self.ecma:
            if text[start : start + 2] in ("&&", "~~") or (text.startswith("--", start) and text[start + 2 : start + 3] not in ("", "]")):
                operator = text[start : start + 2]
                self.unsupported(f"{operator} in a class means different things to Python and Rust", start, operator, "escape it")
            if text.startswith("[:", start) and (close := text.find(":]", start)) > 0:
                posix = regex_classes.posix(text[start + 2 : close])
                if posix is None:
                    self.fail(f"there is no class {text[start : close + 2]}", start, "[:")
                sets[id(posix)] = posix
                self.pos = close + 2
                return
        low = self._bracket_end()
        if not text.startswith("-", self.pos) or text[self.pos + 1 : self.pos + 2] in ("]", ""):
            self._add_end(low, ranges, sets)
            return
        dash = self.pos
        self.pos += 1
        high = self._bracket_end()
        if type(low) is int and type(high) is int:
            if high < low:
                self.fail(f"the range {text[start : self.pos]} is in reverse order", start, "character range")
            ranges.append((low, high))
            return
        if not self.ecma:
            self.fail(f"{text[start : self.pos]} is no range", dash, "character range", "write \\- for a hyphen")
        if text.startswith("--", dash):
            self.unsupported("differences of classes (flag v) are not read", dash, "--", "write \\- for a hyphen, or a look-ahead")
        for end in (low, 0x2D, high):  # Annex B: the hyphen stands for itself
            self._add_end(end, ranges, sets)

    @staticmethod
    def _add_end(end: int | Ranges, ranges: list[tuple[int, int]], sets: dict[int, Ranges]) -> None:
        if isinstance(end, int):
            ranges.append((end, end))
        else:
            sets[id(end)] = end

    def _bracket_end(self) -> int | Ranges:
        """One character of a class, or a class escape's set."""
        char = self.text[self.pos]
        if char == "\\":
            found = self._class_escape()
            return self._character_escape(in_class=True) if found is None else found
        self.pos += 1
        if "\ud800" <= char <= "\udfff":
            self.fail("half of a surrogate pair is no character", self.pos - 1, "surrogate", "write the whole character")
        return ord(char)
