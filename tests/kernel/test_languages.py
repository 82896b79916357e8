"""The Python face of languages: built in every way, asked every question, against sets of words and Python's `re`."""

from __future__ import annotations

import itertools
import pickle
import random
import re
from collections.abc import Callable

import pytest
from tests.kernel.walks import byte_vocabulary

from scansion._kernel import JSON_STRING, Constraint, Language, Matcher
from scansion.errors import LimitError
from scansion.program import ProgramBuilder

ALPHABET = "abé"
TEXTS = ["".join(letters) for length in range(5) for letters in itertools.product(ALPHABET, repeat=length)]


def random_expression(draw: random.Random, depth: int) -> tuple[Language, Callable[[str], bool]]:
    """A language and a judge of its words, made side by side; the judge never asks the language."""
    kind = draw.choice(["literal", "class", "words"] if depth == 0 else ["concat", "union", "both", "not", "repeat", "regex"])
    if kind == "literal":
        text = "".join(draw.choice(ALPHABET) for _ in range(draw.randint(0, 2)))
        return Language.literal(text), lambda word: word == text
    if kind == "class":
        first, last = sorted(draw.choices(ALPHABET, k=2))
        return Language.char_class([(ord(first), ord(last))]), lambda word: len(word) == 1 and first <= word <= last
    if kind == "words":
        words = {"".join(draw.choices(ALPHABET, k=draw.randint(0, 3))) for _ in range(4)}
        return Language.literals(sorted(words)), lambda word: word in words
    if kind == "regex":
        low, high = draw.choice([(0, None), (1, 3), (2, 2)])
        pattern = re.compile(f"(?:ab?|é){{{low},{'' if high is None else high}}}")
        body = Language.union([Language.concat([Language.literal("a"), Language.literal("b").repeat(0, 1)]), Language.literal("é")])
        return body.repeat(low, high), lambda word: pattern.fullmatch(word) is not None
    one, is_one = random_expression(draw, depth - 1)
    if kind == "not":
        return one.complement(), lambda word: not is_one(word)
    two, is_two = random_expression(draw, depth - 1)
    if kind == "concat":
        return Language.concat([one, two]), lambda word: any(is_one(word[:i]) and is_two(word[i:]) for i in range(len(word) + 1))
    if kind == "union":
        return Language.union([one, two]), lambda word: is_one(word) or is_two(word)
    if kind == "both":
        return Language.intersection([one, two]), lambda word: is_one(word) and is_two(word)
    low, high = draw.choice([(0, 2), (1, 2), (2, 3)])

    def repeated(word: str, times: int) -> bool:
        if times == 0:
            return word == ""
        return any(is_one(word[:i]) and repeated(word[i:], times - 1) for i in range(len(word) + 1))

    return one.repeat(low, high), lambda word: any(repeated(word, times) for times in range(low, high + 1))


def test_expressions_hold_the_words_their_definition_says(rounds: Callable[[int], int]) -> None:
    for seed in range(rounds(250)):
        language, is_word = random_expression(random.Random(seed), 2)
        words = {text for text in TEXTS if is_word(text)}
        assert {text for text in TEXTS if language.matches(text)} == words, seed
        assert language.nullable == ("" in words)
        if words:
            assert not language.is_nothing
            assert language.min_length() == min(map(len, words))
            shortest = language.shortest()
            assert shortest is not None and language.matches(shortest) and len(shortest) == language.min_length()
        if language.is_nothing:
            assert language.shortest() is language.min_length() is None and language.words(5) == [] and language.count(5) == 0
        few = language.words(60)
        if few is not None:
            assert few == sorted(set(few)), "in code point order"
            assert {word for word in few if set(word) <= set(ALPHABET) and len(word) <= 4} == words
            assert language.count(1000) == len(few)
            assert language.max_length() == (max(map(len, few)) if few else None)
        assert pickle.loads(pickle.dumps(language)) == language
        for first, last, rest in language.transitions():
            assert (0 <= first <= last <= 0x10FFFF and not rest.is_nothing) or rest.is_nothing
            assert language.derivative(chr(first)) == rest or 0xD800 <= first <= 0xDFFF


def test_relations_are_those_of_sets(rounds: Callable[[int], int]) -> None:
    for seed in range(rounds(120)):
        draw = random.Random(seed)
        (one, is_one), (two, is_two) = random_expression(draw, 2), random_expression(draw, 1)
        if one.is_subset_of(two):
            assert all(is_two(text) for text in TEXTS if is_one(text)), seed
        if one.is_disjoint_from(two):
            assert not any(is_one(text) and is_two(text) for text in TEXTS), seed
        assert one.equivalent(two) == (one.is_subset_of(two) and two.is_subset_of(one))
        difference = Language.intersection([one, two.complement()])
        assert difference.is_nothing == one.is_subset_of(two)


@pytest.mark.parametrize("language_seed", range(30))
def test_json_strings_spell_the_words_in_any_way(language_seed: int) -> None:
    draw = random.Random(language_seed)
    language, is_word = random_expression(draw, 2)
    if language.is_nothing:
        return
    builder = ProgramBuilder()
    rule = builder.new_rule()
    builder.set_rule(rule, builder.lex(language, JSON_STRING))
    constraint = Constraint(builder.finish(rule).kernel(), byte_vocabulary())
    for text in TEXTS:
        spelled = "".join(draw.choice([letter, f"\\u{ord(letter):04x}", f"\\u{ord(letter):04X}"]) for letter in text)
        matcher = Matcher(constraint)
        assert (matcher.accept_bytes(f'"{spelled}"'.encode()) and matcher.is_complete) == is_word(text), spelled


def test_automata_are_what_their_table_says() -> None:
    even = Language.automaton([[(97, 97, 1), (98, 98, 0)], [(97, 97, 0), (98, 98, 1)]], [True, False])
    for text in TEXTS:
        assert even.matches(text) == (text.count("a") % 2 == 0 and "é" not in text)
    with pytest.raises(ValueError, match="overlapping"):
        Language.automaton([[(97, 99, 0), (99, 100, 0)]], [True])
    with pytest.raises(ValueError, match="out of range"):
        Language.automaton([[]], [True], 1)
    assert Language.automaton([[(97, 97, 0)]], [False]).is_nothing


def random_automaton(draw: random.Random) -> Language:
    states = draw.randint(1, 5)
    transitions = [[(97 + k, 97 + k, draw.randrange(states)) for k in range(3) if draw.random() < 0.6] for _ in range(states)]
    return Language.automaton(transitions, [draw.random() < 0.5 for _ in range(states)])


def test_what_automata_have_in_common(rounds: Callable[[int], int]) -> None:
    draw = random.Random(7)
    texts = ["".join(letters) for length in range(5) for letters in itertools.product("abc", repeat=length)]
    for _ in range(rounds(60)):
        parts = [random_automaton(draw) for _ in range(draw.randint(2, 3))] + [Language.literals(draw.sample(texts, 6))] * draw.randint(
            0, 1
        )
        both = Language.intersection(parts)
        for text in texts:
            assert both.matches(text) == all(part.matches(text) for part in parts), (parts, text)


def test_what_no_text_can_hold_is_refused_or_empty() -> None:
    assert Language.char_class([(0xD800, 0xDFFF)]).is_nothing
    assert Language.char_class([]).is_nothing
    assert Language.literal("\ud800").is_nothing
    for wrong in [(0, 0x110000), (-1, 5)]:
        with pytest.raises(ValueError, match="outside"):
            Language.char_class([wrong])
    with pytest.raises(ValueError, match="below"):
        Language.empty().repeat(3, 2)
    with pytest.raises(TypeError):
        Language.literal(b"a")  # type: ignore[arg-type]
    for unpicklable in ([], [(99, [])], [(3, [5])]):
        with pytest.raises((ValueError, IndexError)):
            Language.__new__(Language).__setstate__((unpicklable,))


def test_questions_that_need_too_many_states_meet_a_limit() -> None:
    a, either = Language.literal("a"), Language.char_class([(97, 98)])
    late = Language.concat([either.repeat(0), a, either.repeat(24, 24)])
    with pytest.raises(LimitError) as caught:
        _ = Language.intersection(
            [late, Language.concat([either.repeat(0), a, either.repeat(23, 23)]).complement(), late.complement()]
        ).is_nothing
        _ = late.equivalent(
            Language.concat([either.repeat(0), a, either.repeat(12, 12), either.repeat(12, 12), Language.literal("c").repeat(0, 1)])
        )
    assert caught.value.limit == "language_states"


def test_lengths_are_periodic_and_not_counted_out() -> None:
    thrice = Language.literal("abc").repeat(1)
    exactly = Language.char_class([(0, 0x10FFFF)])
    assert Language.intersection([thrice, exactly.repeat(1_000_001, 1_000_001)]).is_nothing
    assert not Language.intersection([thrice, exactly.repeat(999_999, 1_000_001)]).is_nothing
