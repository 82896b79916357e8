"""What the kernel's matcher does in one call, for matchers whose tokens or bytes are not the kernel's: said with their other calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

__all__ = ["Stepping", "follow", "outlook"]


class Stepping(Protocol):
    """A place in a text, and how to go on from it: a part of a ``Matcher``."""

    @property
    def is_complete(self) -> bool: ...

    def accept(self, token_id: int) -> bool: ...

    def only_token(self) -> int | None: ...

    def forced_bytes(self, limit: int = ...) -> bytes: ...

    def next_bytes(self) -> bytes: ...


def follow(matcher: Stepping, token_ids: Sequence[int], only: bool) -> list[bool]:
    """``Matcher.follow``: take tokens as far as they are allowed; for each taken whether it was the only one, if that is asked."""
    taken: list[bool] = []
    for token_id in token_ids:
        alone = only and matcher.only_token() == token_id
        if not matcher.accept(token_id):
            break
        taken.append(alone)
    return taken


def outlook(matcher: Stepping, limit: int) -> tuple[bytes, bytes, bool]:
    """``Matcher.outlook``: what is forced, or else which bytes may come next, and whether the text is complete."""
    forced = matcher.forced_bytes(limit)
    return forced, b"" if forced else matcher.next_bytes(), matcher.is_complete
