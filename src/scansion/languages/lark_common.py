"""The terminals ``%import common.NAME`` brings in: those of the Lark toolkit's ``lark/grammars/common.lark``.

``ESCAPED_STRING`` and ``C_COMMENT`` are written without lookbehind and lazy repetition, with the same texts as llguidance has.
"""

from __future__ import annotations

from functools import cache

from scansion._kernel import Language
from scansion.languages.regex import parse_python

__all__ = ["COMMON", "common_terminal"]

_INT = "[0-9]+"
_SIGNED_INT = f"[+-]?{_INT}"
_EXPONENT = f"[eE]{_SIGNED_INT}"
_DECIMAL = rf"({_INT}\.({_INT})?|\.{_INT})"
_FLOAT = f"({_INT}{_EXPONENT}|{_DECIMAL}({_EXPONENT})?)"
_NUMBER = f"({_FLOAT}|{_INT})"

COMMON = {
    "DIGIT": "[0-9]",
    "HEXDIGIT": "[0-9A-Fa-f]",
    "INT": _INT,
    "SIGNED_INT": _SIGNED_INT,
    "DECIMAL": _DECIMAL,
    "_EXP": _EXPONENT,
    "FLOAT": _FLOAT,
    "SIGNED_FLOAT": f"[+-]?{_FLOAT}",
    "NUMBER": _NUMBER,
    "SIGNED_NUMBER": f"[+-]?{_NUMBER}",
    "ESCAPED_STRING": r'"(\\.|[^"\\])*"',
    "LCASE_LETTER": "[a-z]",
    "UCASE_LETTER": "[A-Z]",
    "LETTER": "[A-Za-z]",
    "WORD": "[A-Za-z]+",
    "CNAME": "[_A-Za-z][_A-Za-z0-9]*",
    "WS_INLINE": r"[ \t]+",
    "WS": r"[ \t\f\r\n]+",
    "CR": r"\r",
    "LF": r"\n",
    "NEWLINE": r"(\r?\n)+",
    "SH_COMMENT": r"#[^\n]*",
    "CPP_COMMENT": r"//[^\n]*",
    "C_COMMENT": r"/\*[^*]*\*+([^/*][^*]*\*+)*/",
    "SQL_COMMENT": r"--[^\n]*",
}


@cache
def common_terminal(name: str) -> Language:
    """The language of a name in ``COMMON``."""
    return parse_python(COMMON[name])
