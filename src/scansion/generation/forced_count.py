"""How many tokens of an answer the grammar left no choice about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scansion.matching import Matcher
    from scansion.vocabulary import Vocabulary

__all__ = ["ForcedCount"]


class ForcedCount:
    """Counts tokens whose every byte was forced, by walking behind the answer with a matcher of its own.

    Done when somebody asks, so that nothing of it lies between two forward passes.
    """

    def __init__(self, matcher: Matcher, vocabulary: Vocabulary) -> None:
        """
        Args:
            matcher: where counting begins; it is not moved.
            vocabulary: the matcher's.
        """
        self._matcher = matcher.fork()
        self._vocabulary = vocabulary
        self._walked = 0
        self._left = 0
        """Bytes that are forced from here on."""
        self._count = 0

    def among(self, tokens: Sequence[int], start: int) -> int:
        """How many of ``tokens[start:]`` were forced; the same tokens as the last time, and what was written since."""
        for token in tokens[start + self._walked :]:
            if self._left <= 0:
                self._left = len(self._matcher.forced_bytes())
            length = len(self._vocabulary.token_bytes(token) or b"")
            self._count += 0 < length <= self._left
            self._left = max(0, self._left - length)
            self._matcher.accept(token)
        self._walked = len(tokens) - start
        return self._count
