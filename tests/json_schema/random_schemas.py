"""Random schemas over few names and values, so that their keywords meet, and random instances close to them."""

from __future__ import annotations

import random
from typing import Any

__all__ = ["random_instance", "random_schema"]

NAMES = ["a", "b", "ab", "c"]
SCALARS: list[Any] = [None, True, False, 0, 1, 2, 3, -1, 2.5, "", "a", "b", "ab", "abc"]
PATTERNS = ["^a", "b$", "^[ab]*$", "c"]
TYPES = ["null", "boolean", "integer", "number", "string", "object", "array"]


def random_schema(rng: random.Random, depth: int, references: int = 0) -> Any:
    """A schema with up to ``depth`` levels of subschemas; it may refer to ``#/$defs/d0`` and so on."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice([True, True, False, {}, {"type": rng.choice(TYPES)}, {"const": rng.choice(SCALARS)}])

    def below() -> Any:
        return random_schema(rng, depth - 1, references)

    def several(low: int = 1, high: int = 3) -> list[Any]:
        return [below() for _ in range(rng.randint(low, high))]

    def names() -> list[str]:
        return rng.sample(NAMES, rng.randint(1, 2))

    choices = {
        "type": lambda: rng.choice(TYPES) if rng.random() < 0.7 else rng.sample(TYPES, 2),
        "enum": lambda: rng.sample(SCALARS, 3) + rng.choice([[], [{"a": 1}], [[1, "a"]], [[]]]),
        "const": lambda: rng.choice([*SCALARS, {"a": 1, "b": 2}, [1]]),
        "minLength": lambda: rng.randint(0, 2),
        "maxLength": lambda: rng.randint(0, 3),
        "pattern": lambda: rng.choice(PATTERNS),
        "minimum": lambda: rng.choice([-1, 0, 1, 1.5]),
        "exclusiveMaximum": lambda: rng.choice([1, 2, 2.5]),
        "multipleOf": lambda: rng.choice([1, 2, 0.5]),
        "properties": lambda: {name: below() for name in names()},
        "patternProperties": lambda: {pattern: below() for pattern in rng.sample(PATTERNS, rng.randint(1, 2))},
        "additionalProperties": below,
        "propertyNames": lambda: rng.choice([{"pattern": "^a"}, {"maxLength": 1}, {"enum": ["a", "ab"]}]),
        "required": names,
        "minProperties": lambda: rng.randint(0, 2),
        "maxProperties": lambda: rng.randint(0, 3),
        "dependentRequired": lambda: {name: names() for name in names()},
        "dependentSchemas": lambda: {name: below() for name in names()},
        "unevaluatedProperties": below,
        "items": below,
        "prefixItems": several,
        "minItems": lambda: rng.randint(0, 2),
        "maxItems": lambda: rng.randint(0, 3),
        "contains": below,
        "minContains": lambda: rng.randint(0, 2),
        "maxContains": lambda: rng.randint(0, 2),
        "unevaluatedItems": below,
        "allOf": lambda: several(1, 2),
        "anyOf": several,
        "oneOf": several,
        "not": below,
        "if": below,
        "then": below,
        "else": below,
    }
    keywords = rng.sample(sorted(choices), rng.choice([1, 2, 2, 3, 3, 4, 5]))
    schema = {keyword: choices[keyword]() for keyword in keywords}
    if references and rng.random() < 0.15:
        schema["$ref"] = f"#/$defs/d{rng.randrange(references)}"
    return schema


def random_instance(rng: random.Random, depth: int) -> Any:
    """A value over the same names and scalars."""
    kind = rng.random()
    if depth == 0 or kind < 0.35:
        return rng.choice(SCALARS)
    if kind < 0.75:
        return {name: random_instance(rng, depth - 1) for name in rng.sample(NAMES, rng.randint(0, 3))}
    return [random_instance(rng, depth - 1) for _ in range(rng.randint(0, 3))]
