"""The same promises in front of every kind of upstream, through stand-ins that speak its own format."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from tests.server.stand_in_upstream import KINDS, StandInUpstream

from scansion.server.application import create_application
from scansion.server.settings import ServerSettings
from scansion.server.upstream_backend import UpstreamBackend

CHAT = "/v1/chat/completions"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
FORMAT = {"type": "json_schema", "json_schema": {"name": "out", "schema": SCHEMA}}
ENFORCED = {"llama-server": "upstream grammar", "vllm": "upstream schema", "ollama": "upstream schema"}


@pytest.fixture(scope="module", params=KINDS)
def pair(request, running):
    """A stand-in and the gateway in front of it."""
    upstream = StandInUpstream(request.param)
    with running(upstream.application) as other:
        backend = UpstreamBackend([other.url], silence=1.0)
        with running(create_application(backend, ServerSettings(deadline=5))) as front:
            yield upstream, front


def body_of(script, **more):
    return {"messages": [{"role": "user", "content": json.dumps(script)}], **more}


def ask(front, script, **more):
    return httpx.post(front.url + CHAT, json=body_of(script, **more), timeout=20)


def streamed(front, script, **more):
    answer = ask(front, script, stream=True, **more)
    assert answer.status_code == 200, answer.text
    return [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]


def test_it_is_recognised(pair):
    upstream, front = pair
    assert front.service.backend._servers[0].facts.kind == upstream.kind
    answer = ask(front, {"pieces": ["hel", "lo"]}).json()
    assert answer["choices"][0]["message"]["content"] == "hello"
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["prompt_tokens"] == 5
    assert answer["usage"]["completion_tokens"] == 2
    assert answer["x_scansion"]["upstream"]["kind"] == upstream.kind


def test_a_schema_is_sent_in_its_words_and_the_answer_checked(pair):
    upstream, front = pair
    answer = ask(front, {"pieces": ['{"a"', ": 1}"]}, response_format=FORMAT, temperature=0.5, seed=3, max_tokens=9).json()
    sent = upstream.requests[-1]
    if upstream.kind == "llama-server":
        assert sent["grammar"].startswith("root ::=")
    elif upstream.kind == "vllm":
        assert sent["structured_outputs"] == {"json": SCHEMA}
    else:
        assert sent["format"] == SCHEMA
        assert sent["options"] == {"temperature": 0.5, "seed": 3, "num_predict": 9}
    assert "response_format" not in sent
    assert answer["choices"][0]["message"]["content"] == '{"a": 1}'
    report = answer["x_scansion"]
    assert (report["enforced_by"], report["checked_by"], report["complete"]) == (ENFORCED[upstream.kind], "matcher", True)


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ('{"a": 1, "a": {"b": [1.5e3, "\\u0041", null]}}', True),  # JSON modes let keys repeat
        ("{}", True),
        ("[1]", False),
        ('{"a": 01}', False),
    ],
)
def test_json_mode(pair, text, good):
    upstream, front = pair
    answer = ask(front, {"pieces": [text[:5], text[5:]]}, response_format={"type": "json_object"})
    assert answer.status_code == (200 if good else 502), answer.text
    sent = upstream.requests[-1]
    assert "grammar" in sent or sent.get("format") == "json" or sent["structured_outputs"] == {"json_object": True}
    if good:
        assert answer.json()["choices"][0]["message"]["content"] == text


def test_a_stream_that_leaves_the_constraint_ends_in_an_error_event(pair):
    _, front = pair
    script = {"pieces": ['{"a": 1', ', "b": 2}']}
    events = streamed(front, script, response_format=FORMAT)
    assert events[-1]["error"]["code"] == "upstream_left_grammar"
    assert "".join(choice["delta"].get("content") or "" for event in events[:-1] for choice in event["choices"]) == '{"a": 1'
    whole = ask(front, script, response_format=FORMAT)
    assert (whole.status_code, whole.json()["error"]["code"]) == (502, "upstream_left_grammar")


def test_an_answer_that_ends_early_or_is_cut(pair):
    _, front = pair
    early = ask(front, {"pieces": ['{"a"']}, response_format=FORMAT)
    assert (early.status_code, early.json()["error"]["code"]) == (502, "upstream_left_grammar")
    cut = ask(front, {"pieces": ['{"a"'], "finish": "length"}, response_format=FORMAT).json()
    assert cut["choices"][0]["finish_reason"] == "length"
    assert cut["x_scansion"]["complete"] is False


@pytest.mark.parametrize("status", [400, 404, 429, 500, 503])
def test_errors_come_through_with_their_status_and_words(pair, status):
    upstream, front = pair
    words = 'the model said "no"'
    error = words if upstream.kind == "ollama" else {"message": words, "type": "BadRequestError", "param": None, "code": status}
    answer = ask(front, {"status": status, "error": json.dumps({"error": error})})
    assert answer.status_code == status
    told = answer.json()["error"]
    assert told["message"] == words
    assert told["upstream_error"] == error
    page = ask(front, {"status": status, "error": "<html>bad gateway</html>"})
    assert page.status_code == status
    assert page.json()["error"]["message"] == "<html>bad gateway</html>"


def test_an_error_of_the_older_flat_shape(pair):
    _, front = pair
    error = {"object": "error", "message": "too long", "type": "BadRequestError", "param": None, "code": 400}
    answer = ask(front, {"status": 400, "error": json.dumps(error)})
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, "too long")


def test_an_error_in_the_stream(pair):
    _, front = pair
    whole = ask(front, {"pieces": ["a"], "fail": "out of memory"})
    assert whole.status_code == 502
    assert "out of memory" in whole.json()["error"]["message"]
    events = streamed(front, {"pieces": ["a"], "fail": "out of memory"})
    assert "out of memory" in events[-1]["error"]["message"]


def test_broken_and_silent_streams(pair):
    _, front = pair
    broken = ask(front, {"pieces": ["abc"], "cut": True})
    assert (broken.status_code, broken.json()["error"]["code"]) == (502, "upstream_stream_broken")
    events = streamed(front, {"pieces": ["abc"], "cut": True})
    assert events[-1]["error"]["code"] == "upstream_stream_broken"
    silent = ask(front, {"pieces": ["a", "b"], "pause": 2})
    assert (silent.status_code, silent.json()["error"]["code"]) == (504, "upstream_timeout")


def test_what_it_cannot_be_told_is_refused_or_validated(pair):
    upstream, front = pair
    options = {"whitespace": "compact", "formats": "annotate"}
    if upstream.kind == "ollama":
        refused = ask(front, {"pieces": ["ab"]}, guided_regex="[ab]+")
        assert (refused.status_code, refused.json()["error"]["param"]) == (422, "guided_regex")
        assert ask(front, {"pieces": ["1"]}, json_schema={"type": "integer"}, scansion=options).status_code == 422
    else:
        assert ask(front, {"pieces": ["ab"]}, guided_regex="[ab]+").status_code == 200
        assert ask(front, {"pieces": ["1"]}, json_schema={"type": "integer"}, scansion=options).status_code == 200
    kept = ask(front, {"pieces": ["ab"]}, guided_regex="[ab]+", scansion={"on_unsupported": "validate"}).json()
    assert kept["choices"][0]["message"]["content"] == "ab"
    assert kept["x_scansion"]["enforced_by"] == ("validation" if upstream.kind == "ollama" else "upstream " + _form(upstream.kind))


def _form(kind):
    return "grammar" if kind == "llama-server" else "regex"


@pytest.mark.parametrize("kind", KINDS)
def test_no_accepted_request_is_lost_when_it_is_killed_and_started_again(running, kind):
    """Requests keep coming while the upstream goes and comes back: each is answered or told of an error, and none hangs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    async def use(url, go_down, come_up):
        async with httpx.AsyncClient(timeout=20) as client:

            async def one(number, pause=0.1):
                script = {"pieces": ["a"] * 10, "pause": pause}
                answer = await client.post(url + CHAT, json=body_of(script, stream=bool(number % 2)))
                if answer.status_code != 200:
                    return answer.json()["error"]["code"]
                if number % 2 == 0:
                    return answer.json()["choices"][0]["finish_reason"]
                events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
                last = events[-1]
                return last["error"]["code"] if "error" in last else last["choices"][0]["finish_reason"]

            first = [asyncio.create_task(one(number, pause=1)) for number in range(10)]
            async with asyncio.timeout(15):
                while (await client.get(f"{address}/open")).json() < len(first):
                    await asyncio.sleep(0.02)
            await asyncio.sleep(0.2)  # for what the streams begin with to come through
            await asyncio.to_thread(go_down)
            during = [asyncio.create_task(one(number)) for number in range(4)]
            await asyncio.gather(*during)
            await asyncio.to_thread(come_up)
            after = await asyncio.gather(*(one(number) for number in range(4)))
            return await asyncio.gather(*first), [task.result() for task in during], after

    address = f"http://127.0.0.1:{port}"
    processes = [_started(kind, port)]
    try:
        with running(create_application(UpstreamBackend([address]))) as front:

            def go_down():
                processes[-1].kill()
                processes[-1].wait()

            first, during, after = asyncio.run(use(front.url, go_down, lambda: processes.append(_started(kind, port))))
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert set(first) == {"upstream_stream_broken"}
    assert set(during) == {"upstream_unreachable"}
    assert set(after) == {"stop"}


def _started(kind, port):
    process = subprocess.Popen([sys.executable, str(Path(__file__).with_name("stand_in_upstream.py")), kind, str(port)])
    for _ in range(200):
        try:
            httpx.get(f"http://127.0.0.1:{port}/health")
        except httpx.ConnectError:
            time.sleep(0.05)
        else:
            break
    return process
