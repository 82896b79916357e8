"""Which language a grammar text is in, where nobody says."""

from __future__ import annotations

import re

__all__ = ["grammar_language"]

_LARK_RULE = re.compile(r"^[ \t]*[?!]{0,2}_*[a-z][a-z0-9_-]*(\.-?[0-9]+)?(\[[^\]\n]*\])?[ \t]*:(?!:=)", re.MULTILINE)
_GBNF_RULE = re.compile(r"^[ \t]*[A-Za-z0-9_-]+[ \t]*::=", re.MULTILINE)


def grammar_language(text: str) -> str:
    """``lark`` for a text that begins with ``%llguidance``, or that defines rules as Lark does and none as GBNF does; else ``gbnf``."""
    if text.lstrip().startswith("%llguidance"):
        return "lark"
    return "lark" if _LARK_RULE.search(text) and not _GBNF_RULE.search(text) else "gbnf"
