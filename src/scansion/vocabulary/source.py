"""What a tokenizer says of its tokens, before it becomes a Vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Source", "TextTokenizer"]


class TextTokenizer(Protocol):
    """Splits text the way the model's own tokenizer does in the middle of a text."""

    def encode(self, text: str) -> list[int]:
        """Token ids of ``text``: nothing put before or after it, and no special token recognised in it."""


@dataclass(frozen=True)
class Source:
    """Tokens read from a tokenizer.

    Attributes:
        tokens: bytes of each id, None where the id is never text.
        eos_token_ids: every token that ends a text, a turn or a message.
        special_tokens: name to id; these are never text.
        tokenizer: the canonical splitter, or None.
        name: what to call the vocabulary in messages.
    """

    tokens: list[bytes | None]
    eos_token_ids: list[int]
    special_tokens: dict[str, int]
    tokenizer: TextTokenizer | None
    name: str
