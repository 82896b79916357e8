"""What programs call: ``generate``, ``extract`` and their asynchronous twins."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from scansion.errors import ModelError, RequestError, ScansionError
from scansion.generation.events import Completion, Delta
from scansion.generation.loop import AnswerStream, step
from scansion.generation.options import GenerationOptions
from scansion.generation.partial import type_adapter
from scansion.generation.run import Run
from scansion.models.base import ChatMessage, LanguageModel
from scansion.sampling.settings import Sampling

if TYPE_CHECKING:
    from scansion.grammar import Grammar
    from scansion.matching import Constraint

__all__ = ["aextract", "agenerate", "astream", "extract", "generate", "generate_many"]

T = TypeVar("T")
Prompt = str | Sequence[ChatMessage]


@overload
def generate(
    model: LanguageModel,
    prompt: Prompt,
    *,
    grammar: Grammar | Constraint | None = None,
    stream: Literal[False] = False,
    raw: bool = False,
    options: GenerationOptions | None = None,
    **settings: Any,
) -> Completion: ...


@overload
def generate(
    model: LanguageModel,
    prompt: Prompt,
    *,
    grammar: Grammar | Constraint | None = None,
    stream: Literal[True],
    raw: bool = False,
    options: GenerationOptions | None = None,
    **settings: Any,
) -> AnswerStream: ...


def generate(
    model: LanguageModel,
    prompt: Prompt,
    *,
    grammar: Grammar | Constraint | None = None,
    stream: bool = False,
    raw: bool = False,
    options: GenerationOptions | None = None,
    **settings: Any,
) -> Completion | AnswerStream:
    """Let a model write an answer that keeps to a grammar.

    Args:
        model: where logits come from (``scansion.load_model()`` for the embedded one).
        prompt: what the user says, or a whole conversation of ``{"role": ..., "content": ...}`` messages.
        grammar: what the answer must keep to; None for free text. A ``Constraint`` must be compiled for this model's vocabulary.
        stream: return an iterator of ``Delta`` instead of waiting for the whole.
        raw: ``prompt`` is the whole prompt as text, and no chat template is applied.
        options: everything else as one value.
        **settings: fields of ``GenerationOptions`` and of ``Sampling`` by name, over those of ``options``
            (``max_tokens=200``, ``temperature=0.7``, ``seed=1``, ``draft=["grammar", "ngram"]``).

    Returns:
        The completion, or with ``stream`` an ``AnswerStream``.

    Raises:
        RequestError: a setting is unknown or out of range, or the budget is too small for any answer the grammar allows.
        ContextError: the prompt does not fit.
        ModelError: the model has no chat template and ``raw`` was not given.
    """
    run_options = _options(options, settings)
    answer = AnswerStream(model, _prompt_text(model, prompt, raw), _constraint(model, grammar), run_options)
    if stream:
        return answer
    with answer:
        for _ in answer:
            pass
    return answer.completion


@overload
def generate_many(
    model: LanguageModel,
    prompts: Sequence[Prompt],
    *,
    grammars: Sequence[Grammar | Constraint | None] | None = None,
    raw: bool = False,
    return_errors: Literal[False] = False,
    options: GenerationOptions | None = None,
    **settings: Any,
) -> list[Completion]: ...


@overload
def generate_many(
    model: LanguageModel,
    prompts: Sequence[Prompt],
    *,
    grammars: Sequence[Grammar | Constraint | None] | None = None,
    raw: bool = False,
    return_errors: Literal[True],
    options: GenerationOptions | None = None,
    **settings: Any,
) -> list[Completion | Exception]: ...


def generate_many(
    model: LanguageModel,
    prompts: Sequence[Prompt],
    *,
    grammars: Sequence[Grammar | Constraint | None] | None = None,
    raw: bool = False,
    return_errors: bool = False,
    options: GenerationOptions | None = None,
    **settings: Any,
) -> list[Completion] | list[Completion | Exception]:
    """Several answers whose forward passes go together, as many at a time as the model has sequences.

    Args:
        model: loaded with ``sequences=n``.
        prompts: one per answer.
        grammars: one per answer, or None for free text throughout.
        return_errors: an answer that fails (a budget too small for its grammar, a prompt too long) gives its error in its place.
            Without it, the first error is raised once all other answers are finished.
        raw, options, **settings: as for ``generate``.

    Returns:
        One completion per prompt, in order.

    Raises:
        RequestError: what is given does not go together.
        ModelError: the model failed, or has no free sequence at all.
    """
    if isinstance(prompts, str | bytes) or not isinstance(prompts, Sequence):
        raise RequestError(f"prompts must be a list of prompts, not {type(prompts).__name__}")
    if "grammar" in settings:
        raise RequestError("generate_many takes one grammar for each prompt: grammars=[grammar] * len(prompts)")
    if grammars is not None and len(grammars) != len(prompts):
        raise RequestError(f"{len(prompts)} prompts need as many grammars, not {len(grammars)}")
    run_options = _options(options, settings)
    waiting = list(enumerate(prompts))[::-1]
    outcomes: dict[int, Completion | Exception] = {}
    active: dict[int, Run] = {}
    try:
        while waiting or active:
            while waiting:
                index, prompt = waiting[-1]
                try:
                    constraint = _constraint(model, grammars[index]) if grammars is not None else None
                    run = Run(model, _prompt_text(model, prompt, raw), constraint, run_options)
                except ScansionError as error:
                    if type(error) is ModelError:
                        if active:
                            break  # no free place: one comes when a run ends
                        raise
                    outcomes[index] = error
                    waiting.pop()
                    continue
                waiting.pop()
                run.opening()
                active[index] = run
            step(model, list(active.values()))
            for index, run in list(active.items()):
                if run.finished:
                    outcomes[index] = run.completion() if run.error is None else run.error
                    run.close()
                    del active[index]
    finally:
        for run in active.values():
            run.close()
    if return_errors:
        return [outcomes[index] for index in range(len(prompts))]
    completions = []
    for index in range(len(prompts)):
        outcome = outcomes[index]
        if isinstance(outcome, Exception):
            raise outcome
        completions.append(outcome)
    return completions


def extract(model: LanguageModel, prompt: Prompt, kind: type[T], *, options: GenerationOptions | None = None, **settings: Any) -> T:
    """Let a model fill in a Python type.

    Args:
        model: where logits come from.
        prompt: the text to take it from, or a conversation.
        kind: a Pydantic model, dataclass, TypedDict or anything else Pydantic makes a schema of.
        options, **settings: as for ``generate``.

    Returns:
        A value of ``kind``, validated by Pydantic.

    Raises:
        RequestError: Pydantic is not installed, or the budget ended the answer before it was complete.
    """
    adapter = type_adapter(kind)
    completion = generate(model, _extraction(prompt, adapter), grammar=_type_grammar(kind), options=options, **settings)
    value: T = _typed(adapter, completion)
    return value


async def agenerate(
    model: LanguageModel,
    prompt: Prompt,
    *,
    grammar: Grammar | Constraint | None = None,
    raw: bool = False,
    options: GenerationOptions | None = None,
    **settings: Any,
) -> Completion:
    """``generate`` without blocking the event loop: forward passes run in a thread. Cancelling ends the answer."""
    stream = await _open(model, prompt, grammar, raw, options, settings)
    async for _ in _adeltas(stream):
        pass
    return stream.completion


async def astream(
    model: LanguageModel,
    prompt: Prompt,
    *,
    grammar: Grammar | Constraint | None = None,
    raw: bool = False,
    options: GenerationOptions | None = None,
    **settings: Any,
) -> AsyncIterator[Delta]:
    """``generate(..., stream=True)`` as an asynchronous iterator."""
    async for delta in _adeltas(await _open(model, prompt, grammar, raw, options, settings)):
        yield delta


async def aextract(model: LanguageModel, prompt: Prompt, kind: type[T], *, options: GenerationOptions | None = None, **settings: Any) -> T:
    """``extract`` without blocking the event loop."""
    adapter = type_adapter(kind)
    completion = await agenerate(model, _extraction(prompt, adapter), grammar=_type_grammar(kind), options=options, **settings)
    value: T = _typed(adapter, completion)
    return value


async def _open(
    model: LanguageModel,
    prompt: Prompt,
    grammar: Grammar | Constraint | None,
    raw: bool,
    options: GenerationOptions | None,
    settings: Mapping[str, Any],
) -> AnswerStream:
    return await asyncio.to_thread(lambda: generate(model, prompt, grammar=grammar, stream=True, raw=raw, options=options, **settings))


async def _adeltas(stream: AnswerStream) -> AsyncIterator[Delta]:
    try:
        while (delta := await asyncio.to_thread(next, stream, None)) is not None:
            yield delta
    finally:
        stream.close()


# -- from what callers write to what a run takes -----------------------------------------------------------------------


def _options(options: GenerationOptions | None, settings: Mapping[str, Any]) -> GenerationOptions:
    if not isinstance(options, GenerationOptions | None):
        raise RequestError(f"options must be GenerationOptions, not {type(options).__name__}")
    base = options or GenerationOptions()
    own = {name: value for name, value in settings.items() if name in GenerationOptions.__dataclass_fields__}
    drawing = {name: value for name, value in settings.items() if name in Sampling.__dataclass_fields__}
    unknown = settings.keys() - own.keys() - drawing.keys()
    if unknown:
        known = sorted([*GenerationOptions.__dataclass_fields__, *Sampling.__dataclass_fields__])
        raise RequestError(f"there is no setting {min(unknown)!r}: the settings are {', '.join(known)}")
    if drawing:
        own["sampling"] = replace(own.get("sampling", base.sampling), **drawing)
    return replace(base, **own) if own else base


def _prompt_text(model: LanguageModel, prompt: Prompt, raw: bool) -> str:
    if isinstance(prompt, str):
        return prompt if raw else model.chat_prompt([{"role": "user", "content": prompt}])
    if raw:
        raise RequestError("raw takes the prompt as one text, not as messages")
    wrong = isinstance(prompt, bytes | Mapping) or not isinstance(prompt, Sequence)
    if wrong or not all(isinstance(message, Mapping) for message in prompt):
        raise RequestError('the prompt must be a text or a list of messages {"role": ..., "content": ...}')
    return model.chat_prompt(prompt)


def _constraint(model: LanguageModel, grammar: Grammar | Constraint | None) -> Constraint | None:
    if grammar is None:
        return None
    from scansion.grammar import Grammar
    from scansion.matching import Constraint

    if not isinstance(grammar, Grammar | Constraint):
        raise RequestError(f"grammar must be a Grammar (Grammar.from_json_schema(...)) or a Constraint, not {type(grammar).__name__}")
    if not isinstance(grammar, Constraint):
        compiled: Constraint = grammar.compile(model.vocabulary)
        return compiled
    if grammar.vocabulary != model.vocabulary:
        raise RequestError(f"the constraint was compiled for another vocabulary than that of {model.name}: compile the grammar for it")
    return grammar


def _type_grammar(kind: Any) -> Grammar:
    from scansion.grammar import Grammar

    return Grammar.from_json_schema(kind)


def _extraction(prompt: Prompt, adapter: Any) -> Sequence[ChatMessage]:
    """The conversation with the schema told to the model, unless the caller tells it something already."""
    messages: list[ChatMessage] = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    if messages and messages[0].get("role") == "system":
        return messages
    schema = json.dumps(adapter.json_schema(), ensure_ascii=False)
    return [{"role": "system", "content": f"Answer with JSON that keeps to this schema:\n{schema}"}, *messages]


def _typed(adapter: Any, completion: Completion) -> Any:
    if not completion.complete:
        raise RequestError(f"the answer was cut after {completion.stats.tokens} tokens before it was complete: raise max_tokens")
    return adapter.validate_json(completion.content)
