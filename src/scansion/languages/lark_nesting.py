"""Lark grammars inside others: what ``@name`` refers to, each grammar read once, those it holds before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from scansion.errors import GrammarError, LimitError
from scansion.grammar.embed import embed
from scansion.grammar.nodes import Expression, Rules
from scansion.languages.lark_syntax import read_lark
from scansion.languages.lark_trees import LarkFile
from scansion.languages.source import Source

__all__ = ["MAX_NESTED_RULES", "NestedRules", "inside", "nested_files"]

MAX_NESTED_RULES = 100_000  # rules of nested grammars, counted wherever one is put into another


class NestedRules:
    """The nested grammars that have been read, to be put into those that refer to them."""

    def __init__(self) -> None:
        self.known: dict[str, Rules] = {}
        self.written = 0

    def embedded(self, name: str, source: Source, offset: int) -> tuple[Expression, dict[str, Expression]]:
        """A known grammar's start, and its rules under names of their own.

        Raises:
            LimitError: more than ``MAX_NESTED_RULES`` with all that was asked before.
        """
        start, bodies = embed(self.known[name], f"@{name}")
        self.written += len(bodies)
        if self.written > MAX_NESTED_RULES:
            raise source.limit(
                offset,
                f"the grammars inside each other come to more than {MAX_NESTED_RULES:,} rules",
                limit="nested_rules",
                allowed=MAX_NESTED_RULES,
            )
        return start, bodies


def nested_files(
    source: Source, file: LarkFile, grammars: Mapping[str, str | Rules]
) -> Iterator[tuple[str, Rules | tuple[Source, LarkFile]]]:
    """The grammars a file refers to, directly or through others: each once, after those it refers to itself.

    Raises:
        GrammarError: no such grammar; one that needs itself; a syntax error in one, which is named.
    """
    done: set[str] = set()
    open_files: dict[str, tuple[Source, LarkFile]] = {}
    # The grammars being read, from the outermost in, each with the references not yet followed.
    pending: list[tuple[str | None, Source, Iterator[tuple[str, int]]]] = [(None, source, iter(file.references))]
    while pending:
        within, text, references = pending[-1]
        name, offset = next(references, (None, 0))
        if name is None:
            pending.pop()
            if within is not None:
                done.add(within)
                yield within, open_files.pop(within)
            continue
        if name in done:
            continue
        with inside(within):
            if name in open_files:
                circle = " -> ".join(f"@{other}" for other in [*open_files, name][list(open_files).index(name) :][:6])
                raise text.error(offset, f"the grammar @{name} needs itself: {circle}", construct=f"@{name}", hint="recursion takes a rule")
            grammar = grammars.get(name)
            if grammar is None:
                raise text.error(offset, f"there is no grammar @{name}", construct=f"@{name}", hint="pass it in `grammars`")
        if isinstance(grammar, Rules):
            done.add(name)
            yield name, grammar
            continue
        with inside(name):
            inner = Source(grammar, "Lark")
            open_files[name] = inner, read_lark(inner)
        pending.append((name, inner, iter(open_files[name][1].references)))


@contextmanager
def inside(name: str | None) -> Iterator[None]:
    """Errors raised in the body say that their place is in a nested grammar; None is the outermost one."""
    try:
        yield
    except GrammarError as error:
        if name is not None:
            error.message = f"in the grammar @{name}: {error.message}"
            error.args = (str(error),)
        raise
    except LimitError as error:
        if name is not None:
            raise LimitError(f"in the grammar @{name}: {error}", limit=error.limit, allowed=error.allowed) from None
        raise
