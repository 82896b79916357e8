"""The event stream of ``/v1/responses``: every item is announced, grows, and is closed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from scansion.server.backend import LogprobEntry, Outcome
from scansion.server.choices import End, Event, TextDelta
from scansion.server.errors import ApiError
from scansion.server.exchange import json_bytes
from scansion.server.openai_shapes import logprob_entries
from scansion.server.tool_stream import CallArguments, CallStart

__all__ = ["ResponseEvents", "error_event", "output_items", "response_usage"]


def error_event(error: ApiError) -> bytes:
    """How the stream tells of an error."""
    body = error.openai()["error"]
    return _event("error", {"type": "error", **{key: value for key, value in body.items() if key != "type"}, "error": body})


def response_usage(outcome: Outcome) -> dict[str, Any]:
    """``usage`` under the names of this API."""
    return {
        "input_tokens": outcome.prompt_tokens,
        "input_tokens_details": {"cached_tokens": outcome.cached_tokens},
        "output_tokens": outcome.tokens,
        "output_tokens_details": {"reasoning_tokens": outcome.reasoning_tokens},
        "total_tokens": outcome.prompt_tokens + outcome.tokens,
    }


def output_items(
    request_id: str, reasoning: str, content: str, calls: Sequence[tuple[CallStart, str]], logprobs: Iterable[LogprobEntry] = ()
) -> list[dict[str, Any]]:
    """The array ``output`` of a whole answer."""
    items: list[dict[str, Any]] = []
    if reasoning:
        items.append(_reasoning_item(request_id, reasoning, "completed"))
    if content or not calls:
        items.append(_message_item(request_id, content, "completed", logprob_entries(logprobs)))
    items += [_call_item(start, arguments, "completed") for start, arguments in calls]
    return items


class ResponseEvents:
    """Turns events of one answer into the stream's. ``items`` grows as items are closed."""

    def __init__(self, base: Mapping[str, Any]) -> None:
        self._base = base
        self._request_id = str(base["id"]).removeprefix("resp_")
        self._sequence = 0
        self._open: str | None = None
        self._text: list[str] = []
        self._logprobs: list[dict[str, Any]] = []
        self._call: CallStart | None = None
        self.items: list[dict[str, Any]] = []
        self.end: End | None = None

    def opening(self) -> Iterator[bytes]:
        """What comes before anything is written."""
        yield self._event("response.created", response=self._base)
        yield self._event("response.in_progress", response=self._base)

    def write(self, item: Event) -> Iterator[bytes]:
        """The stream's events for one of the answer's."""
        if isinstance(item, TextDelta):
            if item.reasoning:
                yield from self._switch("reasoning")
                yield self._grow("response.reasoning_text.delta", item.reasoning, content_index=0)
            if item.content:
                yield from self._switch("message")
                entries = logprob_entries(item.logprobs)
                self._logprobs += entries
                yield self._grow("response.output_text.delta", item.content, content_index=0, logprobs=entries)
        elif isinstance(item, CallStart):
            yield from self._close_item()
            self._call = item
            yield from self._switch("call")
        elif isinstance(item, CallArguments):
            yield self._grow("response.function_call_arguments.delta", item.text)
        else:
            self.end = item
            if not self.items and self._open is None:
                yield from self._switch("message")
            yield from self._close_item()

    def close(self, response: Mapping[str, Any]) -> Iterator[bytes]:
        """The last event."""
        yield self._event("response.completed" if response["status"] == "completed" else "response.incomplete", response=response)

    def _switch(self, kind: str) -> Iterator[bytes]:
        if self._open == kind:
            return
        yield from self._close_item()
        self._open = kind
        self._text, self._logprobs = [], []
        item = self._item("in_progress")
        if kind == "message":
            item["content"] = []
        yield self._event("response.output_item.added", output_index=len(self.items), item=item)
        if kind == "message":
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            yield self._event("response.content_part.added", item_id=item["id"], output_index=len(self.items), content_index=0, part=part)

    def _grow(self, kind: str, text: str, **fields: Any) -> bytes:
        self._text.append(text)
        return self._event(kind, item_id=self._item("in_progress")["id"], output_index=len(self.items), delta=text, **fields)

    def _close_item(self) -> Iterator[bytes]:
        if self._open is None:
            return
        kind, text = self._open, "".join(self._text)
        item = self._item("incomplete" if self.end is not None and self.end.finish_reason == "length" else "completed")
        place = {"item_id": item["id"], "output_index": len(self.items)}
        if kind == "message":
            yield self._event("response.output_text.done", **place, content_index=0, text=text, logprobs=self._logprobs)
            yield self._event("response.content_part.done", **place, content_index=0, part=item["content"][0])
        elif kind == "reasoning":
            yield self._event("response.reasoning_text.done", **place, content_index=0, text=text)
        else:
            yield self._event("response.function_call_arguments.done", **place, name=item["name"], arguments=text)
        yield self._event("response.output_item.done", output_index=len(self.items), item=item)
        self.items.append(item)
        self._open = None

    def _item(self, status: str) -> dict[str, Any]:
        text = "".join(self._text)
        if self._open == "call" and self._call is not None:
            return _call_item(self._call, text, status)
        if self._open == "reasoning":
            return _reasoning_item(self._request_id, text, status)
        return _message_item(self._request_id, text, status, self._logprobs)

    def _event(self, kind: str, **fields: Any) -> bytes:
        self._sequence += 1
        return _event(kind, {"type": kind, "sequence_number": self._sequence - 1, **fields})


def _event(kind: str, value: Mapping[str, Any]) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + json_bytes(value) + b"\n\n"


def _message_item(request_id: str, text: str, status: str, logprobs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": list(logprobs)}
    return {"id": f"msg_{request_id}", "type": "message", "role": "assistant", "status": status, "content": [part]}


def _reasoning_item(request_id: str, text: str, status: str) -> dict[str, Any]:
    return {
        "id": f"rs_{request_id}",
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": text}],
        "status": status,
    }


def _call_item(start: CallStart, arguments: str, status: str) -> dict[str, Any]:
    return {
        "id": f"fc_{start.id.removeprefix('call_')}",
        "type": "function_call",
        "call_id": start.id,
        "name": start.name,
        "arguments": arguments,
        "status": status,
    }
