"""The official OpenAI client, sync and async, streaming and not, against the embedded model and a real llama-server."""

from __future__ import annotations

import json

import pytest

openai = pytest.importorskip("openai")
pydantic = pytest.importorskip("pydantic")

pytestmark = pytest.mark.model

TRIP = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}, "km": {"type": "integer", "minimum": 1, "maximum": 999}},
    "required": ["city", "km"],
    "additionalProperties": False,
}
ASK = [{"role": "user", "content": "Name a city and how far away it is."}]
TOOL = {"type": "function", "function": {"name": "look_up", "description": "Find a trip.", "parameters": TRIP, "strict": True}}


class Trip(pydantic.BaseModel):
    city: str = pydantic.Field(max_length=20)
    km: int = pydantic.Field(ge=1, le=999)


@pytest.fixture(params=["embedded", "gateway"])
def server(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def client(server):
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", timeout=120, max_retries=0)


@pytest.fixture
def async_client(server):
    return openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", timeout=120, max_retries=0)


@pytest.fixture
def enforcer(server):
    """Who keeps the answer to its constraint there."""
    return "masks" if server.service.backend.kind == "embedded" else "upstream grammar"


def schema_format(schema=TRIP):
    return {"type": "json_schema", "json_schema": {"name": "trip", "schema": schema, "strict": True}}


def is_trip(text):
    value = json.loads(text)
    return set(value) == {"city", "km"} and isinstance(value["city"], str) and 1 <= value["km"] <= 999


def test_models(client):
    names = [model.id for model in client.models.list()]
    assert "m" in names
    assert client.models.retrieve(names[0]).id == names[0]
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("no such model")


def test_free_text(client):
    answer = client.chat.completions.create(model="m", messages=ASK, max_tokens=12, temperature=0)
    assert answer.choices[0].message.content
    assert answer.choices[0].finish_reason in ("stop", "length")
    assert answer.usage.completion_tokens <= 12
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer.x_scansion["constraint"] == "none"


@pytest.mark.parametrize("temperature", [0, 1])
def test_schema(client, enforcer, temperature):
    for seed in range(3):
        answer = client.chat.completions.create(
            model="m", messages=ASK, response_format=schema_format(), temperature=temperature, seed=seed, max_tokens=60
        )
        assert is_trip(answer.choices[0].message.content)
        assert answer.choices[0].finish_reason == "stop"
        assert answer.x_scansion["enforced_by"] == enforcer
        assert answer.x_scansion["complete"] is True


def test_streamed_schema_equals_the_whole(client):
    settings = {"model": "m", "messages": ASK, "response_format": schema_format(), "temperature": 0, "max_tokens": 60}
    whole = client.chat.completions.create(**settings).choices[0].message.content
    chunks = list(client.chat.completions.create(**settings, stream=True, stream_options={"include_usage": True}))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == whole
    assert chunks[-1].usage.completion_tokens > 0
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason] == ["stop"]
    assert chunks[0].choices[0].delta.role == "assistant"


def test_several_answers(client):
    answer = client.chat.completions.create(
        model="m", messages=ASK, response_format=schema_format(), n=3, temperature=1, seed=5, max_tokens=60
    )
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    assert all(is_trip(choice.message.content) for choice in answer.choices)
    texts: dict[int, str] = {}
    for chunk in client.chat.completions.create(
        model="m", messages=ASK, response_format=schema_format(), n=2, stream=True, temperature=1, seed=5, max_tokens=60
    ):
        for choice in chunk.choices:
            texts[choice.index] = texts.get(choice.index, "") + (choice.delta.content or "")
    assert sorted(texts) == [0, 1]
    assert all(map(is_trip, texts.values()))


def test_the_same_seed_gives_the_same_answer(client):
    settings = {"model": "m", "messages": ASK, "temperature": 1, "seed": 11, "max_tokens": 10}
    first, second = (client.chat.completions.create(**settings).choices[0].message.content for _ in range(2))
    assert first == second


def test_parse_into_a_pydantic_model(client, async_client, run_async):
    answer = client.chat.completions.parse(model="m", messages=ASK, response_format=Trip, temperature=0, max_tokens=60)
    assert isinstance(answer.choices[0].message.parsed, Trip)

    async def again():
        async with async_client:
            return await async_client.chat.completions.parse(model="m", messages=ASK, response_format=Trip, temperature=0, max_tokens=60)

    assert run_async(again()).choices[0].message.parsed == answer.choices[0].message.parsed


def test_stream_helper_with_a_pydantic_model(client):
    with client.chat.completions.stream(model="m", messages=ASK, response_format=Trip, temperature=0, max_tokens=60) as stream:
        kinds = {event.type for event in stream}
        answer = stream.get_final_completion()
    assert "content.delta" in kinds
    assert isinstance(answer.choices[0].message.parsed, Trip)


def test_async_stream(async_client, run_async):
    async def collect():
        async with async_client:
            stream = await async_client.chat.completions.create(
                model="m", messages=ASK, response_format=schema_format(), temperature=1, seed=3, max_tokens=60, stream=True
            )
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])

    assert is_trip(run_async(collect()))


def test_log_probabilities(client):
    answer = client.chat.completions.create(
        model="m", messages=ASK, response_format=schema_format(), temperature=0, max_tokens=60, logprobs=True, top_logprobs=3
    )
    entries = answer.choices[0].logprobs.content
    assert b"".join(bytes(entry.bytes) for entry in entries).decode() == answer.choices[0].message.content
    assert all(entry.logprob <= 0 and len(entry.top_logprobs) == 3 for entry in entries)


def test_stop_and_bias(client):
    answer = client.chat.completions.create(model="m", messages=ASK, max_tokens=40, temperature=0, stop=[" "])
    assert " " not in answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"
    comma = 28  # in SmolLM2's vocabulary
    biased = client.chat.completions.create(model="m", messages=ASK, max_tokens=3, temperature=0, logit_bias={comma: 100})
    assert biased.choices[0].message.content == ",,,"


def test_required_tool(client):
    for choice in ("required", {"type": "function", "function": {"name": "look_up"}}):
        answer = client.chat.completions.create(
            model="m", messages=ASK, tools=[TOOL], tool_choice=choice, temperature=0, max_tokens=120, parallel_tool_calls=False
        )
        (call,) = answer.choices[0].message.tool_calls
        assert call.function.name == "look_up"
        assert is_trip(call.function.arguments)
        assert answer.choices[0].finish_reason == "tool_calls"
        assert answer.choices[0].message.content is None


def test_streamed_tool_arguments(client):
    stream = client.chat.completions.create(
        model="m", messages=ASK, tools=[TOOL], tool_choice="required", temperature=0, max_tokens=120, parallel_tool_calls=False, stream=True
    )
    deltas = [call for chunk in stream if chunk.choices for call in chunk.choices[0].delta.tool_calls or ()]
    assert deltas[0].function.name == "look_up"
    assert deltas[0].id
    assert len(deltas) > 3
    assert is_trip("".join(delta.function.arguments or "" for delta in deltas))


def test_tools_that_may_be_called(client):
    answer = client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "Say hello."}], tools=[TOOL], temperature=0, max_tokens=40
    )
    message = answer.choices[0].message
    assert message.content or message.tool_calls
    none = client.chat.completions.create(model="m", messages=ASK, tools=[TOOL], tool_choice="none", temperature=0, max_tokens=8)
    assert none.choices[0].message.tool_calls is None


def test_a_conversation_with_tool_results(client):
    messages = [
        *ASK,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": '{"city": "Oslo", "km": 5}'}}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "five kilometres"},
    ]
    answer = client.chat.completions.create(
        model="m", messages=messages, tools=[TOOL], tool_choice="none", response_format=schema_format(), temperature=0, max_tokens=60
    )
    assert is_trip(answer.choices[0].message.content)


def test_completions(client):
    answer = client.completions.create(model="m", prompt="A trip as JSON: ", max_tokens=60, temperature=0, extra_body={"json_schema": TRIP})
    assert is_trip(answer.choices[0].text)
    streamed = client.completions.create(
        model="m", prompt="A trip as JSON: ", max_tokens=60, temperature=0, stream=True, extra_body={"json_schema": TRIP}
    )
    assert "".join(chunk.choices[0].text for chunk in streamed if chunk.choices) == answer.choices[0].text
    several = client.completions.create(model="m", prompt=["One, ", "Red, "], max_tokens=4, temperature=0, logprobs=2)
    assert len(several.choices) == 2
    assert len(several.choices[0].logprobs.tokens) == len(several.choices[0].logprobs.token_logprobs)


def test_responses(client):
    form = {"format": {"type": "json_schema", "name": "trip", "schema": TRIP, "strict": True}}
    answer = client.responses.create(model="m", input="A trip, please.", text=form, temperature=0, max_output_tokens=60)
    assert answer.status == "completed"
    assert is_trip(answer.output_text)
    parsed = client.responses.parse(model="m", input=ASK, text_format=Trip, temperature=0, max_output_tokens=60)
    assert isinstance(parsed.output_parsed, Trip)


def test_streamed_responses(client):
    form = {"format": {"type": "json_schema", "name": "trip", "schema": TRIP}}
    events = list(client.responses.create(model="m", input="A trip.", text=form, temperature=0, max_output_tokens=60, stream=True))
    assert events[0].type == "response.created"
    assert events[-1].type == "response.completed"
    assert [event.sequence_number for event in events] == list(range(len(events)))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert is_trip(text)
    assert events[-1].response.output_text == text


def test_tools_in_responses(client):
    tool = {"type": "function", "name": "look_up", "description": "Find a trip.", "parameters": TRIP, "strict": True}
    answer = client.responses.create(
        model="m",
        input="Look one up.",
        tools=[tool],
        tool_choice="required",
        parallel_tool_calls=False,
        temperature=0,
        max_output_tokens=120,
    )
    (call,) = [item for item in answer.output if item.type == "function_call"]
    assert is_trip(call.arguments)
    with client.responses.stream(
        model="m",
        input="Look one up.",
        tools=[tool],
        tool_choice="required",
        parallel_tool_calls=False,
        temperature=0,
        max_output_tokens=120,
    ) as stream:
        kinds = [event.type for event in stream]
    assert "response.function_call_arguments.delta" in kinds
    assert kinds[-1] == "response.completed"


def test_errors_reach_the_client(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="m", messages=ASK, response_format={"type": "json_schema", "json_schema": {"name": "out"}})
    assert caught.value.param == "response_format.json_schema.schema"
    assert caught.value.type == "invalid_request_error"
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="m", messages=ASK, extra_body={"temprature": 1})
    assert caught.value.body["nearest"] == "temperature"
