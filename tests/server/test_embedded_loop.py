"""The thread that writes all answers of the embedded model: what fails or goes away in one leaves the others alone."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import httpx
import pytest

from scansion.errors import ModelError
from scansion.models.base import Feed
from scansion.server.backend import Job
from scansion.server.embedded import EmbeddedBackend, _divided
from scansion.server.errors import ApiError

CHAT = "/v1/chat/completions"


def ask(content, **more):
    return {"messages": [{"role": "user", "content": content}], "temperature": 0, "max_tokens": 8, **more}


def wait_for(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert condition()


@pytest.fixture
def backend(embedded):
    return embedded.service.backend


@pytest.mark.model
def test_what_fails_for_all_together_is_tried_for_each_alone(backend, post, monkeypatch):
    alone = [post(CHAT, ask(text)).json()["choices"][0]["message"]["content"] for text in ("One.", "Two.")]
    forward, failed = backend._model.forward, []

    def refuse(feeds):
        if len(feeds) > 1:
            failed.append(len(feeds))
            raise ModelError("too much at once")
        return forward(feeds)

    monkeypatch.setattr(backend._model, "forward", refuse)
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda text: post(CHAT, ask(text)), ("One.", "Two.")))
    assert [answer.json()["choices"][0]["message"]["content"] for answer in answers] == alone
    assert failed


@pytest.mark.model
def test_one_failing_run_ends_alone(backend, post, monkeypatch, caplog):
    new_run = backend._new_run

    def spoiled(job):
        run = new_run(job)
        if job.max_tokens == 7:
            run.take = lambda logits: 1 // 0
        return run

    monkeypatch.setattr(backend, "_new_run", spoiled)
    with ThreadPoolExecutor(2) as pool:
        good, bad = pool.map(lambda tokens: post(CHAT, ask("Hello.", max_tokens=tokens)), (20, 7))
    assert good.status_code == 200
    assert (bad.status_code, bad.json()["error"]["code"]) == (500, "internal_error")
    assert "ZeroDivisionError" in caplog.text
    assert post(CHAT, ask("Again.")).status_code == 200


@pytest.mark.model
def test_a_client_that_goes_away_frees_its_sequence(backend, embedded):
    with httpx.stream("POST", embedded.url + CHAT, json=ask("Tell a story.", max_tokens=1500, stream=True), timeout=60) as stream:
        assert next(stream.iter_lines()).startswith("data:")
        assert backend._active
    wait_for(lambda: not backend._active and not embedded.service.queue.held, 5)
    # Also in the middle of a prompt, which is read in parts.
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(embedded.url + CHAT, json=ask("word " * 1800), timeout=0.5)
    wait_for(lambda: not backend._active and not embedded.service.queue.held, 15)
    assert all(not slot.open for slot in backend._model._slots)


@pytest.mark.model
def test_a_long_prompt_in_parts_gives_the_same_answer(backend, post):
    from scansion.generation import generate

    text = "The harbour was quiet, and " * 40 + "then"
    answer = post("/v1/completions", {"prompt": text, "temperature": 0, "max_tokens": 8}).json()
    assert answer["usage"]["prompt_tokens"] > 200
    assert answer["choices"][0]["text"] == generate(backend._model, text, raw=True, max_tokens=8).content


@pytest.mark.model
def test_a_prompt_that_does_not_fit_is_refused_before_its_turn(backend, post, monkeypatch):
    monkeypatch.setattr(backend, "_begin", lambda ticket: pytest.fail("it came to the thread"))
    answer = post(CHAT, ask("word " * 100_000))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")


def test_a_feed_is_divided_before_what_is_wanted_of_it():
    feed = Feed(object(), list(range(200)), 3)
    now, later = _divided(feed)
    assert (now.tokens, now.rows, later.tokens, later.rows) == (feed.tokens[:64], 1, feed.tokens[64:], 3)
    short = Feed(object(), list(range(66)), 3)
    assert _divided(short) == (short, None)


def test_when_the_thread_ends_everybody_is_told(caplog):
    model = SimpleNamespace(name="x", lock=threading.RLock(), close=lambda: None)
    backend = EmbeddedBackend(model, sequences=1)
    entered = threading.Event()

    def broken():
        entered.wait(5)
        raise ValueError("broken")

    backend._turn = broken
    job = Job("id", "x", None, "p", 5)

    async def scenario():
        await backend.start()
        waiting = asyncio.create_task(anext(backend.generate(job, "c", None)))
        await asyncio.sleep(0.05)
        entered.set()
        for task in (waiting, anext(backend.generate(job, "c", None))):
            with pytest.raises(ApiError) as told:
                await asyncio.wait_for(task, 5)
            assert (told.value.status, told.value.code) == (503, "shutting_down")
        assert await backend.ready() == "the model is not running"
        await backend.close()

    asyncio.run(scenario())
    assert "broken" in caplog.text
