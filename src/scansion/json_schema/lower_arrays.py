"""An array alternative to an array spec of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scansion.errors import LimitError, UnsupportedError
from scansion.json_schema.shapes import ArrayAlternative, Counter, Expr, both

if TYPE_CHECKING:
    from scansion.json_schema.lower import Lowering

__all__ = ["array_spec"]

MAX_DIFFERENT = 10_000  # items that must be there and must differ: whether there are so many values is found out
MAX_COUNTERS = 8  # contains-like counts kept at once for one array


def array_spec(lowering: Lowering, alternative: ArrayAlternative, label: int) -> tuple[int, bool]:
    """Write the spec; its index (-1: plainly impossible), and whether the empty array surely satisfies it."""
    maximum = alternative.maximum
    minimum = alternative.minimum
    counters = alternative.counters
    if alternative.unique and alternative.repeats is not None:
        return -1, False
    length = max((len(facet.prefix) for facet in (*alternative.facets, *counters)), default=0)
    if len(counters) > MAX_COUNTERS:
        raise LimitError(
            f"{lowering.where}: one array has more than {MAX_COUNTERS} contains conditions", limit="counters", allowed=MAX_COUNTERS
        )
    if alternative.unique and max((minimum, *(counter.low for counter in counters))) > MAX_DIFFERENT:
        raise LimitError(
            f"{lowering.where}: more than {MAX_DIFFERENT:,} items that all differ cannot be asked for (lower minItems)",
            limit="unique_items",
            allowed=MAX_DIFFERENT,
        )
    if 0 <= maximum < length:
        length = maximum
    prefix: list[Any] = []
    for index in range(length):
        value = _item(lowering, alternative.item(index), counters, index)
        if value == -1:
            maximum = index
            break
        prefix.append(value)
    rest: Any = -1
    if maximum < 0 or maximum > len(prefix):
        expr = alternative.item(1 << 62)
        rest = _item(lowering, expr, counters, 1 << 62)
        if rest == -1:
            maximum = len(prefix)
    if 0 <= maximum < minimum:
        return -1, False
    if alternative.repeats is not None:
        raise UnsupportedError(
            "arrays with two equal items cannot be asked for",
            pointer=alternative.repeats,
            construct="uniqueItems",
            hint="take uniqueItems out from under not, if or a oneOf with overlapping branches",
        )
    certain = minimum == 0 and all(counter.low == 0 for counter in counters)
    counts = [(counter.low, counter.high) for counter in counters]
    index = lowering.builder.array(prefix, rest, minimum, maximum, alternative.unique, counts, label)
    return index, certain


def _item(lowering: Lowering, expr: Expr, counters: tuple[Counter, ...], index: int) -> Any:
    """The value of one position: a rule, or alternatives that say which counters they count for."""
    if expr is None:
        return -1
    if not counters:
        return lowering.rule(expr)
    ways: list[tuple[Expr, tuple[int, ...]]] = [(expr, ())]
    for number, counter in enumerate(counters):
        counted = counter.item(index)
        fresh: list[tuple[Expr, tuple[int, ...]]] = []
        for value, events in ways:
            inside = both(value, counted)
            if inside is not None and not lowering.norm.impossible(inside):
                fresh.append((inside, (*events, number)))
            if counted is None:
                outside = value
            elif counted == ():
                outside = None
            else:
                # Under an upper bound an item must be known not to count; otherwise it may go uncounted.
                outside = both(value, counter.inverse) if counter.high >= 0 else value
            if outside is not None and outside != inside and not lowering.norm.impossible(outside):
                fresh.append((outside, events))
        ways = fresh
    if not ways:
        return -1
    if len(ways) == 1 and not ways[0][1]:
        return lowering.rule(ways[0][0])
    return tuple((lowering.rule(value), events) for value, events in ways)
