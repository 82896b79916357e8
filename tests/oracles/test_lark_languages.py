"""Lark grammars of common languages against the Lark toolkit's Earley parser, which tries every split as Scansion does.

Whole texts are judged by both: those listed, those with a character changed, and random ones. The toolkit does not judge prefixes
itself, so what is asked is what a prefix is: every beginning of a text of the language is one, and what Scansion takes as one can be
completed to a text the toolkit accepts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.languages.test_conversion import walk
from tests.languages.texts import BYTES
from tests.oracles.lark_languages import LANGUAGES, LarkLanguage

from scansion import Constraint, Grammar

lark: Any = pytest.importorskip("lark")


class Both:
    """A grammar in the toolkit and here."""

    def __init__(self, language: LarkLanguage) -> None:
        self.theirs = lark.Lark(language.grammar, parser="earley", lexer="dynamic_complete", ambiguity="forest")
        self.ours: Constraint = Grammar.from_lark(language.grammar).compile(BYTES)
        self.edge = re.compile(rf"\A(?:{language.ignored})|(?:{language.ignored})\Z") if language.ignored else None

    def judged(self, text: str) -> bool:
        """Whether the two mean the same here: the toolkit also ignores before the first terminal and after the last."""
        return self.edge is None or self.edge.search(text) is None

    def in_toolkit(self, text: str) -> bool:
        try:
            self.theirs.parse(text)
        except lark.exceptions.LarkError:
            return False
        return True

    def in_ours(self, text: str) -> bool:
        matcher = self.ours.matcher()
        return matcher.accept_bytes(text.encode()) and matcher.is_complete


@pytest.fixture(scope="module", params=LANGUAGES)
def pair(request: pytest.FixtureRequest) -> tuple[LarkLanguage, Both]:
    language = LANGUAGES[request.param]
    return language, Both(language)


def test_listed_texts(pair: tuple[LarkLanguage, Both]) -> None:
    language, both = pair
    for text in language.texts:
        assert both.in_toolkit(text) and (both.in_ours(text) or not both.judged(text)), text
    for text in language.others:
        assert not both.in_toolkit(text) and not both.in_ours(text), text


def test_changed_texts_have_the_toolkits_verdict(pair: tuple[LarkLanguage, Both], rounds: Callable[[int], int]) -> None:
    language, both = pair
    draw = random.Random(1)
    alphabet = sorted(set("".join(language.texts + language.others)))
    verdicts: set[bool] = set()
    for text in language.texts + language.others:
        for _ in range(rounds(8)):
            at = draw.randrange(len(text) + 1)
            changed = text[:at] + draw.choice(["", draw.choice(alphabet), *language.texts[:1]]) + text[at + draw.randrange(3) :]
            if len(changed) <= 60 and both.judged(changed):
                verdicts.add(both.in_toolkit(changed))
                assert both.in_ours(changed) == both.in_toolkit(changed), changed
    assert verdicts == {True, False}


def test_random_texts_are_the_toolkits(pair: tuple[LarkLanguage, Both], rounds: Callable[[int], int]) -> None:
    _, both = pair
    draw = random.Random(2)
    for _ in range(rounds(12)):
        text = walk(both.ours, draw, 25)
        assert both.in_toolkit(text.decode()), text


def test_prefixes_are_beginnings_of_texts(pair: tuple[LarkLanguage, Both]) -> None:
    language, both = pair
    for text in language.texts:
        if not both.judged(text):
            continue
        matcher = both.ours.matcher()
        for count, byte in enumerate(text.encode()):
            assert matcher.accept(byte), text[: count + 1]
            if count % 5 == 0:
                whole = text.encode()[: count + 1] + (matcher.shortest_completion() or b"")
                assert both.in_toolkit(whole.decode()), whole
