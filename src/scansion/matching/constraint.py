"""A program over a vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scansion import _kernel
from scansion.matching.matcher import Matcher
from scansion.matching.places import Places

if TYPE_CHECKING:
    from scansion.program import ProgramData
    from scansion.vocabulary import Vocabulary

__all__ = ["Constraint"]


class Constraint(_kernel.Constraint):
    """What a grammar allows, token by token, over one vocabulary. Made by ``Grammar.compile``.

    Immutable to its users and shared between threads; the tables inside grow as states are met.
    Pickles, as program and vocabulary: the copy starts with empty tables.

    Attributes:
        program: the flat program, with the labels that messages name.
        vocabulary: the tokens it is for.
        places: names of program points, for ``Matcher.expectation``.
    """

    program: ProgramData
    vocabulary: Vocabulary
    places: Places

    def __init__(self, program: ProgramData, vocabulary: Vocabulary) -> None:
        super().__init__(program.kernel(), vocabulary)
        self.program = program
        self.vocabulary = vocabulary
        self.places = Places(program)

    def matcher(self) -> Matcher:
        """A matcher at the beginning of a text."""
        return Matcher(self)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.program, self.vocabulary))

    def __repr__(self) -> str:
        return f"<scansion.Constraint of {len(self.program.rules)} rules over {self.vocabulary!r}>"
