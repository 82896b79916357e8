"""Structural tags: free text, and regions that a trigger opens."""

from __future__ import annotations

import itertools
import random
import re

import pytest
from tests.languages.texts import BYTES, check_texts, is_prefix

from scansion import Grammar, GrammarError, UnsatisfiableError
from scansion.grammar.grammar import _lower
from scansion.grammar.nodes import Rules
from scansion.languages.gbnf import parse_gbnf
from scansion.languages.structural_tags import StructuralTag, structural_tags

NUMBER = parse_gbnf("root ::= [0-9]+")
NESTED = parse_gbnf('root ::= "(" root ")" | "x"')
TAGS = [StructuralTag("<f=a>", NUMBER, "</f>"), StructuralTag("<f=b>", NESTED, "</f>"), StructuralTag("[call]", NUMBER, "!")]


def grammar(rules: Rules) -> Grammar:
    return Grammar("structural_tags", _lower(rules))


def test_text_and_regions_in_any_order_and_number() -> None:
    tags = grammar(structural_tags(TAGS, triggers=["<f=", "[call]"]))
    check_texts(
        tags,
        ["", "hello <f", "<f=a>12</f>", "x<f=b>((x))</f>y[call]7!z", "<f=a>1</f><f=a>2</f>"],
        ["<f=", "<f=c>", "a <f=a>x</f>", "<f=a>1", "[call]", "[call]7"],
    )
    assert not is_prefix(tags, "a<f=c")
    assert is_prefix(tags, "a<f=a>1")


def test_whole_beginnings_are_the_triggers_by_default() -> None:
    check_texts(grammar(structural_tags(TAGS)), ["<f=c>", "<f=a>1</f>"], ["<f=a>x</f>"])


def test_at_least_one_and_only_one() -> None:
    check_texts(grammar(structural_tags(TAGS, at_least_one=True)), ["a<f=a>1</f>b", "[call]1!"], ["", "hello"])
    check_texts(grammar(structural_tags(TAGS, stop_after_first=True)), ["hello", "a<f=a>1</f>"], ["<f=a>1</f>b"])
    check_texts(grammar(structural_tags(TAGS, at_least_one=True, stop_after_first=True)), ["a<f=a>1</f>"], ["", "hello", "<f=a>1</f>b"])


def test_a_trigger_inside_another_is_served_first() -> None:
    tags = [StructuralTag("ab", NUMBER, "."), StructuralTag("b", NESTED, ".")]
    check_texts(grammar(structural_tags(tags)), ["a", "ab1.", "abx.", "bx.", "cb(x)."], ["ab", "b1."])


def test_json_regions() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"], "additionalProperties": False}
    tags = Grammar.from_structural_tags([StructuralTag("<tool_call>", schema, "</tool_call>")])
    check_texts(
        tags, ['one moment <tool_call>{"q":"metre"}</tool_call> done', "none"], ['<tool_call>{"q":1}</tool_call>', '<tool_call>{"q":"x"}']
    )


def test_thousands_of_tags_begin_as_one() -> None:
    names = [f"<tool={number}>" for number in range(3_000)]
    tags = grammar(structural_tags([StructuralTag(name, NUMBER, "</tool>") for name in names], triggers=["<tool="]))
    check_texts(
        tags, ["a <tool=2999>1</tool> b", "<tool=12>1</tool><tool=1>2</tool>"], ["<tool=3000>1</tool>", "<tool=>1</tool>", "<tool="]
    )


def test_faults_are_named() -> None:
    with pytest.raises(GrammarError, match="no tag begins"):
        structural_tags(TAGS, triggers=["<f=", "[call]", "<g="])
    with pytest.raises(GrammarError, match="begins with no trigger"):
        structural_tags(TAGS, triggers=["<f="])
    with pytest.raises(GrammarError, match="at least one character"):
        structural_tags([StructuralTag("", NUMBER)])
    with pytest.raises(UnsatisfiableError):
        structural_tags([], at_least_one=True)


# Against a reader written apart, on short texts over a small alphabet.


CONTENTS = {"c": '"c"', "a?": '"a"?', "[ab]": "[ab]", "c*": '"c"*', "(ac)*": '("ac")*', "b+c?": '"b"+ "c"?'}  # regex: GBNF


def whole(
    text: str, tags: list[StructuralTag], contents: list[str], triggers: list[str], at_least_one: bool, stop_after_first: bool
) -> bool:
    """Whether a text is one of free text and regions; ``contents`` are regexes of the tags."""

    def after(start: int, regions: int) -> bool:
        if stop_after_first and regions:
            return start == len(text)
        ends = [end for end in range(start, len(text) + 1) if any(text[start:end].endswith(trigger) for trigger in triggers)]
        if not ends:
            return regions > 0 or not at_least_one
        opened = ends[0]  # where the first trigger since the last region ends: a tag must be there
        for trigger in triggers:
            if not text[start:opened].endswith(trigger):
                continue
            for tag, content in zip(tags, contents, strict=True):
                begin = opened - len(trigger)
                if not tag.begin.startswith(trigger) or not text.startswith(tag.begin, begin):
                    continue
                inside = begin + len(tag.begin)
                for closed in range(inside, len(text) + 1):
                    end = closed + len(tag.end)
                    if text.startswith(tag.end, closed) and re.fullmatch(content, text[inside:closed]) and after(end, regions + 1):
                        return True
        return False

    return after(0, 0)


@pytest.mark.parametrize("seed", range(40))
def test_random_tags_against_a_reader_written_apart(seed: int) -> None:
    draw = random.Random(seed)
    words = ["".join(word) for size in (1, 2, 3) for word in itertools.product("ab", repeat=size)]
    regions = [(draw.choice(list(CONTENTS)), draw.choice(words), draw.choice(["", "a", "b", "c", "ab"])) for _ in range(draw.randint(1, 3))]
    contents = [content for content, _, _ in regions]
    tags = [StructuralTag(begin, parse_gbnf(f"root ::= {CONTENTS[content]}"), end) for content, begin, end in regions]
    triggers = list(dict.fromkeys(tag.begin[: draw.randint(1, len(tag.begin))] for tag in tags)) if draw.random() < 0.7 else None
    options = {"at_least_one": draw.random() < 0.4, "stop_after_first": draw.random() < 0.4}
    constraint = grammar(structural_tags(tags, triggers=triggers, **options)).compile(BYTES)
    served = list(dict.fromkeys(tag.begin for tag in tags)) if triggers is None else triggers
    for size in range(7):
        for letters in itertools.product("abc", repeat=size):
            text = "".join(letters)
            matcher = constraint.matcher()
            found = matcher.accept_bytes(text.encode()) and matcher.is_complete
            assert found == whole(text, tags, contents, served, **options), (tags, served, options, text)
