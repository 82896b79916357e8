"""A grammar that only drafts: it follows the text where it can and is quiet where it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scansion.matching import Constraint, Matcher

__all__ = ["AssistTracker"]

_SPACE = b" \t\r\n"


class AssistTracker:
    """Follows a free text with a matcher, without ever constraining it.

    Quiet until a byte the grammar's root admits (a preamble, a code fence or a reasoning block passes), then it follows;
    at a byte that does not conform it is quiet again until the next chance, which may be that byte itself. White space the
    grammar does not have is stepped over. A text that ends (a line of NDJSON) makes the next one possible.

    Whatever it believes, the text cannot change: what it forces is only ever drafted and verified.
    """

    def __init__(self, constraint: Constraint) -> None:
        self._root: Matcher = constraint.matcher()
        self._matcher: Matcher | None = None

    @property
    def armed(self) -> bool:
        """It is inside a text of the grammar."""
        return self._matcher is not None

    def feed(self, data: bytes) -> None:
        """The text goes on with ``data``."""
        while data:
            if self._matcher is None:
                data = self._arm(data)
                continue
            taken = self._matcher.bytes_accepted(data)
            if taken:
                self._matcher.accept_bytes(data[:taken])
                data = data[taken:]
            if not data:
                break
            if data[0] in _SPACE:
                data = data[1:]
            else:
                # Not this grammar's text after all, or the next text of it: try again from this byte.
                self._matcher = None
                data = self._arm(data, force=True)

    def forced_bytes(self, limit: int = 4096) -> bytes:
        """What must follow if the text goes on keeping to the grammar; nothing while quiet."""
        return b"" if self._matcher is None else self._matcher.forced_bytes(limit)

    def forced_token(self) -> int | None:
        """Token terminals are not followed here: the text is seen as bytes."""
        return None

    def _arm(self, data: bytes, *, force: bool = False) -> bytes:
        """Look for the first byte the root admits; returns what is left to feed. ``force`` always takes one byte off."""
        for start in range(len(data)):
            if data[start] in _SPACE:
                continue
            if self._root.bytes_accepted(data[start : start + 1]):
                self._matcher = self._root.fork()
                if force:
                    self._matcher.accept_bytes(data[start : start + 1])
                    return data[start + 1 :]
                return data[start:]
            if force:
                return data[start + 1 :]
        return b""
