"""Sends the validation requests to any OpenAI-compatible server and says which were honoured, ignored or broken."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from scansion.errors import RequestError
from scansion.grammar import Grammar
from scansion.server.json_mode import JSON_MODE_GBNF
from scansion.server.validation_requests import REQUESTS, ServerRequest
from scansion.vocabulary import Vocabulary

__all__ = ["Verdict", "validate_server"]

HONOURED, REFUSED, IGNORED, BROKEN = "honoured", "refused", "ignored", "broken"


@dataclass(frozen=True)
class Verdict:
    """How one request went: ``honoured``, ``refused`` (clearly, with a 4xx), ``ignored`` or ``broken``."""

    name: str
    verdict: str
    text: str
    seconds: float


@dataclass
class _Answer:
    """One choice, put together."""

    content: str = ""
    arguments: str = ""
    tool: str = ""
    finish_reason: str | None = None


def validate_server(
    url: str, *, model: str | None = None, key: str | None = None, timeout: float = 120.0, seen: Callable[[Verdict], None] | None = None
) -> list[Verdict]:
    """Send every request and judge the answers.

    Args:
        url: root of the server, with or without ``/v1``.
        model: None: the first the server lists.
        key: its API key.
        timeout: seconds for one request.
        seen: called with each verdict as it comes.

    Raises:
        RequestError: the server cannot be reached, or lists no model and none was named.
    """
    root = url.rstrip("/").removesuffix("/v1")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    verdicts: list[Verdict] = []
    with httpx.Client(base_url=root, headers=headers, timeout=httpx.Timeout(timeout, connect=5), trust_env=False) as client:
        chosen = model or _first_model(client)
        for request in REQUESTS:
            started = time.monotonic()
            try:
                verdict, text = _judge(client, chosen, request)
            except httpx.HTTPError as error:
                verdict, text = BROKEN, f"no answer ({type(error).__name__})"
            verdicts.append(Verdict(request.name, verdict, text, time.monotonic() - started))
            if seen is not None:
                seen(verdicts[-1])
    return verdicts


def _first_model(client: httpx.Client) -> str:
    try:
        listed = client.get("/v1/models")
        models = [entry["id"] for entry in listed.json()["data"]]
    except httpx.HTTPError as error:
        raise RequestError(
            f"{client.base_url} cannot be reached ({type(error).__name__}): start the server, or correct the address"
        ) from None
    except (ValueError, KeyError, TypeError):
        way = "give its key with --key-file" if listed.status_code in (401, 403) else "name one with --model"
        raise RequestError(f"{client.base_url} lists no models ({listed.status_code}): {way}") from None
    if not models:
        raise RequestError(f"{client.base_url} lists no models: name one with --model")
    return str(models[0])


def _judge(client: httpx.Client, model: str, request: ServerRequest) -> tuple[str, str]:
    body = {"model": model, "messages": request.messages, "max_tokens": 200, "temperature": 0, **request.body}
    with client.stream("POST", "/v1/chat/completions", json=body) as response:
        if response.status_code >= 400:
            return _judge_refusal(request, response)
        if request.refused:
            response.close()
            return IGNORED, "answered, though the request says nothing the answer could keep to"
        try:
            answers = _streamed(response) if body.get("stream") else _whole(json.loads(response.read()))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            return BROKEN, f"the answer is not of the API's shape ({type(error).__name__}: {str(error)[:80]})"
    wanted = int(body.get("n", 1))
    if len(answers) != wanted:
        return BROKEN, f"{len(answers)} answers instead of {wanted}"
    for answer in answers:
        problem = _problem(request, answer)
        if problem:
            return IGNORED, problem
    shown = answers[0].arguments or answers[0].content
    return HONOURED, " ".join(shown.split())[:60]


def _judge_refusal(request: ServerRequest, response: httpx.Response) -> tuple[str, str]:
    data = response.read()
    try:
        error = json.loads(data)["error"]
        message = error["message"] if isinstance(error, dict) else str(error)
    except (ValueError, KeyError, TypeError):
        return BROKEN, f"status {response.status_code} without an error in JSON"
    if response.status_code >= 500:
        return BROKEN, f"status {response.status_code}: {message[:100]}"
    return (HONOURED if request.refused else REFUSED), f"status {response.status_code}: {message[:100]}"


def _whole(value: Mapping[str, Any]) -> list[_Answer]:
    answers = []
    for choice in value["choices"]:
        message = choice["message"]
        calls = message.get("tool_calls") or [{}]
        function = calls[0].get("function", {})
        answers.append(
            _Answer(message.get("content") or "", function.get("arguments", ""), function.get("name", ""), choice["finish_reason"])
        )
    return answers


def _streamed(response: httpx.Response) -> list[_Answer]:
    answers: dict[int, _Answer] = {}
    for line in response.iter_lines():
        if not line.startswith("data:") or line[5:].strip() == "[DONE]":
            continue
        value = json.loads(line[5:])
        if "error" in value:
            raise ValueError(str(value["error"])[:200])
        for choice in value["choices"]:
            answer = answers.setdefault(choice["index"], _Answer())
            delta = choice.get("delta") or {}
            answer.content += delta.get("content") or ""
            for call in delta.get("tool_calls") or ():
                function = call.get("function") or {}
                answer.tool += function.get("name") or ""
                answer.arguments += function.get("arguments") or ""
            answer.finish_reason = choice.get("finish_reason") or answer.finish_reason
    return [answers[index] for index in sorted(answers)]


def _problem(request: ServerRequest, answer: _Answer) -> str:
    """What an answer does wrong, or ""."""
    text = answer.content
    if request.tool:
        if answer.tool != request.tool:
            return f"no call of {request.tool}: {text[:60]!r}"
        text = answer.arguments
    if request.cut and answer.finish_reason == "length":
        return ""
    if request.schema == {"type": "object"}:
        # Keys that repeat are no offence against plain JSON.
        grammar = Grammar.from_gbnf(JSON_MODE_GBNF)
        if not text.lstrip().startswith("{"):
            return f"not a JSON object: {text[:60]!r}"
    elif request.schema is not None:
        grammar = Grammar.from_json_schema(request.schema, whitespace="flexible", property_order="any", spelling="any", integers="any")
    else:
        grammar = Grammar.from_regex(request.grammar)
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=[256])
    matcher = grammar.compile(vocabulary).matcher()
    data = text.encode()
    good = matcher.bytes_accepted(data)
    if good < len(data):
        return f"leaves the constraint at byte {good}: {text[:60]!r}"
    matcher.accept_bytes(data)
    if matcher.is_complete:
        return ""
    if answer.finish_reason == "length":
        return "" if data.strip() else "empty, and cut"
    return f"not whole, yet finish_reason is {answer.finish_reason!r}: {text[-40:]!r}"
