"""The OpenAPI description, made from the tables that requests are checked against."""

from __future__ import annotations

from functools import cache
from typing import Any

import scansion
from scansion.server import ollama_parameters, openai_parameters
from scansion.server.errors import STATUS_TYPES
from scansion.server.extension import EXTENSION
from scansion.server.parameters import Table

__all__ = ["openapi_description"]

_GENERATION_STATUSES = (400, 401, 404, 408, 413, 422, 429, 500, 502, 503, 504)


@cache
def openapi_description() -> dict[str, Any]:
    """The description as an OpenAPI 3.1 document."""
    posts = {
        "/v1/chat/completions": ("Chat completion", openai_parameters.CHAT, "text/event-stream", "OpenAIError"),
        "/v1/completions": ("Text completion", openai_parameters.COMPLETIONS, "text/event-stream", "OpenAIError"),
        "/v1/responses": ("Response", openai_parameters.RESPONSES, "text/event-stream", "OpenAIError"),
        "/api/chat": ("Ollama chat", ollama_parameters.CHAT, "application/x-ndjson", "OllamaError"),
        "/api/generate": ("Ollama generation", ollama_parameters.GENERATE, "application/x-ndjson", "OllamaError"),
        "/api/show": ("Ollama model", ollama_parameters.SHOW, None, "OllamaError"),
    }
    gets = {
        "/v1/models": ("Models", "OpenAIError", (401, 500, 502, 503, 504)),
        "/v1/models/{name}": ("One model", "OpenAIError", (401, 404, 500, 502, 503, 504)),
        "/api/tags": ("Ollama models", "OllamaError", (401, 500, 502, 503, 504)),
        "/api/ps": ("Ollama running models", "OllamaError", (401, 500, 502, 503, 504)),
        "/api/version": ("Version of the Ollama API", "OllamaError", (401, 500)),
        "/health": ("The process answers", "OpenAIError", (500,)),
        "/ready": ("Requests can be taken", "OpenAIError", (500, 503)),
        "/openapi.json": ("This description", "OpenAIError", (401, 500)),
    }
    paths: dict[str, Any] = {
        path: {"post": _post(summary, table, stream, error)} for path, (summary, table, stream, error) in posts.items()
    }
    for path, (summary, error, statuses) in gets.items():
        operation: dict[str, Any] = {
            "summary": summary,
            "responses": {"200": _ok("application/json", "object"), **_errors(statuses, error)},
        }
        if "{name}" in path:
            operation["parameters"] = [{"name": "name", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}]
        paths[path] = {"get": operation}
    for path, summary, media in (
        ("/", "Somebody is there", "text/plain"),
        ("/metrics", "Figures for Prometheus", "text/plain"),
        ("/docs", "This description as a page", "text/html"),
    ):
        paths[path] = {
            "get": {
                "summary": summary,
                "responses": {"200": _ok(media, "string"), **_errors((401, 500), "OpenAIError")},
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Scansion gateway", "version": scansion.__version__},
        "paths": paths,
        "components": {
            "schemas": {"OpenAIError": _OPENAI_ERROR, "OllamaError": _OLLAMA_ERROR},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def _post(summary: str, table: Table, stream: str | None, error: str) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": {"type": "object"}}}
    if stream is not None:
        content[stream] = {"schema": {"type": "string"}}
    return {
        "summary": summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": _body(table)}}},
        "responses": {"200": {"description": "OK", "content": content}, **_errors(_GENERATION_STATUSES, error)},
    }


def _ok(media: str, kind: str) -> dict[str, Any]:
    return {"description": "OK", "content": {media: {"schema": {"type": kind}}}}


def _body(table: Table) -> dict[str, Any]:
    properties = {name: field.schema() for name, field in table.items()}
    if "scansion" in properties:
        properties["scansion"] = {
            "type": "object",
            "description": "This gateway's own options.",
            "properties": {name: field.schema() for name, field in EXTENSION.items()},
            "additionalProperties": False,
        }
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name, field in table.items() if field.required],
        "additionalProperties": False,
    }


def _errors(statuses: tuple[int, ...], shape: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{shape}"}}}
    answers: dict[str, Any] = {str(status): {"description": STATUS_TYPES[status], "content": content} for status in statuses}
    if "429" in answers:
        answers["429"]["headers"] = {"Retry-After": {"schema": {"type": "integer", "minimum": 1}}}
    return answers


_MEMBERS: dict[str, Any] = {
    "type": {"type": "string"},
    "param": {"type": ["string", "null"]},
    "code": {"type": "string"},
    "pointer": {"type": "string"},
    "keyword": {"type": "string"},
    "construct": {"type": "string"},
    "hint": {"type": "string"},
    "tool": {"type": "string"},
}
_OPENAI_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {"message": {"type": "string"}, **_MEMBERS},
        }
    },
}
_OLLAMA_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error", "type", "param", "code"],
    "properties": {"error": {"type": "string"}, **_MEMBERS},
}
