"""Runs of what a grammar ignores, by how they end: where a longer match is possible, llguidance and the Lark toolkit take it.

A comment ``#[^\\n]*`` goes on to the end of its line: what follows it there is no terminal, though ``#`` alone is a comment too. So a
terminal that comes after a run may not begin with a character that the last piece of the run would have taken. Told here of pieces
that the character lengthens whatever they are: those of the language X with X E in X, E being the characters. The others (``x(yz)?``)
may stop early.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scansion._kernel import Language

__all__ = ["IgnoredRuns"]

_MAX_STATES = 200  # of a piece; past that nothing is known to lengthen it
_MAX_KINDS = 8
_ANYTHING = Language.anything()
_NOTHING = Language.nothing()
_Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Kind:
    """Pieces that the same characters lengthen. ``longer`` is any text that begins with one of these."""

    pieces: Language
    characters: _Ranges
    longer: Language

    def blocks(self, terminal: Language) -> bool:
        """Whether the terminal may begin with one of the characters."""
        return any(low <= last and first <= high for first, last, _ in terminal.transitions() for low, high in self.characters)


class IgnoredRuns:
    """What may stand before a terminal, and at the end of a text.

    Args:
        pieces: the languages of what is ignored.
        once: at most one piece stands at one place.
        terminals: the languages of the grammar's terminals.

    Attributes:
        between: runs after which any terminal may come.
        last: all runs, which may stand at the end.
        ways: all runs, by what a terminal after them may not begin with (None: anything may follow).
    """

    def __init__(self, pieces: Sequence[Language], once: bool, terminals: Sequence[Language]) -> None:
        self.once = once
        kinds = _kinds(pieces)
        self.blocking = [kind for kind in kinds if any(map(kind.blocks, terminals))]
        self.harmless = [kind for kind in kinds if kind not in self.blocking]
        everything = Language.union([kind.pieces for kind in kinds])
        if not self.blocking:
            self.between = self.last = everything.repeat(0, 1 if once else None)
            self.ways: list[tuple[Language, Language | None]] = [(self.between, None)]
            return
        endings = self._endings()
        self.between = Language.union([Language.empty(), endings[0]])
        self.last = Language.union([Language.empty(), *endings])
        self.ways = [(self.between, None), *((run, kind.longer) for kind, run in zip(self.blocking, endings[1:], strict=True))]

    def before(self, terminal: Language) -> list[list[Language]]:
        """A terminal with the run before it, as sequences of languages of which any may stand."""
        ways: list[list[Language]] = []
        for run, lost in self.ways:
            rest = terminal if lost is None else _without(terminal, lost)
            if lost is None or not rest.is_nothing:
                ways.append([run, rest])
        return ways

    def _endings(self) -> list[Language]:
        """The runs that end in a harmless piece, and those that end in each blocking kind; none is empty."""
        harmless = Language.union([kind.pieces for kind in self.harmless]) if self.harmless else _NOTHING
        firsts = [harmless, *(kind.pieces for kind in self.blocking)]
        if self.once:
            return firsts
        # A piece after one of a blocking kind may not begin with what would have lengthened that. Solved by elimination: the run
        # that ends in piece k is the first one, or a run that ends in j and then k after j.
        after = [list(firsts), *([_without(piece, kind.longer) for piece in firsts] for kind in self.blocking)]
        runs, kinds = list(firsts), range(len(firsts))
        for middle in kinds:
            loop = after[middle][middle].repeat(0, None)
            onward = [Language.concat([loop, piece]) for piece in after[middle]]
            rows = [runs, *(after[j] for j in kinds if j > middle)]
            for row in rows:
                into = row[middle]
                for k in kinds:
                    row[k] = Language.concat([into, loop]) if k == middle else Language.union([row[k], Language.concat([into, onward[k]])])
        return runs


def _kinds(pieces: Sequence[Language]) -> list[_Kind]:
    by_characters: dict[_Ranges, list[Language]] = {}
    for piece in pieces:
        some = _without(piece, Language.empty()) if piece.nullable else piece
        if not some.is_nothing:
            by_characters.setdefault(_lengthening(some), []).append(some)
    if len(by_characters) > _MAX_KINDS:
        by_characters = {(): [piece for found in by_characters.values() for piece in found]}
    return [
        _Kind(Language.union(found), ranges, Language.concat([Language.char_class(list(ranges)), _ANYTHING]) if ranges else _NOTHING)
        for ranges, found in by_characters.items()
    ]


def _lengthening(piece: Language) -> _Ranges:
    """The characters after which every word of the language is again one of its words."""
    kept: _Ranges | None = None
    seen = {piece}
    todo = [piece]
    while todo:
        state = todo.pop()
        final: list[tuple[int, int]] = []
        for first, last, following in state.transitions():
            if following.nullable:
                final.append((first, last))
            if following not in seen:
                if len(seen) == _MAX_STATES:
                    return ()
                seen.add(following)
                todo.append(following)
        if state.nullable:
            kept = tuple(final) if kept is None else _both(kept, final)
            if not kept:
                return ()
    return kept or ()


def _both(left: Sequence[tuple[int, int]], right: Sequence[tuple[int, int]]) -> _Ranges:
    found: list[tuple[int, int]] = []
    for first, last in left:
        for low, high in right:
            if max(first, low) <= min(last, high):
                found.append((max(first, low), min(last, high)))
    return tuple(found)


def _without(language: Language, other: Language) -> Language:
    return Language.intersection([language, other.complement()])
