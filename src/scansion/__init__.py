"""Scansion: constrained decoding. Every token of a language model keeps to a JSON Schema, a grammar or a regex.

    vocabulary = scansion.Vocabulary.from_llama(llm)          # or from_tokenizers, from_tiktoken, from_sentencepiece
    grammar = scansion.Grammar.from_json_schema(schema)       # or from_gbnf, from_lark, from_regex, from_choices
    constraint = grammar.compile(vocabulary)
    matcher = constraint.matcher()
    mask = scansion.allocate_bitmask(1, vocabulary.size)
    matcher.fill_bitmask(mask)                                # which tokens may come next
    scansion.apply_bitmask(logits, mask)
    matcher.accept(token_id)

or, with a model in this process (the extra ``local``):

    model = scansion.load_model()                             # SmolLM2-135M-Instruct, or the path of a GGUF file
    scansion.generate(model, "Name a town.", grammar=grammar).content

Everything is imported on first use: ``import scansion`` itself loads neither numpy nor the kernel.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from scansion.errors import (
    ContextError,
    DeadEndError,
    GrammarError,
    LimitError,
    ModelError,
    RequestError,
    ScansionError,
    UnsatisfiableError,
    UnsupportedError,
    VocabularyError,
)

if TYPE_CHECKING:
    from scansion.generation import (
        Completion,
        Delta,
        GenerationOptions,
        aextract,
        agenerate,
        astream,
        extract,
        generate,
        generate_many,
    )
    from scansion.grammar import Grammar
    from scansion.json_schema import Violation
    from scansion.matching import Constraint, Expectation, Explanation, Matcher, allocate_bitmask, apply_bitmask, fill_bitmasks
    from scansion.models import load_model
    from scansion.vocabulary import Vocabulary

__version__ = "0.1.0"

__all__ = [
    "Completion",
    "Constraint",
    "ContextError",
    "DeadEndError",
    "Delta",
    "Expectation",
    "Explanation",
    "GenerationOptions",
    "Grammar",
    "GrammarError",
    "LimitError",
    "Matcher",
    "ModelError",
    "RequestError",
    "ScansionError",
    "UnsatisfiableError",
    "UnsupportedError",
    "Violation",
    "Vocabulary",
    "VocabularyError",
    "__version__",
    "aextract",
    "agenerate",
    "allocate_bitmask",
    "apply_bitmask",
    "astream",
    "extract",
    "fill_bitmasks",
    "generate",
    "generate_many",
    "load_model",
]

_HOMES = {
    "Completion": "scansion.generation",
    "Constraint": "scansion.matching",
    "Delta": "scansion.generation",
    "Expectation": "scansion.matching",
    "Explanation": "scansion.matching",
    "GenerationOptions": "scansion.generation",
    "Grammar": "scansion.grammar",
    "Matcher": "scansion.matching",
    "Violation": "scansion.json_schema",
    "Vocabulary": "scansion.vocabulary",
    "aextract": "scansion.generation",
    "agenerate": "scansion.generation",
    "allocate_bitmask": "scansion.matching",
    "apply_bitmask": "scansion.matching",
    "astream": "scansion.generation",
    "extract": "scansion.generation",
    "fill_bitmasks": "scansion.matching",
    "generate": "scansion.generation",
    "generate_many": "scansion.generation",
    "load_model": "scansion.models",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'scansion' has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
