"""``scansion validate-server``: which structured requests a server honours, ignores or breaks on."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from scansion.cli.key_files import first_key
from scansion.cli.output import ResultWriter
from scansion.errors import ModelError

__all__ = ["command"]

EXIT_FINDINGS = 1


@click.command("validate-server")
@click.argument("url")
@click.option("--model", metavar="NAME", help="The model to ask; without it, the first one listed.")
@click.option("--key-file", type=click.Path(path_type=Path), help="File with the server's API key.")
@click.option("--timeout", default=120.0, show_default=True, metavar="SECONDS", help="Longest time for one request.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line instead of a table.")
def command(*, url: str, model: str | None, key_file: Path | None, timeout: float, as_json: bool) -> int:
    """Send 30 structured requests to any OpenAI-compatible server and report on each.

    Exits with 1 where a request was ignored or broke the server; a clear refusal is none of both.

    \b
    scansion validate-server http://127.0.0.1:8080
    """
    try:
        from scansion.server.server_validation import Verdict, validate_server
    except ImportError as error:
        raise ModelError(f"this needs more packages ({error.name}): pip install 'scansion[server]'") from None

    writer = ResultWriter()

    def show(verdict: Verdict) -> None:
        if as_json:
            writer.write(json.dumps(asdict(verdict)) + "\n")
        else:
            writer.write(f"{verdict.verdict:<9} {verdict.name:<28} {verdict.seconds:6.2f} s  {verdict.text}\n")

    verdicts = validate_server(url, model=model, key=first_key(key_file), timeout=timeout, seen=show)
    counts = {name: sum(verdict.verdict == name for verdict in verdicts) for name in ("honoured", "refused", "ignored", "broken")}
    if not as_json:
        writer.write(", ".join(f"{count} {name}" for name, count in counts.items()) + "\n")
    return EXIT_FINDINGS if counts["ignored"] or counts["broken"] else 0
