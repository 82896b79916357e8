"""A stand-in for llama-server whose answers are what the last message says: a JSON script.

{"pieces": ["{", "}"], "wait": 0.0, "pause": 0.0, "finish": "stop", "cut": false, "status": 200, "error": null}
"""

from __future__ import annotations

import asyncio
import json

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route


class StandInUpstream:
    """``application`` for a server; ``requests`` are the bodies that came; ``open`` streams are being written."""

    def __init__(self, *, lark: bool = False) -> None:
        self.requests: list[dict] = []
        self.open = 0
        self._lark = lark
        self.application = Starlette(
            routes=[
                Route("/props", self._props),
                Route("/health", lambda _: JSONResponse({"status": "ok"})),
                Route("/v1/models", lambda _: JSONResponse({"data": [{"id": "stand-in"}]})),
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
            ]
        )

    async def _props(self, _: Request) -> Response:
        return JSONResponse({"default_generation_settings": {"n_ctx": 512}, "build_info": "b1-test"})

    async def _chat(self, request: Request) -> Response:
        body = await request.json()
        if body.get("verbose"):
            grammar = "%llguidance {}" if self._lark else "root ::= x"
            return JSONResponse({"choices": [], "__verbose": {"generation_settings": {"grammar": grammar}}})
        self.requests.append(body)
        script = json.loads(body["messages"][-1]["content"])
        if script.get("status", 200) != 200:
            error = script.get("error")
            if isinstance(error, str):
                return Response(error, status_code=script["status"])
            return JSONResponse({"error": error}, status_code=script["status"])
        return StreamingResponse(self._events(script), media_type="text/event-stream")

    async def _events(self, script):
        def event(value):
            return f"data: {json.dumps(value)}\n\n".encode()

        self.open += 1
        try:
            await asyncio.sleep(script.get("wait", 0))
            for piece in script["pieces"]:
                yield event({"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]})
                await asyncio.sleep(script.get("pause", 0))
            if script.get("cut"):
                raise ConnectionResetError
            yield event({"choices": [{"index": 0, "delta": {}, "finish_reason": script.get("finish", "stop")}]})
            yield event({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": len(script["pieces"])}})
            yield b"data: [DONE]\n\n"
        finally:
            self.open -= 1
