"""Driving runs over a model: one, or several whose forward passes go together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from scansion.generation.events import Completion, Delta
from scansion.generation.options import GenerationOptions
from scansion.generation.run import Run
from scansion.models.base import Feed, LanguageModel

if TYPE_CHECKING:
    from scansion.matching import Constraint

__all__ = ["AnswerStream", "step"]

_NOTHING = Delta()


def step(model: LanguageModel, runs: Sequence[Run]) -> list[Delta]:
    """One forward pass for all runs that are not finished, and what each makes of it.

    Continuous batching is calling this again and again while runs are added and taken away in between: every run gets its turn
    in every pass. A run whose own constraint, sampler or drafts fail ends with ``error``, and the others go on.

    Args:
        model: the model all runs were made for.
        runs: finished ones are left alone.

    Returns:
        One delta for each run, in order; empty for those that were finished before or have failed.

    Raises:
        ContextError, ModelError: the pass itself failed.
    """
    deltas = [_NOTHING] * len(runs)
    with model.lock:  # logits are views that another thread's forward would overwrite
        feeds: list[Feed] = []
        fed: list[tuple[int, Run]] = []
        for index, run in enumerate(runs):
            if run.finish_reason is not None:
                continue
            try:
                feeds.append(run.feed())
                fed.append((index, run))
            except Exception as error:  # also of a constraint that is not ours
                run.fail(error)
        if not fed:
            return deltas
        for (index, run), logits in zip(fed, model.forward(feeds), strict=True):
            try:
                deltas[index] = run.take(logits)
            except Exception as error:
                run.fail(error)
    return deltas


class AnswerStream(Iterator[Delta]):
    """An answer as it is written. Iterate for its deltas; ``completion`` holds the whole, also after an interruption.

        with generate(model, prompt, grammar=grammar, stream=True) as stream:
            for delta in stream:
                print(delta.content, end="", flush=True)
        print(stream.completion.stats.line())

    Leaving the ``with`` block (or ``close``) frees the model's place at once; so does dropping the stream.
    """

    def __init__(self, model: LanguageModel, prompt: str, constraint: Constraint | None, options: GenerationOptions) -> None:
        self._model = model
        self._run = Run(model, prompt, constraint, options)
        self._opened = False
        self._closed = False

    def __next__(self) -> Delta:
        if not self._opened:
            self._opened = True
            opening = self._run.opening()
            if opening.content:
                return opening
        run = self._run
        while not self._closed and run.finish_reason is None:
            try:
                (delta,) = step(self._model, [run])
            except BaseException:
                self.close()
                raise
            if run.error is not None:
                self.close()
                raise run.error
            if delta.content or delta.reasoning or delta.tokens:
                return delta
        self.close()
        raise StopIteration

    @property
    def completion(self) -> Completion:
        """The answer as far as it has come."""
        return self._run.completion()

    def close(self) -> None:
        """Stop here. What has come so far stays in ``completion``."""
        if not self._closed:
            self._closed = True
            self._run.close()

    def __del__(self) -> None:
        # A stream that was dropped before its end (``break`` out of the loop) gives the model's place back too.
        if hasattr(self, "_closed"):
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()
