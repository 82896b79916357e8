"""The official Ollama client, sync and async, streaming and not, against the embedded model and a real llama-server."""

from __future__ import annotations

import json

import pytest

ollama = pytest.importorskip("ollama")
pydantic = pytest.importorskip("pydantic")

pytestmark = pytest.mark.model

ASK = [{"role": "user", "content": "Name a city and how far away it is."}]
GREEDY = {"temperature": 0, "repeat_penalty": 1.0, "num_predict": 80}


class Trip(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    city: str = pydantic.Field(max_length=20)
    km: int = pydantic.Field(ge=1, le=999)


TOOL = {"type": "function", "function": {"name": "look_up", "description": "Find a trip.", "parameters": Trip.model_json_schema()}}


@pytest.fixture(params=["embedded", "gateway"])
def url(request):
    return request.getfixturevalue(request.param).url


@pytest.fixture
def client(url):
    return ollama.Client(host=url)


def test_what_there_is(client):
    names = [model.model for model in client.list().models]
    assert "m" in names
    assert client.show("m").capabilities
    assert client.ps().models


@pytest.mark.parametrize("temperature", [0, 1])
def test_schema(client, temperature):
    answer = client.chat("m", messages=ASK, format=Trip.model_json_schema(), options={**GREEDY, "temperature": temperature, "seed": 4})
    Trip.model_validate_json(answer.message.content)
    assert answer.done_reason == "stop"
    assert answer.eval_count > 0


def test_stream_equals_the_whole(client):
    settings = {"messages": ASK, "format": Trip.model_json_schema(), "options": GREEDY}
    whole = client.chat("m", **settings).message.content
    parts = list(client.chat("m", **settings, stream=True))
    assert "".join(part.message.content for part in parts) == whole
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]


def test_json_mode(client):
    answer = client.generate("m", prompt="A cat as JSON.", format="json", options={**GREEDY, "num_predict": 100})
    if answer.done_reason == "stop":
        assert isinstance(json.loads(answer.response), dict)
    else:
        assert answer.response.startswith("{")


def test_empty_format_is_free_text(client):
    answer = client.chat("m", messages=ASK, format="", options={**GREEDY, "num_predict": 8})
    assert answer.message.content


def test_generate(client):
    answer = client.generate("m", prompt="A trip.", system="Be brief.", format=Trip.model_json_schema(), options=GREEDY)
    Trip.model_validate_json(answer.response)
    parts = client.generate("m", prompt="One, two, ", raw=True, options={**GREEDY, "num_predict": 5}, stream=True)
    assert "".join(part.response for part in parts)


def test_tools(client):
    answer = client.chat("m", messages=[{"role": "user", "content": "Look up a trip."}], tools=[TOOL], options=GREEDY)
    for call in answer.message.tool_calls or ():
        assert call.function.name == "look_up"
    assert answer.message.content or answer.message.tool_calls


def test_async(url, run_async):
    async def ask():
        client = ollama.AsyncClient(host=url)
        whole = await client.chat("m", messages=ASK, format=Trip.model_json_schema(), options=GREEDY)
        parts = [part async for part in await client.chat("m", messages=ASK, format=Trip.model_json_schema(), options=GREEDY, stream=True)]
        return whole.message.content, "".join(part.message.content for part in parts)

    whole, streamed = run_async(ask())
    assert whole == streamed
    Trip.model_validate_json(whole)


def test_errors(client):
    with pytest.raises(ollama.ResponseError) as caught:
        client.chat("m", messages=ASK, options={"temprature": 1})
    assert caught.value.status_code == 400
    assert "temperature" in caught.value.error
