"""Runs one engine over all cases, in a process of its own that is started again after a case it does not survive."""

from __future__ import annotations

import contextlib
import json
import queue
import resource
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from time import perf_counter_ns
from typing import IO, Any

from .cases import Case
from .engines import ENGINES
from .vocabularies import TokenTable

__all__ = ["CaseResult", "EngineRun", "run_engine", "serve_cases"]

_SMALLEST = {"json_schema": {"type": "null"}, "gbnf": 'root ::= "x"', "lark": 'start: "x"'}
_START_SECONDS = 300  # an engine may prepare a vocabulary this long


@dataclass
class CaseResult:
    """What one engine did with one case.

    Attributes:
        first_mask: microseconds from the source to the first mask.
        steps: nanoseconds of mask + accept, for every token of every text.
        wrongly_accepts, wrongly_rejects: texts with the wrong verdict.
        refused: why the engine did not take the source, or None.
        failed: an exception while running, ``timeout`` or ``crash``, or None.
    """

    name: str
    first_mask: float | None = None
    steps: list[int] = field(default_factory=list)
    wrongly_accepts: int = 0
    wrongly_rejects: int = 0
    refused: str | None = None
    failed: str | None = None

    @property
    def passed(self) -> bool:
        return self.first_mask is not None and not (self.wrongly_accepts or self.wrongly_rejects or self.failed)


@dataclass
class EngineRun:
    """All results of one engine, and the most memory its process had, in MB."""

    engine: str
    results: list[CaseResult]
    peak_memory: float


def run_case(engine: Any, case: Case, table: TokenTable) -> CaseResult:
    """Compile, then every text token by token: each step is one mask and one accepted token."""
    result = CaseResult(case.name)
    texts = [(list(table.encode(text.text)), text.valid) for text in case.texts]
    try:
        start = perf_counter_ns()
        engine.compile(case.kind, case.source)
        engine.start()
        engine.fill()
        result.first_mask = (perf_counter_ns() - start) / 1e3
    except Exception as error:
        result.refused = f"{type(error).__name__}: {error}"[:200]
        return result
    try:
        for tokens, valid in texts:
            accepted = _run_text(engine, tokens, table.eos, result.steps)
            result.wrongly_accepts += accepted and not valid
            result.wrongly_rejects += valid and not accepted
    except Exception as error:
        result.failed = f"{type(error).__name__}: {error}"[:200]
    return result


def _run_text(engine: Any, tokens: Sequence[int], eos: int, steps: list[int]) -> bool:
    fill, allows, accept = engine.fill, engine.allows, engine.accept
    engine.start()
    for token_id in tokens:
        start = perf_counter_ns()
        fill()
        allowed = allows(token_id)
        if allowed:
            accept(token_id)
        steps.append(perf_counter_ns() - start)
        if not allowed:
            return False
    fill()
    return bool(allows(eos))


def serve_cases(engine_name: str, cases: Sequence[Case], table: TokenTable) -> None:
    """The worker: case numbers in on standard input, results out, one JSON object a line."""
    engine = ENGINES[engine_name](table)
    for kind in engine.kinds:  # what an engine imports or prepares on first use is not a case's
        with contextlib.suppress(Exception):
            engine.compile(kind, _SMALLEST[kind])
    print("ready", flush=True)
    for line in sys.stdin:
        result = run_case(engine, cases[int(line)], table)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(asdict(result) | {"peak": peak}), flush=True)


class _Worker:
    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            [*command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._errors: list[str] = []
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()
        threading.Thread(target=self._drain, args=(self._process.stderr,), daemon=True).start()
        if self._next(_START_SECONDS) != "ready":
            self.stop()
            raise SystemExit(f"the engine did not start:\n{''.join(self._errors[-20:])}")

    def _read(self, stream: IO[str] | None) -> None:
        for line in stream or ():
            self._lines.put(line.strip())
        self._lines.put(None)

    def _drain(self, stream: IO[str] | None) -> None:
        for line in stream or ():
            self._errors.append(line)
            del self._errors[:-50]

    def _next(self, seconds: float) -> str | None:
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            return "timeout"

    def run(self, number: int, seconds: float) -> str | None:
        """The answer's line, ``timeout``, or None where the process died."""
        if self._process.stdin is not None:
            self._process.stdin.write(f"{number}\n")
        return self._next(seconds)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


def run_engine(engine: str, cases: Sequence[Case], command: Sequence[str], seconds: float) -> EngineRun:
    """Run the cases whose kind the engine takes; ``command`` starts its worker.

    A case that takes longer than ``seconds`` or kills the process counts as failed, and the next one gets a new process.
    """
    results: list[CaseResult] = []
    peak = 0.0
    worker: _Worker | None = None
    for number, case in enumerate(cases):
        if case.kind not in ENGINES[engine].kinds:
            continue
        worker = worker or _Worker(command)
        line = worker.run(number, seconds)
        if line is None or line == "timeout":
            results.append(CaseResult(case.name, failed=line or "crash"))
            worker.stop()
            worker = None
            continue
        answer = json.loads(line)
        peak = max(peak, answer.pop("peak"))
        results.append(CaseResult(**answer))
    if worker is not None:
        worker.stop()
    return EngineRun(engine, results, peak)
