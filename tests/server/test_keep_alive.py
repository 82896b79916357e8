"""Streams that are silent for long keep their connections."""

from __future__ import annotations

import json

import httpx
import pytest
from tests.server.stand_in_backend import StandInBackend
from tests.server.stand_in_upstream import StandInUpstream

from scansion.errors import RequestError
from scansion.server.application import create_application
from scansion.server.settings import ServerSettings
from scansion.server.upstream_backend import UpstreamBackend

QUICK = ServerSettings(keep_alive=0.1)
MESSAGES = [{"role": "user", "content": "x"}]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": MESSAGES}),
        ("/v1/completions", {"prompt": "x"}),
        ("/v1/responses", {"input": "x"}),
    ],
)
def test_silence_is_broken_by_comments(running, path, body):
    with running(create_application(StandInBackend(pause=0.45, pieces=2), QUICK)) as server:
        answer = httpx.post(server.url + path, json={**body, "stream": True}, timeout=20)
    lines = [line for line in answer.text.splitlines() if line]
    assert answer.status_code == 200
    first = next(index for index, line in enumerate(lines) if not line.startswith(":"))
    assert 2 <= first <= 5  # before the first piece
    assert any(line.startswith(":") for line in lines[first:])  # and between two
    assert lines[-1].startswith("data: ")
    for line in lines:
        assert line.startswith((":", "data: ", "event: "))


def test_lines_of_json_have_no_comments(running):
    with running(create_application(StandInBackend(pause=0.3), QUICK)) as server:
        answer = httpx.post(server.url + "/api/chat", json={"model": "m", "messages": MESSAGES}, timeout=20)
    assert json.loads(answer.text.splitlines()[-1])["done"] is True
    assert all(json.loads(line) for line in answer.text.splitlines())


def test_the_official_client_sees_nothing_of_it(running):
    openai = pytest.importorskip("openai")
    with running(create_application(StandInBackend(pause=0.3, pieces=2), QUICK)) as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
        pieces = [
            chunk.choices[0].delta.content or "" for chunk in client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        ]
    assert "".join(pieces) == "xok"


def test_an_error_after_a_comment_is_an_event(running):
    upstream = StandInUpstream()
    with running(upstream.application) as other, running(create_application(UpstreamBackend([other.url], silence=0.4), QUICK)) as front:
        script = json.dumps({"pieces": ["a"], "wait": 2})
        body = {"messages": [{"role": "user", "content": script}], "stream": True}
        answer = httpx.post(front.url + "/v1/chat/completions", json=body, timeout=20)
    lines = [line for line in answer.text.splitlines() if line]
    assert answer.status_code == 200
    assert lines[0].startswith(":")
    assert json.loads(lines[-2].removeprefix("data: "))["error"]["code"] == "upstream_timeout"
    assert lines[-1] == "data: [DONE]"


def test_the_time_must_be_positive():
    with pytest.raises(RequestError, match="keep_alive"):
        ServerSettings(keep_alive=0)
