"""Answers always finish: a model that draws nonsense, schemas of every kind, budgets from the shortest possible.

Random logits are the hardest case: nothing in them leans towards ending.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any

import numpy as np
import pytest

import scansion
from scansion.generation.budget import BudgetedMatcher
from scansion.generation.completions import fewest_tokens
from scansion.models.base import Feed
from scansion.models.costs import ForwardCosts

jsonschema = pytest.importorskip("jsonschema")


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


TEXT = {"type": "string"}
SCHEMAS: list[Any] = [
    True,
    {"type": "null"},
    {"type": "boolean"},
    {"type": "integer"},
    {"type": "number"},
    {"type": "string"},
    {"type": "array"},
    {"type": "object"},
    {"type": "integer", "minimum": 1000, "maximum": 1010},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.01},
    {"type": "string", "minLength": 12, "maxLength": 14},
    {"type": "string", "pattern": "^[a-f]{4}(-[0-9]{2})+$"},
    {"type": "string", "enum": ["a very long choice indeed, with many words", "b"]},
    {"const": {"deep": [1, {"x": None}], "text": "é"}},
    {"enum": [1, "one", [1], {"one": 1}, None]},
    {"type": ["integer", "null"]},
    {"type": "array", "items": {"type": "integer"}, "minItems": 5},
    {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 3},
    {"type": "array", "prefixItems": [TEXT, {"type": "boolean"}], "items": False, "minItems": 2},
    {"type": "array", "items": {"type": "array", "items": {"type": "array", "minItems": 1}, "minItems": 1}, "minItems": 1},
    closed(a=TEXT),
    closed(a=TEXT, b={"type": "integer"}, c={"type": "boolean"}),
    closed(a=closed(b=closed(c=closed(d={"type": "null"})))),
    closed(list={"type": "array", "items": closed(k=TEXT, v={"type": "number"}), "minItems": 2}),
    {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 3},
    {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1, "maxProperties": 2},
    {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["b"]},
    {"type": "object", "properties": {"a": TEXT}, "required": ["z"]},
    {"type": "object", "properties": {"kind": {"const": "x"}}, "required": ["kind"], "additionalProperties": {"type": "null"}},
    {"anyOf": [closed(ok={"const": True}), closed(error=TEXT, code={"type": "integer", "minimum": 100, "maximum": 599})]},
    {"anyOf": [{"type": "integer", "minimum": 5}, {"type": "string", "maxLength": 3}, {"type": "array", "maxItems": 1}]},
    {"$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}, "additionalProperties": False}}, "$ref": "#/$defs/n"},
    {
        "$defs": {"t": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/t"}, "minItems": 2, "maxItems": 2}]}},
        "$ref": "#/$defs/t",
    },
    {
        "$defs": {"e": {"type": "object", "properties": {"v": TEXT, "l": {"$ref": "#/$defs/l"}}, "required": ["v", "l"]},
                  "l": {"type": "array", "items": {"$ref": "#/$defs/e"}}},
        "$ref": "#/$defs/e",
    },
    closed(code={"type": "string", "pattern": "^[A-Z]{2}[0-9]{6}$"}, when={"type": "string", "pattern": "^20[0-9]{2}-[01][0-9]$"}),
    closed(**{f"key_{number}": {"type": ["boolean", "null"]} for number in range(12)}),
    closed(tags={"type": "array", "items": {"enum": ["red", "green", "blue"]}, "maxItems": 3}, size={"enum": ["S", "M", "L"]}),
    closed(emoji={"type": "string", "minLength": 3, "maxLength": 3}),
    {"type": "object", "properties": {"a\"b": TEXT, "é": TEXT}, "required": ["a\"b", "é"], "additionalProperties": False},
    closed(matrix={"type": "array", "minItems": 3, "maxItems": 3,
                   "items": {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 9}, "minItems": 3, "maxItems": 3}}),
]  # fmt: skip


class NonsenseModel:
    """Random logits over a vocabulary of bytes and common pieces."""

    name = "nonsense"
    context_size = 4096
    sampler_vocabulary = None

    def __init__(self, vocabulary: scansion.Vocabulary, seed: int) -> None:
        self.vocabulary = vocabulary
        self.lock = threading.RLock()
        self.costs = ForwardCosts()
        self._rng = np.random.default_rng(seed)

    def tokenize(self, text: bytes, *, special: bool = False) -> list[int]:
        return self.vocabulary.tokenize_greedy(text) or []

    def prompt_tokens(self, text: str) -> list[int]:
        return self.tokenize(text.encode())

    def chat_prompt(self, messages: Sequence[Any], **_: Any) -> str:
        return str(messages[-1]["content"])

    def open_sequence(self, prompt: Sequence[int]) -> Any:
        return NonsenseSequence()

    def forward(self, feeds: Sequence[Feed]) -> list[np.ndarray]:
        for feed in feeds:
            feed.sequence.tokens.extend(feed.tokens)  # type: ignore[attr-defined]
        return [self._rng.normal(size=(feed.rows, self.vocabulary.size)).astype(np.float32) for feed in feeds]


class NonsenseSequence:
    def __init__(self) -> None:
        self.tokens: list[int] = []

    def truncate(self, length: int) -> None:
        del self.tokens[length:]

    def close(self) -> None:
        pass


@cache
def vocabulary() -> scansion.Vocabulary:
    rng = random.Random(3)
    pieces = [
        b'":',
        b'": ',
        b'", "',
        b'","',
        b"},",
        b"}]",
        b"]}",
        b'"}',
        b"[]",
        b"{}",
        b"true",
        b"false",
        b"null",
        b'{"',
        b"\n  ",
        b"00",
        b"\xc3\xa9",
        b"e-",
    ]
    pieces += [bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz ", k=rng.randint(2, 9))) for _ in range(300)]
    pieces += [str(number).encode() for number in range(10, 100)]
    return scansion.Vocabulary(
        [bytes([byte]) for byte in range(256)] + sorted(set(pieces)) + [None], eos_token_ids=[256 + len(set(pieces))]
    )


def _exact(text: str) -> Decimal | float:
    """A number no rounding turns into another: 0.000...1 with 400 zeros is not 0. Exponents can be past what Decimal holds."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return float(text)


@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_random_budgets_end_in_whole_valid_answers(number: int, rounds: Any) -> None:
    schema = SCHEMAS[number]
    grammar = scansion.Grammar.from_json_schema(schema)
    text = grammar.compile(vocabulary()).matcher().shortest_completion()
    assert text is not None
    shortest = len(fewest_tokens(text, vocabulary()) or [])
    rng = random.Random(number)
    for seed in range(rounds(5)):
        budget = shortest if seed == 0 else rng.randint(shortest, 200)
        completion = scansion.generate(
            NonsenseModel(vocabulary(), seed), "x", grammar=grammar, max_tokens=budget, temperature=rng.choice([0.0, 1.0]), seed=seed
        )
        assert completion.complete and len(completion.tokens) <= budget
        jsonschema.Draft202012Validator(schema).validate(json.loads(completion.content, parse_float=_exact))


GRAMMARS = [
    scansion.Grammar.from_gbnf('root ::= ("- " [^\\n]{1,40} "\\n"){2,9}'),
    scansion.Grammar.from_gbnf('root ::= expr "=" num\nexpr ::= term ([-+*/] term)*\nterm ::= num | "(" expr ")"\nnum ::= [0-9]+\n'),
    scansion.Grammar.from_gbnf('root ::= "<" name ">" (root | [a-z ]+) "</" name ">"\nname ::= "a" | "bcd" | "true"\n'),
    scansion.Grammar.from_lark('start: item ("," item)*\nitem: WORD "=" NUMBER\nWORD: /[a-z]{3,}/\nNUMBER: /-?[0-9]+/\n%ignore " "\n'),
    scansion.Grammar.from_lark('start: "begin" line+ "end"\nline: /[^\\n]{2,}/ "\\n"\n'),
    scansion.Grammar.from_choices(["x-y-z", "true", "information without end"]),
    scansion.Grammar.from_regex("[a-c]{20}(true|false)+[.]"),
]


@pytest.mark.parametrize("number", range(len(GRAMMARS)))
def test_random_budgets_end_in_whole_texts_of_other_grammars(number: int, rounds: Any) -> None:
    constraint = GRAMMARS[number].compile(vocabulary())
    shortest = BudgetedMatcher(constraint.matcher(), vocabulary(), None).least_tokens()
    rng = random.Random(number)
    for seed in range(rounds(6)):
        budget = shortest if seed == 0 else rng.randint(shortest, shortest + 60)
        completion = scansion.generate(
            NonsenseModel(vocabulary(), seed), "x", grammar=constraint, max_tokens=budget, temperature=rng.choice([0.0, 1.0]), seed=seed
        )
        assert completion.complete and len(completion.tokens) <= budget
        matcher = constraint.matcher()
        assert matcher.accept_bytes(completion.content.encode()) and matcher.is_complete
    if shortest > 1:
        with pytest.raises(scansion.RequestError, match=f"shortest answer has {shortest} tokens"):
            scansion.generate(NonsenseModel(vocabulary(), 0), "x", grammar=constraint, max_tokens=shortest - 1)


CAPPED = [
    scansion.Grammar.from_lark('start: a "!"\na[max_tokens=3]: /[a-z ]{40}/'),
    scansion.Grammar.from_lark('start: (item ",")+ "end"\nitem[max_tokens=2]: /[a-z]{5,}/'),
    scansion.Grammar.from_lark('start: "<" thought "> " %json {"type": "integer", "minimum": 1000}\nthought[max_tokens=8]: /[^<>]{30,}/'),
    scansion.Grammar.from_lark('start: outer "." \nouter[max_tokens=6]: "(" inner ")" outer | "true"\ninner[max_tokens=2]: /[0-9]{9}/'),
    scansion.Grammar.from_lark(
        'start: value ";" value\nvalue[max_tokens=4]: %json {"type": "array", "items": {"type": "string"}, "minItems": 9}'
    ),
    scansion.Grammar.from_lark('start: b+ "x"\nb[max_tokens=1]: "true" | "false" | /[あ-ん]{4}/'),
]


@pytest.mark.parametrize("number", range(len(CAPPED)))
@pytest.mark.parametrize("draft", [(), ("grammar", "ngram")])
def test_answers_end_in_time_where_rules_have_budgets_of_their_own(number: int, draft: tuple[str, ...], rounds: Any) -> None:
    constraint = CAPPED[number].compile(vocabulary())
    shortest = BudgetedMatcher(constraint.matcher(), vocabulary(), None).least_tokens()
    rng = random.Random(number)
    for seed in range(rounds(8)):
        budget = shortest if seed == 0 else rng.randint(shortest, shortest + 90)
        options: dict[str, Any] = {"max_tokens": budget, "temperature": rng.choice([0.0, 1.0]), "seed": seed, "draft": list(draft)}
        completion = scansion.generate(NonsenseModel(vocabulary(), seed), "x", grammar=constraint, **options)
        assert completion.complete and len(completion.tokens) <= budget
        matcher = constraint.matcher()
        assert all(map(matcher.accept, completion.tokens)) and matcher.is_complete


class RepeatableModel(NonsenseModel):
    """Logits that depend on the last tokens alone, so that drafts must change nothing."""

    def forward(self, feeds: Sequence[Feed]) -> list[np.ndarray]:
        out = []
        for feed in feeds:
            tokens = feed.sequence.tokens  # type: ignore[attr-defined]
            tokens.extend(feed.tokens)
            ends = range(len(tokens) - feed.rows + 1, len(tokens) + 1)
            out.append(np.stack([np.random.default_rng(tokens[max(0, end - 4) : end]).normal(size=self.vocabulary.size) for end in ends]))
        return [rows.astype(np.float32) for rows in out]


@pytest.mark.parametrize("number", range(len(CAPPED)))
def test_drafts_change_nothing_where_forced_spans_are_cut_short(number: int, rounds: Any) -> None:
    constraint = CAPPED[number].compile(vocabulary())
    drafted = 0
    for prompt in range(rounds(10)):
        answers = [
            scansion.generate(
                RepeatableModel(vocabulary(), 0), f"x{prompt}", grammar=constraint, max_tokens=120, temperature=0.0, draft=draft
            )
            for draft in ([], ["grammar", "ngram"])
        ]
        assert answers[0].tokens == answers[1].tokens and answers[1].complete
        drafted += sum(figures.proposed for figures in answers[1].stats.drafts.values())
    if number in (1, 2):
        assert drafted > 0


@pytest.mark.parametrize("number", range(len(CAPPED)))
def test_the_way_out_stays_one_where_rules_end_early(number: int, rounds: Any) -> None:
    constraint = CAPPED[number].compile(vocabulary())
    ends = vocabulary().eos_token_ids
    for seed in range(rounds(12)):
        rng = random.Random(seed)
        budget = BudgetedMatcher(constraint.matcher(), vocabulary(), None).least_tokens() + rng.randint(0, 40)
        matcher = BudgetedMatcher(constraint.matcher(), vocabulary(), budget)
        taken = 0
        for _ in range(rng.randint(0, 12)):
            taken += matcher.accept(rng.randrange(256)) and not matcher.matcher.is_finished
        while (token := matcher.way_out()) not in ends:
            assert token is not None and matcher.accept(token)
            taken += 1
        assert matcher.matcher.is_complete and taken <= budget


def replaced_by_forks(matcher: scansion.Matcher, text: bytes) -> int | None:
    """What ``bytes_replaced`` means, said with forks."""
    behind = matcher.fork()
    behind.rollback(1)
    for done in range(min(len(text), 4)):
        soon = text[done : done + 4]
        ahead, together = matcher.fork(), behind.fork()
        if ahead.accept_bytes(soon) and together.accept_bytes(soon) and together.state_id == ahead.state_id:
            return done
        behind.accept_bytes(text[done : done + 1])
    return None


COUNTED = [
    scansion.Grammar.from_json_schema({"type": "array", "items": {"enum": ["a", "b", "ab", 1, 12]}, "uniqueItems": True, "minItems": 2}),
    scansion.Grammar.from_json_schema({"type": "array", "contains": {"type": "integer"}, "minContains": 2, "maxContains": 3}),
    scansion.Grammar.from_gbnf('root ::= ("é" | "日") [a-zé]{2,20} "x"', compat="llama.cpp"),
]


def test_a_token_replaces_the_bytes_that_forks_say(rounds: Any) -> None:
    rng = random.Random(5)
    found: set[int | None] = set()
    grammars = [scansion.Grammar.from_json_schema(schema) for schema in SCHEMAS[::3]] + GRAMMARS + CAPPED + COUNTED
    for grammar in grammars:
        constraint = grammar.compile(vocabulary())
        mask = scansion.allocate_bitmask(1, vocabulary().size)
        for _ in range(rounds(2)):
            matcher = constraint.matcher()
            for _ in range(20):
                text = matcher.shortest_completion()
                matcher.fill_bitmask(mask, 0)
                allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist()
                if text is None or not allowed or not matcher.accept(rng.choice(allowed)):
                    break
                place = matcher.token_count, matcher.state_id
                for some in (text, text[1:], bytes(rng.choices(b'"ab1,}] ', k=3)) + text):
                    replaced = matcher.bytes_replaced(some)
                    assert replaced == replaced_by_forks(matcher, some)
                    found.add(replaced)
                assert (matcher.token_count, matcher.state_id) == place
    assert found == {None, 0, 1, 2, 3}


def test_nothing_is_replaced_before_the_first_token_and_after_the_last() -> None:
    for grammar in (GRAMMARS[5], scansion.Grammar.from_gbnf('root ::= "true"', compat="llama.cpp")):
        matcher = grammar.compile(vocabulary()).matcher()
        assert matcher.bytes_replaced(b"true") is None
        assert matcher.accept_bytes(b"true") and matcher.accept(vocabulary().eos_token_ids[0])
        assert matcher.bytes_replaced(b"") is None and matcher.bytes_replaced(b"x") is None
