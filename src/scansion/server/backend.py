"""What the APIs ask of whatever writes the text: one job in, pieces and one outcome out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from scansion.server.extension import Extension

if TYPE_CHECKING:
    from scansion.grammar import Grammar
    from scansion.server.compile_pool import Compiled, CompilePool
    from scansion.server.recipes import Recipe
    from scansion.server.worker_pool import Allowance

__all__ = ["Backend", "Constrained", "Job", "LogprobEntry", "ModelCard", "Outcome", "Piece", "Sent"]


@dataclass(frozen=True)
class Sent:
    """A constraint as an upstream is told it.

    Attributes:
        form: ``gbnf``, ``lark``, ``schema``, ``json``, ``regex``, ``choice``, or ``nothing``.
        text: the grammar, schema text, pattern, or JSON text of the choices.
        checker: what the answer is checked against as it comes back.
        note: what the sent form leaves to the check alone, or "".
        options: of the schema, for an upstream that knows them.
    """

    form: str
    text: str
    checker: Compiled
    note: str = ""
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Constrained:
    """A compiled constraint of a request.

    Attributes:
        recipe: what it was made of.
        compiled: its grammar, exact unless ``relaxed``.
        param: the parameter it came from.
        relaxed: (keyword, pointer) pairs the grammar leaves out; only where the request opted into validation, which then
            decides.
        sent: for an upstream.
    """

    recipe: Recipe
    compiled: Compiled
    param: str
    relaxed: tuple[tuple[str, str], ...] = ()
    sent: Sent | None = None

    @property
    def grammar(self) -> Grammar:
        """The grammar, loaded into this process."""
        return self.compiled.grammar


@dataclass(frozen=True)
class Job:
    """One answer to be written.

    Attributes:
        id: the request's id, for logs and upstreams.
        model: name of the model as the backend knows it.
        messages: the conversation, plain texts; None where ``prompt`` is given.
        prompt: the whole prompt as text, with no chat template to be applied.
        template_arguments: what the chat template gets besides the messages.
        sampling: fields of ``Sampling`` that the request gave, without the seed.
        defaults: fields of ``Sampling`` the API takes where the request says nothing.
        seed: None: a fresh one.
        max_tokens: None: as many as fit.
        stop: texts that end the answer.
        logprobs: number of alternatives, or None.
        think: share of ``max_tokens`` for reasoning; 0 asks for none, None leaves it to the model.
        constraint: what the answer must keep to.
        extension: drafts, mode, friction.
        validated: the answer is generated whole, checked, and tried again, because nothing enforces the whole constraint.
    """

    id: str
    model: str
    messages: Sequence[Mapping[str, Any]] | None
    prompt: str | None
    max_tokens: int | None
    template_arguments: Mapping[str, Any] = field(default_factory=dict)
    sampling: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    stop: tuple[str, ...] = ()
    logprobs: int | None = None
    think: float | None = None
    constraint: Constrained | None = None
    extension: Extension = field(default_factory=Extension)
    validated: bool = False


@dataclass(frozen=True)
class LogprobEntry:
    """A drawn token: its bytes, its natural log probability, and the likeliest ones of that step."""

    token: bytes
    logprob: float
    top: tuple[tuple[bytes, float], ...] = ()


@dataclass(frozen=True)
class Piece:
    """A step of an answer. Texts are whole characters."""

    content: str = ""
    reasoning: str = ""
    logprobs: tuple[LogprobEntry, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The end of an answer.

    Attributes:
        finish_reason: ``stop`` or ``length``.
        complete: the constraint accepts the content as it stands; without one, the model ended it.
        prompt_tokens, cached_tokens, tokens, reasoning_tokens: counts, as far as they are known.
        report: the backend's part of ``x_scansion``.
        seconds: (prompt, answer) durations.
    """

    finish_reason: str
    complete: bool
    prompt_tokens: int = 0
    cached_tokens: int = 0
    tokens: int = 0
    reasoning_tokens: int = 0
    report: Mapping[str, Any] = field(default_factory=dict)
    seconds: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class ModelCard:
    """A model that can be asked for.

    Attributes:
        name: what clients call it.
        owner: who serves it.
        context: tokens it holds, or 0 where unknown.
        created: Unix time.
        size: bytes of its file, or 0.
        details: what else is known, for Ollama's ``/api/show``.
    """

    name: str
    owner: str
    context: int = 0
    created: int = 0
    size: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)


class Backend(Protocol):
    """Where answers come from."""

    @property
    def slots(self) -> int:
        """How many jobs can run at once."""

    @property
    def kind(self) -> str:
        """``embedded`` or ``upstream``."""

    async def start(self) -> None:
        """Make ready. Called once, in the event loop the jobs will run in."""

    async def close(self) -> None:
        """End what runs and free everything."""

    async def ready(self) -> str | None:
        """None where jobs can be taken, else why not."""

    async def models(self) -> Sequence[ModelCard]:
        """What can be asked for."""

    def resolve_model(self, name: str | None) -> str:
        """The backend's name of a model as a client calls it; None is the first one.

        Raises:
            ApiError: 404.
        """

    async def prepare(self, job: Job, allowance: Allowance, pool: CompilePool) -> Job:
        """The job as this backend will do it. Called before any token.

        Args:
            job: with its constraint compiled.
            allowance: what is left of the request's time in worker processes.
            pool: for what else must be compiled.

        Returns:
            The job, with ``validated`` set where only validation can enforce the constraint and the request opted into that.

        Raises:
            ApiError: 400 or 422 for what this backend cannot do.
        """

    def generate(self, job: Job, client: str, pool: CompilePool) -> AsyncGenerator[Piece | Outcome]:
        """Write the answer: pieces as they come, then one ``Outcome``. Closing the iterator stops at once and frees the place.

        Raises:
            ApiError: what went wrong, before or between pieces.
        """
