"""The commands around the server."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


def scansion(*arguments, timeout=120):
    return subprocess.run([sys.executable, "-m", "scansion", *arguments], capture_output=True, text=True, timeout=timeout, check=False)


@pytest.mark.model
@pytest.mark.slow
def test_validate_server_finds_nothing_wrong_here(embedded):
    result = scansion("validate-server", embedded.url, "--json", timeout=300)
    verdicts = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(verdicts) == 30
    assert {verdict["verdict"] for verdict in verdicts} == {"honoured"}, result.stdout
    assert result.returncode == 0


def test_validate_server_tells_ignored_from_broken(running):
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, PlainTextResponse
    from starlette.routing import Route

    async def chat(request):
        body = await request.json()
        if "tools" in body:
            return PlainTextResponse("std::exception", status_code=500)
        if "grammar" in body:
            return JSONResponse({"error": {"message": "no grammars here"}}, status_code=400)
        choice = {"index": 0, "message": {"role": "assistant", "content": "The sea."}, "finish_reason": "stop"}
        return JSONResponse({"choices": [choice] * body.get("n", 1)})

    routes = [
        Route("/v1/models", lambda _: JSONResponse({"data": [{"id": "x"}]})),
        Route("/v1/chat/completions", chat, methods=["POST"]),
    ]
    with running(Starlette(routes=routes)) as server:
        result = scansion("validate-server", f"{server.url}/v1", "--json")
    verdicts = {verdict["name"]: verdict["verdict"] for verdict in map(json.loads, result.stdout.splitlines())}
    assert result.returncode == 1
    assert verdicts["json_schema"] == "ignored"
    assert verdicts["tool, required"] == "broken"
    assert verdicts["GBNF grammar"] == "refused"
    assert verdicts["json_schema without schema"] == "ignored"


def test_nobody_there():
    result = scansion("validate-server", "http://127.0.0.1:9")
    assert result.returncode == 2
    assert "cannot be reached" in result.stderr
    result = scansion("doctor", "--upstream", "http://127.0.0.1:9")
    assert result.returncode == 1
    assert "FAIL" in result.stdout
    assert "does not answer" in result.stdout


@pytest.mark.model
def test_doctor_on_a_real_llama_server(llama_server):
    result = scansion("doctor", "--upstream", llama_server)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "llama-server" in result.stdout
    assert '"ready"' in result.stdout


def test_serve_refuses_before_it_listens(tmp_path):
    empty = tmp_path / "keys"
    empty.write_text("\n")
    foreign = tmp_path / "foreign"
    foreign.write_text("# ours\nclé\n", encoding="utf-8")
    for arguments, words in (
        (["--api-key-file", str(empty)], "holds no key"),
        (["--api-key-file", str(foreign)], "printable ASCII"),
        (["--upstream", "http://127.0.0.1:99999"], "is no upstream"),
        (["--drain", "inf"], "drain_seconds must be"),
        (["--api-key-file", str(tmp_path / "none")], "cannot be read"),
        (["--upstream", "ftp://x"], "is no upstream"),
        (["--upstream", "http://127.0.0.1:9", "--host", "0.0.0.0"], "can be reached by other machines"),
        (["--upstream", "http://127.0.0.1:9", "-m", "x.gguf"], "no place beside it"),
    ):
        result = scansion("serve", "--port", "0", *arguments)
        assert result.returncode == 2
        assert words in result.stderr
