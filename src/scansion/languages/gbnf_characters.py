"""Literals and classes of GBNF: what their spelling stands for.

Follows ``parse_char`` and ``parse_sequence`` of llama.cpp's ``src/llama-grammar.cpp``.
"""

from __future__ import annotations

import re

from scansion._kernel import Language
from scansion.grammar.nodes import EMPTY, Expression, Text, Tokens, seq
from scansion.languages.llama_cpp_symbols import SymbolClasses
from scansion.languages.source import Source

__all__ = ["NEVER", "any_character", "character_class", "literal"]

# A token no vocabulary has: in llama.cpp's way of matching, a place that nothing passes but that can be waited at.
NEVER = Tokens(((2**31 - 1, 2**31 - 1),))

_SURROGATES = (0xD800, 0xDFFF)
_LAST = 0x10FFFF
_SIMPLE = {"t": 9, "r": 13, "n": 10, "\\": 92, '"': 34, "[": 91, "]": 93, "-": 45}
_HEX_LENGTH = {"x": 2, "u": 4, "U": 8}
_HEX = re.compile(r"[0-9a-fA-F]*")
_PLAIN_CLASS = re.compile(r"\[[^\^\\\-][^\\\-]*\]")


def literal(source: Source, start: int, spelling: str, llama_cpp: SymbolClasses | None) -> Expression:
    """The text of ``"..."``, quotes included in ``spelling``."""
    if "\\" not in spelling and not llama_cpp:
        text = spelling[1:-1]
        return Text(Language.literal(text)) if text else EMPTY
    characters: list[int] = []
    offset, end = 1, len(spelling) - 1
    while offset < end:
        code, offset = _character(source, start, spelling, offset, llama_cpp)
        characters.append(code)
    if llama_cpp:
        return seq([_class_symbols(llama_cpp, ((code, code),), False) for code in characters])
    return Text(Language.literal("".join(map(chr, characters))))


def character_class(source: Source, start: int, spelling: str, llama_cpp: SymbolClasses | None) -> Expression:
    """The characters of ``[...]`` or ``[^...]``, brackets included in ``spelling``."""
    negated = spelling.startswith("[^")
    offset, end = 2 if negated else 1, len(spelling) - 1
    if offset == end:
        if llama_cpp:
            return EMPTY  # no element is added to the rule at all
        raise source.error(
            start, f"the class {spelling} is empty", construct="class", hint="write [\\]] for a bracket and . for any character"
        )
    ranges: list[tuple[int, int]] = []
    if _PLAIN_CLASS.fullmatch(spelling):
        ranges = [(ord(character), ord(character)) for character in spelling[1:-1]]
        offset = end
    while offset < end:
        first, after = _character(source, start, spelling, offset, llama_cpp)
        last = first
        if spelling[after] == "-" and after + 1 < end:
            last, after = _character(source, start, spelling, after + 1, llama_cpp)
            if last < first and not llama_cpp:
                raise source.error(
                    start + offset, f"the range {spelling[offset:after]} runs backwards", construct="class", hint="write a hyphen as \\-"
                )
        ranges.append((first, last))
        offset = after
    if llama_cpp:
        return _class_symbols(llama_cpp, tuple(ranges), negated)
    ranges = _kept(ranges)
    language = _complement(ranges) if negated else Language.char_class(ranges)
    if language.is_nothing:
        raise source.error(start, f"the class {spelling[:60]} matches no character", construct="class")
    return Text(language)


def any_character(llama_cpp: SymbolClasses | None) -> Expression:
    """``.``: any character, line ends included."""
    return _class_symbols(llama_cpp, ((0, 2**32 - 1),), False) if llama_cpp else Text(_complement([]))


def _class_symbols(classes: SymbolClasses, ranges: tuple[tuple[int, int], ...], negated: bool) -> Expression:
    language = classes.language(ranges, negated)
    return NEVER if language.is_nothing else Text(language)


def _complement(ranges: list[tuple[int, int]]) -> Language:
    """Every scalar value outside the ranges."""
    kept: list[tuple[int, int]] = []
    following = 0
    for first, last in sorted([*ranges, _SURROGATES]):
        if first > following:
            kept.append((following, first - 1))
        following = max(following, last + 1)
    if following <= _LAST:
        kept.append((following, _LAST))
    return Language.char_class(kept)


def _kept(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges without surrogates, what is past the last code point, and what runs backwards."""
    kept: list[tuple[int, int]] = []
    for first, last in ranges:
        last = min(last, _LAST)
        low, high = _SURROGATES
        pieces = [(first, last)] if last < low or first > high else [(first, low - 1), (high + 1, last)]
        kept += [piece for piece in pieces if piece[0] <= piece[1]]
    return kept


def _character(source: Source, start: int, spelling: str, offset: int, llama_cpp: SymbolClasses | None) -> tuple[int, int]:
    """The code point written at ``offset`` of ``spelling`` and the offset after it."""
    character = spelling[offset]
    if character != "\\":
        return ord(character), offset + 1
    sign = spelling[offset + 1]
    simple = _SIMPLE.get(sign)
    if simple is not None:
        return simple, offset + 2
    length = _HEX_LENGTH.get(sign)
    if length is None:
        raise source.error(
            start + offset,
            f"\\{sign} is no escape",
            construct="escape",
            hint='the escapes are \\n \\r \\t \\\\ \\" \\[ \\] \\- \\xHH \\uHHHH \\UHHHHHHHH',
        )
    match = _HEX.match(spelling, offset + 2, offset + 2 + length)
    digits = match.group() if match else ""
    if len(digits) < length:
        raise source.error(start + offset, f"expected {length} hexadecimal digits after \\{sign}, found {len(digits)}", construct="escape")
    code = int(digits, 16)
    if not llama_cpp and (code > _LAST or _SURROGATES[0] <= code <= _SURROGATES[1]):
        raise source.error(
            start + offset,
            f"\\{sign}{digits} is not a character",
            construct="escape",
            hint="characters outside the basic plane are written \\U0001F600, not as two surrogates",
        )
    return code, offset + 2 + length
