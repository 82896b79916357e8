"""Another server that writes text, over HTTP: what it is, whether it is well, and its answers as they stream.

Nothing here knows of constraints; ``server/upstream_backend`` says what to send and checks what comes back.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from scansion.errors import ModelError

__all__ = ["UPSTREAM_KINDS", "UpstreamError", "UpstreamFacts", "UpstreamServer"]

UPSTREAM_KINDS = ("llama-server", "vllm", "ollama", "scansion", "openai")

_CONNECT_SECONDS = 5.0
_PROBE_SECONDS = 15.0
_MAX_ERROR_BODY = 64 << 10
_MAX_LINE = 8 << 20


class UpstreamError(ModelError):
    """A request to an upstream failed.

    Attributes:
        status: the upstream's HTTP status, or None where there was no answer.
        code: ``upstream_unreachable``, ``upstream_timeout``, ``upstream_stream_broken``, ``upstream_error`` or what the upstream says.
        body: what the upstream said, parsed where it was JSON.
        before_answer: nothing of an answer had come: the same request may be sent elsewhere.
    """

    def __init__(self, message: str, *, code: str, status: int | None = None, body: Any = None, before_answer: bool = True) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.body = body
        self.before_answer = before_answer


@dataclass(frozen=True)
class UpstreamFacts:
    """What an upstream said of itself.

    Attributes:
        kind: one of ``UPSTREAM_KINDS``.
        build: its version, or "".
        models: names of its models.
        context: tokens a request may hold, or 0.
        takes_lark: grammars may be Lark after ``%llguidance``.
    """

    kind: str
    build: str = ""
    models: tuple[str, ...] = ()
    context: int = 0
    takes_lark: bool = False


class UpstreamServer:
    """One upstream. Use from one event loop; ``close`` ends its connections."""

    def __init__(self, url: str, *, kind: str = "auto", key: str | None = None, silence: float = 300.0) -> None:
        """
        Args:
            url: its root (``http://127.0.0.1:8080``); a trailing ``/v1`` is dropped.
            kind: one of ``UPSTREAM_KINDS``, or ``auto`` to ask it.
            key: sent as a bearer token.
            silence: seconds without a byte after which an answer is given up.

        Raises:
            ModelError: not an HTTP URL, or a key no header can hold.
        """
        self.url = url.rstrip("/").removesuffix("/v1")
        try:
            parsed = httpx.URL(self.url)
        except httpx.InvalidURL:
            parsed = httpx.URL("")
        if parsed.scheme not in ("http", "https") or not parsed.host or not 0 < (parsed.port or 80) < 1 << 16:
            raise ModelError(f"{url!r} is no upstream: give its address as http://HOST:PORT")
        if key is not None and not (key.isascii() and key.isprintable()):
            raise ModelError("the upstream's API key holds characters a header cannot: give it as printable ASCII")
        self._kind = kind
        self.facts: UpstreamFacts | None = None
        self.in_flight = 0
        self._silence = silence
        self._client = httpx.AsyncClient(
            base_url=self.url,
            headers={"authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(silence, connect=_CONNECT_SECONDS, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=20),
            follow_redirects=False,
            trust_env=False,
        )

    async def close(self) -> None:
        """End all connections."""
        await self._client.aclose()

    async def probe(self) -> UpstreamFacts:
        """Ask what it is and which models it has. No tokens are generated.

        Raises:
            UpstreamError: it cannot be reached or does not answer as any known kind.
        """
        kind = await self._ask_kind() if self._kind == "auto" else self._kind
        if kind == "llama-server":
            facts = await self._llama_server()
        elif kind == "ollama":
            found = await self.get_json("/api/tags")
            models = _names(found.get("models"), "name")
            facts = UpstreamFacts(kind, build=str((await self.get_json("/api/version")).get("version", "")), models=models)
        elif kind == "scansion":
            build = str((await self.get_json("/health")).get("version", ""))
            facts = UpstreamFacts(kind, build=build, models=await self._openai_models(), takes_lark=True)
        else:
            build = str((await self.get_json("/version")).get("version", "")) if kind == "vllm" else ""
            facts = UpstreamFacts(kind, build=build, models=await self._openai_models())
        self.facts = facts
        return facts

    async def _ask_kind(self) -> str:
        for path, member, kind in (
            ("/props", "default_generation_settings", "llama-server"),
            ("/api/version", "scansion", "scansion"),  # speaks Ollama's API too
            ("/api/version", "version", "ollama"),
            ("/version", "version", "vllm"),
        ):
            try:
                if member in await self.get_json(path):
                    return kind
            except UpstreamError as error:
                if error.status is None:
                    raise
        return "openai"

    async def _llama_server(self) -> UpstreamFacts:
        props = await self.get_json("/props")
        settings = props.get("default_generation_settings")
        context = settings.get("n_ctx", 0) if isinstance(settings, dict) else 0
        previous = self.facts
        build = str(props.get("build_info", ""))
        # Asked once for each build: the answer costs a forward pass.
        takes_lark = previous.takes_lark if previous is not None and previous.build == build else await self._takes_lark()
        return UpstreamFacts(
            "llama-server", build=build, models=await self._openai_models(), context=context if isinstance(context, int) else 0,
            takes_lark=takes_lark,
        )  # fmt: skip

    async def _takes_lark(self) -> bool:
        """Whether a llama-server was built with llguidance. Sending it Lark to find out would end a build without (it
        aborts), so it is asked what it makes of a schema: with llguidance, a grammar that starts with ``%llguidance``."""
        try:
            answer = await self.post_json(
                "/v1/chat/completions",
                {
                    "messages": [{"role": "user", "content": "1"}],
                    "max_tokens": 1,
                    "verbose": True,
                    "response_format": {"type": "json_schema", "json_schema": {"name": "probe", "schema": {"type": "boolean"}}},
                },
            )
        except UpstreamError:
            return False
        verbose = answer.get("__verbose")
        settings = verbose.get("generation_settings") if isinstance(verbose, dict) else None
        grammar = settings.get("grammar") if isinstance(settings, dict) else None
        return isinstance(grammar, str) and grammar.startswith("%llguidance")

    async def _openai_models(self) -> tuple[str, ...]:
        found = await self.get_json("/v1/models")
        return _names(found.get("data"), "id")

    async def healthy(self) -> bool:
        """It answers at all, and is not loading its model."""
        kind = self.facts.kind if self.facts is not None else self._kind
        path = {"llama-server": "/health", "vllm": "/health", "scansion": "/ready", "ollama": "/api/version"}.get(kind, "/v1/models")
        try:
            response = await self._client.get(path, timeout=_CONNECT_SECONDS)
        except httpx.HTTPError:
            return False
        return response.status_code < 500

    # -- requests ----------------------------------------------------------------------------------------------------

    async def get_json(self, path: str) -> dict[str, Any]:
        """A JSON object.

        Raises:
            UpstreamError: also where the answer is no JSON object.
        """
        return await self._json("GET", path, None)

    async def post_json(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A JSON object in answer to one.

        Raises:
            UpstreamError: also where the answer is no JSON object.
        """
        return await self._json("POST", path, body)

    async def _json(self, method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        try:
            response = await self._client.request(method, path, json=body, timeout=_PROBE_SECONDS)
        except httpx.HTTPError as error:
            raise self._failure(error, before_answer=True) from None
        if response.status_code >= 400:
            raise _refusal(response.status_code, response.content)
        try:
            value = response.json()
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise UpstreamError(
                f"the upstream {self.url} answers {path} with something else than a JSON object", code="upstream_error", status=502
            )
        return value

    @asynccontextmanager
    async def stream(self, path: str, body: Mapping[str, Any]) -> AsyncGenerator[AsyncGenerator[str]]:
        """Post, and give the lines of the answer as they come. Leaving the block ends the request at the upstream.

        Raises:
            UpstreamError: on entry what went wrong before any answer; from the lines what broke later.
        """
        self.in_flight += 1
        try:
            request = self._client.build_request("POST", path, json=body)
            try:
                response = await self._client.send(request, stream=True)
            except httpx.HTTPError as error:
                raise self._failure(error, before_answer=True) from None
            try:
                if response.status_code >= 400:
                    raise _refusal(response.status_code, await self._error_body(response))
                if (problem := _no_stream(response)) is not None:
                    message = f"the upstream {self.url} answers {path} with {problem}: is this the address of its API?"
                    raise UpstreamError(message, code="upstream_error", status=502)
                yield self._lines(response)
            finally:
                await response.aclose()
        finally:
            self.in_flight -= 1

    async def _lines(self, response: httpx.Response) -> AsyncGenerator[str]:
        try:
            held = ""
            async for text in response.aiter_text():
                *lines, held = (held + text).split("\n")
                for line in lines:
                    yield line.rstrip("\r")
                if len(held) > _MAX_LINE:
                    raise UpstreamError("the upstream sent a line without end", code="upstream_stream_broken", before_answer=False)
            if held:
                yield held
        except httpx.HTTPError as error:
            raise self._failure(error, before_answer=False) from None

    async def _error_body(self, response: httpx.Response) -> bytes:
        data = b""
        try:
            async for piece in response.aiter_bytes():
                data += piece
                if len(data) > _MAX_ERROR_BODY:
                    break
        except httpx.HTTPError:
            pass  # the status is known; the words are lost
        return data

    def _failure(self, error: httpx.HTTPError, *, before_answer: bool) -> UpstreamError:
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return UpstreamError(f"the upstream {self.url} cannot be reached", code="upstream_unreachable", before_answer=True)
        if isinstance(error, httpx.TimeoutException):
            return UpstreamError(
                f"the upstream {self.url} was silent for {self._silence:g} s", code="upstream_timeout", status=504, before_answer=False
            )
        message = f"the connection to the upstream {self.url} broke ({type(error).__name__})"
        return UpstreamError(message, code="upstream_stream_broken", before_answer=before_answer)


def _no_stream(response: httpx.Response) -> str | None:
    """What a good answer is instead of a stream."""
    if response.status_code != 200:
        return f"status {response.status_code}"
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return "a page of HTML" if kind == "text/html" else None


def _names(entries: object, member: str) -> tuple[str, ...]:
    """Names in a list of models, which may be null where there are none."""
    if not isinstance(entries, list):
        return ()
    return tuple(str(entry[member]) for entry in entries if isinstance(entry, dict) and member in entry)


def _refusal(status: int, data: bytes) -> UpstreamError:
    """An error answer, with the words the upstream used."""
    text = data.decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    message, code = text.strip()[:500], "upstream_error"
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict):
            message = str(inner.get("message") or inner.get("detail") or message)
            code = inner["code"] if isinstance(inner.get("code"), str) else code
        elif isinstance(inner, str):
            message = inner
    return UpstreamError(message or f"the upstream answered {status}", code=code, status=status, body=body)
