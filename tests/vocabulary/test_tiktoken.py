"""Vocabularies from tiktoken encodings, against the encoding's own bytes."""

import gc
import pickle

import pytest

import scansion
from scansion.errors import VocabularyError

tiktoken = pytest.importorskip("tiktoken")


@pytest.fixture(scope="module")
def encoding():
    ranks = {bytes([byte]): byte for byte in range(256)}
    for position, merge in enumerate([b"he", b"ll", b"hell", b"hello", b" w", b"\xc3\xa9"]):
        ranks[merge] = 256 + position
    special = {"<|endoftext|>": 270, "<|im_start|>": 271, "<|im_end|>": 272}
    return tiktoken.Encoding("toy", pat_str=r" ?\w+|\W", mergeable_ranks=ranks, special_tokens=special)


def test_bytes_of_every_id(encoding):
    vocabulary = scansion.Vocabulary.from_tiktoken(encoding)
    assert vocabulary.size == encoding.n_vocab == 273
    for token_id in range(262):
        assert vocabulary.token_bytes(token_id) == encoding.decode_single_token_bytes(token_id)
    assert [vocabulary.token_bytes(token_id) for token_id in range(262, 273)] == [None] * 11


def test_special_and_end_tokens(encoding):
    vocabulary = scansion.Vocabulary.from_tiktoken(encoding)
    assert vocabulary.token_id("<|im_start|>") == 271
    assert list(vocabulary.eos_token_ids) == [270, 272]
    assert list(scansion.Vocabulary.from_tiktoken(encoding, eos_token_ids=[272]).eos_token_ids) == [272]


def test_tokenize_is_the_encodings_own(encoding):
    vocabulary = scansion.Vocabulary.from_tiktoken(encoding)
    assert vocabulary.tokenize("hello wé") == encoding.encode_ordinary("hello wé")
    assert 270 not in vocabulary.tokenize("<|endoftext|>")


def test_one_object_for_one_encoding_and_no_leak(encoding):
    vocabulary = scansion.Vocabulary.from_tiktoken(encoding)
    assert scansion.Vocabulary.from_tiktoken(encoding) is vocabulary
    assert scansion.Vocabulary.from_tiktoken(encoding, size=300) is not vocabulary
    from scansion.vocabulary.vocabulary import _from_sources

    before = len(_from_sources)
    del vocabulary
    gc.collect()
    assert len(_from_sources) < before


def test_size_pads_with_ids_that_are_never_text(encoding):
    vocabulary = scansion.Vocabulary.from_tiktoken(encoding, size=300)
    assert vocabulary.size == 300
    assert vocabulary.token_bytes(299) is None
    with pytest.raises(VocabularyError, match="size is 100, but the tiktoken toy vocabulary has 273 ids"):
        scansion.Vocabulary.from_tiktoken(encoding, size=100)


def test_without_a_known_end_token_one_must_be_named():
    encoding = tiktoken.Encoding("bare", pat_str=r"\w+", mergeable_ranks={b"a": 0, b"b": 1}, special_tokens={"<stop>": 2})
    with pytest.raises(VocabularyError, match="names no end token"):
        scansion.Vocabulary.from_tiktoken(encoding)
    assert list(scansion.Vocabulary.from_tiktoken(encoding, eos_token_ids=[2]).eos_token_ids) == [2]


def test_pickles_with_its_tokenizer(encoding):
    vocabulary = scansion.Vocabulary.from_tiktoken(encoding)
    copy = pickle.loads(pickle.dumps(vocabulary))
    assert copy == vocabulary
    assert copy.tokenize("hello") == [259]


def test_another_object_is_refused():
    with pytest.raises(VocabularyError, match=r"takes a tiktoken\.Encoding, not str"):
        scansion.Vocabulary.from_tiktoken("cl100k_base")
