"""Generation on the embedded model: what constraints cost and what drafts give back.

Workloads are fixed here. For each: unconstrained decoding of the same tokens (greedy, one forward per token), llama.cpp's own
grammar in the order its server draws, llguidance masks where installed, Scansion without drafts, Scansion with. Runs of the
engines are interleaved, and each figure is the best of all rounds: a busy machine only ever makes a run slower.

    python benchmarks/generation.py [--rounds N] [--threads N] [--plot FILE]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
from dataclasses import dataclass
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


def workloads() -> list[Workload]:
    def from_schema(name: str, prompt: str, schema: Any, max_tokens: int) -> Workload:
        prompt += f" Answer with JSON that keeps to this schema: {json.dumps(schema)}"
        grammar = scansion.Grammar.from_json_schema(json.dumps(schema), whitespace="compact")
        try:
            gbnf = grammar.to_gbnf()
        except scansion.UnsupportedError:
            gbnf = None
        return Workload(name, prompt, grammar, gbnf, max_tokens)

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
    """llguidance's matcher in the same place."""

    def __init__(self, tokenizer: Any, text: str) -> None:
        import llguidance

        self._matcher = llguidance.LLMatcher(tokenizer, text)
        if self._matcher.is_error():
            raise ValueError(self._matcher.get_error())

    def accept(self, token_id: int) -> bool:
        return self._matcher.try_consume_tokens([token_id]) == 1

    def fill_bitmask(self, mask: np.ndarray, row: int = 0) -> None:
        from llguidance.numpy import fill_next_token_bitmask

        fill_next_token_bitmask(self._matcher, mask, row)

    def way_out(self) -> int | None:
        return None


@dataclass
class Result:
    tokens: list[int]
    seconds: float
    forwards: int
    mask_seconds: float = 0.0
    acceptance: float | None = None

    @property
    def speed(self) -> float:
        """Tokens per second after the prompt."""
        return (len(self.tokens) - 1) / self.seconds


def decode(model: LlamaModel, prompt: list[int], limit: int, constraint: Any, script: list[int] | None = None) -> Result:
    """One forward per token. With a script its tokens are fed whatever is drawn: the cost of unconstrained decoding."""
    draws = ConstrainedDraws(GreedyDrawer(), model.vocabulary.size)
    sequence = model.open_sequence(prompt)
    sequence.truncate(0)
    ends = set(model.vocabulary.eos_token_ids)
    feed, tokens = prompt, []
    started = 0.0
    try:
        while len(tokens) < limit:
            (rows,) = model.forward([Feed(sequence, feed, 1)])
            if not tokens:
                started = perf_counter()
            token = draws.draw(rows[0], constraint)
            if script is not None:
                token = script[len(tokens)]
            if token in ends:
                break
            tokens.append(token)
            feed = [token]
        return Result(tokens, perf_counter() - started, len(tokens), sum(draws.seconds))
    finally:
        sequence.truncate(0)
        sequence.close()


def scansion_run(model: LlamaModel, workload: Workload, prompt: str, draft: list[str]) -> Result:
    completion = scansion.generate(
        model, prompt, raw=True, grammar=workload.grammar, max_tokens=workload.max_tokens, draft=draft, finish=workload.name != "prose"
    )
    model.open_sequence([0, 1]).close()  # forget the prompt, so that every run starts alike
    stats = completion.stats
    proposed = sum(figures.proposed for figures in stats.drafts.values())
    accepted = sum(figures.accepted for figures in stats.drafts.values())
    return Result(
        list(completion.tokens), stats.seconds, stats.forwards, sum(stats.mask_seconds), accepted / proposed if proposed else None
    )


def measure(model: LlamaModel, rounds: int) -> dict[str, dict[str, Result]]:
    """Best results by workload and engine."""
    tokenizer = _llguidance_tokenizer(model)
    table: dict[str, dict[str, Result]] = {}
    for workload in workloads():
        text = model.chat_prompt([{"role": "user", "content": workload.prompt}])
        prompt = model.prompt_tokens(text)
        best = table.setdefault(workload.name, {})
        script = scansion_run(model, workload, text, []).tokens

        def keep(engine: str, result: Result, best: dict[str, Result] = best) -> None:
            if engine not in best or result.speed > best[engine].speed:
                best[engine] = result

        for _ in range(rounds):
            keep("unconstrained", decode(model, prompt, len(script), None, script))
            if workload.gbnf is not None:
                keep("llama.cpp grammar", decode(model, prompt, workload.max_tokens, LlamaGrammar(model, workload.gbnf)))
            if tokenizer is not None and workload.gbnf is not None:
                import llguidance

                lark = llguidance.gbnf_to_lark.any_to_lark(workload.gbnf)
                keep("llguidance masks", decode(model, prompt, workload.max_tokens, LlguidanceGrammar(tokenizer, lark)))
            keep("scansion", scansion_run(model, workload, text, []))
            keep("scansion, drafts", scansion_run(model, workload, text, ["grammar"]))
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


def show(table: dict[str, dict[str, Result]]) -> None:
    print("| workload | engine | tokens | tokens/s | × unconstrained | tokens/forward | acceptance | share in masks |")
    print("|---|---|---|---|---|---|---|---|")
    for workload, engines in table.items():
        base = engines["unconstrained"].speed
        for engine, result in engines.items():
            acceptance = "" if result.acceptance is None else f"{result.acceptance:.0%}"
            share = "" if engine == "unconstrained" else f"{result.mask_seconds / result.seconds:.1%}"
            per_forward = len(result.tokens) / result.forwards
            print(
                f"| {workload} | {engine} | {len(result.tokens)} | {result.speed:.1f} | {result.speed / base:.2f} "
                f"| {per_forward:.2f} | {acceptance} | {share} |"
            )


def plot(table: dict[str, dict[str, Result]], path: Path) -> None:
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is not installed: no plot", file=sys.stderr)
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    engines = ["unconstrained", "llama.cpp grammar", "llguidance masks", "scansion", "scansion, drafts"]
    engines = [engine for engine in engines if any(engine in row for row in table.values())]
    figure, axes = pyplot.subplots(figsize=(10, 4.5))
    width = 0.8 / len(engines)
    for number, engine in enumerate(engines):
        places = [place + number * width for place, row in enumerate(table.values()) if engine in row]
        axes.bar(places, [row[engine].speed for row in table.values() if engine in row], width, label=engine)
    axes.set_xticks([place + 0.4 - width / 2 for place in range(len(table))], list(table))
    axes.set_ylabel("tokens per second, greedy, SmolLM2-135M")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    print(f"plot: {path}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--plot", type=Path, default=Path(__file__).with_name("generation.png"))
    arguments = parser.parse_args()
    with LlamaModel(context_size=2048, threads=arguments.threads) as model:
        table = measure(model, arguments.rounds)
        print(f"{model.description}, {model.name}; cost of a forward in ms by tokens in it: ", end="")
        print(", ".join(f"{size}: {(model.costs.estimate(size) or 0) * 1e3:.1f}" for size in (1, 2, 4, 8, 16)))
    show(table)
    plot(table, arguments.plot)


if __name__ == "__main__":
    main()
