"""``scansion demo``: the embedded model fills in a schema while you watch, and an independent validator has the last word."""

from __future__ import annotations

import json

import click

from scansion.cli.output import ResultWriter, note
from scansion.errors import RequestError, ScansionError

__all__ = ["DEMO_PROMPT", "DEMO_SCHEMA", "command"]

DEMO_PROMPT = "Describe a small town by the sea for a travel guide: its name, when to go, how many people live there, and three sights."
DEMO_SCHEMA = {
    "type": "object",
    "properties": {
        "town": {"type": "string", "minLength": 3, "maxLength": 24},
        "best_season": {"enum": ["spring", "summer", "autumn", "winter"]},
        "population": {"type": "integer", "minimum": 200, "maximum": 50000},
        "has_lighthouse": {"type": "boolean"},
        "sights": {
            "type": "array",
            "minItems": 3,
            "maxItems": 3,
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "minLength": 4, "maxLength": 40},
                    "kind": {"enum": ["beach", "museum", "harbour", "castle", "garden", "market"]},
                    "minutes_on_foot": {"type": "integer", "minimum": 1, "maximum": 90},
                },
                "required": ["name", "kind", "minutes_on_foot"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["town", "best_season", "population", "has_lighthouse", "sights"],
    "additionalProperties": False,
}


@click.command()
@click.option("--temp", "temperature", default=0.7, show_default=True, metavar="T", help="Temperature; 0 takes the likeliest token.")
@click.option("--seed", type=int, default=7, show_default=True, metavar="S", help="Seed of the draws.")
def command(*, temperature: float, seed: int) -> int:
    """Watch SmolLM2-135M-Instruct fill in a schema, then let the jsonschema package check what it wrote."""
    from scansion.generation import generate
    from scansion.grammar import Grammar
    from scansion.models import load_model

    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        raise RequestError("the demo checks its answer with the jsonschema package: pip install jsonschema") from None

    grammar = Grammar.from_json_schema(json.dumps(DEMO_SCHEMA))
    note(f"prompt: {DEMO_PROMPT}\nschema: {json.dumps(DEMO_SCHEMA)}\n")
    writer = ResultWriter()
    with load_model(context_size=2048) as model:
        note(f"{model.name} writes:")
        with generate(model, DEMO_PROMPT, grammar=grammar, stream=True, max_tokens=300, temperature=temperature, seed=seed) as answer:
            for delta in answer:
                writer.write(delta.content)
            completion = answer.completion
    writer.end_line()
    errors = [error.message for error in Draft202012Validator(DEMO_SCHEMA).iter_errors(json.loads(completion.content))]
    if errors:
        raise ScansionError(f"jsonschema does not accept the answer: {errors[0]}")
    note(f"\njsonschema {_version()} accepts it.\n{completion.stats.line()}")
    return 0


def _version() -> str:
    from importlib.metadata import version

    return version("jsonschema")
