"""Lark grammars against the Lark toolkit's own Earley parser, which tries every split as well: the same verdicts.

It also ignores before the first and after the last terminal, which llguidance does not, and so neither does Scansion.
"""

from __future__ import annotations

import pytest
from tests.languages.test_lark import CASES
from tests.languages.texts import is_text
from tests.oracles.test_llguidance import MORE

from scansion import Grammar

lark = pytest.importorskip("lark")

DIFFERENT = {"strings": "the toolkit has no \\/ escape"}


@pytest.mark.parametrize("name", [name for name in {**CASES, **MORE} if name not in DIFFERENT])
def test_verdicts_are_the_toolkits(name: str) -> None:
    text, accepted, rejected = {**CASES, **MORE}[name]
    try:
        parser = lark.Lark(text, parser="earley", lexer="dynamic_complete")
    except Exception as error:
        pytest.skip(f"the toolkit does not take this grammar: {type(error).__name__}")
    grammar = Grammar.from_lark(text)
    for sample in [*accepted, *rejected]:
        if "%ignore" in text and (sample[:1] in " #" or sample[-1:] == " "):
            continue
        try:
            parser.parse(sample)
            whole = True
        except lark.exceptions.LarkError:
            whole = False
        assert is_text(grammar, sample) == whole, sample
