"""Choices: exactly the texts given."""

from __future__ import annotations

import pytest
from tests.languages.texts import check_texts, is_prefix

from scansion import Grammar, GrammarError, UnsatisfiableError


def test_exactly_the_texts_given() -> None:
    check_texts(Grammar.from_choices(["é", "è", "yes", "yes and no", ""]), ["é", "è", "yes", "yes and no", ""], ["y", "no", "e", "yes and"])


def test_thousands_of_texts() -> None:
    words = [f"choice number {number}" for number in range(20_000)]
    grammar = Grammar.from_choices(words)
    check_texts(grammar, [words[0], words[77], words[-1]], ["choice number", "choice number 20000"])
    assert is_prefix(grammar, "choice number 1999")


@pytest.mark.parametrize(
    ("texts", "words"), [("abc", "not one string"), (None, "not NoneType"), ([1], "choice 0 is a int"), (["\ud800"], "surrogate")]
)
def test_what_is_no_list_of_texts_is_refused(texts: object, words: str) -> None:
    with pytest.raises(GrammarError, match=words):
        Grammar.from_choices(texts)  # type: ignore[arg-type]


def test_nothing_to_choose_from() -> None:
    with pytest.raises(UnsatisfiableError):
        Grammar.from_choices([])
