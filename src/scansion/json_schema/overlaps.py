"""Which branches of a ``oneOf`` some object or array could satisfy together.

Two by two, that is a question for every pair. Where many branches are told apart by a key (``kind``, ``type``) that all of them
require and give few values, only branches that share a value of it are asked about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

from scansion.errors import LimitError
from scansion.json_schema.documents import Site
from scansion.json_schema.scalars import NumberSet
from scansion.json_schema.shapes import ObjectAlternative

if TYPE_CHECKING:
    from scansion.json_schema.normal_form import Normaliser

__all__ = ["MAX_PAIRS", "overlapping_numbers", "overlaps"]

MAX_PAIRS = 20_000  # pairs of branches looked at
_MANY = 12  # branches past which a key that tells them apart is looked for
_KEYS = 3  # keys tried

T = TypeVar("T")


def overlaps(
    norm: Normaliser, site: Site, branches: Sequence[Sequence[T]], meet: Callable[[Sequence[T], Sequence[T]], bool]
) -> list[list[int]]:
    """For each branch, the others that it meets.

    Args:
        branches: the alternatives of each branch, none without.
        meet: whether two branches do.

    Raises:
        LimitError: more than ``MAX_PAIRS`` pairs would have to be looked at.
    """
    found: list[list[int]] = [[] for _ in branches]
    for i, j in _counted(_pairs(norm, branches), site, len(branches)):
        if meet(branches[i], branches[j]):
            found[i].append(j)
            found[j].append(i)
    return found


def overlapping_numbers(site: Site, sets: Sequence[NumberSet]) -> list[list[int]]:
    """For each set of numbers, the others whose range meets its own.

    Raises:
        LimitError: as ``overlaps``.
    """
    ranges = sorted((*numbers.range, i) for i, numbers in enumerate(sets))
    found: list[list[int]] = [[] for _ in sets]
    for i, j in _counted(_crossing(ranges), site, len(sets)):
        found[i].append(j)
        found[j].append(i)
    return found


def _crossing(ranges: Sequence[tuple[Any, Any, int]]) -> Iterator[tuple[int, int]]:
    """Pairs of ranges (in the order of where they begin) that have a number in common."""
    going: list[tuple[Any, int]] = []
    for low, high, j in ranges:
        going = [(last, i) for last, i in going if last >= low]
        for _, i in going:
            yield i, j
        going.append((high, j))


def _counted(pairs: Iterator[tuple[int, int]], site: Site, branches: int) -> Iterator[tuple[int, int]]:
    for looked, pair in enumerate(pairs):
        if looked >= MAX_PAIRS:
            raise LimitError(
                f"#{site.pointer}/oneOf: telling {branches:,} branches apart takes more than {MAX_PAIRS:,} comparisons "
                "(give each a required key with a const of its own, or write anyOf where they exclude each other anyway)",
                limit="alternatives",
                allowed=MAX_PAIRS,
            )
        yield pair


def _pairs(norm: Normaliser, branches: Sequence[Sequence[Any]]) -> Iterator[tuple[int, int]]:
    """The pairs of branches that may meet."""
    numbers = range(len(branches))
    if len(branches) <= _MANY or not isinstance(branches[0][0], ObjectAlternative):
        return combinations(numbers, 2)
    tags = _tags(norm, branches)
    if tags is None:
        return combinations(numbers, 2)
    return _sharing(tags)


def _sharing(tags: Sequence[frozenset[Any] | None]) -> Iterator[tuple[int, int]]:
    """Pairs that share a tag, or of which one has none (``None``: it may have any)."""
    holders: dict[Any, list[int]] = {}
    free: list[int] = []
    for j, own in enumerate(tags):
        if own is None:
            before: set[int] | range = range(j)
            free.append(j)
        else:
            before = set(free).union(*(holders.get(tag, ()) for tag in own))
            for tag in own:
                holders.setdefault(tag, []).append(j)
        for i in sorted(before):
            yield i, j


def _tags(norm: Normaliser, branches: Sequence[Sequence[ObjectAlternative]]) -> list[frozenset[Any] | None] | None:
    """The values each branch gives to the key that tells most of them apart; None where no key does."""
    required = Counter(name for branch in branches for name in frozenset(branch[0].required))
    best: list[frozenset[Any] | None] | None = None
    most = 0
    for name, times in required.most_common(_KEYS):
        if times <= most:
            break
        tags = [_values(norm, branch, name) for branch in branches]
        telling = len(set().union(*(tag for tag in tags if tag)))
        if telling > most:
            most, best = telling, tags
    return best


def _values(norm: Normaliser, branch: Sequence[ObjectAlternative], name: str) -> frozenset[Any] | None:
    """The values a branch gives to a key that it requires; None where it does not, or they are not a list of scalars."""
    values: set[Any] = set()
    for alternative in branch:
        shape = norm.glimpse(alternative.value(name)) if name in alternative.required else None
        if shape is None or shape.objects or shape.arrays:
            return None
        for scalars in (shape.strings, shape.numbers):
            if scalars is not None and scalars.language is not None:
                return None
        if shape.strings is not None:
            values.update(("string", word) for word in shape.strings.words)
        if shape.numbers is not None:
            values.update(("number", value) for value in shape.numbers.words.values())
        values.update(("literal", bit) for bit in (1, 2, 4) if shape.literals & bit)
    return frozenset(values)
