"""Lark terminals as languages: what stands in capital letters, and the strings and regexes of rules."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from scansion._kernel import Language
from scansion.errors import GrammarError, LimitError, UnsupportedError
from scansion.languages import unicode_classes
from scansion.languages.lark_common import COMMON, common_terminal
from scansion.languages.lark_trees import (
    Alternatives,
    Both,
    CharacterRange,
    Definition,
    Import,
    Name,
    Not,
    Pattern,
    Repeated,
    Sequence,
    SpecialToken,
    String,
    StructuredRegex,
    Tree,
)
from scansion.languages.regex import parse_python
from scansion.languages.regex_to_language import MAX_OPTIONAL_RUN
from scansion.languages.source import Source

__all__ = ["MAX_TERMINAL_SIZE", "Terminals", "shortest_matches", "substrings"]

MAX_TERMINAL_SIZE = 200_000  # characters and operators of a terminal, with the terminals it names written out
_MAX_CHAIN = 150  # terminals that name each other, one inside the other
_MAX_CHUNKS = 80_000  # of all substrings of a grammar
_REGEX_SPECIAL = frozenset("\\.^$*+?{}[]()|#&-~/ \t\n\r\f\v")


class Terminals:
    """The terminals of one Lark text by name, each worked out once and only when used."""

    def __init__(self, source: Source, definitions: Mapping[str, Definition], imports: Mapping[str, Import]) -> None:
        self.source = source
        self.definitions = definitions
        self.imports = imports
        self.known: dict[str, Language] = {}
        self.patterns: dict[tuple[str, str], Language] = {}
        self.open: list[str] = []
        self.optional: dict[Language, int] = {}  # optional parts side by side in languages that may be empty
        self.sizes: dict[str, int] = {}
        self.substrings: dict[int, Language] = {}  # by their place, as a rule's alternatives may be written many times
        self.chunks = 0

    def named(self, name: str, offset: int) -> Language:
        """The language of a terminal.

        Raises:
            GrammarError: no such terminal, or one that needs itself.
        """
        language = self.known.get(name)
        if language is not None:
            return language
        if name in self.open:
            circle = " -> ".join([*self.open[self.open.index(name) :], name])
            raise self.source.error(offset, f"the terminal {name} needs itself: {circle}", construct=name, hint="recursion takes a rule")
        if len(self.open) >= _MAX_CHAIN:
            raise self.source.limit(offset, f"more than {_MAX_CHAIN} terminals inside each other", limit="depth", allowed=_MAX_CHAIN)
        definition = self.definitions.get(name)
        if definition is not None:
            self.open.append(name)
            language = self.language(definition.body)
            self.open.pop()
            self.sizes[name] = self.size(definition.body)
            if self.sizes[name] > MAX_TERMINAL_SIZE:
                raise self.source.limit(
                    definition.offset,
                    f"the terminal {name} is too large when the terminals it names are written out",
                    limit="terminal_size",
                    allowed=MAX_TERMINAL_SIZE,
                )
        else:
            language = self.imported(name, offset)
        self.known[name] = language
        return language

    def imported(self, name: str, offset: int) -> Language:
        found = self.imports.get(name)
        if found is None:
            raise self.source.error(
                offset, f"the terminal {name} is not defined", construct=name, hint=f"add a line: {name}: ... or import it"
            )
        path, _, last = found.name.rpartition(".")
        if path != "common":
            raise self.source.error(
                found.offset,
                f"{found.name} cannot be imported",
                construct="%import",
                hint="only common.NAME is known",
                kind=UnsupportedError,
            )
        if last not in COMMON:
            raise self.source.error(
                found.offset, f"there is no common.{last}", construct="%import", hint=f"there are {', '.join(sorted(COMMON))}"
            )
        return common_terminal(last)

    def language(self, tree: Tree) -> Language:
        """The texts of a tree of terminals.

        Raises:
            GrammarError: something in it is no terminal.
        """
        if isinstance(tree, String):
            return self.string(tree)
        if isinstance(tree, Pattern):
            return self.pattern(tree)
        if isinstance(tree, CharacterRange):
            return Language.char_class([(ord(tree.first), ord(tree.last))])
        if isinstance(tree, Name):
            if tree.parameter is not None or not tree.name.isupper():
                raise self.source.error(
                    tree.offset, f"the rule {tree.name} stands inside a terminal", construct=tree.name, hint="terminals are in upper case"
                )
            return self.named(tree.name, tree.offset)
        if isinstance(tree, Sequence):
            return self.sequence(tree)
        if isinstance(tree, Alternatives):
            for _, condition in tree.parts:
                if condition is not None:
                    raise self.source.error(tree.offset, "a terminal has no parameter to put a condition on", construct="%if")
            return self.union(tree)
        if isinstance(tree, Both):
            return Language.intersection([self.language(part) for part in tree.parts])
        if isinstance(tree, Not):
            return self.language(tree.body).complement()
        if isinstance(tree, Repeated):
            return self.language(tree.body).repeat(tree.low, tree.high)
        if isinstance(tree, StructuredRegex):
            return self.structured(tree)
        if isinstance(tree, SpecialToken):
            raise self.source.error(
                tree.offset, f"the token {tree.text} stands inside a terminal", construct=tree.text, hint="put it in a rule"
            )
        raise self.source.error(tree.offset, "this cannot stand inside a terminal", construct="terminal", hint="put it in a rule")

    def sequence(self, tree: Sequence) -> Language:
        parts = [self.language(part) for part in tree.parts]
        run = longest = 0
        for part in parts:
            # Optional parts of parts count too, for what may follow each is written out; of a regex the signs that make parts optional.
            run = run + self.optional.get(part, 1) if part.nullable else 0
            longest = max(longest, run)
        if longest > MAX_OPTIONAL_RUN:
            raise self.source.limit(
                tree.offset,
                f"more than {MAX_OPTIONAL_RUN:,} parts of a terminal side by side that may each be left out",
                limit="optional_parts",
                allowed=MAX_OPTIONAL_RUN,
            )
        language = Language.concat(parts)
        if run and language.nullable:
            self.optional[language] = run
        return language

    def fixed_text(self, tree: Tree) -> str | None:
        """The one text of a string, or of a terminal that is no more than a string; None of anything else."""
        if isinstance(tree, Name) and tree.parameter is None and tree.name.isupper():
            definition = self.definitions.get(tree.name)
            tree = definition.body if definition is not None else tree
        return tree.text if isinstance(tree, String) and not tree.ignore_case else None

    def size(self, tree: Tree) -> int:
        """About how much there is to a tree, terminals it names written out."""
        if isinstance(tree, Name):
            return self.sizes.get(tree.name, 1)
        if isinstance(tree, (Sequence, Both)):
            return sum(map(self.size, tree.parts))
        if isinstance(tree, Alternatives):
            return sum(self.size(part) for part, _ in tree.parts)
        if isinstance(tree, (Repeated, Not)):
            return 1 + self.size(tree.body)
        return len(tree.text) if isinstance(tree, String) else len(tree.pattern) if isinstance(tree, Pattern) else 1

    def union(self, tree: Alternatives) -> Language:
        literals = [part.text for part, _ in tree.parts if isinstance(part, String) and not part.ignore_case]
        others = [self.language(part) for part, _ in tree.parts if not isinstance(part, String) or part.ignore_case]
        return Language.union([*([Language.literals(literals)] if literals else []), *others])

    def string(self, tree: String) -> Language:
        if not tree.ignore_case:
            return Language.literal(tree.text)
        escaped = "".join(f"\\{character}" if character in _REGEX_SPECIAL else character for character in tree.text)
        try:
            return parse_python(escaped, flags="i")
        except LimitError as error:
            raise self.placed(error, tree.offset) from None

    def pattern(self, tree: Pattern) -> Language:
        key = (tree.pattern, tree.flags)
        language = self.patterns.get(key)
        if language is None:
            for flag in tree.flags:
                if flag not in "imsxu":
                    raise self.source.error(
                        tree.offset, f"the regex flag {flag!r} is not supported", construct="flag", kind=UnsupportedError
                    )
            try:
                language = parse_python(tree.pattern, flags=tree.flags.replace("u", ""), rust=True)
            except GrammarError as error:
                raise self.source.error(
                    tree.offset + 1 + (error.offset or 0), error.message, construct=error.construct, hint=error.hint, kind=type(error)
                ) from None
            except LimitError as error:
                raise self.placed(error, tree.offset) from None
            self.patterns[key] = language
            if language.nullable:
                self.optional[language] = max(1, sum(map(tree.pattern.count, "?*{|")))
        return language

    def structured(self, tree: StructuredRegex) -> Language:
        """``%regex {...}``: parts of a text that stand together in it."""
        known = self.substrings.get(tree.offset)
        if known is not None:
            return known
        value = tree.value
        chunks = _chunks(value)
        if chunks is None:
            raise self.source.error(
                tree.offset,
                "this %regex is not known",
                construct="%regex",
                hint='write {"substring_chunks": [...]}, {"substring_words": "..."} or {"substring_chars": "..."}',
                kind=UnsupportedError,
            )
        if any("\ud800" <= character <= "\udfff" for chunk in chunks for character in chunk):
            raise self.source.error(tree.offset, "half of a surrogate pair is no character", construct="%regex")
        self.chunks += len(chunks)
        if self.chunks > _MAX_CHUNKS:
            raise self.source.limit(
                tree.offset,
                f"with this substring there are {self.chunks:,} chunks; the limit is {_MAX_CHUNKS:,} in a grammar",
                limit="chunks",
                allowed=_MAX_CHUNKS,
            )
        try:
            self.substrings[tree.offset] = substrings(chunks)
        except LimitError as error:
            raise self.placed(error, tree.offset) from None
        return self.substrings[tree.offset]

    def placed(self, error: LimitError, offset: int) -> LimitError:
        """The error of something that knows no lines, with the place in this text."""
        return self.source.limit(offset, str(error), limit=error.limit, allowed=error.allowed)


def shortest_matches(language: Language) -> Language:
    """The words of a language that do not begin with a shorter word of it: what a lazy terminal matches."""
    some = Language.concat([Language.char_class([(0, 0xD7FF), (0xE000, 0x10FFFF)]), Language.anything()])
    return Language.intersection([language, Language.concat([language, some]).complement()])


def substrings(chunks: list[str]) -> Language:
    """Any run of chunks, and the empty text.

    Kept linear in size: each suffix of the list is written from the next one, and a run may stop after any chunk. Runs that begin
    with the same chunk are one way on.
    """
    rest = Language.empty()  # runs that begin at the chunk after this one, or stop here
    following: dict[str, list[Language]] = {}  # what may come after a first chunk
    for chunk in reversed(chunks):
        following.setdefault(chunk, []).append(rest)
        rest = Language.union([Language.empty(), Language.concat([Language.literal(chunk), rest])])
    ways = [Language.concat([Language.literal(chunk), Language.union(rests)]) for chunk, rests in following.items()]
    return Language.union([Language.empty(), *ways])


def _chunks(value: Any) -> list[str] | None:
    if not isinstance(value, dict):
        return None
    if set(value) == {"type", "chunks"} and value["type"] == "substring":
        value = {"substring_chunks": value["chunks"]}
    if len(value) != 1:
        return None
    (kind, content), *_ = value.items()
    if kind == "substring_chunks" and isinstance(content, list) and all(isinstance(chunk, str) for chunk in content):
        return list(content)
    if not isinstance(content, str):
        return None
    if kind == "substring_chars":
        return list(content)
    return _words(content) if kind == "substring_words" else None


def _words(text: str) -> list[str]:
    """Runs of white space, of letters, numbers and ``_``, and of anything else, as Rust's ``char`` tells them apart."""
    return _runs().findall(text)


@functools.cache
def _runs() -> re.Pattern[str]:
    space = unicode_classes.property_ranges("White_Space") or ()
    word = unicode_classes.union(*(unicode_classes.property_ranges(name) or () for name in ("Alphabetic", "N")), [(0x5F, 0x5F)])
    classes = ["".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges) for ranges in (space, word)]
    return re.compile(f"[{classes[0]}]+|[{classes[1]}]+|[^{''.join(classes)}]+")
