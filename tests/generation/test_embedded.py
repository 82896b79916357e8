"""The embedded model under real grammars: everything it writes is valid, whatever the temperature and the budget."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass
from typing import Any

import pytest
from tests.models.embedded import embedded_model

import scansion
from scansion.generation.budget import BudgetedMatcher
from scansion.models.costs import ForwardCosts

jsonschema = pytest.importorskip("jsonschema")
pytestmark = pytest.mark.model

SCHEMAS: dict[str, Any] = {
    "person": {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 30}, "age": {"type": "integer", "minimum": 0, "maximum": 120}},
        "required": ["name", "age"],
        "additionalProperties": False,
    },
    "enum": {"enum": ["red", "green", "blue", 7, None, ["nested", 1.5]]},
    "numbers": {"type": "array", "items": {"type": "number", "minimum": -1, "maximum": 1}, "minItems": 3, "maxItems": 3},
    "strings": {"type": "array", "items": {"type": "string", "minLength": 2, "maxLength": 8}, "minItems": 2, "maxItems": 4},
    "pattern": {
        "type": "object",
        "properties": {"code": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"}, "on": {"type": "string", "pattern": "^20[0-9]{2}$"}},
        "required": ["code", "on"],
        "additionalProperties": False,
    },
    "tree": {
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "label": {"type": "string", "maxLength": 10},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                },
                "required": ["label"],
                "additionalProperties": False,
            }
        },
        "$ref": "#/$defs/node",
    },
    "alternatives": {
        "anyOf": [
            {"type": "object", "properties": {"ok": {"const": True}}, "required": ["ok"], "additionalProperties": False},
            {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"], "additionalProperties": False},
        ]
    },
    "tuple": {
        "type": "array",
        "prefixItems": [{"type": "string", "maxLength": 12}, {"type": "integer"}, {"type": "boolean"}],
        "minItems": 3,
        "items": False,
    },
    "map": {"type": "object", "additionalProperties": {"type": "integer", "exclusiveMinimum": 0}, "minProperties": 1, "maxProperties": 3},
    "nested": {
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": 20},
            "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "maxItems": 3},
            "size": {"type": ["integer", "null"]},
            "owner": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"], "additionalProperties": False},
        },
        "required": ["title", "tags", "owner"],
        "additionalProperties": False,
    },
}


def valid(schema: Any, text: str) -> None:
    jsonschema.Draft202012Validator(schema).validate(json.loads(text))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("name", SCHEMAS)
def test_what_it_writes_is_valid(name: str, temperature: float) -> None:
    grammar = scansion.Grammar.from_json_schema(SCHEMAS[name])
    completion = scansion.generate(
        embedded_model(), f"Give an example of: {name}.", grammar=grammar, max_tokens=80, temperature=temperature, seed=11
    )
    assert completion.complete and completion.finish_reason == "stop"
    valid(SCHEMAS[name], completion.content)
    assert completion.stats.tokens == len(completion.tokens) <= 80


def test_answers_finish_within_any_budget() -> None:
    model = embedded_model()
    rng = random.Random(5)
    for number in range(20):
        name = rng.choice(sorted(SCHEMAS))
        grammar = scansion.Grammar.from_json_schema(SCHEMAS[name])
        shortest = BudgetedMatcher(grammar.compile(model.vocabulary).matcher(), model.vocabulary, None).least_tokens()
        budget = rng.randint(shortest, shortest + 20)
        completion = scansion.generate(model, "Write a long story.", grammar=grammar, max_tokens=budget, temperature=1.0, seed=number)
        valid(SCHEMAS[name], completion.content)
        assert len(completion.tokens) <= budget
        if shortest > 1:
            with pytest.raises(scansion.RequestError, match="too small"):
                scansion.generate(model, "x", grammar=grammar, max_tokens=shortest - 1)


@pytest.mark.parametrize("draft", [["grammar"], ["grammar", "ngram"]])
@pytest.mark.parametrize("name", ["person", "strings", "pattern", "map"])
def test_drafts_do_not_change_the_answer(name: str, draft: list[str]) -> None:
    # Up to 256 tokens, llama.cpp computes the same logits for one token as for several: bit for bit on the CPU.
    grammar = scansion.Grammar.from_json_schema(SCHEMAS[name])
    ask = {"grammar": grammar, "max_tokens": 60, "temperature": 0.0}
    plain = scansion.generate(embedded_model(), f"Give an example of: {name}.", draft=[], **ask)
    drafted = scansion.generate(embedded_model(), f"Give an example of: {name}.", draft=draft, **ask)
    assert plain.stats.prompt_tokens + len(plain.tokens) <= 256
    assert drafted.tokens == plain.tokens


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_draft_model_changes_nothing(temperature: float, monkeypatch: pytest.MonkeyPatch) -> None:
    model = embedded_model(3)
    grammar = scansion.Grammar.from_json_schema(SCHEMAS["person"])
    ask = {"grammar": grammar, "max_tokens": 60, "temperature": temperature, "seed": 4}
    plain = scansion.generate(model, "A person.", draft=[], **ask)
    monkeypatch.setattr(model, "costs", ForwardCosts())
    drafted = scansion.generate(model, "A person.", draft=["grammar", "ngram"], draft_model=model, **ask)
    assert drafted.tokens == plain.tokens


def test_streamed_pieces_join_to_the_answer() -> None:
    grammar = scansion.Grammar.from_json_schema(SCHEMAS["person"])
    with scansion.generate(embedded_model(), "A person.", grammar=grammar, stream=True, max_tokens=60) as stream:
        pieces = [delta.content for delta in stream]
    assert "".join(pieces) == stream.completion.content
    assert len(pieces) > 3
    assert stream.completion.stats.line().startswith(f"{stream.completion.stats.tokens} tokens, ")


def test_an_answer_can_be_left_in_the_middle() -> None:
    grammar = scansion.Grammar.from_json_schema(SCHEMAS["strings"])
    with scansion.generate(embedded_model(), "Words.", grammar=grammar, stream=True) as stream:
        first = next(stream)
    completion = stream.completion
    assert completion.finish_reason == "interrupted" and not completion.complete
    assert completion.content.startswith(first.content)
    assert list(stream) == []


def test_a_dropped_stream_gives_its_place_back() -> None:
    with scansion.load_model(context_size=128, threads=1) as model:
        for _ in range(2):
            for _delta in scansion.generate(model, "Words.", stream=True, max_tokens=8):
                break
        assert scansion.generate(model, "Words.", max_tokens=2).content


@pytest.mark.parametrize(
    ("prompt", "settings", "words"),
    [
        (None, {}, "text or a list of messages"),
        (b"a", {}, "text or a list of messages"),
        ({"role": "user", "content": "a"}, {}, "text or a list of messages"),
        (["a"], {}, "text or a list of messages"),
        ("a", {"grammar": "x"}, "grammar must be a Grammar"),
        ("a", {"options": 3}, "options must be GenerationOptions"),
        ("a", {"stop": 3}, "stop must be a list"),
        ("a", {"draft": 3}, "draft must be a list"),
        ("a", {"prefill": 3}, "prefill must be a text"),
    ],
)
def test_arguments_of_a_wrong_type_are_refused(prompt: Any, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(scansion.RequestError, match=words):
        scansion.generate(embedded_model(), prompt, **settings)


@dataclass
class Town:
    name: str
    population: int


def test_extract_gives_a_value_of_the_type() -> None:
    pytest.importorskip("pydantic")
    town = scansion.extract(embedded_model(), "Paris is a city of two million people.", Town, max_tokens=60)
    assert isinstance(town, Town) and isinstance(town.name, str) and isinstance(town.population, int)
    again = asyncio.run(scansion.aextract(embedded_model(), "Paris is a city of two million people.", Town, max_tokens=60))
    assert isinstance(again, Town)


def test_asynchronous_generation_writes_the_same() -> None:
    grammar = scansion.Grammar.from_choices(["yes", "no", "maybe so"])
    ask = {"grammar": grammar, "temperature": 1.0, "seed": 3}
    here = scansion.generate(embedded_model(), "Is water wet?", **ask)
    there = asyncio.run(scansion.agenerate(embedded_model(), "Is water wet?", **ask))
    assert here.content == there.content


def test_several_answers_together_are_all_valid() -> None:
    names = ["person", "strings", "enum", "nested", "numbers"]
    grammars = [scansion.Grammar.from_json_schema(SCHEMAS[name]) for name in names]
    completions = scansion.generate_many(embedded_model(3), [f"An example of {name}." for name in names], grammars=grammars, max_tokens=60)
    for name, completion in zip(names, completions, strict=True):
        valid(SCHEMAS[name], completion.content)


def test_thinking_comes_apart_from_the_answer() -> None:
    grammar = scansion.Grammar.from_json_schema(SCHEMAS["person"])
    completion = scansion.generate(embedded_model(), "Who are you?", grammar=grammar, think=True, think_max=12, max_tokens=80)
    valid(SCHEMAS["person"], completion.content)
    assert completion.reasoning and "</think>" not in completion.reasoning
    assert "<think>" not in completion.content


def test_a_fence_is_opened_and_not_part_of_the_answer() -> None:
    grammar = scansion.Grammar.from_json_schema(SCHEMAS["person"])
    completion = scansion.generate(embedded_model(), "A person.", grammar=grammar, fence=True, max_tokens=60)
    valid(SCHEMAS["person"], completion.content)


WRONG_GRAMMARS = [
    scansion.Grammar.from_regex("[0-9]+(, [0-9]+)*"),  # right but for the words between
    scansion.Grammar.from_regex("One, two, three, four, six.*"),  # off by a rule
    scansion.Grammar.from_regex("Eins, zwei, drei, vier, fuenf"),  # another language
    scansion.Grammar.from_regex("One, tw"),  # truncated
    scansion.Grammar.from_regex("x?"),  # all but empty
    scansion.Grammar.from_choices(["One", "1", "Sure", "Here"]),
    scansion.Grammar.from_choices(["1. 2. 3. 4. 5. 6. 7. 8. 9. 10.", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10"]),
    scansion.Grammar.json(),
    scansion.Grammar.from_json_schema({"type": "object", "properties": {"count": {"const": 10}}, "required": ["count"]}),
    scansion.Grammar.from_gbnf('root ::= ("1" | "2" | "3")+ "!"'),
    scansion.Grammar.from_gbnf('root ::= [^\\x00]+ "done"'),
    scansion.Grammar.from_gbnf('root ::= line+\nline ::= [0-9]+ ". " [A-Z] [a-z]+ "\\n"'),
]


@pytest.mark.parametrize("number", range(len(WRONG_GRAMMARS)))
def test_assist_with_a_wrong_grammar_changes_nothing(number: int) -> None:
    model = embedded_model()
    plain = scansion.generate(model, "Count to ten.", max_tokens=24, draft=[])
    assisted = scansion.generate(
        model, "Count to ten.", grammar=WRONG_GRAMMARS[number], mode="assist", draft=["grammar", "ngram"], max_tokens=24
    )
    assert assisted.content == plain.content


@pytest.mark.parametrize("mirostat", [1, 2])
def test_mirostat_works_under_a_narrow_mask(mirostat: int) -> None:
    grammar = scansion.Grammar.from_choices(["yes", "no", "perhaps not"])
    for seed in range(5):
        completion = scansion.generate(
            embedded_model(), "Well?", grammar=grammar, mirostat=mirostat, temperature=1.0, seed=seed, max_tokens=8
        )
        assert completion.content in ("yes", "no", "perhaps not")


def test_a_constraint_for_another_vocabulary_is_refused() -> None:
    other = scansion.Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=[256])
    constraint = scansion.Grammar.json().compile(other)
    with pytest.raises(scansion.RequestError, match="another vocabulary"):
        scansion.generate(embedded_model(), "x", grammar=constraint)
    with pytest.raises(scansion.RequestError, match="no setting 'temprature'"):
        scansion.generate(embedded_model(), "x", temprature=1.0)
