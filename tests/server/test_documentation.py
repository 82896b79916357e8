"""The lists in docs/server.md are those requests are checked against."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import httpx
import pytest

from scansion.server import ollama_parameters, openai_parameters
from scansion.server.errors import STATUS_TYPES
from scansion.server.extension import EXTENSION
from scansion.server.openapi import openapi_description
from scansion.server.parameters import ACCEPTED, REFUSED
from scansion.server.resolver import _SOURCES, _TYPES

PAGE = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
TABLES = [
    openai_parameters.CHAT,
    openai_parameters.COMPLETIONS,
    openai_parameters.RESPONSES,
    ollama_parameters.CHAT,
    ollama_parameters.GENERATE,
    ollama_parameters.OPTIONS,
]


def test_every_idle_or_refused_parameter_is_listed():
    section = PAGE.split("## Parameters that change nothing here")[1].split("## ")[0]
    listed = set(re.findall(r"`([a-z_0-9]+)`", section))
    missing = {name for table in TABLES for name, field in table.items() if field.role in (ACCEPTED, REFUSED)} - listed
    assert not missing


def test_every_source_of_constraints_has_a_row():
    section = PAGE.split("## What a request asks")[1].split("## ")[0]
    assert all(re.search(rf"`{name}\b", section) for name in _SOURCES)
    assert all(f'"{kind}"' in section for kind in _TYPES)


def test_every_option_and_path_and_status():
    assert all(f"`{name}`" in PAGE for name in EXTENSION)
    assert all(f"`{path}`" in PAGE for path in openapi_description()["paths"] if "{" not in path)
    assert all(str(status) in PAGE for status in STATUS_TYPES if status != 403)


def test_every_parameter_of_the_clients_is_known():
    chat = pytest.importorskip("openai.resources.chat.completions")
    completions = pytest.importorskip("openai.resources.completions")
    responses = pytest.importorskip("openai.resources.responses")
    ollama = pytest.importorskip("ollama._types")
    for create, table in (
        (chat.Completions.create, openai_parameters.CHAT),
        (completions.Completions.create, openai_parameters.COMPLETIONS),
        (responses.Responses.create, openai_parameters.RESPONSES),
    ):
        names = set(inspect.signature(create).parameters) - {"self", "extra_headers", "extra_query", "extra_body", "timeout"}
        assert names <= set(table)
    assert set(ollama.ChatRequest.model_fields) <= set(ollama_parameters.CHAT)
    assert set(ollama.GenerateRequest.model_fields) <= set(ollama_parameters.GENERATE)
    assert set(ollama.Options.model_fields) <= set(ollama_parameters.OPTIONS)


@pytest.mark.model
def test_the_first_steps_as_they_stand(embedded, capsys):
    pytest.importorskip("openai")
    pytest.importorskip("ollama")
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(example.replace("http://127.0.0.1:8080", embedded.url), {})  # noqa: S102
    parsed, answer = capsys.readouterr().out.split("\n", 1)
    assert re.match(r"name=(['\"]).*\1 inhabitants=-?\d+", parsed)  # the quotes of a name that holds one are others
    assert set(json.loads(answer)) >= {"name", "inhabitants"}
    request = re.search(r"-d '(\{.*?\})'\n", PAGE, re.DOTALL).group(1)
    answer = httpx.post(embedded.url + "/v1/chat/completions", content=request, timeout=60).json()
    assert "city" in json.loads(answer["choices"][0]["message"]["content"])
