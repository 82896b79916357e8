"""llama.cpp's own grammar sampler, as an oracle: which tokens it allows after each token, over every id."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DATA = np.dtype([("id", "<i4"), ("logit", "<f4"), ("p", "<f4")])


class LlamaCppVocabulary:
    """The vocabulary of a GGUF file, loaded without its weights."""

    def __init__(self, path: str) -> None:
        from scansion.models.llama_library import llama_library

        # Initialised once for the process: a log callback of our own would dangle once this object is gone.
        llama_cpp: Any = llama_library()
        self.api = llama_cpp
        parameters = llama_cpp.llama_model_default_params()
        parameters.vocab_only = True
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), parameters)
        if not self.model:
            raise ValueError(f"llama.cpp cannot load {path}")
        self.vocab = llama_cpp.llama_model_get_vocab(self.model)
        self.size = llama_cpp.llama_vocab_n_tokens(self.vocab)
        self.array = (llama_cpp.llama_token_data * self.size)()

    def tokenize(self, text: str) -> list[int]:
        """The model's own tokens of a text, without a beginning mark."""
        data = text.encode()
        ids = (ctypes.c_int * (len(data) + 1))()
        count = self.api.llama_tokenize(self.vocab, data, len(data), ids, len(ids), False, False)
        return list(ids[:count])

    def is_end(self, token: int) -> bool:
        return bool(self.api.llama_vocab_is_eog(self.vocab, token))


class LlamaCppGrammar:
    """A grammar at some place of a text."""

    def __init__(self, vocabulary: LlamaCppVocabulary, grammar: str) -> None:
        self.vocabulary = vocabulary
        self.sampler = vocabulary.api.llama_sampler_init_grammar(vocabulary.vocab, grammar.encode(), b"root")
        if not self.sampler:
            raise ValueError("llama.cpp refuses the grammar")

    def mask(self) -> NDArray[np.bool_]:
        """For each id whether it may come next."""
        vocabulary = self.vocabulary
        view = np.frombuffer(vocabulary.array, dtype=_DATA)
        view["id"] = np.arange(vocabulary.size)
        view["logit"] = 0
        data = vocabulary.api.llama_token_data_array(vocabulary.array, vocabulary.size, -1, False)
        vocabulary.api.llama_sampler_apply(self.sampler, ctypes.byref(data))
        return np.array(view["logit"] == 0)

    def accept(self, token: int) -> None:
        self.vocabulary.api.llama_sampler_accept(self.sampler, token)

    def close(self) -> None:
        self.vocabulary.api.llama_sampler_free(self.sampler)
