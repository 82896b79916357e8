"""Writing grammars as GBNF and Lark: read back, they have the same texts, judged on random texts of both and on changed ones."""

from __future__ import annotations

import random
import re
import time
from typing import Any

import pytest
from tests.languages.texts import BYTES, check_texts

from scansion import Constraint, Grammar, LimitError, UnsupportedError
from scansion.languages.comparison import differing_text

OBJECT = {"type": "object", "additionalProperties": False}
SCHEMAS: dict[str, Any] = {
    "strings": {"type": "string", "maxLength": 3},
    "pattern": {"type": "string", "pattern": "^[a-c]+(-[0-9]{2})?$"},
    "format": {"type": "string", "format": "date"},
    "integer": {"type": "integer", "minimum": -17, "maximum": 142},
    "number": {"type": "number", "minimum": 0.5, "exclusiveMaximum": 12.25},
    "any number": {"type": "number"},
    "multiples": {"type": "integer", "multipleOf": 7},
    "enum": {"enum": ["é", 'a"b', 1.5, None, [1], {"a": True}]},
    "object": {
        **OBJECT,
        "properties": {"name": {"type": "string", "maxLength": 2}, "age": {"type": "integer", "minimum": 0}, "ok": {"type": "boolean"}},
        "required": ["age"],
    },
    "counted object": {**OBJECT, "properties": {letter: {"type": "null"} for letter in "abcd"}, "minProperties": 2, "maxProperties": 3},
    "conditions": {
        **OBJECT,
        "properties": {letter: {"type": "null"} for letter in "abc"},
        "anyOf": [{"required": ["a"]}, {"required": ["c"]}],
    },
    "dependent keys": {**OBJECT, "properties": {letter: {"type": "null"} for letter in "abc"}, "dependentRequired": {"a": ["c"]}},
    "array": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3},
    "tuple": {"type": "array", "prefixItems": [{"type": "boolean"}, {"type": "null"}], "items": {"type": "integer"}, "maxItems": 4},
    "contains": {"type": "array", "items": {"enum": [1, 2]}, "contains": {"const": 1}, "maxContains": 2, "maxItems": 4},
    "recursion": {
        "$ref": "#/$defs/tree",
        "$defs": {"tree": {**OBJECT, "properties": {"l": {"$ref": "#/$defs/tree"}, "r": {"$ref": "#/$defs/tree"}}}},
    },
    "choice": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "null"}}, {"const": "x"}]},
}
GRAMMARS = {
    "expressions": Grammar.from_gbnf('root ::= root "+" t | t\nt ::= "(" root ")" | [0-9]+ ("." [0-9]+)? | "é"'),
    "classes": Grammar.from_gbnf(r'root ::= [^\n\]"\\-]{1,3} [\x01-\x1f^]* "\u2028\"\\" .'),
    "counts": Grammar.from_gbnf('root ::= ("(" root? ")"){2,3} "x"{0,2}'),
    "repeated optional parts": Grammar.from_regex(r"(?:[ab]?){2}(?:(?:ab|c{2})?)*(?:(?:d+)?){0,3}(?:e{2}){1,2}"),
    "optional parts in rules": Grammar.from_lark('start: ["a" | x]{2,3} (["b"])* x?\nx: "(" start ")" | ("c"{2}){0,2}'),
    "regex": Grammar.from_regex(r"(?i)ab?[c-e]{2,4}|\d+(?!5)x"),
    "choices": Grammar.from_choices(["yes", "yesterday", "no", "é", ""]),
    "lark": Grammar.from_lark('start: a ("," a)*\na: NAME "=" %json {"type": "integer"}\nNAME: /[a-z]+/ & ~/if/\n%ignore / /'),
}


def walk(constraint: Constraint, draw: random.Random, steps: int = 50) -> bytes:
    """A random text of a grammar."""
    matcher = constraint.matcher()
    text = bytearray()
    for _ in range(steps):
        following = matcher.next_bytes()
        if not following or (matcher.is_complete and draw.random() < 0.2):
            return bytes(text)
        plain = [byte for byte in following if 32 <= byte < 127]
        byte = draw.choice(plain if plain and draw.random() < 0.8 else list(following))
        assert matcher.accept(byte)
        text.append(byte)
    return bytes(text) + (matcher.shortest_completion() or b"")


def verdict(constraint: Constraint, text: bytes) -> tuple[int, bool]:
    """How far a text is a prefix, and whether it is a whole text."""
    matcher = constraint.matcher()
    good = matcher.bytes_accepted(text)
    return good, matcher.accept_bytes(text) and matcher.is_complete


def assert_same_texts(first: Grammar, second: Grammar, seed: int) -> None:
    draw = random.Random(seed)
    one, two = first.compile(BYTES), second.compile(BYTES)
    for source in (one, two):
        for _ in range(15):
            text = walk(source, draw)
            changed = bytearray(text)
            if changed:
                changed[draw.randrange(len(changed))] = draw.choice([draw.randrange(256), *b'"{}[],: 09a\\u'])
            for sample in (text, bytes(changed)):
                assert verdict(one, sample) == verdict(two, sample), sample


@pytest.mark.parametrize("whitespace", ["bounded", "flexible", "compact"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_read_back_is_the_same(name: str, whitespace: str) -> None:
    grammar = Grammar.from_json_schema(SCHEMAS[name], whitespace=whitespace)
    assert_same_texts(grammar, Grammar.from_gbnf(grammar.to_gbnf()), 1)
    assert_same_texts(grammar, Grammar.from_lark(grammar.to_lark()), 2)


@pytest.mark.parametrize("name", ["object", "counted object", "enum"])
def test_free_order_and_spelling_read_back_are_the_same(name: str) -> None:
    grammar = Grammar.from_json_schema(SCHEMAS[name], property_order="any", spelling="any")
    assert_same_texts(grammar, Grammar.from_gbnf(grammar.to_gbnf()), 3)


@pytest.mark.parametrize("name", GRAMMARS)
def test_grammar_read_back_is_the_same(name: str) -> None:
    grammar = GRAMMARS[name]
    assert_same_texts(grammar, Grammar.from_gbnf(grammar.to_gbnf()), 4)
    assert_same_texts(grammar, Grammar.from_lark(grammar.to_lark()), 5)


def test_text_is_deterministic_and_names_are_readable() -> None:
    schema = {
        **OBJECT,
        "properties": {"home town": {"$ref": "#/$defs/place"}, "tags": {"type": "array", "items": {"type": "string"}}},
        "$defs": {"place": OBJECT},
    }
    text = Grammar.from_json_schema(schema).to_gbnf()
    assert text == Grammar.from_json_schema(dict(schema)).to_gbnf()
    names = re.findall(r"^([^ ]+) ::=", text, re.MULTILINE)
    assert names[0] == "root" and "place" in names and "tags" in names
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", name) for name in names)


def test_long_repetitions_keep_to_llama_cpps_limit() -> None:
    text = Grammar.from_json_schema({"type": "string", "minLength": 2500, "maxLength": 5_432}).to_gbnf()
    counts = [int(count) for count in re.findall(r"[{,]([0-9]+)", text)]
    assert max(counts) <= 1000
    back = Grammar.from_gbnf(text)
    check_texts(
        back,
        [f'"{"x" * count}"' for count in (2500, 2501, 3999, 4000, 4001, 5000, 5_432)],
        [f'"{"x" * count}"' for count in (2499, 5_433)],
    )


@pytest.mark.parametrize(
    ("schema", "characters"),
    [
        ({"type": "string", "format": "date"}, 2_500),
        ({"type": "string", "format": "date-time"}, 50_000),
        ({"type": "string", "pattern": "^[a-z]+@[a-z.]+$", "maxLength": 300}, 40_000),
        ({"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 5}, 800),
    ],
)
def test_text_is_compact(schema: dict[str, Any], characters: int) -> None:
    grammar = Grammar.from_json_schema(schema)
    text = grammar.to_gbnf()
    assert len(text) < characters
    assert_same_texts(grammar, Grammar.from_gbnf(text), 6)


def test_a_language_of_thousands_of_states_is_written_in_seconds() -> None:
    start = time.monotonic()
    text = Grammar.from_json_schema({"type": "string", "pattern": "^[a-z]+@[a-z.]+x[a-z]+$", "maxLength": 3_000}).to_gbnf()
    assert time.monotonic() - start < 10
    assert 3_000 < text.count("::=") < 15_000


DEEP = {
    "groups": Grammar.from_gbnf("root ::= " + '("a" ' * 300 + '"b"' + ")?" * 300),
    "rules": Grammar.from_gbnf("root ::= r0\n" + "".join(f'r{i} ::= "a" (r{i + 1} | "c")\n' for i in range(300)) + 'r300 ::= "b"'),
    "substrings": Grammar.from_lark('start: %regex {"substring_chars": "' + "abcdefghij" * 30 + '"}'),
    "shared parts": Grammar.from_lark('start: %regex {"substring_words": "' + " ".join(f"w{i}" for i in range(300)) + '"}'),
    "long regex": Grammar.from_regex(r"\p{L}+\p{N}+" * 30),
    "long literal": Grammar.from_gbnf("root ::= " + f'"{"ab" * 1000}" "c"* ' * 2),
}


@pytest.mark.parametrize("name", DEEP)
def test_what_is_deep_or_large_can_be_read_back(name: str) -> None:
    grammar = DEEP[name]
    gbnf, lark = grammar.to_gbnf(), grammar.to_lark()
    assert max(len(gbnf), len(lark)) < 300_000  # nothing is written out again wherever it is met
    for back in (Grammar.from_gbnf(gbnf), Grammar.from_lark(lark)):
        assert differing_text(grammar, back) is None


def test_a_long_literal_is_written_as_one() -> None:
    assert Grammar.from_gbnf('root ::= "' + "ab" * 500 + '"').to_gbnf() == 'root ::= "' + "ab" * 500 + '"\n'


def test_a_regular_part_that_no_regex_of_bounded_length_says_is_refused() -> None:
    with pytest.raises(LimitError) as caught:
        Grammar.from_regex(r"\p{L}+\p{N}+" * 150).to_lark()
    assert caught.value.limit == "pattern_length"


def test_what_takes_too_many_rules_is_refused_by_pointer_and_keyword() -> None:
    schema = {**OBJECT, "properties": {"a": {"type": "string", "pattern": "^(a|b)*a(a|b){20}$", "maxLength": 90}}}
    with pytest.raises(LimitError, match=r"#/properties/a\b.*\b(pattern, maxLength|maxLength, pattern)\b") as caught:
        Grammar.from_json_schema(schema).to_gbnf()
    assert caught.value.limit == "automaton_states"


def test_what_no_context_free_grammar_can_say_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError) as caught:
        Grammar.from_json_schema({"type": "object", "properties": {"a": {"type": "object"}}, "additionalProperties": False}).to_gbnf()
    assert caught.value.construct == "additionalProperties"
    with pytest.raises(UnsupportedError) as caught:
        Grammar.from_json_schema({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}).to_lark()
    assert caught.value.construct == "uniqueItems"


def test_repeated_keys_may_be_waived() -> None:
    grammar = Grammar.from_json_schema(
        {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "boolean"}}
    )
    back = Grammar.from_gbnf(grammar.to_gbnf(repeated_keys=True))
    check_texts(back, ["{}", '{"a":null,"b":true}', '{"b":true,"b":false}'], ['{"a":true}', '{"b":true,"a":null}'])


def test_token_terminals_are_written() -> None:
    grammar = Grammar.from_gbnf('root ::= <think> !</think>* </think> "x" <[7]>')
    assert grammar.to_gbnf() == 'root ::= <think> !</think>* </think> "x" <[7]>\n'


TOKENS = 'root ::= <think> [^<]* !</think>{2} (<[7]> | <[250]> "x")*'


def test_grammars_with_token_terminals_are_compared() -> None:
    grammar = Grammar.from_gbnf(TOKENS)
    assert differing_text(grammar, Grammar.from_gbnf(grammar.to_gbnf())) is None
    grammar = Grammar.from_lark("start: <[^7,100-250]> /[a-c]+/ <think> <[*]>? <[7,9]>*")
    assert differing_text(grammar, Grammar.from_lark(grammar.to_lark())) is None


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (("<think>", "<thinks>"), "<think"),
        (("<[7]>", "<[8]>"), "<["),
        (("250", "249"), "<[2"),
        (("{2}", "{2,3}"), ""),
        (("!</think>", "!<think>"), "think>"),
        (("[^<]", "[^<a]"), "a"),
    ],
)
def test_comparison_shows_where_grammars_differ(change: tuple[str, str], shown: str) -> None:
    different = differing_text(Grammar.from_gbnf(TOKENS), Grammar.from_gbnf(TOKENS.replace(*change)))
    assert different is not None and shown in different


def test_a_result_may_have_more_texts_where_that_was_waived() -> None:
    fewer, more = Grammar.from_gbnf('root ::= "a" [b-d]'), Grammar.from_gbnf('root ::= "a" [b-z]? | "e"')
    assert differing_text(fewer, more, more=True) is None
    assert differing_text(more, fewer, more=True) is not None
    assert differing_text(fewer, more) is not None


def test_a_grammar_of_llama_cpps_bytes_is_not_written() -> None:
    with pytest.raises(UnsupportedError, match="compat"):
        Grammar.from_gbnf('root ::= "a"', compat="llama.cpp").to_gbnf()
