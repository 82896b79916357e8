"""Generation on the embedded model: what constraints cost and what drafts give back.

Workloads are fixed here. For each: unconstrained decoding (greedy, one forward per token), llama.cpp's own
grammar in the order its server draws, llguidance masks where installed, Scansion without drafts, with grammar drafts, and with
n-gram drafts as well. The engines take turns, one forward pass each, every one in a sequence of its own: whatever else the machine
does slows all of them alike. Time is counted from an answer's first forward pass to its last token, over all rounds.

All engines write the same text: what greedy decoding under the grammar gives without drafts, with the draws the grammar refused on
the way. On long prompts logits depend on how many tokens a forward pass has, and engines left alone would write different texts.

    python benchmarks/generation.py [--rounds N] [--threads N] [--plot FILE]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import scansion
from scansion.models.base import Feed
from scansion.models.llama import LlamaModel
from scansion.sampling import ConstrainedDraws
from scansion.sampling.chain import GreedyDrawer

NAME = "[A-Z][a-z]{1,10}"
PERSON = {
    "type": "object",
    "properties": {
        "first_name": {"type": "string", "pattern": f"^{NAME}$"},
        "last_name": {"type": "string", "pattern": f"^{NAME}$"},
        "year_of_birth": {"type": "integer", "minimum": 1900, "maximum": 2020},
        "occupation": {"enum": ["teacher", "engineer", "doctor", "farmer", "artist"]},
    },
    "required": ["first_name", "last_name", "year_of_birth", "occupation"],
    "additionalProperties": False,
}
RECORD = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "maxLength": 40},
        "summary": {"type": "string", "maxLength": 160},
        "author": PERSON,
        "reviewers": {"type": "array", "items": PERSON, "minItems": 2, "maxItems": 2},
        "published": {"type": "boolean"},
        "pages": {"type": "integer", "minimum": 1, "maximum": 2000},
    },
    "required": ["title", "summary", "author", "reviewers", "published", "pages"],
    "additionalProperties": False,
}
FORM = {
    "type": "object",
    "properties": {
        f"question_{number}": {"enum": ["strongly_agree", "agree", "neutral", "disagree", "strongly_disagree"]} for number in range(1, 13)
    },
    "required": [f"question_{number}" for number in range(1, 13)],
    "additionalProperties": False,
}
TOOLS = {
    "type": "array",
    "items": {
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "name": {"const": name},
                    "arguments": {
                        "type": "object",
                        "properties": {argument: {"type": "string", "maxLength": 16}},
                        "required": [argument],
                        "additionalProperties": False,
                    },
                },
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
            for name, argument in (("get_weather", "location"), ("search_web", "query"), ("send_message", "recipient"))
        ]
    },
    "minItems": 3,
    "maxItems": 3,
}
ROW = r"""row ::= "{\"name\":\"" text "\",\"age\":" [1-9] [0-9]? ",\"city\":\"" text "\",\"active\":" ("true" | "false") "}\n"
text ::= [A-Za-z ]{1,20}
"""
LOOSE = r"""row ::= "{" w "\"name\":" w "\"" text "\"," w "\"age\":" w [1-9] [0-9]? "," w "\"city\":" w "\"" text "\"" w "}\n"
text ::= [A-Za-z ]{1,20}
w ::= " "?
"""


@dataclass(frozen=True)
class Workload:
    name: str
    prompt: str
    grammar: scansion.Grammar
    gbnf: str | None
    max_tokens: int
    schema: Any = None
    """What the grammar was made of, where that is a JSON Schema."""


def workloads() -> list[Workload]:
    def from_schema(name: str, prompt: str, schema: Any, max_tokens: int) -> Workload:
        prompt += f" Answer with JSON that keeps to this schema: {json.dumps(schema)}"
        grammar = scansion.Grammar.from_json_schema(json.dumps(schema), whitespace="compact")
        try:
            gbnf = grammar.to_gbnf()
        except scansion.UnsupportedError:
            gbnf = None
        return Workload(name, prompt, grammar, gbnf, max_tokens, schema)

    def from_gbnf(name: str, prompt: str, text: str, max_tokens: int) -> Workload:
        return Workload(name, prompt, scansion.Grammar.from_gbnf(text), text, max_tokens)

    people = "List six people as one JSON object per line, with name, age, city and active."
    return [
        from_gbnf("NDJSON, compact", people, "root ::= row row row row row row\n" + ROW, 200),
        from_gbnf("NDJSON, loose", people, "root ::= row row row row row row\n" + LOOSE, 200),
        from_schema("one large record", "Describe a book about the sea, its author and two reviewers.", RECORD, 220),
        from_schema("tool calls", "What is the weather in Oslo? Search for news, and tell Anna.", TOOLS, 120),
        from_schema("form of enums", "Answer a questionnaire of twelve questions about your town.", FORM, 160),
        from_gbnf("prose", "Tell a short story about a fox.", 'root ::= [A-Za-z ,.\';:!?"-]{300,500} "."', 120),
    ]


class ScriptedModel(LlamaModel):
    """The embedded model, held to one text. Forward passes are its own; in their logits the token that the text has next is the
    largest, and before it the one the model would have drawn there if the grammar had not refused it."""

    _TOP = np.float32(1e6)
    script: Sequence[int] = ()
    """The text."""
    refused: Sequence[int | None] = ()
    """For each of its tokens what is drawn, and refused, before it."""
    prompt_length = 0
    drawn: list[int] | None = None
    """Where it is a list, the model's own choice after each forward pass is put down in it."""

    def forward(self, feeds: Sequence[Feed]) -> list[np.ndarray]:
        outputs = super().forward(feeds)
        for feed, logits in zip(feeds, outputs, strict=True):
            if self.drawn is not None:
                self.drawn.append(int(logits[-1].argmax()))
            first = len(feed.sequence.tokens) - feed.rows + 1 - self.prompt_length
            places = [first + row for row in range(feed.rows) if row not in feed.unwanted]
            for place, row in zip(places, logits, strict=True):
                if place < len(self.script):
                    row[self.script[place]] = self._TOP
                    if (refused := self.refused[place]) is not None:
                        row[refused] = self._TOP + 1
        return outputs

    def keep_to_own_text(self, workload: Workload, text: str, prompt_length: int) -> None:
        """Find the workload's text, and hold the model to it from here on."""
        self.script, self.refused, self.prompt_length, self.drawn = (), (), prompt_length, []
        settings: Any = {"raw": True, "grammar": workload.grammar, "max_tokens": workload.max_tokens, "draft": []}
        script = scansion.generate(self, text, finish=workload.name != "prose", **settings).tokens
        matcher = workload.grammar.compile(self.vocabulary).matcher()
        refused: list[int | None] = []
        for drawn, token in zip(self.drawn, script, strict=False):
            refused.append(drawn if not matcher.allows(drawn) else None)
            matcher.accept(token)
        self.script, self.refused, self.drawn = script, refused, None


SCANSION = {"scansion": [], "scansion, grammar drafts": ["grammar"], "scansion, grammar and n-gram": ["grammar", "ngram"]}


class LlamaGrammar:
    """llama.cpp's grammar sampler as something that takes and refuses tokens."""

    def __init__(self, model: LlamaModel, gbnf: str) -> None:
        self._api = model._api
        self._size = model.vocabulary_size
        self._sampler = self._api.llama_sampler_init_grammar(model.sampler_vocabulary, gbnf.encode(), b"root")
        if not self._sampler:
            raise ValueError("llama.cpp does not read this grammar")

    def _apply(self, ids: np.ndarray) -> np.ndarray:
        candidates = np.zeros(len(ids), dtype=[("id", np.int32), ("logit", np.float32), ("p", np.float32)])
        candidates["id"] = ids
        data = ctypes.cast(candidates.ctypes.data, ctypes.POINTER(self._api.llama_token_data))
        self._api.llama_sampler_apply(self._sampler, ctypes.byref(self._api.llama_token_data_array(data, len(ids), -1, False)))
        return candidates["logit"] == 0

    def accept(self, token_id: int) -> bool:
        if not self._apply(np.array([token_id]))[0]:
            return False
        self._api.llama_sampler_accept(self._sampler, token_id)
        return True

    def fill_bitmask(self, mask: np.ndarray, row: int = 0) -> None:
        mask[row] = np.packbits(np.resize(self._apply(np.arange(self._size)), mask.shape[1] * 32), bitorder="little").view(np.int32)

    def way_out(self) -> int | None:
        return None


class LlguidanceGrammar:
    """llguidance's matcher in the same place. Where text is forced its masks hold one way to cut it into tokens: the script's is added."""

    def __init__(self, tokenizer: Any, workload: Workload, script: Sequence[int]) -> None:
        import llguidance

        if workload.schema is not None:
            compact = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}
            grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(workload.schema), defaults=compact)
        else:
            grammar = llguidance.gbnf_to_lark.any_to_lark(workload.gbnf)
        self._matcher = llguidance.LLMatcher(tokenizer, grammar)
        self._script = script
        self._taken = 0
        if self._matcher.is_error():
            raise ValueError(self._matcher.get_error())

    def accept(self, token_id: int) -> bool:
        taken = self._matcher.try_consume_tokens([token_id])
        self._taken += taken
        return taken == 1

    def fill_bitmask(self, mask: np.ndarray, row: int = 0) -> None:
        from llguidance.numpy import fill_next_token_bitmask

        fill_next_token_bitmask(self._matcher, mask, row)
        word, bit = divmod(self._script[self._taken], 32)
        mask.view(np.uint32)[row, word] |= np.uint32(1 << bit)

    def way_out(self) -> int | None:
        return None


@dataclass
class Result:
    """One engine's runs of a workload."""

    tokens: int = 0
    forwards: int = 0
    timed_tokens: int = 0
    """Those that came after the forward pass over the prompt."""
    seconds: float = 0.0
    mask_seconds: float = 0.0
    drafts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Accepted and proposed, by source."""

    @property
    def speed(self) -> float:
        """Tokens per second after the prompt."""
        return self.timed_tokens / self.seconds

    @property
    def acceptance(self) -> str:
        return ", ".join(
            f"{source} {accepted / proposed:.0%} ({accepted}/{proposed})" for source, (accepted, proposed) in self.drafts.items()
        )


def decode(model: ScriptedModel, prompt: list[int], constraint: Any, result: Result) -> Iterator[int]:
    """One forward per token; yields 1 for each. Without a constraint the script is fed whatever is drawn: unconstrained decoding."""
    draws = ConstrainedDraws(GreedyDrawer(), model.vocabulary.size)
    sequence = model.open_sequence(prompt)
    feed, written = prompt[len(sequence.tokens) :], 0
    try:
        for expected in model.script:
            (rows,) = model.forward([Feed(sequence, feed, 1)])
            token = draws.draw(rows[0], constraint)
            if constraint is not None and token != expected:
                raise RuntimeError(f"an engine wrote token {token} where the text has {expected}, after {written} tokens")
            written += 1
            feed = [expected]
            yield 1
    finally:
        sequence.close()
        result.forwards += written
        result.mask_seconds += sum(draws.seconds)


def scansion_run(model: ScriptedModel, workload: Workload, prompt: str, draft: list[str], result: Result) -> Iterator[int]:
    """Scansion's own loop; yields how many tokens each forward pass brought."""
    finish = workload.name != "prose"
    stream = scansion.generate(
        model, prompt, raw=True, grammar=workload.grammar, max_tokens=workload.max_tokens, draft=draft, finish=finish, stream=True
    )
    with stream:
        for delta in stream:
            yield len(delta.tokens)
    if list(stream.completion.tokens) != list(model.script):
        raise RuntimeError(f"{draft or 'no'} drafts: the answer is not the text of {workload.name!r}")
    stats = stream.completion.stats
    result.forwards += stats.forwards
    result.mask_seconds += sum(stats.mask_seconds)
    for source, figures in stats.drafts.items():
        if figures.proposed:
            accepted, proposed = result.drafts.get(source, (0, 0))
            result.drafts[source] = accepted + figures.accepted, proposed + figures.proposed


def take_turns(runs: dict[str, Iterator[int]], results: dict[str, Result] | None) -> None:
    """Let every run do one forward pass after the other until all have ended."""
    results = {engine: Result() for engine in runs} if results is None else results
    begun: set[str] = set()
    while runs:
        for engine, run in list(runs.items()):
            result = results[engine]
            started = perf_counter()
            count = next(run, None)
            spent = perf_counter() - started
            if count is None:
                del runs[engine]
                continue
            result.tokens += count
            if engine in begun:
                result.timed_tokens += count
                result.seconds += spent
            begun.add(engine)


def measure(model: ScriptedModel, rounds: int) -> dict[str, dict[str, Result]]:
    """Results by workload and engine."""
    tokenizer = _llguidance_tokenizer(model)
    table: dict[str, dict[str, Result]] = {}
    for workload in workloads():
        text = model.chat_prompt([{"role": "user", "content": workload.prompt}])
        prompt = model.prompt_tokens(text)
        model.keep_to_own_text(workload, text, len(prompt))
        # Not counted: forward costs and the model's way of writing forced text are learned, as in a process that has run a while.
        take_turns({engine: scansion_run(model, workload, text, draft, Result()) for engine, draft in SCANSION.items()}, None)
        results = table.setdefault(workload.name, {})
        for _ in range(rounds):
            ways: dict[str, Callable[[Result], Iterator[int]]] = {"unconstrained": partial(decode, model, prompt, None)}
            if workload.gbnf is not None:
                ways["llama.cpp grammar"] = partial(decode, model, prompt, LlamaGrammar(model, workload.gbnf))
            if tokenizer is not None:
                peer = LlguidanceGrammar(tokenizer, workload, model.script)
                ways["llguidance masks"] = partial(decode, model, prompt, peer)
            for engine, draft in SCANSION.items():
                ways[engine] = partial(scansion_run, model, workload, text, draft)
            take_turns({engine: way(results.setdefault(engine, Result())) for engine, way in ways.items()}, results)
    return table


def _llguidance_tokenizer(model: LlamaModel) -> Any:
    try:
        import llguidance  # noqa: F401
        from llguidance import TokenizerWrapper
    except ImportError:
        print("llguidance is not installed: left out", file=sys.stderr)
        return None

    vocabulary = model.vocabulary

    class Wrapped:
        eos_token_id = vocabulary.eos_token_ids[0]
        bos_token_id = None
        tokens = [token if token is not None else b"" for token in vocabulary.tokens]  # noqa: RUF012
        special_token_ids = list(vocabulary.special_tokens.values())  # noqa: RUF012

        def __call__(self, text: bytes | str) -> list[int]:
            return model.tokenize(text if isinstance(text, bytes) else text.encode())

    from llguidance import LLTokenizer

    return LLTokenizer(TokenizerWrapper(Wrapped()))


def show(table: dict[str, dict[str, Result]], rounds: int) -> None:
    """The table, as Markdown."""
    print(
        "Every engine writes the same text: that of greedy decoding under the grammar without drafts, as long as the column of tokens says."
    )
    print("Draws the grammar refuses on the way are the same as well.\n")
    print("| workload | engine | tokens | tokens/s | × unconstrained | × llama.cpp grammar | tokens/forward | acceptance | in masks |")
    print("|---|---|---|---|---|---|---|---|---|")
    for workload, engines in table.items():
        base = engines["unconstrained"].speed
        peer = engines.get("llama.cpp grammar")
        for engine, result in engines.items():
            share = "" if engine == "unconstrained" else f"{result.mask_seconds / result.seconds:.2%}"
            print(
                f"| {workload} | {engine} | {result.tokens // rounds} | {result.speed:.1f} | {result.speed / base:.2f} "
                f"| {'' if peer is None else f'{result.speed / peer.speed:.2f}'} | {result.tokens / result.forwards:.2f} "
                f"| {result.acceptance} | {share} |"
            )


def plot(table: dict[str, dict[str, Result]], path: Path) -> None:
    """Bars of tokens per second, a group for each workload."""
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is not installed: no plot", file=sys.stderr)
        return
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "scansion"  # the same table gives the same file
    from matplotlib import pyplot

    engines = ["unconstrained", "llama.cpp grammar", "llguidance masks", *SCANSION]
    colours = ["#8a8a8a", "#c9a66b", "#a8866f", "#9ec5e8", "#4a90d0", "#1b5a9c"]
    figure, axes = pyplot.subplots(figsize=(10, 4.2))
    width = 0.84 / len(engines)
    for number, (engine, colour) in enumerate(zip(engines, colours, strict=True)):
        places = [place + number * width for place, row in enumerate(table.values()) if engine in row]
        axes.bar(places, [row[engine].speed for row in table.values() if engine in row], width * 0.92, label=engine, color=colour)
    axes.set_xticks([place + 0.42 - width / 2 for place in range(len(table))], list(table))
    axes.set_ylabel("tokens per second, greedy, SmolLM2-135M")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, ncols=2)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)
    print(f"plot: {path}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--plot", type=Path, default=Path("build/generation.svg"))
    arguments = parser.parse_args()
    with ScriptedModel(context_size=2048, sequences=3 + len(SCANSION), threads=arguments.threads) as model:
        table = measure(model, arguments.rounds)
        print(f"{model.description}, {model.name}; cost of a forward in ms by tokens in it: ", end="")
        print(", ".join(f"{size}: {(model.costs.estimate(size) or 0) * 1e3:.1f}" for size in (1, 2, 4, 8, 16)))
    show(table, arguments.rounds)
    plot(table, arguments.plot)


if __name__ == "__main__":
    main()
