"""Stand-ins for llama-server, vLLM and Ollama, each with its own paths, chunks and errors. Their answers are what the last message
says: a JSON script.

{"pieces": ["{", "}"], "wait": 0.0, "pause": 0.0, "finish": "stop", "cut": false, "fail": null, "status": 200, "error": null}

The shapes are those of llama-server b11549, vLLM 0.11 (``/version``, chunks with ``stop_reason``, errors as ``ErrorResponse``) and
Ollama 0.12 (lines of JSON, ``done_reason``, errors as ``{"error": text}``).

``python stand_in_upstream.py KIND PORT`` is one in a process of its own, to be killed.
"""

from __future__ import annotations

import asyncio
import json
import sys

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

KINDS = ("llama-server", "vllm", "ollama")


class StandInUpstream:
    """``application`` for a server; ``requests`` are the bodies that came; ``open`` streams are being written."""

    def __init__(self, kind: str = "llama-server", *, lark: bool = False) -> None:
        self.kind = kind
        self.requests: list[dict] = []
        self.open = 0
        self._lark = lark
        models = Route("/v1/models", lambda _: JSONResponse({"object": "list", "data": [{"id": "stand-in", "max_model_len": 2048}]}))
        openai = [models, Route("/v1/chat/completions", self._chat, methods=["POST"])]
        routes = {
            "llama-server": [
                Route("/props", lambda _: JSONResponse({"default_generation_settings": {"n_ctx": 512}, "build_info": "b1-test"})),
                Route("/health", lambda _: JSONResponse({"status": "ok"})),
                *openai,
            ],
            "vllm": [
                Route("/version", lambda _: JSONResponse({"version": "0.11.0"})),
                Route("/health", lambda _: Response()),
                *openai,
            ],
            "ollama": [
                Route("/api/version", lambda _: JSONResponse({"version": "0.12.3"})),
                Route("/api/tags", lambda _: JSONResponse({"models": [{"name": "stand-in", "model": "stand-in", "size": 1}]})),
                Route("/api/chat", self._chat, methods=["POST"]),
            ],
        }
        opened = Route("/open", lambda _: JSONResponse(self.open))
        self.application = Starlette(routes=[*routes[kind], opened])

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
        media_type = "application/x-ndjson" if self.kind == "ollama" else "text/event-stream"
        return StreamingResponse(self._events(script), media_type=media_type)

    async def _events(self, script):
        write = self._ollama if self.kind == "ollama" else self._openai
        self.open += 1
        try:
            await asyncio.sleep(script.get("wait", 0))
            for piece in write(script):
                yield piece
                await asyncio.sleep(script.get("pause", 0))
                if piece == self._cut:
                    raise ConnectionResetError
        finally:
            self.open -= 1

    _cut = b""

    def _openai(self, script):
        def event(value):
            return f"data: {json.dumps(value)}\n\n".encode()

        def chunk(delta, finish=None):
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            if self.kind == "vllm" and finish:
                choice["stop_reason"] = None
            return event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "stand-in", "choices": [choice]})

        yield chunk({"role": "assistant", "content": "" if self.kind == "vllm" else None})
        for piece in script["pieces"]:
            yield chunk({"content": piece})
        if script.get("fail"):
            error = {"message": script["fail"], "type": "InternalServerError", "param": None, "code": 500}
            yield event({"error": error}) if self.kind == "vllm" else f"error: {json.dumps(error)}\n\n".encode()
        elif script.get("cut"):
            yield self._cut
        else:
            yield chunk({}, script.get("finish", "stop"))
            usage = {"prompt_tokens": 5, "total_tokens": 5 + len(script["pieces"]), "completion_tokens": len(script["pieces"])}
            yield event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"

    def _ollama(self, script):
        def line(text, **more):
            head = {"model": "stand-in", "created_at": "2026-01-01T00:00:00.000000Z"}
            return json.dumps({**head, "message": {"role": "assistant", "content": text}, "done": False, **more}).encode() + b"\n"

        for piece in script["pieces"]:
            yield line(piece)
        if script.get("fail"):
            yield json.dumps({"error": script["fail"]}).encode() + b"\n"
            return
        if script.get("cut"):
            yield self._cut
        counts = {"total_duration": 9, "load_duration": 1, "prompt_eval_count": 5, "prompt_eval_duration": 2, "eval_duration": 6}
        yield line("", done=True, done_reason=script.get("finish", "stop"), eval_count=len(script["pieces"]), **counts)


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(StandInUpstream(sys.argv[1]).application, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
