"""The examples of docs/generation.md, run in order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.models.embedded import embedded_model


@pytest.mark.model
def test_the_examples_of_the_guide() -> None:
    pytest.importorskip("pydantic")
    embedded_model()  # skips where there is none
    page = (Path(__file__).parents[2] / "docs" / "generation.md").read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": __name__}
    for example in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(example, "docs/generation.md", "exec"), names)  # noqa: S102
