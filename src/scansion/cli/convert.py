"""``scansion convert``: one grammar language into another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from scansion.cli.grammar_options import read_schema, read_text, resource_option
from scansion.cli.output import ResultWriter, note
from scansion.errors import GrammarError, RequestError

if TYPE_CHECKING:
    from scansion.grammar import Grammar

__all__ = ["command"]

_FROM = ["json-schema", "gbnf", "lark", "regex"]
_TO = ["gbnf", "lark"]


@click.command()
@click.option("--from", "source", type=click.Choice(_FROM), help="What FILE is; found out by its content where not given.")
@click.option("--to", "target", type=click.Choice(_TO), required=True, help="What to write.")
@click.option("--repeated-keys", is_flag=True, help="Let object keys that are not declared repeat, which no such grammar can forbid.")
@click.option("--check", is_flag=True, help="Read the result back and compare both on random texts.")
@click.option(
    "--whitespace",
    type=click.Choice(["bounded", "flexible", "spaced", "compact"]),
    default="bounded",
    show_default=True,
    help="White space in JSON.",
)
@click.option("--order", type=click.Choice(["declared", "any"]), default="declared", show_default=True, help="Order of JSON properties.")
@click.option(
    "--spelling",
    type=click.Choice(["canonical", "any"]),
    default="canonical",
    show_default=True,
    help="Escapes in declared keys and constants.",
)
@resource_option
@click.argument("file", metavar="FILE")
def command(
    *,
    source: str | None,
    target: str,
    repeated_keys: bool,
    check: bool,
    whitespace: str,
    order: str,
    spelling: str,
    resources: tuple[str, ...],
    file: str,
) -> int:
    """Write the grammar in FILE (- is standard input) as GBNF or Lark: the same texts, or an error that names what cannot be said.

    With --check, exits with 1 where a text was found that only one of the two grammars has.
    """
    text = read_text(file)
    source = source or _language(text)
    if resources and source != "json-schema":
        raise click.UsageError(f"--resource is about a JSON Schema, and {file} is read as {source}")
    policies = {"whitespace": whitespace, "property_order": order, "spelling": spelling}
    grammar = _read(source, text, file, policies, resources)
    written = _write(grammar, target, repeated_keys)
    ResultWriter().write(written)
    waived = repeated_keys and written != _exact(grammar, target)
    if waived:
        note("waived: object keys that are not declared may repeat in the result")
    if not check:
        return 0
    from scansion.languages.comparison import differing_text

    different = differing_text(grammar, _read(target, written, "the result", {}), more=waived)
    if different is None:
        note(
            "checked: the result has the random texts of the grammar"
            if waived
            else "checked: both grammars agree on the random texts of each"
        )
        return 0
    note(f"only one of the two grammars has the text, or can go on after it: {different!r}")
    return 1


def _language(text: str) -> str:
    from scansion.languages.detection import grammar_language

    return "json-schema" if text.lstrip()[:1] in ("{", "t", "f") and "::=" not in text and _is_json(text) else grammar_language(text)


def _is_json(text: str) -> bool:
    import json

    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _read(source: str, text: str, name: str, policies: dict[str, str], resources: tuple[str, ...] = ()) -> Grammar:
    from scansion.grammar import Grammar

    try:
        if source == "json-schema":
            return read_schema(text, resources, **policies)
        if source == "gbnf":
            return Grammar.from_gbnf(text)
        if source == "lark":
            return Grammar.from_lark(text)
        return Grammar.from_regex(text.removesuffix("\n"))
    except GrammarError as error:
        error.message = f"{error.message} [in {name}]"
        raise


def _write(grammar: Grammar, target: str, repeated_keys: bool) -> str:
    return grammar.to_gbnf(repeated_keys=repeated_keys) if target == "gbnf" else grammar.to_lark(repeated_keys=repeated_keys)


def _exact(grammar: Grammar, target: str) -> str | None:
    try:
        return _write(grammar, target, False)
    except (GrammarError, RequestError):
        return None
