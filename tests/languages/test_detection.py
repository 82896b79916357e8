"""Which language a grammar is in, told by its text."""

from __future__ import annotations

import pytest

from scansion.languages.detection import grammar_language

LARK = [
    'start: "a"',
    '\n    ?start: a\n    a: "x"\n',
    '%llguidance {}\nstart: "a"',
    '// root\n!start: "a"',
    'A: "x"\nstart: A',
    "%import common.INT\nstart[capture]: INT",
    "start : p::0\np::_ : /a/",
    'start.2: "root ::= x"',
]
GBNF = [
    'root ::= "a"',
    "    root ::= a\n    a ::= [a-z]\n",
    '# start: "a"\nroot ::= "a"',
    'root ::= "name: " [a-z]+\n  | "x:"',
    'root::="a"',
    "",
]


@pytest.mark.parametrize("text", LARK)
def test_lark_is_found(text: str) -> None:
    assert grammar_language(text) == "lark"


@pytest.mark.parametrize("text", GBNF)
def test_everything_else_is_gbnf(text: str) -> None:
    assert grammar_language(text) == "gbnf"
