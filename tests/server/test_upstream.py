"""The gateway in front of a stand-in: what it is sent, what is checked, and what a client is told when things go wrong."""

from __future__ import annotations

import json
import socket
import time

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse
from starlette.routing import Route
from tests.server.stand_in_upstream import StandInUpstream

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
UNIQUE = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 2, "maxItems": 2}


def named(schema):
    return {"type": "json_schema", "json_schema": {"name": "out", "schema": schema}}


def ask(url, script, timeout=20, **more):
    body = {"messages": [{"role": "user", "content": json.dumps(script)}], **more}
    return httpx.post(f"{url}/v1/chat/completions", json=body, timeout=timeout)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def upstream(running):
    stand_in = StandInUpstream()
    with running(stand_in.application) as server:
        stand_in.url = server.url
        yield stand_in


@pytest.fixture(scope="module")
def front(running, upstream):
    from scansion.server.application import create_application
    from scansion.server.settings import ServerSettings
    from scansion.server.upstream_backend import UpstreamBackend

    backend = UpstreamBackend([upstream.url], silence=1.0)
    with running(create_application(backend, ServerSettings(deadline=5))) as server:
        yield server


def test_a_schema_goes_as_gbnf_and_comes_back_checked(front, upstream):
    answer = ask(front.url, {"pieces": ['{"a":', " 1}"]}, response_format=named(SCHEMA), temperature=0.5, seed=3).json()
    sent = upstream.requests[-1]
    assert "response_format" not in sent
    assert sent["grammar"].startswith("root ::=")
    assert (sent["temperature"], sent["seed"], sent["stream"]) == (0.5, 3, True)
    assert answer["choices"][0]["message"]["content"] == '{"a": 1}'
    report = answer["x_scansion"]
    assert (report["enforced_by"], report["checked_by"], report["complete"]) == ("upstream grammar", "matcher", True)
    assert report["upstream"] == {"kind": "llama-server", "build": "b1-test"}
    assert answer["usage"]["completion_tokens"] == 2


def test_an_answer_that_leaves_the_grammar(front):
    answer = ask(front.url, {"pieces": ['{"a": 1', ', "b": 2}']}, response_format=named(SCHEMA))
    assert answer.status_code == 502
    assert answer.json()["error"]["code"] == "upstream_left_grammar"
    with httpx.stream(
        "POST",
        f"{front.url}/v1/chat/completions",
        json={
            "messages": [{"role": "user", "content": json.dumps({"pieces": ['{"a": 1', ', "b": 2}']})}],
            "response_format": named(SCHEMA),
            "stream": True,
        },
    ) as stream:
        assert stream.status_code == 200
        events = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: {")]
    assert events[-1]["error"]["code"] == "upstream_left_grammar"
    assert "".join(choice["delta"].get("content", "") for event in events[:-1] for choice in event["choices"]) == '{"a": 1'


def test_an_answer_that_ends_too_early(front):
    answer = ask(front.url, {"pieces": ['{"a"']}, response_format=named(SCHEMA))
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_left_grammar")
    cut = ask(front.url, {"pieces": ['{"a"'], "finish": "length"}, response_format=named(SCHEMA)).json()
    assert cut["choices"][0]["finish_reason"] == "length"
    assert cut["x_scansion"]["complete"] is False


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_upstream_errors_come_through_as_json(front, status):
    error = {"code": status, "message": 'Failed: "x"', "type": "invalid_request_error"}
    answer = ask(front.url, {"status": status, "error": error})
    assert answer.status_code == status
    told = answer.json()["error"]
    assert told["message"] == 'Failed: "x"'
    assert told["upstream_error"] == error
    plain = ask(front.url, {"status": status, "error": "no JSON at all"})
    assert (plain.status_code, plain.json()["error"]["message"]) == (status, "no JSON at all")


@pytest.mark.parametrize(
    ("answer", "words"),
    [(RedirectResponse("http://127.0.0.1:9/"), "status 307"), (HTMLResponse("<h1>Please log in</h1>"), "a page of HTML")],
)
def test_an_address_that_is_not_the_api(running, answer, words):
    from scansion.server.application import create_application
    from scansion.server.upstream_backend import UpstreamBackend

    async def chat(_):
        return answer

    models = Route("/v1/models", lambda _: JSONResponse({"data": [{"id": "x"}]}))
    portal = Starlette(routes=[models, Route("/v1/chat/completions", chat, methods=["POST"])])
    with running(portal) as other, running(create_application(UpstreamBackend([other.url]))) as server:
        told = ask(server.url, {})
    assert told.status_code == 502
    assert words in told.json()["error"]["message"]


def test_why_no_upstream_answers_is_said(running, caplog):
    from scansion.server.application import create_application
    from scansion.server.settings import ServerSettings
    from scansion.server.upstream_backend import UpstreamBackend
    from scansion.server.upstream_doctor import examine_upstream

    nobody = f"http://127.0.0.1:{free_port()}"
    stand_in = StandInUpstream()
    with running(create_application(UpstreamBackend([nobody]), ServerSettings())) as server:
        told = ask(server.url, {}, model="x")
        assert (told.status_code, told.json()["error"]["code"]) == (503, "upstream_unreachable")
        assert nobody in told.json()["error"]["message"]
        assert nobody in httpx.get(server.url + "/ready").json()["error"]["message"]
    # The gateway that other tests share goes on looking at its own upstream meanwhile, and may find it slow.
    logged = [getattr(record, "fields", {}) for record in caplog.records]
    assert [fields["reason"] for fields in logged if "reason" in fields and fields["upstream"] == nobody] == [
        f"{nobody} does not answer, or is still loading"
    ]
    with running(stand_in.application) as behind:
        locked = create_application(UpstreamBackend([behind.url]), ServerSettings(api_keys=["k"]))
        with running(locked) as other:
            with running(create_application(UpstreamBackend([other.url]))) as server:
                assert "--upstream-key-file" in ask(server.url, {}).json()["error"]["message"]
                assert "--upstream-key-file" in examine_upstream(other.url)[-1].hint
            with running(create_application(UpstreamBackend([other.url], key="k"))) as server:
                assert ask(server.url, {"pieces": ["a"]}).status_code == 200


def test_a_stream_that_breaks(front):
    answer = ask(front.url, {"pieces": ["abc"], "cut": True})
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_stream_broken")


def test_a_silent_upstream(front):
    answer = ask(front.url, {"pieces": ["a", "b"], "pause": 3})
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "upstream_timeout")


def test_a_request_past_its_deadline(front):
    answer = ask(front.url, {"pieces": ["a"] * 40, "pause": 0.3})
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "deadline_exceeded")


def test_a_client_that_goes_away_frees_its_place(front, upstream):
    body = {"messages": [{"role": "user", "content": json.dumps({"pieces": ["a"] * 100, "pause": 0.05})}]}
    for streaming in (True, False):
        if streaming:
            with httpx.stream("POST", f"{front.url}/v1/chat/completions", json={**body, "stream": True}) as stream:
                assert next(stream.iter_lines()).startswith("data:")
        else:
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(f"{front.url}/v1/chat/completions", json=body, timeout=0.3)
        deadline = time.monotonic() + 3
        while (front.service.queue.held or upstream.open) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert front.service.queue.held == 0
        assert upstream.open == 0


def test_what_gbnf_cannot_say(front, upstream):
    refused = ask(front.url, {"pieces": ["[1, 2]"]}, response_format=named(UNIQUE))
    assert refused.status_code == 422
    error = refused.json()["error"]
    assert (error["keyword"], error["param"]) == ("uniqueItems", "response_format.json_schema.schema")
    assert "validate" in error["hint"] or "validate" in error["message"] or error["hint"]
    answer = ask(front.url, {"pieces": ["[1, ", "2]"]}, response_format=named(UNIQUE), scansion={"on_unsupported": "validate"})
    assert answer.status_code == 200
    assert answer.json()["x_scansion"]["enforced_by"] == "validation"
    assert upstream.requests[-1]["grammar"].startswith("root ::=")  # all but what it cannot be told
    before = len(upstream.requests)
    options = {"on_unsupported": "validate", "retries": 2}
    failed = ask(front.url, {"pieces": ["[1, 1]"]}, response_format=named(UNIQUE), scansion=options)
    assert (failed.status_code, failed.json()["error"]["code"]) == (422, "validation_failed")
    assert len(upstream.requests) - before == 3


def test_lark_where_the_build_takes_it(running):
    from scansion.server.application import create_application
    from scansion.server.upstream_backend import UpstreamBackend

    stand_in = StandInUpstream(lark=True)
    with running(stand_in.application) as server, running(create_application(UpstreamBackend([server.url]))) as front:
        assert front.service.backend._servers[0].facts.takes_lark


def test_what_an_upstream_cannot_do_is_said(front):
    for more, param in (
        ({"grammar": 'root ::= "a"', "scansion": {"mode": "assist"}}, "scansion.mode"),
        ({"scansion": {"friction": True}}, "scansion.friction"),
    ):
        answer = ask(front.url, {"pieces": ["a"]}, **more)
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


def test_reasoning_stays_apart_from_a_constrained_answer(front, upstream):
    pieces = ["<think>\nlet me", " see</thi", 'nk>\n\n{"a"', ": 7}"]
    answer = ask(front.url, {"pieces": pieces}, response_format=named(SCHEMA), reasoning_effort="low").json()
    message = answer["choices"][0]["message"]
    assert message["content"] == '{"a": 7}'
    assert message["reasoning_content"] == "let me see"
    assert upstream.requests[-1]["chat_template_kwargs"] == {"enable_thinking": True}
    assert "</think>" in upstream.requests[-1]["grammar"]


def test_several_upstreams_and_one_that_is_away(running, upstream):
    from scansion.server.application import create_application
    from scansion.server.upstream_backend import UpstreamBackend

    gone = f"http://127.0.0.1:{free_port()}"
    second = StandInUpstream()
    with running(second.application) as other:
        backend = UpstreamBackend([gone, upstream.url, other.url])
        with running(create_application(backend)) as front:
            for _ in range(4):
                assert ask(front.url, {"pieces": ["hi"]}).status_code == 200
            assert httpx.get(f"{front.url}/ready").status_code == 200
    backend = UpstreamBackend([gone], aliases={"m": "stand-in"})
    with running(create_application(backend)) as front:
        ready = httpx.get(f"{front.url}/ready")
        assert (ready.status_code, ready.json()["error"]["code"]) == (503, "not_ready")
        answer = ask(front.url, {"pieces": ["hi"]})
        assert answer.status_code in (502, 503)
        assert answer.json()["error"]["code"] in ("upstream_unreachable", "model_unknown")


def test_an_upstream_that_is_killed_and_started_again(running):
    from scansion.server.application import create_application
    from scansion.server.upstream_backend import UpstreamBackend

    port = free_port()
    with running(StandInUpstream().application, port) as server:
        front_running = running(create_application(UpstreamBackend([server.url])))
        front = front_running.__enter__()
        assert ask(front.url, {"pieces": ["hi"]}).status_code == 200
    try:
        answer = ask(front.url, {"pieces": ["hi"]})
        assert answer.status_code == 502
        assert answer.json()["error"]["code"] == "upstream_unreachable"
        with running(StandInUpstream().application, port):
            assert ask(front.url, {"pieces": ["hi"]}).status_code == 200
    finally:
        front_running.__exit__()
