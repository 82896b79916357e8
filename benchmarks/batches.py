"""Masks of a batch: `fill_bitmasks` on one processor and on several, for states that nobody asked for before and for known ones.

    python benchmarks/batches.py [--data DIR] [--vocabulary smollm2|llama3|qwen|deepseek|tekken] [--rounds N] [--size N]
                                 [--processors N] [--per-case N]

A batch has ``--size`` matchers, each at a place drawn at random in a valid text where no mask was made when the grammar was
compiled: by default one of each case (with few cases, several), with ``--per-case`` so many of each. Every measurement is in a
process of its own that has filled one batch of other cases before, so that the vocabulary and the helping threads are there.
One and several processors take turns. Without ``--data`` the cases are those written in ``mask_benchmark/cases.py``; with it,
MaskBench files. The machine should be quiet.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

from mask_benchmark.cases import Case, from_folder, own_cases
from mask_benchmark.vocabularies import VOCABULARIES, TokenTable, load

import scansion

_WARM_UP = 32  # matchers of the batch before
_OPTIONS = {"json_schema": {"property_order": "declared", "whitespace": "flexible"}}  # as in masks.py
_REPEATS = 50
_TRIES = 20  # places looked at for one that is new
_KNOWN = 4.0  # microseconds that a known mask takes at most


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of MaskBench files")
    parser.add_argument("--vocabulary", choices=[*VOCABULARIES], default="smollm2")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--processors", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--per-case", type=int, default=1)
    parser.add_argument("--worker", type=int, metavar="SEED", help=argparse.SUPPRESS)
    return parser.parse_args()


def microseconds(work: Callable[[], None]) -> float:
    start = perf_counter()
    work()
    return (perf_counter() - start) * 1e6


class Drawing:
    """Matchers at random places, of cases in a random order.

    Whether a place is new is asked of the same grammar over a second copy of the vocabulary, which shares nothing with the first.
    """

    def __init__(self, cases: list[Case], table: TokenTable, seed: int) -> None:
        self.draw = random.Random(seed)
        self.cases = self.draw.sample(cases, len(cases))
        self.at = 0
        self.encode = table.encode
        self.vocabulary, self.copy = (scansion.Vocabulary(table.tokens, eos_token_ids=[table.eos]) for _ in range(2))
        self.row = scansion.allocate_bitmask(1, self.copy.size)

    def matchers(self, count: int, per_case: int) -> list[scansion.Matcher]:
        out: list[scansion.Matcher] = []
        for _ in range(len(self.cases)):
            case = self.cases[self.at % len(self.cases)]
            self.at += 1
            texts = [text.text for text in case.texts if text.valid]
            if texts:
                out += self._places(case, texts, min(per_case, count - len(out)))
            if len(out) == count:
                return out
        return out + self.matchers(count - len(out), per_case) if out else out

    def _places(self, case: Case, texts: list[str], count: int) -> list[scansion.Matcher]:
        try:
            grammar = getattr(scansion.Grammar, f"from_{case.kind}")(case.source, **_OPTIONS.get(case.kind, {}))
            constraint, copy = grammar.compile(self.vocabulary), grammar.compile(self.copy)
        except scansion.ScansionError:
            return []
        places: list[scansion.Matcher] = []
        for _ in range(_TRIES * count):
            ids = self.encode(self.draw.choice(texts))
            before = ids[: self.draw.randrange(len(ids))]
            probe, matcher = copy.matcher(), constraint.matcher()
            if not all(probe.accept(token) and matcher.accept(token) for token in before):
                return []
            if microseconds(lambda probe=probe: probe.fill_bitmask(self.row, 0)) > _KNOWN:
                places.append(matcher)
            if len(places) == count:
                break
        return places


def measure(options: argparse.Namespace, cases: list[Case]) -> dict[str, float]:
    """Microseconds of one batch, new and known, and of a loop over the known masks."""
    drawing = Drawing(cases, load(options.vocabulary), options.worker)
    size = drawing.vocabulary.size
    mask = scansion.allocate_bitmask(options.size, size)
    mask[:] = -1  # in memory, as it is from the second step on
    scansion.fill_bitmasks(drawing.matchers(_WARM_UP, 1), scansion.allocate_bitmask(_WARM_UP, size))
    matchers = drawing.matchers(options.size, options.per_case)

    def batch() -> None:
        scansion.fill_bitmasks(matchers, mask)

    def loop() -> None:
        for row, matcher in enumerate(matchers):
            matcher.fill_bitmask(mask, row)

    new = microseconds(batch)
    return {
        "new": new,
        "known": median(microseconds(batch) for _ in range(_REPEATS)),
        "loop": median(microseconds(loop) for _ in range(_REPEATS)),
    }


def main() -> None:
    options = arguments()
    if options.worker is not None:
        cases = from_folder(options.data, None) if options.data else own_cases()
        print(json.dumps(measure(options, cases)))
        return
    available = sorted(os.sched_getaffinity(0))
    counts = [1, options.processors]
    times: dict[int, list[dict[str, float]]] = {count: [] for count in counts}
    for seed in range(options.rounds):
        for count in counts:
            os.sched_setaffinity(0, available[-count:])
            command = [sys.executable, *sys.argv, "--worker", str(seed)]
            times[count].append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
    os.sched_setaffinity(0, available)
    print(f"{options.size} matchers, {options.rounds} batches, vocabulary {options.vocabulary}; medians in microseconds\n")
    print(f"{'processors':>10} {'new':>8} {'known':>8} {'loop':>8}")
    for count in counts:
        print(f"{count:>10} " + " ".join(f"{median(run[kind] for run in times[count]):8.0f}" for kind in ("new", "known", "loop")))
    gains = sorted(one["new"] / many["new"] for one, many in zip(times[1], times[options.processors], strict=True))
    print(
        f"\n{options.processors} processors, new masks: {median(gains):.2f} times as fast at the median ({gains[0]:.2f} to {gains[-1]:.2f})"
    )


if __name__ == "__main__":
    main()
