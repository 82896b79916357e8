"""The vocabulary of the embedded model, id by id against llama.cpp."""

import ctypes
import pickle

import pytest
from tests.models.embedded import vocabulary_only

import scansion
from scansion.errors import VocabularyError

llama_cpp = pytest.importorskip("llama_cpp")
pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def model():
    with vocabulary_only() as pointer:
        yield pointer


def test_bytes_of_every_id_are_llama_cpps(model):
    vocabulary = scansion.Vocabulary.from_llama(model)
    vocab = llama_cpp.llama_model_get_vocab(model)
    assert vocabulary.size == llama_cpp.llama_vocab_n_tokens(vocab) == 49_152
    buffer = ctypes.create_string_buffer(512)
    different = []
    for token_id in range(vocabulary.size):
        length = llama_cpp.llama_token_to_piece(vocab, token_id, buffer, len(buffer), 0, False)
        if (vocabulary.token_bytes(token_id) or b"") != buffer.raw[:length]:
            different.append(token_id)
    assert different == []


def test_end_tokens_are_all_that_llama_cpp_ends_generation_at(model):
    vocabulary = scansion.Vocabulary.from_llama(model)
    vocab = llama_cpp.llama_model_get_vocab(model)
    ends = [token_id for token_id in range(vocabulary.size) if llama_cpp.llama_vocab_is_eog(vocab, token_id)]
    assert list(vocabulary.eos_token_ids) == ends
    assert vocabulary.token_id("<|im_end|>") in ends
    assert vocabulary.token_id("<|endoftext|>") in ends


def test_special_tokens_have_names_and_no_text(model):
    vocabulary = scansion.Vocabulary.from_llama(model)
    assert vocabulary.token_id("<|im_start|>") == 1
    assert all(vocabulary.token_bytes(token_id) is None for token_id in vocabulary.special_tokens.values())


def test_a_model_and_its_vocab_pointer_are_the_same_vocabulary(model):
    by_vocab = scansion.Vocabulary.from_llama(vocab=llama_cpp.llama_model_get_vocab(model))
    assert by_vocab == scansion.Vocabulary.from_llama(model)


def test_tokenize_is_llama_cpps_without_special_tokens(model):
    vocabulary = scansion.Vocabulary.from_llama(model)
    for text in ['{"name": "Ada", "age": 36}', " leading", "日本語 \U0001f600", "<|im_end|>", "a\n\n  b"]:
        ids = vocabulary.tokenize(text)
        assert b"".join(vocabulary.token_bytes(token_id) for token_id in ids) == text.encode()
    assert vocabulary.tokenize("hello world") == [28120, 905]


def test_a_pickled_copy_has_the_tokens_but_no_tokenizer(model):
    vocabulary = scansion.Vocabulary.from_llama(model)
    copy = pickle.loads(pickle.dumps(vocabulary))
    assert copy == vocabulary
    assert not copy.has_tokenizer


def test_what_is_no_model_is_refused():
    for arguments in ({}, {"model": 1, "vocab": 1}):
        with pytest.raises(VocabularyError, match="either a model or vocab="):
            scansion.Vocabulary.from_llama(**arguments)
    for wrong in ("model.gguf", 0, True, 1.5):
        with pytest.raises(VocabularyError, match="neither a llama_cpp"):
            scansion.Vocabulary.from_llama(wrong)
