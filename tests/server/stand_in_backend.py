"""A backend without a model: it writes the shortest text the constraint allows, at once or slowly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from scansion.server.backend import Job, ModelCard, Outcome, Piece
from scansion.server.model_names import ModelNames
from scansion.vocabulary import Vocabulary

BYTES = Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=[256])


class StandInBackend:
    """``answers`` are taken in turn where there are some; ``pause`` seconds pass before each piece."""

    kind = "embedded"

    def __init__(self, *, slots: int = 4, answers=(), pause: float = 0.0, pieces: int = 1) -> None:
        self.slots = slots
        self.answers = list(answers)
        self.pause = pause
        self.pieces = pieces
        self.jobs: list[Job] = []
        self.running = 0
        self.cancelled = 0
        self._names = ModelNames({"stand-in": "stand-in", "m": "stand-in"})

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def ready(self) -> str | None:
        return None

    async def models(self):
        return [ModelCard("stand-in", "tests", context=1024)]

    def resolve_model(self, name: str | None) -> str:
        return self._names.resolve(name)

    async def prepare(self, job: Job, client: str, pool) -> Job:
        return job

    async def generate(self, job: Job, client: str, pool) -> AsyncGenerator[Piece | Outcome]:
        self.jobs.append(job)
        self.running += 1
        finished = False
        try:
            for _ in range(self.pieces - 1):
                await asyncio.sleep(self.pause)
                yield Piece("" if job.constraint else "x")
            await asyncio.sleep(self.pause)
            text, complete = self._text(job)
            yield Piece(text)
            finished = True
            yield Outcome(
                "stop", complete, prompt_tokens=3, tokens=len(text), report={"enforced_by": "masks" if job.constraint else "nothing"}
            )
        finally:
            self.running -= 1
            self.cancelled += not finished

    def _text(self, job: Job) -> tuple[str, bool]:
        if self.answers:
            return self.answers.pop(0), True
        if job.constraint is None:
            return "ok", True
        matcher = job.constraint.grammar.compile(BYTES).matcher()
        shortest = matcher.shortest_completion() or b""
        if job.max_tokens is not None and len(shortest) > job.max_tokens:
            return shortest[: job.max_tokens].decode("utf-8", "ignore"), False
        return shortest.decode(), True
