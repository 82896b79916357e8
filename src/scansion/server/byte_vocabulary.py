"""A vocabulary of single bytes, for matchers that only check text."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scansion.vocabulary import Vocabulary

__all__ = ["byte_vocabulary"]


@cache
def byte_vocabulary() -> Vocabulary:
    """One token for each byte, and an end token."""
    from scansion.vocabulary import Vocabulary

    return Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=[256])
