"""Free reasoning before a constrained answer."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scansion.generation.budget import BudgetedMatcher
    from scansion.vocabulary import Vocabulary

__all__ = ["THINK_CLOSE", "THINK_OPEN", "ThinkingGate"]

THINK_OPEN = "<think>"
THINK_CLOSE = "</think>"


class ThinkingGate:
    """Lets everything pass until ``</think>``, then hands over to the answer's matcher in the middle of a token if need be.

    A token such as ``</think>{`` is taken only if the grammar takes what follows the marker. The end token is refused while
    an answer under a grammar is still to come.
    """

    def __init__(self, answer: BudgetedMatcher | None, vocabulary: Vocabulary) -> None:
        self._answer = answer
        self._vocabulary = vocabulary
        self._ends: Collection[int] = frozenset(vocabulary.eos_token_ids)
        self._marker_id = vocabulary.special_tokens.get(THINK_CLOSE)
        self._tail = b""
        self.closed = False
        self.leftover = b""
        """Bytes after the marker in the token that closed it: the start of the answer."""

    def accept(self, token_id: int) -> bool:
        """Take the token unless it ends everything, or closes the reasoning with an illegal start of the answer."""
        if token_id in self._ends:
            return self._answer is None
        if token_id == self._marker_id:
            self.closed = True
            return True
        text = self._tail + (self._vocabulary.token_bytes(token_id) or b"")
        marker = THINK_CLOSE.encode()
        place = text.find(marker)
        if place < 0:
            self._tail = text[-(len(marker) - 1) :]
            return True
        rest = text[place + len(marker) :]
        # Space between the reasoning and the answer belongs to neither.
        rest = rest.lstrip()
        if rest and self._answer is not None and not self._answer.accept_bytes(rest):
            return False
        self.closed = True
        self.leftover = rest
        return True

    def fill_bitmask(self, mask: NDArray[np.int32], row: int = 0) -> None:
        """All tokens but the end tokens; what closes the reasoning wrongly is refused when drawn."""
        mask[row] = -1
        if self._answer is not None:
            for token in self._ends:
                word, bit = divmod(token, 32)
                mask[row, word] &= np.int32(np.uint32(0xFFFFFFFF ^ (1 << bit)).view(np.int32))

    def way_out(self) -> int | None:
        """Not needed: reasoning never runs out of tokens to go on with."""
        return None
