"""The table and the plot of the two tails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .runner import EngineRun

__all__ = ["percentile", "plot", "slowest", "table"]

_QUANTILES = (0.5, 0.9, 0.99, 0.999)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the ascending values lie."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else float("nan")


def _figures(values: Sequence[float], shares: Sequence[float]) -> list[str]:
    ordered = sorted(values)
    average = sum(ordered) / len(ordered) if ordered else float("nan")
    figures = [average, *(percentile(ordered, share) for share in shares), ordered[-1] if ordered else float("nan")]
    return [f"{figure:,.1f}" if figure < 100 else f"{figure:,.0f}" for figure in figures]


def table(runs: Sequence[EngineRun]) -> str:
    """One Markdown row for each engine. Times in microseconds."""
    head = ["engine", "cases", "passed", "refused", "failed", "wrongly accepts", "wrongly rejects"]
    head += [f"first mask {name}" for name in ("avg", "p50", "p99", "max")]
    head += [f"mask + accept {name}" for name in ("avg", "p50", "p90", "p99", "p99.9", "max")] + ["MB"]
    lines = [head, ["---"] * len(head)]
    for run in runs:
        results = run.results
        counts = [
            len(results),
            sum(result.passed for result in results),
            sum(result.refused is not None for result in results),
            sum(result.failed is not None for result in results),
            sum(result.wrongly_accepts > 0 for result in results),
            sum(result.wrongly_rejects > 0 for result in results),
        ]
        first = [result.first_mask for result in results if result.first_mask is not None]
        steps = [step / 1e3 for result in results for step in result.steps]
        row = [run.engine, *map(str, counts), *_figures(first, (0.5, 0.99)), *_figures(steps, _QUANTILES), f"{run.peak_memory:,.0f}"]
        lines.append(row)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def slowest(run: EngineRun, count: int) -> list[str]:
    """The cases with the slowest first masks, and those with the slowest steps."""
    first = sorted(((result.first_mask, result.name) for result in run.results if result.first_mask is not None), reverse=True)
    steps = sorted(
        ((max(result.steps), result.steps.index(max(result.steps)), result.name) for result in run.results if result.steps), reverse=True
    )
    return [
        *(f"{run.engine}: first mask {time:,.0f} µs: {name}" for time, name in first[:count]),
        *(f"{run.engine}: step {index} {time / 1e3:,.0f} µs: {name}" for time, index, name in steps[:count]),
    ]


def plot(runs: Sequence[EngineRun], path: Path, title: str) -> None:
    """Share of cases and of tokens that take longer than a given time, on logarithmic axes, as SVG or PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for run in runs:
        first = [result.first_mask for result in run.results if result.first_mask is not None]
        steps = [step / 1e3 for result in run.results for step in result.steps]
        for axis, values in zip(axes, (first, steps), strict=True):
            ordered = sorted(values)
            if ordered:
                axis.step(ordered, [1 - rank / len(ordered) for rank in range(len(ordered))], where="post", label=run.engine)
    for axis, name in zip(axes, ("first mask", "mask + accept"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel=f"{name}, µs", ylabel="share that takes longer")
        axis.grid(visible=True, which="major", alpha=0.3)
        axis.legend()
    figure.suptitle(title)
    figure.savefig(path)
    pyplot.close(figure)
