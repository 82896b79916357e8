"""What the gateway costs: delay added to a structured request, many streams at once, and hostile schemas beside others.

    python benchmarks/server.py [--seconds 10] [--rate 100] [--streams 500] [--stream-seconds 60]

Three processes on the loopback interface: an upstream that answers at once, the gateway, and this one asking. Delay is
measured in pairs, the same request to the upstream and through the gateway in turn. Prints a table; JSON with --json.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import httpx

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "km": {"type": "integer", "minimum": 1, "maximum": 999}},
    "required": ["city", "km"],
    "additionalProperties": False,
}
ANSWER = ['{"city": ', '"Oslo"', ', "km": ', "120}"]
CHAT = "/v1/chat/completions"
BODY = {
    "model": "instant",
    "messages": [{"role": "user", "content": "A trip."}],
    "response_format": {"type": "json_schema", "json_schema": {"name": "trip", "schema": SCHEMA}},
}


def upstream_application(stream_seconds: float):
    """A stand-in for llama-server: at once, or for a prompt that says ``slow`` a piece every half second."""
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, StreamingResponse
    from starlette.routing import Route

    def event(value):
        return f"data: {json.dumps(value)}\n\n".encode()

    def piece(text, finish=None):
        return event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]})

    async def chat(request):
        body = await request.json()
        if body.get("verbose"):
            return JSONResponse({"choices": []})
        slow = body["messages"][-1]["content"] == "slow"

        async def events():
            if slow:
                ends = time.monotonic() + stream_seconds
                while time.monotonic() < ends:
                    yield piece("word ")
                    await asyncio.sleep(0.5)
            else:
                for text in ANSWER:
                    yield piece(text)
            yield piece("", "stop")
            yield event({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 4}})
            yield b"data: [DONE]\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    return Starlette(
        routes=[
            Route("/props", lambda _: JSONResponse({"default_generation_settings": {"n_ctx": 4096}, "build_info": "bench"})),
            Route("/health", lambda _: JSONResponse({"status": "ok"})),
            Route("/v1/models", lambda _: JSONResponse({"data": [{"id": "instant"}]})),
            Route(CHAT, chat, methods=["POST"]),
        ]
    )


@contextlib.contextmanager
def process(arguments):
    """A server process; its URL is what it logs."""
    with tempfile.NamedTemporaryFile() as log:
        server = subprocess.Popen([sys.executable, *arguments], stderr=log)
        try:
            for _ in range(300):
                found = re.search(r"running on (http://127\.0\.0\.1:[0-9]+)", Path(log.name).read_text())
                if found:
                    break
                time.sleep(0.1)
            else:
                raise SystemExit(Path(log.name).read_text())
            yield server, found.group(1)
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _collect_no_garbage():
    """What is measured is the gateway: a full collection in a stand-in or in the process that asks looks like a slow answer."""
    gc.collect()
    gc.freeze()
    gc.disable()


def quantiles(times):
    ordered = sorted(times)
    return {"p50": statistics.median(ordered) * 1e3, "p99": ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1e3}


async def timed(client, url, body):
    started = time.perf_counter()
    answer = await client.post(url + CHAT, json=body)
    seconds = time.perf_counter() - started
    if answer.status_code != 200:
        raise RuntimeError(answer.text)
    return seconds


async def added_delay(upstream, gateway, rate, seconds):
    """Paired requests at a fixed rate: gateway minus upstream."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=200)
    async with httpx.AsyncClient(timeout=30, limits=limits, trust_env=False) as client:
        await timed(client, gateway, BODY)
        direct, through = [], []
        tasks = []

        async def one(url, into, body):
            into.append(await timed(client, url, body))

        begin = time.perf_counter()
        direct_body = {**BODY, "stream": True}
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, begin + number / rate - time.perf_counter()))
            tasks.append(asyncio.create_task(one(gateway, through, BODY)))
            if number % 4 == 0:  # the upstream alone, now and then, under the same load
                tasks.append(asyncio.create_task(one(upstream, direct, direct_body)))
        await asyncio.gather(*tasks)
    base, full = quantiles(direct), quantiles(through)
    return {"upstream": base, "gateway": full, "added": {key: full[key] - base[key] for key in base}, "requests": len(through)}


async def many_streams(gateway, count, pid):
    """Streams at once: errors, and the gateway's memory at the beginning and at the end."""

    def memory():
        return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()).group(1)) / 1024

    limits = httpx.Limits(max_connections=None)
    errors = 0
    body = {"model": "instant", "messages": [{"role": "user", "content": "slow"}], "stream": True}
    samples = []
    async with httpx.AsyncClient(timeout=120, limits=limits, trust_env=False) as client:

        async def one():
            nonlocal errors
            try:
                await asyncio.sleep(random.random() * 2)
                async with client.stream("POST", gateway + CHAT, json=body) as answer:
                    last = ""
                    async for line in answer.aiter_lines():
                        last = line or last
                    errors += answer.status_code != 200 or last != "data: [DONE]"
            except httpx.HTTPError:
                errors += 1

        async def watch():
            while True:
                samples.append(memory())
                await asyncio.sleep(2)

        watcher = asyncio.create_task(watch())
        await asyncio.gather(*(one() for _ in range(count)))
        watcher.cancel()
    settled = samples[len(samples) // 4 :] or samples
    return {"streams": count, "errors": errors, "memory_mib": {"after_start": settled[0], "end": settled[-1], "max": max(samples)}}


def hostile_bodies():
    """Requests of about a megabyte, no two the same: what cannot be compiled in time, what can but is large, and what is only long."""
    chat = {"model": BODY["model"], "messages": BODY["messages"]}

    def schema(value):
        return {**chat, "response_format": {"type": "json_schema", "schema": value}}

    number = 0
    while True:
        number += 1
        word = str(number)
        yield schema({"allOf": [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(14_000)], "title": word})
        yield schema({"properties": {f"p{i}": {"pattern": f"^(a|b)*a(a|b){{{i % 60}}}$"} for i in range(18_000)}, "title": word})
        pattern = f"(a{{1,1000}}){{1,1000}}{'b' * number}" + "|(x*y)*z" * 110_000
        yield {**chat, "response_format": {"type": "regex", "pattern": pattern}}
        yield {**chat, "grammar": "root ::= " + " ".join(["[a-z]{0,1999}"] * 60_000) + f' "{word}"'}
        lark = "start: a0\n" + "".join(f'a{i}: a{i + 1} a{i + 1} | "x"\n' for i in range(30_000)) + f'a30000: "{word}"\n'
        yield {**chat, "response_format": {"type": "lark", "grammar": lark}}
        parameters = {"type": "object", "properties": {f"p{i}": {"enum": [word, *range(i % 9)]} for i in range(220)}}
        yield {**chat, "tools": [{"type": "function", "function": {"name": f"f{i}", "parameters": parameters}} for i in range(96)]}
        yield schema({"enum": [f"value {word} {i}" for i in range(45_000)]})
        yield schema({"properties": {f"{word}p{i}": {"type": "string", "maxLength": i % 50} for i in range(18_000)}})
        yield {**chat, "metadata": [[[[[[word, {}]]]]] for _ in range(60_000)]}
        yield schema({"const": [[{"a": [[]]}] * 50_000, word]})


def attack(gateway, seconds):
    """Send hostile requests one after the other (in a process of its own)."""
    answered = []
    until = time.perf_counter() + seconds
    with httpx.Client(timeout=30, trust_env=False) as client:
        for body in hostile_bodies():
            data = json.dumps(body)
            started = time.perf_counter()
            answer = client.post(gateway + CHAT, content=data)
            answered.append((time.perf_counter() - started, answer.status_code))
            if time.perf_counter() > until:
                break
    return answered


async def beside_hostile(gateway, seconds):
    """Twenty clients with ordinary requests, quiet and while another sends hostile ones."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=30, limits=limits, trust_env=False) as client:

        async def ordinary(into, until):
            await asyncio.sleep(random.random() * 0.2)
            while time.perf_counter() < until:
                into.append(await timed(client, gateway, BODY))
                await asyncio.sleep(0.2 + random.random() * 0.2)

        quiet, loud = [], []
        with ProcessPoolExecutor(1) as pool:
            pool.submit(int).result()  # the process is there before anything is measured
            until = time.perf_counter() + seconds
            await asyncio.gather(*(ordinary(quiet, until) for _ in range(20)))
            attacking = asyncio.get_running_loop().run_in_executor(pool, attack, gateway, seconds)
            until = time.perf_counter() + seconds
            await asyncio.gather(*(ordinary(loud, until) for _ in range(20)))
            answered = await attacking
    slowest = max(seconds for seconds, _ in answered)
    return {
        "quiet": quantiles(quiet),
        "beside_hostile": quantiles(loud),
        "hostile": {"requests": len(answered), "slowest_s": round(slowest, 2), "statuses": sorted({status for _, status in answered})},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--stream-seconds", type=float, default=60)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--upstream", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.upstream:
        import logging

        import uvicorn

        logging.basicConfig(format="%(message)s", level=logging.INFO)
        _collect_no_garbage()
        uvicorn.run(upstream_application(options.stream_seconds), host="127.0.0.1", port=0, log_config=None, access_log=False)
        return
    _collect_no_garbage()
    own = [str(Path(__file__).resolve()), "--upstream", "--stream-seconds", str(options.stream_seconds)]
    with process(own) as (_, upstream), process(["-m", "scansion", "serve", "--port", "0", "--upstream", upstream]) as (server, gateway):
        result = {
            "cores": len(os.sched_getaffinity(0)),
            "added_delay_ms": asyncio.run(added_delay(upstream, gateway, options.rate, options.seconds)),
            "hostile_ms": asyncio.run(beside_hostile(gateway, 2 * options.seconds)),
            "streams": asyncio.run(many_streams(gateway, options.streams, server.pid)),
        }
    delay = result["added_delay_ms"]
    print(f"{'':28}{'p50 ms':>10}{'p99 ms':>10}")
    for name in ("upstream", "gateway", "added"):
        print(f"{name:28}{delay[name]['p50']:10.2f}{delay[name]['p99']:10.2f}")
    for name in ("quiet", "beside_hostile"):
        print(f"20 clients, {name:16}{result['hostile_ms'][name]['p50']:10.2f}{result['hostile_ms'][name]['p99']:10.2f}")
    print(f"hostile: {result['hostile_ms']['hostile']}")
    print(f"streams: {result['streams']}")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
