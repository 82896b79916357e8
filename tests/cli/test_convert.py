"""``scansion convert``, and grammars named on the command line by their content."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scansion.cli import run
from scansion.languages.detection import grammar_language

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": False}
EXPRESSIONS = 'root ::= root "+" [0-9]+ | [0-9]+\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "closed.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "open.json").write_text(json.dumps({"type": "object"}))
    (tmp_path / "sum.gbnf").write_text(EXPRESSIONS)
    (tmp_path / "sum.lark").write_text('start: start "+" /[0-9]+/ | /[0-9]+/\n')
    (tmp_path / "word.txt").write_text("[a-z]+\n")
    return tmp_path


@pytest.mark.parametrize("target", ["gbnf", "lark"])
@pytest.mark.parametrize(
    ("source", "name"), [("json-schema", "closed.json"), ("gbnf", "sum.gbnf"), ("lark", "sum.lark"), ("regex", "word.txt")]
)
def test_every_language_converts_and_checks(capfd: pytest.CaptureFixture[str], folder: Path, source: str, name: str, target: str) -> None:
    code = run(["convert", "--from", source, "--to", target, "--check", str(folder / name)])
    captured = capfd.readouterr()
    assert code == 0
    assert "both grammars agree" in captured.err
    written = folder / "written"
    written.write_text(captured.out)
    assert grammar_language(captured.out) == target
    text = folder / "text"
    text.write_text({"json-schema": '{"name":"x"}', "regex": "abc"}.get(source, "1+2+3"))
    assert run(["check", "-gf", str(written), str(text)]) == 0
    text.write_text("?")
    assert run(["check", "-gf", str(written), str(text)]) == 1


def test_language_is_found_by_content(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    for name in ("closed.json", "sum.gbnf", "sum.lark"):
        assert run(["convert", "--to", "gbnf", str(folder / name)]) == 0
        assert capfd.readouterr().out.startswith("root ::=")


def test_waiver_is_needed_and_reported(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    assert run(["convert", "--to", "gbnf", str(folder / "open.json")]) == 2
    captured = capfd.readouterr()
    assert (captured.out == "" and "additionalProperties" in captured.err) or "different" in captured.err
    assert run(["convert", "--to", "gbnf", "--repeated-keys", str(folder / "open.json")]) == 0
    captured = capfd.readouterr()
    assert captured.out.startswith("root ::=") and "waived" in captured.err
    assert run(["convert", "--to", "gbnf", "--repeated-keys", str(folder / "closed.json")]) == 0
    assert "waived" not in capfd.readouterr().err


def test_faults_name_the_file(capfd: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "broken.gbnf").write_text("root ::= (")
    assert run(["convert", "--to", "lark", str(folder / "broken.gbnf")]) == 2
    assert "broken.gbnf" in capfd.readouterr().err
    assert run(["convert", "--to", "lark", str(folder / "missing.gbnf")]) == 2
    assert run(["convert", "--to", "bnf", str(folder / "sum.gbnf")]) == 2


def test_grammar_as_text(folder: Path) -> None:
    text = folder / "text"
    text.write_text("1+2")
    assert run(["check", "--grammar", EXPRESSIONS, str(text)]) == 0
    assert run(["check", "--grammar", '%llguidance {}\nstart: "1" "+" "2"', str(text)]) == 0
    assert run(["check", "--grammar", EXPRESSIONS, "--json", str(text)]) == 2
