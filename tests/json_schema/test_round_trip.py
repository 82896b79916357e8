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

import scansion

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


def ways(matcher, value):
    """The matcher after each way to write the value: every order of members that it takes."""
    if isinstance(value, dict):
        yield from members(matcher, "{", list(value.items()))
        return
    if isinstance(value, list):
        reached = [after for after in [matcher.fork()] if after.accept_bytes(b"[")]
        for number, item in enumerate(value):
            commas = [after for after in reached if number == 0 or after.accept_bytes(b",")]
            reached = [done for after in commas for done in ways(after, item)][:8]
        yield from (after for after in reached if after.accept_bytes(b"]"))
        return
    after = matcher.fork()
    if after.accept_bytes(json.dumps(value, ensure_ascii=False).encode()):
        yield after


def members(matcher, mark, left):
    if not left:
        after = matcher.fork()
        if after.accept_bytes(b"{}" if mark == "{" else b"}"):
            yield after
        return
    for index, (key, value) in enumerate(left):
        after = matcher.fork()
        if after.accept_bytes(f"{mark}{json.dumps(key, ensure_ascii=False)}:".encode()):
            for done in ways(after, value):
                yield from members(done, ",", left[:index] + left[index + 1 :])


def record(rng):
    """An object of some declared members, and of what a random schema says besides."""
    names = rng.sample(["a", "b", "c", "d", "ab"], 4)
    schema = {"type": "object", "properties": {name: readable(random_schema(rng, 0)) for name in names}, "required": rng.sample(names, 2)}
    if rng.random() < 0.5:
        schema["allOf"] = [{"anyOf": [readable(random_schema(rng, 1)), {"required": [rng.choice(names)]}]}]
    return schema


def test_an_instance_has_a_declared_order_and_its_invalid_mutations_have_none(rounds):
    vocabulary = scansion.Vocabulary([bytes((byte,)) for byte in range(256)] + [None], eos_token_ids=[256])
    examples = ordered = 0
    for seed in range(rounds(30)):
        rng = random.Random(f"declared {seed}")
        schema = readable(random_schema(rng, 2)) if seed % 2 else record(rng)
        validator = jsonschema.Draft202012Validator(schema)
        good = [instance for instance in drawn(schema, 6, seed) if fits_a_float(instance)]
        candidates = good + [mutated(instance, rng) for instance in good for _ in range(3)]
        try:
            grammar = scansion.Grammar.from_json_schema(schema, property_order="declared", integers="any", spelling="any")
        except scansion.ScansionError:
            continue
        constraint = grammar.compile(vocabulary)
        for candidate in candidates:
            taken = any(after.is_complete for after in ways(constraint.matcher(), candidate))
            assert taken == validator.is_valid(candidate), f"seed {seed}: {json.dumps(schema)}: {candidate!r}"
            ordered += taken and isinstance(candidate, dict) and len(candidate) > 1
        examples += len(candidates)
    assert examples > 200
    assert ordered > 5
