"""Masks: time to the first one, and of each one with the token after it, against other engines in one run.

    python benchmarks/masks.py [--peers llguidance,glrmask,xgrammar,maskforge,floor] [--data DIR] [--limit N]
                               [--vocabulary smollm2|llama3|qwen|deepseek|tekken] [--rounds N] [--plot FILE]

Every engine runs the same cases, in a process of its own, in turn, and is given the same tokens. Without ``--data`` the cases
are those written in ``mask_benchmark/cases.py``; with it, MaskBench files. A text is right when each token was in the mask and
the end token is in the last mask exactly where the text is valid. Of several rounds each engine keeps the one with the least
average step: a busy machine only ever makes a run slower. For figures to compare, pin the run to one core of a quiet machine.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mask_benchmark.cases import from_folder, own_cases
from mask_benchmark.engines import ENGINES
from mask_benchmark.report import plot, slowest, table
from mask_benchmark.runner import EngineRun, run_engine, serve_cases
from mask_benchmark.vocabularies import VOCABULARIES, load


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default="", help="other engines to run, by commas")
    parser.add_argument("--data", type=Path, help="folder of MaskBench files")
    parser.add_argument("--limit", type=int, help="only the first N files of --data")
    parser.add_argument("--vocabulary", choices=[*VOCABULARIES], default="smollm2")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20, help="the longest one case may take")
    parser.add_argument("--plot", type=Path, help="write the two tails to this SVG or PNG file")
    parser.add_argument("--refusals", action="store_true", help="list what was refused or failed, and why")
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="name the N cases with the slowest first masks and steps")
    parser.add_argument("--worker", choices=[*ENGINES], help=argparse.SUPPRESS)
    return parser.parse_args()


def average_step(run: EngineRun) -> float:
    steps = [step for result in run.results for step in result.steps]
    return sum(steps) / max(1, len(steps))


def main() -> None:
    options = arguments()
    cases = from_folder(options.data, options.limit) if options.data else own_cases()
    if options.worker:
        serve_cases(options.worker, cases, load(options.vocabulary))
        return
    peers = [name for name in options.peers.split(",") if name]
    unknown = [name for name in peers if name not in ENGINES]
    if unknown:
        raise SystemExit(f"no engine is called {unknown[0]!r}: give some of {', '.join(ENGINES)}")
    engines = ["scansion", *(name for name in peers if name != "scansion")]
    best: dict[str, EngineRun] = {}
    for _ in range(options.rounds):
        for engine in engines:
            command = [sys.executable, *sys.argv, "--worker", engine]
            run = run_engine(engine, cases, command, options.seconds)
            if engine not in best or average_step(run) < average_step(best[engine]):
                best[engine] = run
    runs = [best[engine] for engine in engines]
    print(f"{len(cases)} cases, vocabulary {options.vocabulary}; times in microseconds\n")
    print(table(runs))
    if options.refusals:
        for run in runs:
            for result in run.results:
                if not result.passed:
                    wrong = f"wrongly accepts {result.wrongly_accepts}, rejects {result.wrongly_rejects}"
                    print(f"{run.engine}: {result.name}: {result.refused or result.failed or wrong}")
    for run in runs if options.slowest else ():
        print("\n".join(slowest(run, options.slowest)))
    if options.plot:
        plot(runs, options.plot, f"{len(cases)} cases, {options.vocabulary}")
        print(f"\nwrote {options.plot}")


if __name__ == "__main__":
    main()
