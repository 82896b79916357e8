"""Worker processes: what is hostile is ended in time, and others are served meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from scansion.errors import GrammarError, LimitError, UnsupportedError
from scansion.server.compile_pool import CompilePool
from scansion.server.nursery import Nursery
from scansion.server.recipes import Recipe, ToolSchema, build, tool_recipe
from scansion.server.worker_pool import Allowance

HOSTILE = [
    Recipe("json_schema", json.dumps({"allOf": [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(4000)]})),
    Recipe(
        "json_schema",
        json.dumps({"properties": {f"p{i}": {"type": "string", "pattern": f"^(a|b)*a(a|b){{{i % 60}}}$"} for i in range(15000)}}),
    ),
    Recipe("json_schema", json.dumps({"enum": list(range(150_000))})),
    Recipe("regex", "(" * 500 + "a" + "){1,9}" * 500),
    Recipe("regex", "((a{1,1000}){1,1000}){1,1000}b|" * 2000 + "c"),
    Recipe("regex", "|".join(f"(x{i}|y)*z{{{i}}}" for i in range(60_000))[: 1 << 20]),
    Recipe("gbnf", "root ::= " + " ".join(["[a-z]{0,1999}"] * 60_000)),
    Recipe("gbnf", "root ::= a0\n" + "".join(f"a{i} ::= a{i + 1} a{i + 1} | a{i + 1}\n" for i in range(20_000)) + 'a20000 ::= "x"\n'),
]


@pytest.fixture
def with_pool(run_async):
    def run(use, **settings):
        async def main():
            nursery = Nursery(1024)
            pool = CompilePool(nursery, **{"workers": 2, "seconds": 1.5, **settings})
            await pool.start()
            try:
                return await use(pool)
            finally:
                await pool.close()
                await nursery.close()

        return run_async(main())

    return run


def test_a_grammar_and_its_cache(with_pool):
    async def use(pool):
        recipe = Recipe("json_schema", '{"type": "integer"}')
        first = await pool.compile(recipe, Allowance("a"))
        assert await pool.compile(recipe, Allowance("b")) is first
        assert (pool.hits, pool.misses) == (1, 1)
        both = await asyncio.gather(*(pool.compile(Recipe("regex", "a+"), Allowance(client)) for client in "xyz"))
        assert both[0] is both[1] is both[2]
        text, repeats = await pool.written(first, "gbnf", Allowance("a"))
        assert text.startswith("root ::=")
        assert not repeats

    with_pool(use)


def test_errors_keep_their_places(with_pool):
    async def use(pool):
        with pytest.raises(GrammarError) as caught:
            await pool.compile(Recipe("json_schema", '{"properties": {"a": {"type": "strin"}}}'), Allowance("a"))
        assert caught.value.pointer == "/properties/a/type"
        bad = tool_recipe([ToolSchema("f", "{}"), ToolSchema("g", '{"minimum": "x"}')], required=True, parallel=True)
        with pytest.raises(GrammarError) as caught:
            await pool.compile(bad, Allowance("a"))
        assert caught.value.tool == "g"
        unsupported = Recipe("json_schema", '{"type": "string", "pattern": "^(a)\\\\1$"}')
        with pytest.raises(UnsupportedError):
            await pool.compile(unsupported, Allowance("a"))
        relaxed = await pool.compile(unsupported, Allowance("a"), relax=True)
        assert relaxed.relaxed == (("pattern", "/pattern"),)

    with_pool(use)


def test_each_tool_keeps_its_own_members():
    """Several schemas in one grammar, some of whose parts can never match."""
    from scansion.server.byte_vocabulary import byte_vocabulary

    def parameters(name):
        never = {"type": "object", "properties": {"x": False}, "required": ["x"]}
        alternatives = {"anyOf": [never, {"type": "array", "items": {"const": name}, "minItems": 1}]}
        return json.dumps({"type": "object", "properties": {name: alternatives}, "required": [name], "additionalProperties": False})

    recipe = tool_recipe([ToolSchema(name, parameters(name)) for name in "fgh"], required=True, parallel=True)
    constraint = build(recipe).compile(byte_vocabulary())
    for name in "fgh":
        for inner in "fgh":
            matcher = constraint.matcher()
            call = f'<tool_call>\n{{"name": "{name}", "arguments": {{"{inner}": ["{inner}"]}}}}\n</tool_call>'
            assert (matcher.accept_bytes(call.encode()) and matcher.is_complete) == (name == inner)


@pytest.mark.parametrize("recipe", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_ones_end_in_time(with_pool, recipe):
    async def use(pool):
        started = time.monotonic()
        try:
            await pool.compile(recipe, Allowance("a"))
        except (LimitError, GrammarError) as error:
            assert str(error)
        seconds = time.monotonic() - started
        again = await pool.compile(Recipe("json_schema", '{"const": 1}'), Allowance("b"))
        assert again.grammar.kind == "json_schema"
        return seconds

    assert with_pool(use) < 4.0  # 1.5 s of work, and a process to end on a busy machine


def test_validation_without_fetching(with_pool):
    async def use(pool):
        schema = '{"type": "object", "required": ["a"]}'
        assert await pool.violation(schema, '{"a": 1}', Allowance("x"), formats=True) is None
        assert "required" in await pool.violation(schema, "{}", Allowance("x"), formats=True)
        assert "JSON" in await pool.violation(schema, "{", Allowance("x"), formats=True)
        assert "date" in await pool.violation('{"format": "date"}', '"soon"', Allowance("x"), formats=True)
        with pytest.raises(Exception, match=r"could not be made|Unresolvable"):
            await pool.violation('{"$ref": "http://127.0.0.1:1/x"}', "1", Allowance("x"), formats=True)

    with_pool(use)


def test_relaxed_constraints_are_validated(running):
    from tests.server.stand_in_backend import StandInBackend

    from scansion.server.application import create_application

    schema = {"type": "string", "pattern": "^(a|b)\\1$"}
    body = {"messages": [{"role": "user", "content": "x"}], "json_schema": schema, "scansion": {"on_unsupported": "validate", "retries": 1}}
    with running(create_application(StandInBackend(answers=['"ab"', '"bb"', '"ab"', '"ba"']))) as server:
        answer = httpx.post(f"{server.url}/v1/chat/completions", json=body, timeout=30).json()
        assert answer["choices"][0]["message"]["content"] == '"bb"'
        report = answer["x_scansion"]
        assert (report["enforced_by"], report["retries"]) == ("validation", 1)
        assert report["relaxed"][0]["keyword"] == "pattern"
        refused = httpx.post(f"{server.url}/v1/chat/completions", json=body, timeout=30)
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "validation_failed")


def test_relaxed_tools_are_validated(running):
    from tests.server.stand_in_backend import StandInBackend

    from scansion.server.application import create_application

    parameters = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^(a|b)\\1$"}}, "required": ["x"]}
    body = {
        "messages": [{"role": "user", "content": "x"}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}],
        "tool_choice": "required",
        "scansion": {"on_unsupported": "validate"},
    }
    answers = [f'<tool_call>\n{{"name": "f", "arguments": {{"x": "{value}"}}}}\n</tool_call>' for value in ("ab", "bb")]
    with running(create_application(StandInBackend(answers=answers))) as server:
        refused = httpx.post(f"{server.url}/v1/chat/completions", json={**body, "scansion": {}}, timeout=30)
        assert (refused.status_code, refused.json()["error"]["tool"]) == (422, "f")
        answer = httpx.post(f"{server.url}/v1/chat/completions", json=body, timeout=30).json()
    (call,) = answer["choices"][0]["message"]["tool_calls"]
    assert call["function"]["arguments"] == '{"x": "bb"}'
    assert answer["x_scansion"]["enforced_by"] == "validation"
    assert answer["x_scansion"]["retries"] == 1


LOADS = """
import asyncio, sys
import httpx
from tests.server.stand_in_backend import StandInBackend
from scansion.server.application import create_application

async def main():
    application = create_application(StandInBackend())
    service = application.state.service
    await service.start()
    before = set(sys.modules)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://x", timeout=30) as client:
        body = {"messages": [{"role": "user", "content": "x"}], "json_schema": {"const": 1}}
        answer = await client.post("/v1/chat/completions", json=body)
    await service.close()
    print(answer.status_code, sorted(name for name in set(sys.modules) - before if name.startswith("scansion")))

asyncio.run(main())
"""


def test_the_first_grammar_loads_nothing_any_more():
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", LOADS], cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, text=True
    )
    assert done.stdout == "200 []\n", done.stderr
