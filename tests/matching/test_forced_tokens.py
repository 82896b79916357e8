"""Forced tokens against a real tokenizer: what is forced is what the tokenizer makes of the whole text."""

import json
import random

import pytest
from tests.models.embedded import vocabulary_only

import scansion

llama_cpp = pytest.importorskip("llama_cpp")
pytestmark = pytest.mark.model

SCHEMA = {
    "type": "object",
    "properties": {
        "city_name": {"type": "string"},
        "population": {"type": "integer"},
        "kind": {"enum": ["harbour", "harvest", "castle"]},
        "tags": {"type": "array", "items": {"enum": ["été", "êta", "naïve"]}, "minItems": 2},
        "hours": {
            "type": "object",
            "properties": {"is_open": {"type": "boolean"}, "opening_hours": {"const": "from 9 to 17"}},
            "required": ["is_open", "opening_hours"],
            "additionalProperties": False,
        },
    },
    "required": ["city_name", "population", "kind", "tags", "hours"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def vocabulary():
    with vocabulary_only() as pointer:
        yield scansion.Vocabulary.from_llama(pointer)


def record(generator):
    return {
        "city_name": generator.choice(["Lisbon", "a b", "", 'x"y', "New York", "\n", "日本", "1"]),
        "population": generator.randint(-5, 10**6),
        "kind": generator.choice(["harbour", "harvest", "castle"]),
        "tags": [generator.choice(["été", "êta", "naïve"]) for _ in range(generator.randint(2, 4))],
        "hours": {"is_open": generator.random() < 0.5, "opening_hours": "from 9 to 17"},
    }


@pytest.mark.parametrize(
    ("whitespace", "separators", "share"), [("spaced", None, 0.6), ("compact", (",", ":"), 0.5), ("bounded", None, 0.3)]
)
def test_forced_tokens_are_those_of_the_whole_text(vocabulary, whitespace, separators, share):
    constraint = scansion.Grammar.from_json_schema(SCHEMA, whitespace=whitespace).compile(vocabulary)
    generator = random.Random(1)
    forced = total = 0
    for _ in range(12):
        tokens = vocabulary.tokenize(json.dumps(record(generator), ensure_ascii=False, separators=separators))
        matcher, position = constraint.matcher(), 0
        while position < len(tokens):
            drafted = matcher.forced_tokens(emitted=tokens[:position])
            assert tokens[position : position + len(drafted)] == drafted
            for token_id in drafted or tokens[position : position + 1]:
                assert matcher.accept(token_id)
                position += 1
            forced += len(drafted)
        assert matcher.is_complete
        total += len(tokens)
    assert forced / total > share
