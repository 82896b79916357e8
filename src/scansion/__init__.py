"""Scansion: constrained decoding. Every token of a language model keeps to a JSON Schema, a grammar or a regex.

    vocabulary = scansion.Vocabulary.from_llama(llm)          # or from_tokenizers, from_tiktoken, from_sentencepiece
    grammar = scansion.Grammar.from_json_schema(schema)       # or from_gbnf, from_lark, from_regex, from_choices
    constraint = grammar.compile(vocabulary)
    matcher = constraint.matcher()
    mask = scansion.allocate_bitmask(1, vocabulary.size)
    matcher.fill_bitmask(mask)                                # which tokens may come next
    scansion.apply_bitmask(logits, mask)
    matcher.accept(token_id)

Everything is imported on first use: ``import scansion`` itself loads neither numpy nor the kernel.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from scansion.errors import (
    ContextError,
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
    from scansion.grammar import Grammar
    from scansion.matching import Constraint, Expectation, Explanation, Matcher, allocate_bitmask, apply_bitmask, fill_bitmasks
    from scansion.vocabulary import Vocabulary

__version__ = "0.1.0"

__all__ = [
    "Constraint",
    "ContextError",
    "Expectation",
    "Explanation",
    "Grammar",
    "GrammarError",
    "LimitError",
    "Matcher",
    "ModelError",
    "RequestError",
    "ScansionError",
    "UnsatisfiableError",
    "UnsupportedError",
    "Vocabulary",
    "VocabularyError",
    "__version__",
    "allocate_bitmask",
    "apply_bitmask",
    "fill_bitmasks",
]

_HOMES = {
    "Constraint": "scansion.matching",
    "Expectation": "scansion.matching",
    "Explanation": "scansion.matching",
    "Grammar": "scansion.grammar",
    "Matcher": "scansion.matching",
    "Vocabulary": "scansion.vocabulary",
    "allocate_bitmask": "scansion.matching",
    "apply_bitmask": "scansion.matching",
    "fill_bitmasks": "scansion.matching",
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
