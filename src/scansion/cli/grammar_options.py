"""The options with which every command is told its grammar."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scansion.errors import GrammarError, RequestError

if TYPE_CHECKING:
    from scansion.grammar import Grammar

__all__ = ["MAX_INPUT_BYTES", "GrammarChoice", "grammar_options", "read_input", "read_schema", "read_text", "resource_option"]

MAX_INPUT_BYTES = 64 << 20
"""The largest file any command reads."""

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


@dataclass(frozen=True)
class GrammarChoice:
    """The grammar options of a command line as they were given."""

    schema: str | None = None
    schema_file: str | None = None
    any_json: bool = False
    regex: str | None = None
    choices: tuple[str, ...] = ()
    text: str | None = None
    file: str | None = None
    gbnf_file: str | None = None
    lark_file: str | None = None
    whitespace: str | None = None
    order: str | None = None
    spelling: str | None = None
    resources: tuple[str, ...] = ()

    @property
    def is_given(self) -> bool:
        """Some grammar was named."""
        return bool(self._named())

    def _named(self) -> list[str]:
        """The options that name a grammar, of those given."""
        given = {
            "-j": self.schema,
            "-jf": self.schema_file,
            "--json": self.any_json or None,
            "--regex": self.regex,
            "--choice": self.choices or None,
            "--grammar": self.text,
            "-gf": self.file,
            "--gbnf": self.gbnf_file,
            "--lark": self.lark_file,
        }
        return [option for option, value in given.items() if value is not None]

    def grammar(self, *, whitespace: str, order: str, spelling: str) -> Grammar | None:
        """The grammar asked for; None where none was.

        Args:
            whitespace, order, spelling: policies for JSON where the command line names none.

        Raises:
            click.UsageError: more than one grammar, or a JSON policy without JSON.
            GrammarError: the grammar is wrong; file names are part of the message.
        """
        named = self._named()
        if len(named) > 1:
            raise click.UsageError(f"{' and '.join(named)} cannot be given together: there is one grammar")
        policies: dict[str, Any] = {
            "whitespace": self.whitespace or whitespace,
            "property_order": self.order or order,
            "spelling": self.spelling or spelling,
        }
        if (self.whitespace or self.order or self.spelling) and not (named and named[0] in ("-j", "-jf", "--json")):
            raise click.UsageError("--whitespace, --order and --spelling are about JSON: give -j, -jf or --json")
        if self.resources and not (named and named[0] in ("-j", "-jf")):
            raise click.UsageError("--resource is about a JSON Schema: give -j or -jf")
        if not named:
            return None
        from scansion.grammar import Grammar

        if self.schema is not None:
            return read_schema(self.schema, self.resources, **policies)
        if self.schema_file is not None:
            return _from_file(self.schema_file, lambda text: read_schema(text, self.resources, **policies))
        if self.any_json:
            return Grammar.from_json_schema(True, **policies)
        if self.regex is not None:
            return Grammar.from_regex(self.regex)
        if self.text is not None:
            return _by_content(self.text)
        if self.file is not None:
            return _from_file(self.file, _by_content)
        if self.gbnf_file is not None:
            return _from_file(self.gbnf_file, Grammar.from_gbnf)
        if self.lark_file is not None:
            return _from_file(self.lark_file, Grammar.from_lark)
        return Grammar.from_choices(list(self.choices))


def grammar_options(*, required: bool) -> Callable[[F], F]:
    """Add the grammar options to a command, which receives them as one ``GrammarChoice`` named ``choice``."""

    def decorate(function: F) -> F:
        @wraps(function)  # with the options declared below it
        def collected(**values: Any) -> Any:
            choice = GrammarChoice(**{name: values.pop(name) for name in GrammarChoice.__dataclass_fields__})
            if required and not choice.is_given:
                raise click.UsageError(
                    "say which grammar: -j SCHEMA, -jf FILE, --json, --regex RE, --choice TEXT, "
                    "--grammar TEXT, -gf FILE, --gbnf FILE or --lark FILE"
                )
            return function(choice=choice, **values)

        decorated: Any = collected
        for option in reversed(_OPTIONS):
            decorated = option(decorated)
        return decorated  # type: ignore[no-any-return]  # click's decorators are untyped for keyword-only functions

    return decorate


resource_option = click.option(
    "--resource",
    "resources",
    multiple=True,
    metavar="URI=FILE",
    help="The document at a URI that the schema refers to; repeat the option.",
)

_OPTIONS = [
    click.option("-j", "--schema", "schema", metavar="SCHEMA", help="JSON Schema as text."),
    click.option("-jf", "--schema-file", "schema_file", metavar="FILE", help="JSON Schema in a file (- is standard input)."),
    click.option("--json", "any_json", is_flag=True, help="Any JSON."),
    click.option("--regex", metavar="RE", help="The whole text matches a regular expression."),
    click.option("--choice", "choices", multiple=True, metavar="TEXT", help="One of several texts; repeat the option."),
    click.option("--grammar", "text", metavar="TEXT", help="A grammar as text: GBNF, or Lark where it begins with %llguidance."),
    click.option("-gf", "--grammar-file", "file", metavar="FILE", help="The same in a file."),
    click.option("--gbnf", "gbnf_file", metavar="FILE", help="A grammar in llama.cpp's GBNF."),
    click.option("--lark", "lark_file", metavar="FILE", help="A grammar in Lark's notation."),
    click.option(
        "--whitespace", type=click.Choice(["bounded", "flexible", "spaced", "compact"]), default=None, help="White space in JSON."
    ),
    click.option("--order", type=click.Choice(["declared", "any"]), default=None, help="Order of JSON properties."),
    click.option("--spelling", type=click.Choice(["canonical", "any"]), default=None, help="Escapes in declared keys and constants."),
    resource_option,
]


def read_schema(text: str, resources: Sequence[str], **policies: Any) -> Grammar:
    """The grammar of a JSON Schema; ``resources`` are the values of ``--resource``.

    Raises:
        click.UsageError: a resource that is not URI=FILE, or a URI given twice.
        GrammarError: the schema, or a resource, is wrong.
        RequestError: a file cannot be read.
    """
    from scansion.grammar import Grammar
    from scansion.json_schema import UnresolvedError, parse_schema

    documents: dict[str, Any] = {}
    for given in resources:
        uri, equals, name = given.rpartition("=")  # a URI may have = in its query
        if not (uri and equals and name):
            raise click.UsageError(f"--resource {given} is not URI=FILE")
        if uri in documents:
            raise click.UsageError(f"--resource gives {uri} twice")
        documents[uri] = _from_file(name, parse_schema)
    try:
        return Grammar.from_json_schema(text, resources=documents, **policies)
    except UnresolvedError as error:
        if error.url:
            error.hint = f"give the document: --resource {error.url}=FILE"
        raise


def _by_content(text: str) -> Grammar:
    from scansion.grammar import Grammar
    from scansion.languages.detection import grammar_language

    return Grammar.from_lark(text) if grammar_language(text) == "lark" else Grammar.from_gbnf(text)


def read_text(name: str) -> str:
    """The text of a file, or of standard input for ``-``; a byte order mark is dropped.

    Raises:
        RequestError: the file cannot be read, or is no UTF-8.
    """
    text = read_input(name).decode("utf-8-sig", "surrogateescape")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise RequestError(f"{name} is not UTF-8 text: byte {len(text[: error.start].encode())} is wrong") from None
    return text


def _from_file(name: str, parse: Callable[[str], T]) -> T:
    text = read_text(name)
    try:
        return parse(text)
    except GrammarError as error:
        error.message = f"{error.message} [in {name}]"
        raise


def read_input(name: str) -> bytes:
    """The bytes of a file, or of standard input for ``-``.

    Raises:
        RequestError: the file cannot be read, or has more than 64 MiB.
    """
    try:
        if name == "-":
            data = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(MAX_INPUT_BYTES + 1)
    except FileNotFoundError:
        raise RequestError(f"there is no file {name}: check the path") from None
    except IsADirectoryError:
        raise RequestError(f"{name} is a folder: give a file") from None
    except OSError as error:
        raise RequestError(f"{name} cannot be read ({error.strerror or error})") from None
    if len(data) > MAX_INPUT_BYTES:
        raise RequestError(f"{name} has more than {MAX_INPUT_BYTES >> 20} MiB: give a smaller file")
    return data
