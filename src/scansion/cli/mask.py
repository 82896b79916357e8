"""``scansion mask``: the tokens a grammar allows after a text, grouped and counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from scansion.cli.grammar_options import GrammarChoice, grammar_options
from scansion.cli.output import ResultWriter
from scansion.errors import RequestError

if TYPE_CHECKING:
    from scansion.vocabulary import Vocabulary

__all__ = ["command", "token_groups"]

_EXAMPLES = 8


@click.command()
@grammar_options(required=True)
@click.option("--prefix", default="", metavar="TEXT", help="What has been written so far.")
@click.option("-m", "--model", "model_path", metavar="MODEL.gguf", help="Whose tokens; without it, SmolLM2-135M-Instruct.")
def command(*, choice: GrammarChoice, prefix: str, model_path: str | None) -> int:
    """Show which tokens a grammar allows after a text, grouped by how they begin, with counts and examples."""
    import numpy as np

    from scansion.matching import allocate_bitmask
    from scansion.models.llama_vocabulary import load_vocabulary

    grammar = choice.grammar(whitespace="bounded", order="declared", spelling="canonical")
    if grammar is None:
        raise click.UsageError("say which grammar the mask is for")
    vocabulary = load_vocabulary(model_path)
    matcher = grammar.compile(vocabulary).matcher()
    data = prefix.encode("utf-8", "surrogateescape")
    if not matcher.accept_bytes(data):
        good = matcher.bytes_accepted(data)
        matcher.accept_bytes(data[:good])
        source = grammar.program.source
        violation = None if source is None else source.explain(data, good)
        why = f"the prefix leaves the grammar at byte {good}" if violation is None else f"the prefix leaves the schema: {violation}"
        raise RequestError(f"{why}: expected {matcher.expectation()}")
    mask = allocate_bitmask(1, vocabulary.size)
    matcher.fill_bitmask(mask, 0)
    allowed = np.flatnonzero(np.unpackbits(mask[0].view(np.uint8), bitorder="little", count=vocabulary.size)).tolist()

    writer = ResultWriter()
    writer.write(f"{len(allowed):,} of {vocabulary.size:,} tokens allowed after {len(data)} bytes; expected {matcher.expectation()}\n")
    groups = token_groups(allowed, vocabulary)
    width = max((len(name) for name in groups), default=0)
    for name, tokens in sorted(groups.items(), key=lambda item: -len(item[1])):
        shown = " ".join(_shown(token, vocabulary) for token in sorted(tokens, key=lambda t: _length(t, vocabulary))[:_EXAMPLES])
        writer.write(f"{len(tokens):>8,}  {name:<{width}}  {shown}{' ...' if len(tokens) > _EXAMPLES else ''}\n")
    forced = matcher.forced_bytes()
    if forced:
        writer.write(f"forced: {forced.decode('utf-8', 'replace')!r}\n")
    return 0


def token_groups(tokens: Iterable[int], vocabulary: Vocabulary) -> dict[str, list[int]]:
    """Token ids by how their text begins."""
    groups: dict[str, list[int]] = {}
    ends = set(vocabulary.eos_token_ids)
    for token in tokens:
        data = vocabulary.token_bytes(token)
        name = "end of text" if token in ends else "special" if data is None else _group(data)
        groups.setdefault(name, []).append(token)
    return groups


def _group(data: bytes) -> str:
    first = data[:1]
    if first in (b" ", b"\t", b"\n", b"\r"):
        rest = data.lstrip(b" \t\r\n")
        return "white space" if not rest else f"white space, then {_group(rest)}"
    if first.isalpha():
        return "letters"
    if first.isdigit():
        return "digits"
    if first[0] >= 0x80:
        return "beyond ASCII"
    if first[0] < 0x20 or first[0] == 0x7F:
        return "control characters"
    return f"'{first.decode()}'"


def _length(token: int, vocabulary: Vocabulary) -> tuple[int, bytes]:
    data = vocabulary.token_bytes(token) or b""
    return len(data), data


def _shown(token: int, vocabulary: Vocabulary) -> str:
    data = vocabulary.token_bytes(token)
    return vocabulary.token_name(token) if data is None else repr(data.decode("utf-8", "backslashreplace"))
