"""``scansion serve``: the gateway, over the embedded model or in front of other servers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scansion.cli.key_files import first_key, read_keys
from scansion.errors import ModelError

if TYPE_CHECKING:
    from scansion.server.backend import Backend

__all__ = ["command"]


def _aliases(_context: click.Context, _parameter: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for value in values:
        alias, _, name = value.partition("=")
        if not alias:
            raise click.BadParameter(f"{value!r} is no alias: give NAME, or NAME=MODEL")
        pairs[alias] = name
    return pairs


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; one others can reach needs keys.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one.")
@click.option("-m", "--model", "model_path", metavar="MODEL.gguf", help="Model file; without it, SmolLM2-135M-Instruct.")
@click.option("--parallel", default=4, show_default=True, type=click.IntRange(1, 64), help="Answers decoded together.")
@click.option("--context", "context_size", type=int, default=None, metavar="TOKENS", help="Context of each; the model's, at most 8192.")
@click.option("--threads", type=click.IntRange(1), default=None, help="Threads of forward passes; all cores this process may use.")
@click.option("--upstream", "upstreams", multiple=True, metavar="URL", help="Serve a running server's models instead; repeat for several.")
@click.option(
    "--upstream-kind",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "llama-server", "vllm", "ollama", "scansion", "openai"]),
    help="What the upstreams are; auto asks them.",
)
@click.option("--upstream-key-file", type=click.Path(path_type=Path), help="File with the key sent to upstreams.")
@click.option("--upstream-timeout", default=300.0, show_default=True, metavar="SECONDS", help="Longest silence of an upstream.")
@click.option("--concurrency", default=1024, show_default=True, type=click.IntRange(1), help="Requests sent to upstreams at once.")
@click.option("--alias", "aliases", multiple=True, callback=_aliases, metavar="NAME[=MODEL]", help="Another name of a model.")
@click.option("--api-key-file", type=click.Path(path_type=Path), help="File with accepted API keys, one a line.")
@click.option("--cors-origin", "cors_origins", multiple=True, metavar="ORIGIN", help="Let browsers on that origin call.")
@click.option("--queue", "queue_limit", default=256, show_default=True, help="Requests that may wait.")
@click.option("--deadline", default=600.0, show_default=True, metavar="SECONDS", help="Longest time for one request.")
@click.option("--max-tokens", "default_max_tokens", default=1024, show_default=True, help="Tokens of an answer where a request names none.")
@click.option("--compile-seconds", default=1.5, show_default=True, help="Time to compile one schema or grammar.")
@click.option("--drain", "drain_seconds", default=30.0, show_default=True, metavar="SECONDS", help="Time to finish answers at the end.")
@click.option("--log-content", is_flag=True, help="Write prompts and answers to the log.")
def command(
    *,
    host: str,
    port: int,
    model_path: str | None,
    parallel: int,
    context_size: int | None,
    threads: int | None,
    upstreams: Sequence[str],
    upstream_kind: str,
    upstream_key_file: Path | None,
    upstream_timeout: float,
    concurrency: int,
    aliases: dict[str, str],
    api_key_file: Path | None,
    **settings: Any,
) -> None:
    """Serve OpenAI's and Ollama's HTTP APIs with constraints that are never silently off.

    \b
    scansion serve                                      the embedded model on 127.0.0.1:8080
    scansion serve --upstream http://127.0.0.1:8000     in front of llama-server, vLLM or Ollama
    """
    try:
        from scansion.server.serving import serve
        from scansion.server.settings import ServerSettings
    except ImportError as error:
        raise ModelError(f"the server needs more packages ({error.name}): pip install 'scansion[server]'") from None

    server_settings = ServerSettings(api_keys=read_keys(api_key_file) if api_key_file is not None else (), aliases=aliases, **settings)
    backend: Backend
    if upstreams:
        if model_path is not None:
            raise click.UsageError("--upstream serves the upstream's models: -m has no place beside it")
        from scansion.server.upstream_backend import UpstreamBackend

        key = first_key(upstream_key_file)
        backend = UpstreamBackend(
            upstreams, kind=upstream_kind, key=key, concurrency=concurrency, silence=upstream_timeout, aliases=aliases
        )
    else:
        from scansion.models.llama import LlamaModel
        from scansion.server.embedded import EmbeddedBackend

        model = LlamaModel(model_path, context_size=context_size, sequences=parallel, threads=threads)
        for alias, name in aliases.items():
            if name not in ("", model.name):
                raise click.UsageError(f"--alias {alias}={name}: the model is {model.name}")
        backend = EmbeddedBackend(model, sequences=parallel, aliases=list(aliases))
    serve(backend, server_settings, host=host, port=port)
