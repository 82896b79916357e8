"""Instances drawn by ``hypothesis-jsonschema`` are taken; their mutations get the verdict ``jsonschema`` gives."""

from __future__ import annotations

import copy
import json
import random
import warnings
from types import SimpleNamespace

import hypothesis
import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.internal.conjecture import utils as conjecture
from tests.json_schema.random_schemas import SCALARS, random_schema
from tests.json_schema.test_agreement import verdicts

hypothesis_jsonschema = pytest.importorskip("hypothesis_jsonschema")


class OlderMany:
    """``many`` of hypothesis as hypothesis-jsonschema 0.23 uses it: asked for ``more()`` instead of iterated."""

    def __init__(self, *arguments, **named):
        self.many = conjecture.many(*arguments, **named)
        self.elements = iter(self.many.__enter__())

    def more(self):
        going = next(self.elements, self) is not self
        if not going:
            self.many.__exit__(None)
        return going

    def reject(self):
        self.many.reject()


@pytest.fixture(autouse=True)
def older_many(monkeypatch):
    if not hasattr(conjecture.many, "more"):
        monkeypatch.setattr("hypothesis_jsonschema._from_schema.cu", SimpleNamespace(many=OlderMany))


# Keywords that hypothesis-jsonschema reads; the others are for test_agreement.
READ = {"type", "enum", "const", "minLength", "maxLength", "pattern", "minimum", "exclusiveMaximum", "multipleOf", "properties"}
READ |= {"patternProperties", "additionalProperties", "propertyNames", "required", "minProperties", "maxProperties", "items", "minItems"}
READ |= {"maxItems", "contains", "allOf", "anyOf", "oneOf", "not", "if", "then", "else"}


def readable(schema):
    """The schema without the keywords hypothesis-jsonschema would misread (newer than its draft 7)."""
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for keyword, value in schema.items():
        if keyword not in READ:
            continue
        if keyword in ("properties", "patternProperties"):
            kept[keyword] = {name: readable(part) for name, part in value.items()}
        elif keyword in ("allOf", "anyOf", "oneOf"):
            kept[keyword] = [readable(part) for part in value]
        else:
            kept[keyword] = readable(value) if keyword not in ("enum", "const") else value
    return kept


def mutated(instance, rng):
    """The instance with one node replaced, one member dropped or one added."""
    instance = copy.deepcopy(instance)
    nodes = [(None, None, instance)]
    for _, _, value in nodes:
        if isinstance(value, dict):
            nodes += [(value, key, member) for key, member in value.items()]
        elif isinstance(value, list):
            nodes += [(value, index, item) for index, item in enumerate(value)]
    parent, key, value = rng.choice(nodes)
    if isinstance(value, dict) and rng.random() < 0.5:
        value[rng.choice(["a", "b", "ab", "c"])] = rng.choice(SCALARS)
        return instance
    if parent is None:
        return rng.choice(SCALARS)
    if rng.random() < 0.3:
        del parent[key]
    else:
        parent[key] = rng.choice(SCALARS)
    return instance


def fits_a_float(instance):
    text = json.dumps(instance)
    return len(text) < 2_000 and "e" not in text.replace("true", "").replace("false", "") and "Infinity" not in text and "NaN" not in text


def drawn(schema, number, seed):
    """Up to a number of instances; fewer, or none, of schemas that hypothesis-jsonschema cannot draw from."""
    found = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            strategy = hypothesis_jsonschema.from_schema(schema)

        @hypothesis.seed(seed)
        @settings(max_examples=number, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
        @given(strategy)
        def collect(instance):
            found.append(instance)

        collect()
    except Exception:  # its limits are no matter for this test: what it drew until then is judged
        pass
    return found[:number]


def test_drawn_instances_are_taken_and_mutations_judged_alike(rounds):
    examples = 0
    for seed in range(rounds(60)):
        rng = random.Random(f"round trip {seed}")
        schema = readable(random_schema(rng, 2))
        validator = jsonschema.Draft202012Validator(schema)
        good = [instance for instance in drawn(schema, 6, seed) if fits_a_float(instance)]
        candidates = good + [mutated(instance, rng) for instance in good for _ in range(4)]
        expected = [validator.is_valid(candidate) for candidate in candidates]
        ours = verdicts(schema, candidates, integers="any", spelling="any")
        if ours is not None:
            wrong = [candidate for candidate, mine, right in zip(candidates, ours, expected, strict=True) if mine != right]
            assert not wrong, f"seed {seed}: {json.dumps(schema)}: {wrong[0]!r}"
            examples += len(candidates)
    assert examples > 500
