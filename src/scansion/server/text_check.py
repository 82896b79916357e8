"""Text against a grammar as it comes: here, or in a worker process where the grammar is too heavy for this one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scansion.server.byte_vocabulary import byte_vocabulary

if TYPE_CHECKING:
    from scansion.matching import Matcher
    from scansion.server.compile_pool import Compiled, CompilePool

_CLOSERS = re.compile(r"[]}\s]*(</tool_call>)?")

__all__ = ["TextCheck", "taken"]


def taken(matcher: Matcher, more: bytes) -> tuple[int, bool]:
    """Reads on where all of ``more`` fits: how many bytes of it do, and whether what was read is a whole text then."""
    if matcher.accept_bytes(more):
        return len(more), matcher.is_complete
    return matcher.bytes_accepted(more), False


class TextCheck:
    """Follows one text. ``whole`` says whether what was read is a text of the grammar."""

    def __init__(self, compiled: Compiled, pool: CompilePool, client: str) -> None:
        """
        Args:
            compiled: the grammar.
            pool: its worker processes.
            client: who asks, for fairness there.
        """
        self._compiled = compiled
        self._pool = pool
        self._client = client
        self._matcher: Matcher | None = None if compiled.heavy else compiled.grammar.compile(byte_vocabulary()).matcher()
        self._text = b""
        self.whole = self._matcher is not None and self._matcher.is_complete

    async def read(self, more: bytes) -> tuple[int, bool]:
        """Read on.

        Args:
            more: bytes after those read before.

        Returns:
            How many bytes of the whole text the grammar takes (all of it where the text keeps to it), and ``whole``.

        Raises:
            LimitError: a heavy grammar takes more time or memory than is allowed.
        """
        text = self._text + more
        if self._matcher is None:
            good, self.whole = await self._pool.checked(self._compiled, text, self._pool.allowance(self._client))
        else:
            new, self.whole = taken(self._matcher, more)
            good = len(self._text) + new
        self._text = text
        return good, self.whole

    def closers(self) -> str:
        """What ends the text with nothing but closing brackets (and a tool call's closing mark), or "" where more must be said."""
        if self._matcher is None or self.whole:
            return ""
        rest = (self._matcher.shortest_completion() or b"").decode("utf-8", "replace")
        return rest if _CLOSERS.fullmatch(rest) else ""
