"""What `import scansion` gives, and what it costs."""

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import scansion
from scansion import errors

ROOT = Path(__file__).parents[1]

# The names other projects build on.
PROMISED = {
    "Constraint",
    "Grammar",
    "GrammarError",
    "LimitError",
    "Matcher",
    "UnsatisfiableError",
    "UnsupportedError",
    "Vocabulary",
    "allocate_bitmask",
    "apply_bitmask",
    "fill_bitmasks",
}


def test_all_is_sorted_and_complete():
    assert scansion.__all__ == sorted(scansion.__all__)
    assert set(scansion.__all__) >= PROMISED
    assert set(scansion.__all__) >= set(errors.__all__)


@pytest.mark.parametrize("name", scansion.__all__)
def test_every_exported_name_exists(name):
    assert getattr(scansion, name) is not None
    assert name in dir(scansion)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Grammer'"):
        scansion.Grammer  # noqa: B018


def test_the_names_type_checkers_see_are_those_imported_on_first_use():
    tree = ast.parse(Path(scansion.__file__).read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    homes = {alias.name: statement.module for statement in guarded.body for alias in statement.names}
    assert homes == scansion._HOMES


def test_the_version_is_that_of_the_distribution():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert scansion.__version__ == project["version"]
    assert f"## {scansion.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def _modules_after(statement):
    """Names of the modules a fresh interpreter has after ``statement``, and the milliseconds it took."""
    program = (
        "import time; start = time.perf_counter()\n"
        f"{statement}\n"
        "elapsed = time.perf_counter() - start\n"
        "import json, sys; print(json.dumps([sorted(sys.modules), elapsed * 1e3]))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def test_import_is_light():
    runs = [_modules_after("import scansion") for _ in range(3)]
    assert min(milliseconds for _, milliseconds in runs) < 150
    loaded = set(runs[0][0])
    assert not loaded & {"numpy", "torch", "llama_cpp", "jsonschema", "pydantic", "click", "scansion._kernel"}


def test_using_the_core_needs_numpy_and_nothing_else():
    names = "scansion.Vocabulary, scansion.Grammar, scansion.Matcher, scansion.fill_bitmasks"
    loaded, _ = _modules_after(f"import scansion; {names}")
    heavy = {"torch", "llama_cpp", "jsonschema", "pydantic", "click", "tokenizers", "tiktoken", "sentencepiece", "jinja2"}
    assert not set(loaded) & heavy


def test_errors_form_one_tree():
    kinds = [getattr(errors, name) for name in errors.__all__]
    assert all(issubclass(kind, errors.ScansionError) for kind in kinds)
    assert issubclass(errors.UnsupportedError, errors.GrammarError)
    assert issubclass(errors.GrammarError, ValueError)
