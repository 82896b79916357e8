"""``scansion check``: does a text keep to a grammar, and where not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from scansion.cli.grammar_options import GrammarChoice, grammar_options, read_input
from scansion.cli.output import ResultWriter

if TYPE_CHECKING:
    from scansion.json_schema import Violation
    from scansion.matching import Constraint

__all__ = ["Fault", "command", "find_fault"]

EXIT_FAULTS = 1
_EXCERPT = 24


@dataclass(frozen=True)
class Fault:
    """Where a text leaves its grammar.

    Attributes:
        line, column: in characters from 1; ``offset``: in bytes from 0.
        found: what is there; ``expected``: what could be.
        violation: the value and the keyword of the schema concerned, where the grammar is a schema and one can be named.
    """

    line: int
    column: int
    offset: int
    found: str
    expected: str
    violation: Violation | None = None

    def __str__(self) -> str:
        if self.violation is None:
            return f"line {self.line}, column {self.column} (byte {self.offset}): {self.found}; expected {self.expected}"
        return f"line {self.line}, column {self.column}: {self.violation}; {self.found}; expected {self.expected}"


@click.command()
@grammar_options(required=True)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def command(*, choice: GrammarChoice, files: tuple[str, ...]) -> int:
    """Say for each text whether it keeps to the grammar, and where not: line, column, byte offset, what was expected.

    JSON is checked as a validator would: any white space, any order of properties, any spelling, unless --whitespace,
    --order or --spelling say otherwise. For --regex and --choice one newline at the end of a file is not part of the text.
    Exits with 1 where some text does not keep to it. A FILE of - is standard input.
    """
    grammar = choice.grammar(whitespace="flexible", order="any", spelling="any")
    if grammar is None:
        raise click.UsageError("say which grammar to check against")
    constraint = grammar.compile(_byte_vocabulary())
    strip_newline = choice.regex is not None or bool(choice.choices)
    writer = ResultWriter()
    faults = 0
    for name in files:
        data = read_input(name)
        fault = find_fault(constraint, data.removesuffix(b"\n") if strip_newline else data)
        writer.write(f"{name}: {'ok' if fault is None else fault}\n")
        faults += fault is not None
    return EXIT_FAULTS if faults else 0


def find_fault(constraint: Constraint, data: bytes) -> Fault | None:
    """The first place where a text leaves the grammar; None where the whole text keeps to it.

    Args:
        constraint: compiled for a vocabulary of single bytes.
        data: the text.
    """
    matcher = constraint.matcher()
    good = matcher.bytes_accepted(data)
    matcher.accept_bytes(data[:good])
    if good == len(data) and matcher.is_complete:
        return None
    before = data[:good].decode("utf-8", "replace")
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    found = f"found {_excerpt(data[good:])}" if good < len(data) else "the text ends too early"
    source = constraint.program.source
    violation = None if source is None else source.explain(data, good)
    return Fault(line, column, good, found, str(matcher.expectation()), violation)


def _excerpt(rest: bytes) -> str:
    text = rest[: 4 * _EXCERPT].decode("utf-8", "replace").split("\n", 1)[0][:_EXCERPT]
    return repr(text) if text else "the end of the line"


def _byte_vocabulary() -> Vocabulary:
    from scansion.vocabulary import Vocabulary

    return Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=[256])


if TYPE_CHECKING:
    from scansion.vocabulary import Vocabulary
