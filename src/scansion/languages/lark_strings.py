"""String literals of Lark: JSON's escapes, as llguidance has them, and Python's ``\\xHH`` and ``\\UHHHHHHHH``."""

from __future__ import annotations

import re

from scansion.languages.source import Source

__all__ = ["read_string"]

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\\": "\\", '"': '"', "'": "'", "/": "/"}
_HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}


def read_string(source: Source, text: str, offset: int) -> tuple[str, bool]:
    """The text of ``"..."`` or ``"..."i``, and whether it is meant in any case.

    Raises:
        GrammarError: an escape that is none.
    """
    ignore_case = text.endswith("i")
    inner = text[1:-2] if ignore_case else text[1:-1]
    if "\\" not in inner:
        return inner, ignore_case
    out: list[str] = []
    index = 0
    while index < len(inner):
        if inner[index] != "\\":
            out.append(inner[index])
            index += 1
            continue
        sign = inner[index + 1]
        length = _HEX_ESCAPES.get(sign)
        if length is not None:
            digits = inner[index + 2 : index + 2 + length]
            code = int(digits, 16) if re.fullmatch(r"[0-9A-Fa-f]+", digits) and len(digits) == length else 0x110000
            if code > 0x10FFFF:
                raise source.error(offset + 1 + index, f"expected {length} hexadecimal digits after \\{sign}", construct="escape")
            out.append(chr(code))
            index += 2 + length
            continue
        if sign not in _ESCAPES:
            raise source.error(offset + 1 + index, f"\\{sign} is no escape", construct="escape", hint="a backslash is written \\\\")
        out.append(_ESCAPES[sign])
        index += 2
    joined = "".join(out)
    try:
        return joined.encode("utf-16", "surrogatepass").decode("utf-16"), ignore_case  # joins a pair of \u escapes
    except UnicodeDecodeError:
        raise source.error(offset, "half of a surrogate pair is no character", construct="escape") from None
