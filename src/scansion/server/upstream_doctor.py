"""Whether a deployment works: reachable, known, its models there, plain and structured requests answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from scansion.errors import ScansionError
from scansion.models.upstream import UpstreamError, UpstreamServer
from scansion.server.backend import Job, Outcome, Piece
from scansion.server.errors import ApiError
from scansion.server.recipes import Recipe
from scansion.server.resolver import Asked
from scansion.server.service import Service
from scansion.server.settings import ServerSettings
from scansion.server.upstream_backend import UpstreamBackend

__all__ = ["UpstreamFinding", "examine_upstream"]

_SCHEMA = {
    "type": "object",
    "properties": {"word": {"enum": ["ready"]}, "n": {"type": "integer", "minimum": 0, "maximum": 9}},
    "required": ["word", "n"],
    "additionalProperties": False,
}
_TOKENS = 120


@dataclass(frozen=True)
class UpstreamFinding:
    """One line of the report. ``hint``: the way out where it is not good."""

    name: str
    text: str
    good: bool = True
    hint: str = ""


def examine_upstream(url: str, *, model: str | None = None, kind: str = "auto", key: str | None = None) -> list[UpstreamFinding]:
    """Look at an upstream, in the order a request needs things; stops at the first that makes the rest pointless.

    Args:
        url: its root.
        model: the model to try; None: its first.
        kind: what it is, or ``auto``.
        key: its API key.

    Raises:
        ModelError: not an HTTP URL.
    """
    return asyncio.run(_examine(url, model, kind, key))


async def _examine(url: str, model: str | None, kind: str, key: str | None) -> list[UpstreamFinding]:
    server = UpstreamServer(url, kind=kind, key=key, silence=60)
    try:
        if not await server.healthy():
            return [_bad("reachable", f"{server.url} does not answer", "start it, or correct the address; a model may still be loading")]
        findings = [UpstreamFinding("reachable", server.url)]
        try:
            facts = await server.probe()
        except UpstreamError as error:
            hint = "give its key with --upstream-key-file" if error.status in (401, 403) else "name its kind with --upstream-kind"
            return [*findings, _bad("kind", str(error), hint)]
        findings.append(
            UpstreamFinding(
                "kind", f"{facts.kind}, build {facts.build or 'unknown'}" + (", takes Lark grammars" if facts.takes_lark else "")
            )
        )
        if not facts.models:
            return [*findings, _bad("models", "it has none", "load or pull one there")]
        chosen = model or facts.models[0]
        if chosen not in facts.models:
            known = ", ".join(facts.models[:8])
            return [*findings, _bad("models", f"there is no {chosen!r}", f"it has {known}; or map the name with --alias")]
        findings.append(UpstreamFinding("models", f"{', '.join(facts.models[:8])}; trying {chosen}"))
    finally:
        await server.close()
    service = Service(UpstreamBackend([url], kind=kind, key=key, silence=60), ServerSettings())
    await service.start()
    try:
        findings.append(await _plain(service, chosen))
        for name, asked in (
            ("schema", Asked(Recipe("json_schema", json.dumps(_SCHEMA)), "response_format")),
            ("json mode", Asked(Recipe("json_object", '{"type": "object"}'), "response_format")),
        ):
            findings.append(await _structured(service, chosen, name, asked))
    finally:
        await service.close()
    return findings


async def _plain(service: Service, model: str) -> UpstreamFinding:
    job = _job(model, "Say ready.", tokens=8)
    try:
        text, _ = await _write(service, job)
    except ApiError as error:
        return _bad("plain request", error.message, "try the same request at the upstream: its log says more")
    return UpstreamFinding("plain request", repr(text[:40]))


async def _structured(service: Service, model: str, name: str, asked: Asked) -> UpstreamFinding:
    try:
        job = await service.constrain(asked, None, _job(model, "Say ready, with the number 3, as JSON.", tokens=_TOKENS), "doctor")
        text, outcome = await _write(service, job)
    except ApiError as error:
        hint = (
            "it ignores the constraint: upgrade it, or switch its structured output on"
            if error.code == "upstream_left_grammar"
            else "the upstream refuses the grammar: upgrade it, or name its kind with --upstream-kind"
        )
        return _bad(name, error.message, hint)
    except ScansionError as error:
        return _bad(name, str(error), "report it")
    how = outcome.report.get("enforced_by", "")
    if not outcome.complete:
        return UpstreamFinding(name, f"kept to by {how}, cut after {_TOKENS} tokens")
    return UpstreamFinding(name, f"{' '.join(text.split())[:60]} by {how}")


async def _write(service: Service, job: Job) -> tuple[str, Outcome]:
    text = ""
    async for piece in service.backend.generate(job, "doctor", service.pool):
        if isinstance(piece, Piece):
            text += piece.content
        else:
            return text, piece
    raise ApiError(502, "the answer has no end", code="upstream_stream_broken")


def _job(model: str, prompt: str, *, tokens: int) -> Job:
    messages: Sequence[dict[str, str]] = [{"role": "user", "content": prompt}]
    return Job("doctor", model, messages, None, tokens, sampling={"temperature": 0.0})


def _bad(name: str, text: str, hint: str) -> UpstreamFinding:
    return UpstreamFinding(name, text, good=False, hint=hint)
