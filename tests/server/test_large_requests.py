"""What is large is worked on in other processes, with the same outcome."""

from __future__ import annotations

import asyncio
import json
import signal

import httpx
import pytest
from tests.server.stand_in_upstream import StandInUpstream

from scansion.server.compile_pool import Compiled, CompilePool
from scansion.server.nursery import Nursery
from scansion.server.recipes import Recipe
from scansion.server.worker_pool import Allowance

CHAT = "/v1/chat/completions"
PADDING = "x" * 40_000
WORDS = [f"word {number}" for number in range(6000)]


def large(**more):
    return {"messages": [{"role": "user", "content": PADDING}], **more}


def named(schema):
    return {"type": "json_schema", "json_schema": {"name": "out", "schema": schema}}


def tool(name, parameters):
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, large(response_format=named({"const": 2.5}))),
        ("/v1/completions", {"prompt": PADDING, "json_schema": {"const": 2.5}}),
        ("/v1/responses", {"input": PADDING, "text": {"format": {"type": "json_schema", "schema": {"const": 2.5}}}}),
        ("/api/chat", {"model": "m", "messages": large()["messages"], "format": {"const": 2.5}, "stream": False}),
        ("/api/generate", {"model": "m", "prompt": PADDING, "format": {"const": 2.5}, "stream": False}),
    ],
)
def test_large_bodies_are_answered(stand_in, monkeypatch, path, body):
    read_elsewhere = []
    work = stand_in.service.reader.work

    async def spy(request, allowance):
        read_elsewhere.append(request[0])
        return await work(request, allowance)

    monkeypatch.setattr(stand_in.service.reader, "work", spy)
    answer = httpx.post(stand_in.url + path, json=body, timeout=30)
    assert answer.status_code == 200, answer.text
    assert "2.5" in answer.text  # the schema reached the masks
    assert read_elsewhere == ["read"]


@pytest.mark.parametrize(
    ("body", "status", "code", "param"),
    [
        (json.dumps(large(temprature=1)), 400, "unknown_parameter", "temprature"),
        (json.dumps(large())[:-1] + ', "n": 1, "n": 2}', 400, "duplicate_key", None),
        (json.dumps(large())[:-1], 400, "invalid_json", None),
        ("[" * 100_000, 400, "nesting_limit", None),
        (json.dumps(large(n="three")), 400, "invalid_type", "n"),
        (json.dumps(large(response_format=named({"enum": ["x" * 100] * 12_000}))), 413, "grammar_too_large", None),
        (json.dumps(large(stop=["a"] * 20_000)), 400, "invalid_value", "stop"),
        (json.dumps(large(logit_bias={"one": 1})), 400, "invalid_value", "logit_bias"),
        (json.dumps(large(tools=[tool("f", {}), tool("g", {"type": "array"})])), 400, "invalid_value", "tools.1.function.parameters.type"),
    ],
)
def test_large_bodies_are_refused_as_small_ones_are(stand_in, body, status, code, param):
    answer = httpx.post(stand_in.url + CHAT, content=body, headers={"content-type": "application/json"}, timeout=30)
    assert answer.status_code == status, answer.text[:300]
    error = answer.json()["error"]
    assert error["code"] == code
    assert error["message"]
    assert param is None or error["param"] == param


@pytest.mark.parametrize("encoding", ["gzip", "br", "x"])
def test_encoded_bodies_are_refused_by_name(stand_in, encoding):
    answer = httpx.post(stand_in.url + CHAT, content=b"\x1f\x8b", headers={"content-encoding": encoding})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "unsupported_encoding")
    assert encoding in error["message"]


def test_a_heavy_grammar_is_checked_elsewhere(running, monkeypatch):
    from scansion.server.application import create_application
    from scansion.server.upstream_backend import UpstreamBackend

    upstream = StandInUpstream()
    with running(upstream.application) as other, running(create_application(UpstreamBackend([other.url]))) as front:

        def ask(pieces):
            body = {"messages": [{"role": "user", "content": json.dumps({"pieces": pieces})}], "response_format": named({"enum": WORDS})}
            return httpx.post(front.url + CHAT, json=body, timeout=30)

        with monkeypatch.context() as patch:
            patch.setattr(Compiled, "grammar", None)  # loaded here, it would fail
            good = ask(['"word', " 59", '99"'])
            assert good.status_code == 200, good.text
            assert good.json()["x_scansion"]["complete"] is True
            bad = ask(['"word', " 5", 'x"'])
            assert (bad.status_code, bad.json()["error"]["code"], bad.json()["error"]["offset"]) == (502, "upstream_left_grammar", 7)
            short = ask(['"word', " 5"])
            assert (short.status_code, short.json()["error"]["code"]) == (502, "upstream_left_grammar")


def test_checks_continue_and_begin_again(run_async):
    async def use():
        nursery = Nursery(1024)
        pool = CompilePool(nursery)
        await pool.start()
        try:
            who = Allowance("a")
            compiled = await pool.compile(Recipe("json_schema", json.dumps({"enum": WORDS})), who)
            assert compiled.heavy
            found = [await pool.checked(compiled, text, who) for text in (b'"word 1', b'"word 11"', b'"work', b'"word 7"')]
            assert found == [(7, False), (9, True), (4, False), (8, True)]
            small = await pool.compile(Recipe("json_schema", '{"type": "integer"}'), who)
            assert not small.heavy
        finally:
            await pool.close()
            await nursery.close()

    run_async(use())


def test_time_is_counted_over_all_pieces_of_work(run_async):
    async def use():
        nursery = Nursery(1024)
        pool = CompilePool(nursery, seconds=20)
        await pool.start()
        try:
            allowance = pool.allowance("a")
            compiled = await pool.compile(Recipe("regex", "a+"), allowance)
            assert 0 < allowance.seconds < 20
            allowance.seconds = 0.0
            with pytest.raises(Exception, match="takes more than 20 s"):
                await pool.written(compiled, "gbnf", allowance)
        finally:
            await pool.close()
            await nursery.close()

    run_async(use())


def test_the_process_workers_come_from_may_end(run_async):
    async def use():
        nursery = Nursery(1024)
        pool = CompilePool(nursery, workers=1, seconds=0.5)
        await pool.start()
        try:
            nursery._process.send_signal(signal.SIGKILL)
            await asyncio.sleep(0.2)
            for number in range(4):  # each is killed, and replaced by one out of a new nursery
                choices = [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(4000)]
                with pytest.raises(Exception, match="takes more than"):
                    await pool.compile(Recipe("json_schema", json.dumps({"allOf": choices, "title": str(number)})), Allowance("a"))
            await asyncio.wait_for(pool.compile(Recipe("regex", "a+"), Allowance("a")), 20)
        finally:
            await pool.close()
            await nursery.close()

    run_async(use())
