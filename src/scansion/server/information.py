"""Paths that say something about the server: models, health, description."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

import scansion
from scansion.server.backend import ModelCard
from scansion.server.errors import ApiError
from scansion.server.exchange import Call
from scansion.server.openapi import openapi_description
from scansion.server.service import Service

__all__ = ["description", "docs_page", "greeting", "health", "openai_model", "openai_models", "ready"]


async def openai_models(service: Service, _: Call) -> Any:
    """``/v1/models``."""
    return {"object": "list", "data": [_model(card) for card in await service.backend.models()]}


async def openai_model(service: Service, call: Call) -> Any:
    """``/v1/models/NAME``."""
    for card in await service.backend.models():
        if card.name == call.path_name:
            return _model(card)
    raise ApiError(404, f"there is no model {call.path_name[:100]!r}: see /v1/models", code="model_not_found", param="model")


async def health(service: Service, _: Call) -> Any:
    """The process answers."""
    return {"status": "ok", "version": scansion.__version__, "backend": service.backend.kind}


async def ready(service: Service, _: Call) -> Any:
    """Requests can be taken.

    Raises:
        ApiError: 503 with the reason.
    """
    reason = "the server is shutting down" if service.draining else await service.backend.ready()
    if reason is not None:
        raise ApiError(503, reason, code="not_ready", retry_after=1)
    return {"status": "ready", "waiting": service.queue.waiting, "places_held": service.queue.held, "places": service.queue.places}


async def description(_: Service, __: Call) -> Any:
    """``/openapi.json``."""
    return openapi_description()


async def greeting(_: Request) -> Response:
    """``/``: what Ollama's clients look at to see whether somebody is there."""
    return PlainTextResponse("Scansion is running")


async def docs_page(_: Request) -> Response:
    """``/docs``: the description as a page that loads nothing from elsewhere."""
    return HTMLResponse(_PAGE)


def _model(card: ModelCard) -> dict[str, Any]:
    model: dict[str, Any] = {"id": card.name, "object": "model", "created": card.created, "owned_by": card.owner}
    if card.context:
        model["context_length"] = card.context
    return model


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Scansion gateway</title>
<style>body{font:16px/1.5 system-ui;margin:2rem auto;max-width:60rem;padding:0 1rem}code{background:#8882;padding:.1em .3em}
details{margin:.5rem 0}summary{cursor:pointer}td,th{text-align:left;vertical-align:top;padding:.1rem .8rem .1rem 0}</style>
<h1>Scansion gateway</h1><p>The machine-readable description is <a href="openapi.json">openapi.json</a>.</p><div id="paths"></div>
<script>
fetch("openapi.json").then(r => r.json()).then(api => {
  const root = document.getElementById("paths");
  const cell = (row, text) => { const c = row.insertCell(); c.textContent = text; };
  for (const [path, methods] of Object.entries(api.paths)) for (const [method, about] of Object.entries(methods)) {
    const box = document.createElement("details"), head = document.createElement("summary"), code = document.createElement("code");
    code.textContent = method.toUpperCase() + " " + path; head.append(code, " " + (about.summary || "")); box.append(head);
    const schema = about.requestBody && about.requestBody.content["application/json"].schema;
    const table = document.createElement("table");
    for (const [name, field] of Object.entries((schema && schema.properties) || {})) {
      const row = table.insertRow(); cell(row, name); cell(row, field.description || "");
    }
    box.append(table); root.append(box);
  }
});
</script></html>
"""
