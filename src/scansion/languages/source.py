"""A grammar text and errors that point into it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping

from scansion.errors import GrammarError, LimitError

__all__ = ["MAX_SOURCE_CHARACTERS", "Positions", "Source"]

MAX_SOURCE_CHARACTERS = 16 * 1024 * 1024
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n|\r|\n")
_SHOWN = 100  # code points of a line that a message shows
_MAX_MESSAGE = 1000  # code points of a message; names in it may be as long as the text


class Source:
    """The text of a grammar, with lines and columns on demand.

    Args:
        text: the grammar.
        language: its language's name, for messages (``GBNF``, ``Lark``).

    Raises:
        GrammarError: ``text`` is not a string, or holds a character no grammar can hold (a lone surrogate, NUL).
        LimitError: longer than ``MAX_SOURCE_CHARACTERS``.
    """

    def __init__(self, text: str, language: str) -> None:
        if not isinstance(text, str):
            raise GrammarError(f"a {language} grammar must be a string, not {type(text).__name__}", construct="grammar")
        if len(text) > MAX_SOURCE_CHARACTERS:
            raise LimitError(
                f"the {language} grammar has {len(text):,} characters; at most {MAX_SOURCE_CHARACTERS:,} are read",
                limit="grammar_size",
                allowed=MAX_SOURCE_CHARACTERS,
            )
        self.text = text
        self.language = language
        self._line_starts: list[int] = []
        if "\0" in text:
            raise self.error(text.index("\0"), "a NUL character", hint="write it as \\x00")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise self.error(error.start, "half of a surrogate pair, which is no character") from None

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1; CR, LF and CRLF each end a line."""
        line = bisect_right(self.line_starts(), offset)
        return line, offset - self.line_starts()[line - 1] + 1

    def line_starts(self) -> list[int]:
        """Offset of the first character of each line."""
        if not self._line_starts:
            self._line_starts = [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        return self._line_starts

    def error(
        self, offset: int, message: str, *, construct: str | None = None, hint: str | None = None, kind: type[GrammarError] = GrammarError
    ) -> GrammarError:
        """An error at an offset: the sentence, the line it is on and a caret below the place."""
        line, column = self.position(offset)
        message, construct, hint = _short(message), construct and _short(construct), hint and _short(hint)
        return kind(f"{message}\n{self.excerpt(offset)}", construct=construct, hint=hint, line=line, column=column, offset=offset)

    def limit(self, offset: int, message: str, *, limit: str | None, allowed: int | None) -> LimitError:
        """A ``LimitError`` that names the place of an offset."""
        line, column = self.position(offset)
        return LimitError(f"line {line}, column {column}: {_short(message)}", limit=limit, allowed=allowed)

    def excerpt(self, offset: int) -> str:
        """The line of an offset, cut to what a terminal shows, and a caret under the character."""
        line, column = self.position(offset)
        starts = self.line_starts()
        text = self.text[starts[line - 1] : starts[line] if line < len(starts) else len(self.text)].rstrip("\r\n")
        first = max(0, min(column - 1 - _SHOWN // 2, len(text) - _SHOWN))
        # A half of a surrogate pair has no spelling in UTF-8, so whoever wrote the message out would fail.
        shown = _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text[first : first + _SHOWN].replace("\t", " "))
        return f"    {shown}\n    {' ' * (column - 1 - first)}^"

    def found(self, offset: int) -> str:
        """What stands at an offset, for "expected ..., found ..."."""
        if offset >= len(self.text):
            return "the end of the grammar"
        character = self.text[offset]
        return "the end of the line" if character in "\r\n" else repr(character)


def _short(text: str) -> str:
    return text if len(text) <= _MAX_MESSAGE else f"{text[: _MAX_MESSAGE // 2]} ... {text[-_MAX_MESSAGE // 2 :]}"


class Positions(Mapping[str, tuple[int, int]]):
    """Line and column of named places of a source, reckoned when one is asked for.

    Args:
        source: the text.
        offsets: offset of each name.
    """

    def __init__(self, source: Source, offsets: Mapping[str, int]) -> None:
        self._source = source
        self._offsets = offsets

    def __getitem__(self, name: str) -> tuple[int, int]:
        return self._source.position(self._offsets[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._offsets)

    def __len__(self) -> int:
        return len(self._offsets)
