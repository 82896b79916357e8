"""The ASGI application: paths, keys, CORS, start and end."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from scansion.server import information, ollama_api, ollama_requests, openai_chat, openai_completions, openai_requests, openai_responses
from scansion.server.backend import Backend
from scansion.server.errors import ApiError
from scansion.server.exchange import Endpoint, Handler, Reader, send_json
from scansion.server.service import Service
from scansion.server.settings import ServerSettings

__all__ = ["create_application"]

_OPEN_PATHS = ("/health", "/ready")
"""What a load balancer asks for, without a key."""


def create_application(backend: Backend, settings: ServerSettings | None = None) -> Starlette:
    """The gateway over a backend.

    Args:
        backend: where answers come from; started and closed with the application.
        settings: everything else.

    Returns:
        An ASGI application; ``application.state.service`` is its ``Service``.
    """
    service = Service(backend, settings or ServerSettings())

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.close()

    def post(path: str, reader: Reader, handler: Handler, *, ollama: bool = False) -> BaseRoute:
        return Route(path, Endpoint(service, handler, reader=reader, ollama=ollama), methods=["POST"])

    def get(path: str, handler: Handler, *, ollama: bool = False) -> BaseRoute:
        return Route(path, Endpoint(service, handler, ollama=ollama), methods=["GET"])

    routes = [
        post("/v1/chat/completions", openai_requests.read_chat, openai_chat.chat_completions),
        post("/v1/completions", openai_requests.read_completions, openai_completions.completions),
        post("/v1/responses", openai_requests.read_responses, openai_responses.responses),
        get("/v1/models", information.openai_models),
        get("/v1/models/{name:path}", information.openai_model),
        post("/api/chat", ollama_requests.read_chat, ollama_api.chat, ollama=True),
        post("/api/generate", ollama_requests.read_generate, ollama_api.generate, ollama=True),
        post("/api/show", ollama_requests.read_show, ollama_api.show, ollama=True),
        get("/api/tags", ollama_api.tags, ollama=True),
        get("/api/ps", ollama_api.running, ollama=True),
        get("/api/version", ollama_api.version, ollama=True),
        get("/health", information.health),
        get("/ready", information.ready),
        get("/openapi.json", information.description),
        Route("/metrics", _metrics(service), methods=["GET"]),
        Route("/", information.greeting, methods=["GET"]),
        Route("/docs", information.docs_page, methods=["GET"]),
    ]
    middleware = [Middleware(_Keys, service=service)]
    if service.settings.cors_origins:
        cors = Middleware(
            CORSMiddleware,
            allow_origins=list(service.settings.cors_origins),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type", "x-api-key", "x-request-id"],
            expose_headers=["x-request-id", "retry-after"],
        )
        middleware.insert(0, cors)  # a browser's preflight carries no key
    application = Starlette(routes=routes, middleware=middleware, lifespan=lifespan, exception_handlers={HTTPException: _routing_error})
    application.router.redirect_slashes = False
    application.state.service = service
    return application


class _Keys:
    """Refuses requests without an accepted key, before anything of them is read."""

    def __init__(self, application: ASGIApp, service: Service) -> None:
        self._application = application
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in _OPEN_PATHS:
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
            if not self._service.authorised(headers):
                error = ApiError(401, "the API key is missing or not accepted: send Authorization: Bearer KEY", code="invalid_api_key")
                body = error.ollama() if scope["path"].startswith("/api/") else error.openai()
                await send_json(send, 401, body, {"www-authenticate": "Bearer"})
                return
        await self._application(scope, receive, send)


def _metrics(service: Service) -> Any:
    from scansion.server.metrics import CONTENT_TYPE

    async def metrics(_: Request) -> Response:
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)

    return metrics


async def _routing_error(request: Request, error: Exception) -> Response:
    """Unknown paths and wrong methods, in the shape of the API they are nearest to."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    path = request.url.path
    if status == 405:
        told = ApiError(405, f"{request.method} is not answered at {path[:200]}: see /docs", code="method_not_allowed")
    else:
        told = ApiError(404, f"there is nothing at {path[:200]}: see /docs", code="not_found")
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return JSONResponse(told.ollama() if path.startswith("/api/") else told.openai(), status_code=told.status, headers=headers)
