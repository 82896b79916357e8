"""The command as people and scripts meet it: what is printed where, and with which exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.models.embedded import embedded_model

from scansion.cli import run

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "minimum": 0, "maximum": 120}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
COMMAND = [sys.executable, "-m", "scansion"]


def command(*arguments: str, text: str = "", timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], input=text, capture_output=True, text=True, encoding="utf-8", timeout=timeout, check=False
    )


def here(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The command in this process: exit code, standard output, standard error."""
    code = run(arguments)
    captured = capfd.readouterr()
    return code, captured.out, captured.err


def refused(outcome: tuple[int, str, str], *parts: str) -> None:
    """Exit code 2, nothing on standard output, one sentence on standard error."""
    code, out, err = outcome
    assert code == 2 and out == ""
    assert err.startswith("scansion: ") and err.count("\n") == 1 and "Traceback" not in err and "internal" not in err
    for part in parts:
        assert part in err, err


# -- check -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def schema(tmp_path: Path) -> str:
    path = tmp_path / "person.json"
    path.write_text(json.dumps(PERSON))
    return str(path)


def test_check_says_ok_or_where(capfd: pytest.CaptureFixture[str], tmp_path: Path, schema: str) -> None:
    good, bad, short = tmp_path / "good.json", tmp_path / "bad.json", tmp_path / "short.json"
    good.write_text('{\n  "age": 3,\n  "name": "é"\n}\n')
    bad.write_text('{\n  "name": "éé", "age": "x"}')
    short.write_text('{"name": "a"')
    assert here(capfd, "check", "-jf", schema, str(good)) == (0, f"{good}: ok\n", "")
    code, out, err = here(capfd, "check", "-jf", schema, str(good), str(bad), str(short))
    assert code == 1 and err == ""
    lines = out.splitlines()
    assert lines[0] == f"{good}: ok"
    reason = "at byte 27: `/age` must be an integer, not a string (`/properties/age/type`)"
    assert lines[1].startswith(f"{bad}: line 2, column 24: {reason}; found '\"x\"}}'; expected ")
    assert lines[2].startswith(f"{short}: line 1, column 13 (byte 12): the text ends too early; expected ")


def test_check_with_policies_is_strict(capfd: pytest.CaptureFixture[str], tmp_path: Path, schema: str) -> None:
    text = tmp_path / "text.json"
    text.write_text('{"age":3,"name":"a"}')
    assert here(capfd, "check", "-jf", schema, str(text))[0] == 0
    assert here(capfd, "check", "-jf", schema, "--order", "declared", str(text))[0] == 1
    assert here(capfd, "check", "-jf", schema, "--whitespace", "spaced", str(text))[0] == 1


def test_check_a_regex_ignores_one_final_newline(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"abbb\n")
    assert here(capfd, "check", "--regex", "ab+", str(text))[0] == 0
    text.write_bytes(b"abbb\n\n")
    assert here(capfd, "check", "--regex", "ab+", str(text))[0] == 1
    text.write_bytes(b"ab\xff")
    assert "byte 2" in here(capfd, "check", "--regex", "ab+", str(text))[1]


def test_check_reads_standard_input(schema: str) -> None:
    done = command("check", "-jf", schema, "-", text='{"name": "x", "age": 1}')
    assert (done.returncode, done.stdout, done.stderr) == (0, "-: ok\n", "")


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["check", "FILE"], ["say which grammar"]),
        (["check", "--json"], ["FILE"]),
        (["check", "--json", "/no/such/file"], ["there is no file /no/such/file"]),
        (["check", "--json", "/"], ["is a folder"]),
        (["check", "-jf", "/no/such/schema", "FILE"], ["there is no file /no/such/schema"]),
        (["check", "-j", '{"type": ', "FILE"], ["line 1, column", "JSON"]),
        (["check", "-j", '{"type": "strin"}', "FILE"], ["#/type", "strin"]),
        (["check", "-j", '{"type": "integer", "minimum": 2, "maximum": 1}', "FILE"], ["no value satisfies"]),
        (["check", "-j", '{"$ref": "#/nowhere"}', "FILE"], ["#/$ref", "nowhere"]),
        (["check", "-j", '{"type": "string", "pattern": "("}', "FILE"], ["#/pattern"]),
        (["check", "--regex", "(", "FILE"], ["offset"]),
        (["check", "-j", "{}", "--json", "FILE"], ["-j and --json cannot be given together"]),
        (["check", "--regex", "a", "--order", "any", "FILE"], ["about JSON"]),
        (["check", "--json", "--order", "sideways", "FILE"], ["sideways"]),
        (["generate"], ["--prompt"]),
        (["generate", "-p", "x", "-n", "0"], ["-n must be a whole number from 1"]),
        (["generate", "-p", "x", "-n", "many"], ["many"]),
        (["generate", "-p", "x", "--temp", "-1"], ["--temp must be"]),
        (["generate", "-p", "x", "--top-p", "3"], ["--top-p must be"]),
        (["generate", "-p", "x", "--draft-model", "/no/such.gguf"], ["there is no model file /no/such.gguf"]),
        (["generate", "-p", "x", "--seed", "-1"], ["seed"]),
        (["generate", "-p", "x", "--draft", "guess"], ["guess"]),
        (["generate", "-p", "x", "--assist"], ["give one"]),
        (["generate", "-p", "x", "--raw", "--system", "y"], ["--system"]),
        (["generate", "-p", "x", "-m", "/no/model.gguf"], ["there is no model file /no/model.gguf"]),
        (["generate", "-p", "x", "-m", __file__], ["is not a GGUF file"]),
        (["generate", "-p", "x", "--top-k", "-1"], ["--top-k must be a number from 0 to 10,000,000"]),
        (["generate", "-p", "x", "--grammar", "root ::= ("], ["line 1, column 10: this group is never closed: expected ')'\n"]),
        (["mask"], ["say which grammar"]),
        (["sing"], ["sing"]),
        (["--loud"], ["--loud"]),
    ],
)
def test_bad_input_is_one_sentence(capfd: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], parts: list[str]) -> None:
    text = tmp_path / "text"
    text.write_text("1")
    refused(here(capfd, *[str(text) if argument == "FILE" else argument for argument in arguments]), *parts)


def test_an_error_in_a_schema_file_names_the_file(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text('{\n "type": "object",\n}')
    refused(here(capfd, "check", "-jf", str(path), str(path)), "line 3, column 1", "broken.json")
    path.write_bytes(b'{"a": "\xff"}')
    refused(here(capfd, "check", "-jf", str(path), str(path)), "broken.json is not UTF-8", "byte 7")


def test_documents_a_schema_refers_to_are_given_by_name(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "price.json").write_text('{"type": "number", "minimum": 0}')
    (tmp_path / "order.json").write_text('{"items": {"$ref": "https://example.com/price?v=1"}, "type": "array"}')
    (tmp_path / "good.json").write_text("[1, 2.5]")
    (tmp_path / "bad.json").write_text("[1, -2]")
    good, bad, order = (str(tmp_path / name) for name in ("good.json", "bad.json", "order.json"))
    resource = f"https://example.com/price?v=1={tmp_path / 'price.json'}"
    refused(here(capfd, "check", "-jf", order, good), "#/items/$ref", "--resource https://example.com/price?v=1=FILE")
    assert here(capfd, "check", "-jf", order, "--resource", resource, good)[0] == 0
    code, out, _ = here(capfd, "check", "-jf", order, "--resource", resource, bad)
    assert code == 1 and "`/1` must be at least 0" in out
    code, out, _ = here(capfd, "convert", "--from", "json-schema", "--to", "gbnf", "--resource", resource, order)
    assert code == 0 and "root" in out
    refused(here(capfd, "convert", "--from", "json-schema", "--to", "gbnf", order), "--resource https://example.com/price?v=1=FILE")


@pytest.mark.parametrize(
    ("resource", "part"),
    [("price.json", "is not URI=FILE"), ("https://example.com/=", "is not URI=FILE"), ("https://example.com/=missing.json", "no file")],
)
def test_resources_that_are_none_are_refused(capfd: pytest.CaptureFixture[str], schema: str, resource: str, part: str) -> None:
    code, out, err = here(capfd, "check", "-jf", schema, "--resource", resource, schema)
    assert code == 2 and out == "" and part in err
    code, out, err = here(capfd, "check", "--json", "--resource", "https://example.com/=a.json", schema)
    assert code == 2 and "--resource is about a JSON Schema" in err


def test_help_and_version(capfd: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], ["generate", "-h"], ["check", "--help"], ["mask", "-h"], ["doctor", "-h"], ["demo", "-h"]):
        code, out, err = here(capfd, *arguments)
        assert code == 0 and "Usage: scansion" in out and err == ""
    assert here(capfd, "--version")[1].startswith("scansion, version ")


def test_without_a_command_the_help_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = here(capfd)
    assert code == 0 and "Usage: scansion" in out and "generate" in out and err == ""


def test_closed_streams_are_one_sentence_or_nothing(schema: str) -> None:
    def closed(redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        line = f'"$@" {redirection}'
        return subprocess.run(["sh", "-c", line, "sh", *COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False)

    without_output = closed(">&-", "check", "--json", schema)
    assert without_output.returncode == 2 and without_output.stderr.startswith("scansion: standard output is closed")
    assert without_output.stderr.count("\n") == 1
    without_errors = closed("2>&-", "check", "--json", schema)
    assert (without_errors.returncode, without_errors.stdout) == (0, f"{schema}: ok\n")
    assert closed("2>&-", "check", "--jsn", schema).returncode == 2
    assert closed("<&-", "check", "--json", "-").stdout.startswith("-: line 1, column 1")


# -- with the model ----------------------------------------------------------------------------------------------------


@pytest.fixture
def model() -> None:
    embedded_model()  # skips where there is none


def generate(*arguments: str, **keywords: str) -> subprocess.CompletedProcess[str]:
    return command("generate", "--threads", "1", "--context", "512", *arguments, **keywords)


@pytest.mark.model
def test_generate_prints_only_the_answer(model: None) -> None:
    done = generate("-p", "A person, please.", "-j", json.dumps(PERSON), "-n", "60", "--stats")
    assert done.returncode == 0
    person = json.loads(done.stdout)
    assert isinstance(person["name"], str) and 0 <= person["age"] <= 120 and done.stdout.endswith("}\n")
    (line,) = done.stderr.splitlines()
    for part in ("tokens/s", "mask", "µs median", "µs p99", "% forced"):
        assert part in line
    silent = generate("-p", "A person, please.", "-j", json.dumps(PERSON), "-n", "60", "--no-stream")
    assert (silent.stdout, silent.stderr) == (done.stdout, "")


@pytest.mark.model
def test_generate_takes_every_kind_of_grammar(model: None, tmp_path: Path, schema: str) -> None:
    gbnf = tmp_path / "g.gbnf"
    gbnf.write_text('root ::= "left" | "right"\n')
    assert generate("-p", "?", "--choice", "yes", "--choice", "no").stdout in ("yes\n", "no\n")
    assert generate("-p", "?", "--regex", "[ab]{3}", "--temp", "1", "--seed", "5").stdout.strip("ab") == "\n"
    assert generate("-p", "?", "--gbnf", str(gbnf)).stdout in ("left\n", "right\n")
    assert isinstance(json.loads(generate("-p", "-", "-jf", schema, "-n", "50", text="Somebody.").stdout), dict)
    json.loads(generate("-p", "Any JSON.", "--json", "-n", "20").stdout)


@pytest.mark.model
def test_a_seed_repeats_an_answer(model: None) -> None:
    arguments = ("-p", "A word.", "--temp", "1.5", "-n", "12", "--seed", "42", "--draft", "none")
    assert generate(*arguments).stdout == generate(*arguments).stdout


@pytest.mark.model
def test_budgets_and_contexts_too_small_are_refused(model: None) -> None:
    for arguments, part in (
        (("-p", "x", "-j", json.dumps(PERSON), "-n", "3"), "raise -n"),
        (("-p", "word " * 600), "shorten the prompt"),
        (("-p", "word " * 470, "-j", json.dumps({"const": "abcdefghij" * 60})), "leaves room for"),
    ):
        done = generate(*arguments)
        refused((done.returncode, done.stdout, done.stderr), part)


@pytest.mark.model
def test_an_interrupt_keeps_the_partial_answer(model: None) -> None:
    arguments = [*COMMAND, "generate", "--threads", "1", "-p", "Tell a very long story.", "-n", "400", "--regex", "[a-z ]{300,}"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        first = process.stdout.read(1)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        rest, errors = process.stdout.read(), process.stderr.read()
    assert process.returncode == 130
    assert first and rest.endswith(b"\n") and (first + rest).strip()
    assert errors.decode() == "scansion: interrupted\n"


@pytest.mark.model
def test_a_full_disk_is_one_sentence(model: None) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    with Path("/dev/full").open("wb") as full:
        for arguments in (["generate", "--threads", "1", "-p", "?", "--choice", "yes"], ["check", "--json", "-"]):
            done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, input=b"1", timeout=120, check=False)
            assert done.returncode == 2
            assert done.stderr.decode() == "scansion: no space left where the output goes: free some, or write elsewhere\n"


@pytest.mark.model
def test_a_closed_pipe_is_one_sentence(model: None) -> None:
    arguments = [*COMMAND, "generate", "--threads", "1", "-p", "Tell a very long story.", "-n", "60", "--regex", "[a-z ]{100,}"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        os.read(process.stdout.fileno(), 1)
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 2
    assert errors.decode() == "scansion: whoever read the output has gone: the result is incomplete\n"


@pytest.mark.model
def test_mask_groups_and_counts(model: None) -> None:
    done = command("mask", "-j", '{"enum": ["red", "green"]}', "--prefix", '"')
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and done.stderr == ""
    assert lines[0].endswith("tokens allowed after 1 bytes; expected 'g', 'r'")
    assert lines[1].split()[1] == "letters" and "'red'" in done.stdout
    wrong = command("mask", "-j", '{"enum": ["red"]}', "--prefix", '"ren')
    refused((wrong.returncode, wrong.stdout, wrong.stderr), 'at byte 3: the whole value must be one of "red" (`/enum`)', "expected 'd'")
    ended = command("mask", "-j", "true", "--prefix", "true")
    assert "end of text" in ended.stdout


@pytest.mark.model
def test_doctor_is_content(model: None) -> None:
    done = command("doctor")
    assert done.returncode == 0, done.stdout
    assert all(line.startswith("ok") for line in done.stdout.splitlines())
    assert "SmolLM2" in done.stdout and '"ready"' in done.stdout


@pytest.mark.model
def test_demo_ends_with_an_accepted_answer(model: None) -> None:
    pytest.importorskip("jsonschema")
    done = command("demo")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["sights"]) == 3
    assert "accepts it" in done.stderr and "tokens/s" in done.stderr
