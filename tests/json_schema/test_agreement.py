"""Agreement with the ``jsonschema`` package on random schemas and instances: the same verdict, every time."""

from __future__ import annotations

import json
import random

import jsonschema
import pytest
from tests.json_schema.judge import byte_vocabulary
from tests.json_schema.random_schemas import random_instance, random_schema

import scansion

INSTANCES = 40


def verdicts(schema, instances, **options):
    """Ours for each instance; None where the schema is beyond a limit or a stated gap."""
    options = {"property_order": "any", "whitespace": "spaced", **options}
    try:
        grammar = scansion.Grammar.from_json_schema(schema, **options)
    except scansion.UnsatisfiableError:
        return [False] * len(instances)
    except (scansion.LimitError, scansion.UnsupportedError):
        return None
    matcher = grammar.compile(byte_vocabulary()).matcher()
    found = []
    for instance in instances:
        text = json.dumps(instance).encode()
        matcher.reset()
        found.append(matcher.bytes_accepted(text) == len(text) and matcher.accept_bytes(text) and matcher.is_complete)
    return found


def disagreements(seed, depth):
    rng = random.Random(seed)
    schema = random_schema(rng, depth, references=2)
    if isinstance(schema, dict):
        schema["$defs"] = {
            "d0": random_schema(rng, depth - 1, 0),
            "d1": {"properties": {"a": {"$ref": "#/$defs/d1"}, "b": random_schema(rng, 1)}},
        }
    instances = [random_instance(rng, 2) for _ in range(INSTANCES)]
    validator = jsonschema.Draft202012Validator(schema)
    expected = [validator.is_valid(instance) for instance in instances]
    ours = verdicts(schema, instances)
    if ours is None:
        return None
    return [(json.dumps(schema), instance, right) for instance, right, mine in zip(instances, expected, ours, strict=True) if right != mine]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_random_schemas_agree_with_jsonschema(depth, rounds):
    undecided = 0
    number = rounds(150)
    for seed in range(number):
        found = disagreements(f"{depth} {seed}", depth)
        if found is None:
            undecided += 1
            continue
        assert not found, f"seed {seed}: {len(found)} disagreements, e.g. {found[0]}"
    assert undecided < number / 10


def test_members_under_many_obligations_agree_with_jsonschema(monkeypatch, rounds):
    """The way for members with too many sets of obligations, taken for all of them."""
    monkeypatch.setattr("scansion.json_schema.lower_conditions.MAX_OVERLAPPING", 0)
    for seed in range(rounds(150)):
        found = disagreements(f"4 {seed}", 4)
        assert not found, f"seed {seed}: {len(found)} disagreements, e.g. {found[0]}"
