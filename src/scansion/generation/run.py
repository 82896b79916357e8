"""One answer in the making: what it wants from the next forward pass, and what it makes of the logits."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scansion.errors import ContextError, RequestError, ScansionError
from scansion.generation.assist import AssistTracker
from scansion.generation.budget import BudgetedMatcher
from scansion.generation.drafting import Drafting, nothing_follows
from scansion.generation.events import Completion, Delta, Stats, TokenLogprob
from scansion.generation.forced_count import ForcedCount
from scansion.generation.options import GenerationOptions
from scansion.generation.text_stream import TextStream
from scansion.generation.thinking import THINK_CLOSE, THINK_OPEN, ThinkingGate
from scansion.models.base import Feed, LanguageModel, ModelSequence
from scansion.sampling import ConstrainedDraws, make_drawer

if TYPE_CHECKING:
    from scansion.matching import Constraint

__all__ = ["Run"]

_FENCE = "```json\n"
_LogprobTable = tuple[NDArray[np.float64], tuple[tuple[int, float], ...]]


class Run:
    """The state of one answer. ``feed`` and ``take`` alternate until ``finished``; ``close`` gives the model's place back.

        while not run.finished:
            (logits,) = model.forward([run.feed()])
            delta = run.take(logits)

    Several runs on one model go through one ``forward`` together: ``generation.loop.step``.
    """

    def __init__(self, model: LanguageModel, prompt: str, constraint: Constraint | None, options: GenerationOptions) -> None:
        """
        Args:
            model: where logits come from.
            prompt: the whole prompt as text, chat template already applied.
            constraint: what the answer must keep to, compiled for the model's vocabulary; None for free text.
            options: everything else.

        Raises:
            ContextError: the prompt does not fit, or leaves too little room for the shortest answer.
            RequestError: options that do not go together, or a budget too small for any answer.
        """
        self.options = options
        self._model = model
        self._vocabulary = model.vocabulary
        self._ends = frozenset(self._vocabulary.eos_token_ids)
        self.finish_reason: str | None = None
        self.error: Exception | None = None
        self._answer: list[int] = []
        self._stats = Stats()
        self._content, self._reasoning = "", ""
        self._new_content, self._new_reasoning = "", ""
        self._unshown = b""
        self._logprobs: list[TokenLogprob] = []
        self._content_stream = TextStream(options.stop)
        self._reasoning_stream = TextStream((THINK_CLOSE,))
        self._started = perf_counter()
        self._first_token_at: float | None = None

        opening = self._opening(prompt)
        tokens = model.prompt_tokens(prompt + opening)
        self._closing = model.tokenize(f"\n{THINK_CLOSE}\n".encode(), special=True) if options.think else []
        room = model.context_size - len(tokens) - len(self._closing)
        if room < 1:
            raise ContextError(
                f"the prompt has {len(tokens):,} tokens and {model.name} holds {model.context_size:,}, answer included: shorten the prompt"
            )
        self._budget = min(options.max_tokens, room)
        self._matcher: BudgetedMatcher | None = None
        self._tracker: AssistTracker | None = None
        if constraint is not None and options.mode == "assist":
            self._tracker = AssistTracker(constraint)
        elif constraint is not None:
            self._matcher = self._start_matcher(constraint)
        self._thinking = ThinkingGate(self._matcher, self._vocabulary) if options.think else None
        self._think_left = self._reasoning_tokens() if options.think else 0

        seed = options.sampling.resolved_seed()
        drawer = make_drawer(options.sampling, model, tokens, seed)
        self._draws = ConstrainedDraws(drawer, self._vocabulary.size, measure_friction=options.friction)
        self._stats.seed = None if options.sampling.is_plain_greedy else seed
        self._forced: ForcedCount | None = None
        self._free_tokens = 0
        if self._thinking is None:
            self._count_forced_from_here()

        self._sequence: ModelSequence = model.open_sequence(tokens)
        try:
            self._drafting = Drafting(
                model,
                sources=options.draft,
                longest=options.draft_max,
                prompt=tokens,
                draft_model=options.draft_model,
                certain=options.mode == "constrain",
                # Where a draw depends on nothing but the order of the logits, and nobody asks for them.
                spare=options.sampling.is_plain_greedy and options.logprobs is None and not options.friction,
            )
        except ScansionError:
            self._sequence.close()
            raise
        self._stats.drafts = self._drafting.figures
        self._stats.prompt_tokens = len(tokens)
        self._stats.cached_tokens = len(self._sequence.tokens)
        self._pending: list[int] = tokens[len(self._sequence.tokens) :]
        self._drafts: list[int] = []
        self._certain: Sequence[int] = ()
        if self._thinking is not None and self._think_left <= 0:
            self._stop_thinking()
        self._notice_end()

    def _reasoning_tokens(self) -> int:
        """The most tokens reasoning may have: its share of the budget, and never what the shortest answer needs."""
        options = self.options
        answer_needs = 1 if self._matcher is None or not options.finish else max(1, self._matcher.least_tokens())
        share = self._budget // 2 if options.think_max is None else options.think_max
        return max(0, min(share, self._budget - answer_needs))

    def _opening(self, prompt: str) -> str:
        """Text the assistant's turn starts with, written by us."""
        if self.options.think:
            # Some templates open the reasoning themselves.
            return "" if prompt.rstrip().endswith(THINK_OPEN) else THINK_OPEN + "\n"
        return (_FENCE if self.options.fence else "") + self.options.prefill

    def _start_matcher(self, constraint: Constraint) -> BudgetedMatcher:
        options = self.options
        matcher = constraint.matcher()
        prefill = options.prefill.encode()
        if prefill and not matcher.accept_bytes(prefill):
            good = matcher.bytes_accepted(prefill)
            source = constraint.program.source
            violation = None if source is None else source.explain(prefill, good)
            told = f"it keeps to it for {good} bytes only" if violation is None else str(violation)
            raise RequestError(f"the grammar does not allow the prefill: {told}")
        if options.finish:
            try:
                return BudgetedMatcher(matcher, self._vocabulary, self._budget)
            except RequestError as error:
                if self._budget < options.max_tokens:
                    raise ContextError(f"the prompt leaves room for {self._budget} tokens in {self._model.name}: {error}") from None
                raise
        return BudgetedMatcher(matcher, self._vocabulary, None)

    # -- one forward pass --------------------------------------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """Nothing more is wanted."""
        return self.finish_reason is not None

    def fail(self, error: Exception) -> None:
        """End here because of ``error``; what has come so far stays in ``completion``."""
        self.error = error
        self.finish_reason = "error"

    def opening(self) -> Delta:
        """What can be shown before any forward pass: the prefill. Call it once, first."""
        content = self._content_stream.feed(self.options.prefill.encode())
        if self.finished:
            content += self._content_stream.finish()
        self._content += content
        return Delta(content)

    def feed(self) -> Feed:
        """What the next forward pass is to run: tokens not yet in the cache, and drafts to verify."""
        self._drafts = self._propose()
        self._certain = self._drafting.certain
        return Feed(self._sequence, [*self._pending, *self._drafts], 1 + len(self._drafts), self._certain)

    def take(self, logits: NDArray[np.float32]) -> Delta:
        """Draw from the logits of ``feed`` as long as draws agree with drafts.

        Args:
            logits: shape (1 + drafts, vocabulary size), with or without the rows that were not wanted.
        """
        stats, drafts = self._stats, self._drafts
        stats.forwards += 1
        if self._first_token_at is None:
            self._first_token_at = perf_counter()
            stats.prompt_seconds = self._first_token_at - self._started
        first = len(self._answer)
        guided = self._matcher if self._thinking is None else self._thinking
        all_rows = len(logits) > len(drafts)
        draws = self._draws.at_once(logits)
        row = 0
        for index in range(len(drafts) + 1):
            if index in self._certain:
                token = drafts[index]
                if self._matcher is not None:
                    self._draws.take(token, self._matcher)
                self._write(token, None)
                row += all_rows
            else:
                entry = None if self.options.logprobs is None else _logprob_table(logits[row], self.options.logprobs)
                token = self._draws.draw(logits[row], guided, draws[row] if draws else None)
                self._write(token, entry)
                row += 1
            if self.finish_reason is not None or index >= len(drafts) or token != drafts[index]:
                if index < len(drafts):
                    self._sequence.truncate(len(self._sequence.tokens) - len(drafts) + index)
                self._pending = [token]
                break
            guided = self._matcher if self._thinking is None else self._thinking
        self._show()
        content, reasoning = self._new_content, self._new_reasoning
        self._new_content = self._new_reasoning = ""
        if self.finish_reason is not None:
            content += self._content_stream.finish()
            reasoning += self._reasoning_stream.finish()
        elif self._thinking is not None and self._think_left <= 0:
            reasoning += self._stop_thinking()
        self._content += content
        self._reasoning += reasoning
        stats.seconds = perf_counter() - self._first_token_at
        return Delta(content, reasoning, tuple(self._answer[first:]), tuple(self._logprobs[first:]))

    def _write(self, token: int, entry: _LogprobTable | None) -> None:
        """The answer goes on with a token."""
        if token in self._ends:
            self.finish_reason = "stop"
            return
        self._answer.append(token)
        self._drafting.observe(token)
        if entry is not None:
            self._logprobs.append(TokenLogprob(token, float(entry[0][token]), entry[1]))
        data = self._vocabulary.token_bytes(token) or b""
        if self._tracker is not None:
            self._tracker.feed(data)
        if self._thinking is not None:
            data = self._reason(self._thinking, data)
        self._unshown += data
        if self.options.stop:
            self._show()
        self._notice_end()

    def _show(self) -> None:
        """Give bytes that have come to the content stream: all of a pass together, unless one of its tokens may have ended the answer."""
        if self._unshown:
            self._new_content += self._content_stream.feed(self._unshown)
            self._unshown = b""

    def _reason(self, thinking: ThinkingGate, data: bytes) -> bytes:
        """Of a token's bytes those that belong to the answer; the others are reasoning."""
        content, reasoning = b"", data
        self._think_left -= 1
        if self._matcher is not None:
            self._matcher.spend(1)
        if thinking.closed:
            content = thinking.leftover
            reasoning = data[: len(data) - len(content)]
            self._thinking = None
            self._count_forced_from_here()
        self._new_reasoning += self._reasoning_stream.feed(reasoning)
        return content

    def _notice_end(self) -> None:
        """Finish where nothing can or may follow."""
        matcher = None if self._thinking is not None or self._matcher is None else self._matcher.matcher
        if (matcher is not None and nothing_follows(matcher)) or self._content_stream.stopped:
            self.finish_reason = "stop"
        elif len(self._answer) >= self._budget:
            # Complete at the last token is an answer, not a cut.
            self.finish_reason = "stop" if matcher is not None and matcher.is_complete else "length"

    def _stop_thinking(self) -> str:
        """The reasoning has used its share: close it for the model, in the cache as well."""
        self._pending += self._closing
        self._thinking = None
        self._count_forced_from_here()
        return self._reasoning_stream.finish()

    # -- drafts ------------------------------------------------------------------------------------------------------

    def _propose(self) -> list[int]:
        if not self._drafting.figures:  # no sources
            return []
        room = min(self._budget - len(self._answer), self._model.context_size - len(self._sequence.tokens) - len(self._pending)) - 1
        if self._thinking is not None:
            return self._drafting.propose(None, self._answer, None, min(room, self._think_left - 1))
        if self._matcher is not None:
            return self._drafting.propose(self._matcher.matcher, self._answer, self._matcher.matcher.fork, room)
        return self._drafting.propose(self._tracker, self._answer, None, room)

    def _count_forced_from_here(self) -> None:
        self._forced = None if self._matcher is None else ForcedCount(self._matcher.matcher, self._vocabulary)
        self._free_tokens = len(self._answer)

    # -- the end -----------------------------------------------------------------------------------------------------

    def completion(self) -> Completion:
        """The answer as far as it has come."""
        self._stats.tokens = len(self._answer)
        if self._forced is not None:
            self._stats.forced_tokens = self._forced.among(self._answer, self._free_tokens)
        self._stats.redraws = self._draws.redraws
        self._stats.mask_seconds = tuple(self._draws.seconds)
        self._stats.friction = tuple(self._draws.friction)
        if self._matcher is None:
            complete = self.finish_reason == "stop"
        else:
            matcher = self._matcher.matcher
            complete = self._thinking is None and not self._content_stream.stopped and (matcher.is_complete or matcher.is_finished)
        return Completion(
            content=self._content,
            reasoning=self._reasoning.strip(),
            tokens=tuple(self._answer),
            finish_reason=self.finish_reason or "interrupted",
            complete=complete,
            stats=self._stats,
            logprobs=tuple(self._logprobs),
        )

    def close(self) -> None:
        """Give the model's place back. Safe to call twice."""
        self._sequence.close()
        self._drafting.close()


def _logprob_table(logits: NDArray[np.float32], count: int) -> _LogprobTable:
    """Log probabilities of all tokens, and the ``count`` likeliest."""
    values = logits.astype(np.float64)
    values -= values.max()
    values -= np.log(np.exp(values).sum())
    if not count:
        return values, ()
    top: Sequence[int] = np.argpartition(values, -count)[-count:].tolist()
    return values, tuple(sorted(((token, float(values[token])) for token in top), key=lambda pair: -pair[1]))
