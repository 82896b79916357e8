"""``scansion generate``: the answer on standard output, everything else on standard error."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import click

from scansion.cli.grammar_options import GrammarChoice, grammar_options, read_input
from scansion.cli.output import ResultWriter, note
from scansion.errors import RequestError
from scansion.generation.events import Completion
from scansion.generation.options import DRAFT_SOURCES, GenerationOptions
from scansion.sampling.settings import Sampling

__all__ = ["command"]

EXIT_INCOMPLETE = 1


def _draft_sources(_context: click.Context, _parameter: click.Parameter, value: str) -> list[str]:
    names = [] if value == "none" else [name.strip() for name in value.split(",")]
    wrong = [name for name in names if name not in DRAFT_SOURCES]
    if wrong:
        raise click.BadParameter(f"{wrong[0]!r} is not a source of drafts: give {', '.join(DRAFT_SOURCES)} or none")
    return names


_FLAGS = {
    "max_tokens": "-n",
    "temperature": "--temp",
    "top_k": "--top-k",
    "top_p": "--top-p",
    "min_p": "--min-p",
    "repeat_penalty": "--repeat-penalty",
    "draft_max": "--draft-max",
    "draft_model": "--draft-model",
    "context_size": "--context",
}
"""What the library calls a setting, and what it is called here."""
_SETTING = re.compile("|".join(rf"\b{name}\b" for name in _FLAGS))


@contextmanager
def _named_as_flags() -> Iterator[None]:
    """Errors about settings name the flags they were given with."""
    try:
        yield
    except RequestError as error:
        raise RequestError(_SETTING.sub(lambda match: _FLAGS[match[0]], str(error))) from None


@click.command()
@click.option("-p", "--prompt", required=True, metavar="PROMPT", help="What to ask (- reads standard input).")
@click.option("-m", "--model", "model_path", metavar="MODEL.gguf", help="Model file; without it, SmolLM2-135M-Instruct.")
@grammar_options(required=False)
@click.option("-n", "--tokens", "max_tokens", default=512, show_default=True, metavar="TOKENS", help="The most tokens to write.")
@click.option("--temp", "temperature", default=0.0, show_default=True, metavar="T", help="Temperature; 0 takes the likeliest token.")
@click.option("--top-k", default=0, metavar="K", help="Draw from the K likeliest tokens; 0 is off.")
@click.option("--top-p", default=1.0, metavar="P", help="Draw from the likeliest tokens that sum to P; 1 is off.")
@click.option("--min-p", default=0.0, metavar="P", help="Drop tokens less likely than P times the likeliest; 0 is off.")
@click.option("--repeat-penalty", default=1.0, metavar="X", help="Penalty on recent tokens; 1 is off.")
@click.option("--seed", type=int, default=None, metavar="S", help="Seed of the draws; without it, a fresh one each time.")
@click.option("--system", metavar="TEXT", help="The system message.")
@click.option("--raw", is_flag=True, help="The prompt is the whole prompt: apply no chat template.")
@click.option(
    "--draft", callback=_draft_sources, default="grammar", show_default=True, metavar="LIST", help="Draft tokens: grammar,ngram or none."
)
@click.option("--draft-max", default=24, show_default=True, metavar="N", help="The most tokens drafted at once, up to 48.")
@click.option("--draft-model", "draft_model_path", metavar="MODEL.gguf", help="A smaller model with the same vocabulary that drafts too.")
@click.option("--assist", is_flag=True, help="The grammar only drafts: the text is what it is without it.")
@click.option("--think", is_flag=True, help="Let the model reason freely first (shown on standard error).")
@click.option("--fence", is_flag=True, help="Open a code fence for the model; it is not part of the answer.")
@click.option("--prefill", default="", metavar="TEXT", help="Text the answer starts with.")
@click.option("--stop", multiple=True, metavar="TEXT", help="End the answer before this text; repeat the option.")
@click.option("--finish/--no-finish", default=True, help="Under a grammar, always complete the answer within -n (default).")
@click.option(
    "--context", "context_size", type=int, default=None, metavar="TOKENS", help="Context size; default the model's, at most 8192."
)
@click.option("--threads", type=click.IntRange(1, 512), default=None, metavar="N", help="Threads; default the cores this process may use.")
@click.option("--friction", is_flag=True, help="With --stats, the probability the grammar took away.")
@click.option("--stats", is_flag=True, help="One line of figures on standard error at the end.")
@click.option("--stream/--no-stream", default=True, help="Write as the answer grows (default), or at the end.")
def command(
    *,
    prompt: str,
    model_path: str | None,
    choice: GrammarChoice,
    system: str | None,
    raw: bool,
    draft: list[str],
    draft_model_path: str | None,
    assist: bool,
    context_size: int | None,
    threads: int | None,
    stats: bool,
    stream: bool,
    **settings: Any,
) -> int:
    """Let a model write an answer that keeps to a grammar.

    Only the answer goes to standard output. Without a grammar the answer is free text.

    \b
    scansion generate -p "A person, please." -j '{"type": "object", "properties": {"name": {"type": "string"}}}'
    scansion generate -p "Is water wet?" --choice yes --choice no
    """
    from scansion.generation.api import generate
    from scansion.models import load_model

    if raw and system is not None:
        raise click.UsageError("--raw gives the whole prompt, so --system has no place in it")
    grammar = choice.grammar(whitespace="bounded", order="declared", spelling="canonical")
    if assist and grammar is None:
        raise click.UsageError("--assist drafts from a grammar: give one")
    drawing = {name: settings.pop(name) for name in list(settings) if name in Sampling.__dataclass_fields__}
    text = _text(prompt)
    interrupted = False
    with ExitStack() as cleanup:
        cleanup.enter_context(_named_as_flags())
        options = GenerationOptions(sampling=Sampling(**drawing), mode="assist" if assist else "constrain", draft=draft, **settings)
        if sys.stderr.isatty():
            note("loading the model ...")
        model = cleanup.enter_context(load_model(model_path, context_size=context_size, threads=threads))
        if draft_model_path is not None:
            drafter = cleanup.enter_context(load_model(draft_model_path, context_size=model.context_size, threads=threads))
            options = replace(options, draft_model=drafter)
        question: Any = (
            text if raw else [*([{"role": "system", "content": system}] if system is not None else []), {"role": "user", "content": text}]
        )
        writer = ResultWriter()
        with generate(model, question, grammar=grammar, stream=True, raw=raw, options=options) as answer:
            try:
                for delta in answer:
                    if stream:
                        writer.write(delta.content)
                        if delta.reasoning:
                            sys.stderr.write(delta.reasoning)
                            sys.stderr.flush()
            except KeyboardInterrupt:
                interrupted = True
            completion = answer.completion
            if not stream:
                writer.write(completion.content)
            writer.end_line()
    if completion.reasoning and sys.stderr:
        note("" if stream else completion.reasoning)
    if stats:
        note(completion.stats.line())
    if interrupted:
        raise KeyboardInterrupt
    return _verdict(completion, constrained=grammar is not None and not assist)


def _text(prompt: str) -> str:
    if prompt != "-":
        return prompt
    try:
        return read_input("-").decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(f"the prompt on standard input is not UTF-8: byte {error.start} is wrong") from None


def _verdict(completion: Completion, *, constrained: bool) -> int:
    if constrained and not completion.complete:
        if completion.finish_reason == "stop":
            note("scansion: a --stop text ended the answer before it was complete: leave it out, or choose another")
        else:
            note(f"scansion: the answer was cut after {completion.stats.tokens} tokens before it was complete: raise -n")
        return EXIT_INCOMPLETE
    return 0
