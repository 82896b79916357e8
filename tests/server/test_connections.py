"""Connections that misbehave, and what is told to those that are open when the server ends."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from tests.server.stand_in_backend import StandInBackend

from scansion.errors import RequestError
from scansion.server.application import create_application
from scansion.server.settings import ServerSettings

CHAT = "/v1/chat/completions"
ASK = {"messages": [{"role": "user", "content": "x"}]}


def connect(server):
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def request(body, length=None, more=b""):
    length = len(body) if length is None else length
    return b"POST " + CHAT.encode() + b" HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n" % length + more + b"\r\n" + body


def answer(connection):
    data = b""
    while piece := connection.recv(65536):
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def wait_for(condition, seconds=5.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()


@pytest.fixture
def protocol():
    pytest.importorskip("httptools")
    from scansion.server.http_protocol import GatewayProtocol

    return GatewayProtocol


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + bytes(32),
        b"FETCH / HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\ncontent-length: many\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_http_gets_a_json_error(running, protocol, data):
    with running(create_application(StandInBackend()), http=protocol) as server, connect(server) as connection:
        connection.sendall(data)
        status, body = answer(connection)
    assert status in (400, 404, 405)
    assert set(body["error"]) == {"message", "type", "param", "code"}


def test_heads_are_bounded(running, protocol):
    from scansion.server.http_protocol import MAX_HEAD

    with running(create_application(StandInBackend()), http=protocol) as server:
        with connect(server) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\n")
            time.sleep(0.05)
            for _ in range(MAX_HEAD // 1000 + 2):
                connection.sendall(b"x-many: " + b"a" * 990 + b"\r\n")
            status, body = answer(connection)
        assert (status, body["error"]["code"]) == (431, "headers_too_large")
        with connect(server) as connection:  # a large body is no head
            connection.sendall(request(b"x" * 3 * MAX_HEAD, more=b"connection: close\r\n"))
            assert answer(connection)[1]["error"]["code"] == "invalid_json"


def test_a_client_that_leaves_in_the_middle_of_its_request(running, caplog):
    caplog.set_level(logging.INFO)
    with running(create_application(StandInBackend())) as server:
        with connect(server) as connection:
            connection.sendall(request(b'{"messages"', length=1000))
            time.sleep(0.1)
        wait_for(lambda: "499" in caplog.text)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_body_that_does_not_come(running):
    with running(create_application(StandInBackend(), ServerSettings(client_silence=0.2))) as server, connect(server) as connection:
        connection.sendall(request(b'{"messages"', length=1000))
        status, body = answer(connection)
    assert (status, body["error"]["code"]) == (408, "body_timeout")


def test_a_client_that_does_not_read_loses_its_place(running, protocol, caplog):
    caplog.set_level(logging.INFO)
    backend = StandInBackend(slots=1, answers=["y" * 30_000_000, "ok"])
    settings = ServerSettings(client_silence=0.3)
    with running(create_application(backend, settings), http=protocol) as server, connect(server) as connection:
        connection.sendall(request(json.dumps({**ASK, "stream": True}).encode()))
        wait_for(lambda: backend.running)
        assert httpx.post(server.url + CHAT, json=ASK, timeout=10).json()["choices"][0]["message"]["content"] == "ok"
        read = 0
        while piece := connection.recv(1 << 20):
            read += len(piece)
        assert 0 < read < 25_000_000  # dropped with what was not read
    assert backend.running == 0
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


SERVE = """
from tests.server.stand_in_backend import StandInBackend
from scansion.server.serving import serve
from scansion.server.settings import ServerSettings
serve(StandInBackend(pause=30, pieces=2), ServerSettings(drain_seconds=0.3, keep_alive=0.1), host="localhost", port=0)
"""


def test_what_is_not_done_when_the_server_ends_is_told_so(tmp_path):
    log = tmp_path / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE],
            stderr=sink,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
    try:
        wait_for(lambda: re.search(r"running on (http://\S+)", log.read_text()), 30)
        url = re.search(r"running on (http://\S+)", log.read_text()).group(1)
        whole, stream, ollama, half = (socket.create_connection(("localhost", int(url.rsplit(":", 1)[1])), timeout=10) for _ in range(4))
        whole.sendall(request(json.dumps(ASK).encode()))
        stream.sendall(request(json.dumps({**ASK, "stream": True}).encode()))
        ollama.sendall(request(json.dumps({**ASK, "model": "m"}).encode()).replace(CHAT.encode(), b"/api/chat"))
        half.sendall(request(b'{"', length=1000))
        assert stream.recv(65536).startswith(b"HTTP/1.1 200")
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        status, body = answer(whole)
        assert (status, body["error"]["code"]) == (503, "shutting_down")
        assert answer(half)[1]["error"]["code"] == "shutting_down"
        status, body = answer(ollama)
        assert (status, body["code"]) == (503, "shutting_down")
        rest = b""
        while piece := stream.recv(65536):
            rest += piece
        assert b'"code":"shutting_down"' in rest
        assert rest.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        assert not [line for line in lines if line["level"] == "error" or "exception" in line]
    finally:
        process.kill()
        process.wait()


def test_a_port_in_use_is_named():
    from scansion.server.serving import serve

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RequestError, match=f"port {port} .*--port"):
            serve(StandInBackend(), ServerSettings(), host="127.0.0.1", port=port)
    with pytest.raises(RequestError, match="--host"):
        serve(StandInBackend(), ServerSettings(api_keys=["k"]), host="203.0.113.7", port=0)


def test_settings_no_clock_can_wait_for():
    for settings in ({"drain_seconds": float("inf")}, {"deadline": float("nan")}, {"cors_origins": ["page.example"]}):
        with pytest.raises(RequestError, match=r"must be|no origin"):
            ServerSettings(**settings)
