"""What a token list must be before the kernel sees it."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence

from scansion.errors import LimitError, VocabularyError

__all__ = ["MAX_TOKENS", "MAX_TOKEN_BYTES", "check_end_tokens", "check_size", "check_special_tokens", "check_tokens"]

MAX_TOKENS = 1_000_000  # ids; the largest vocabularies in use have about 262,000
MAX_TOKEN_BYTES = 4_096  # bytes of one token; runs of spaces reach some hundreds


def check_size(size: int) -> None:
    """Raise where a vocabulary of ``size`` ids is empty or too large."""
    if size < 0:
        raise VocabularyError(f"a vocabulary cannot have {size} ids: give Vocabulary.size")
    if size == 0:
        raise VocabularyError("the vocabulary is empty: give the bytes of each token, in the order of ids")
    if size > MAX_TOKENS:
        raise LimitError(f"the vocabulary has {size:,} ids; at most {MAX_TOKENS:,} are taken", limit="vocabulary_ids", allowed=MAX_TOKENS)


def check_tokens(tokens: Sequence[bytes | None]) -> list[bytes | None]:
    """A fresh list of the tokens, ``b""`` made None (a token without bytes is no text); errors name the id."""
    if isinstance(tokens, str | bytes | Mapping) or not isinstance(tokens, Sequence):
        raise VocabularyError(f"tokens must be a list of bytes or None, one for each id, not {type(tokens).__name__}")
    check_size(len(tokens))
    if not set(map(type, tokens)) <= {bytes, type(None)}:
        token_id, wrong = next((i, token) for i, token in enumerate(tokens) if type(token) not in (bytes, type(None)))
        hint = ": encode it (b'...')" if isinstance(wrong, str) else ""
        raise VocabularyError(f"token {token_id} is {type(wrong).__name__}, not bytes or None{hint}")
    longest = max(map(len, filter(None, tokens)), default=0)
    if longest == 0:
        raise VocabularyError("no token of the vocabulary has text: None and b'' stand for tokens that are never text")
    if longest > MAX_TOKEN_BYTES:
        token_id = next(i for i, token in enumerate(tokens) if token is not None and len(token) == longest)
        raise LimitError(
            f"token {token_id} has {longest:,} bytes; at most {MAX_TOKEN_BYTES:,} are taken", limit="token_bytes", allowed=MAX_TOKEN_BYTES
        )
    return [token or None for token in tokens]


def check_end_tokens(eos_token_ids: Iterable[int], size: int) -> list[int]:
    """The end tokens, ascending, each once."""
    if isinstance(eos_token_ids, str | bytes) or not isinstance(eos_token_ids, Iterable):
        raise VocabularyError(f"eos_token_ids must be a list of ids, not {type(eos_token_ids).__name__}")
    ends = sorted({_check_id(token_id, "eos_token_ids", size) for token_id in eos_token_ids})
    if not ends:
        raise VocabularyError("the vocabulary has no end token, so no text could ever end: name one or more with eos_token_ids=[...]")
    return ends


def check_special_tokens(special_tokens: Mapping[str, int] | None, size: int) -> dict[str, int]:
    """Names of tokens that are never text; each name has its own id."""
    if special_tokens is None:
        return {}
    if not isinstance(special_tokens, Mapping):
        raise VocabularyError(f"special_tokens must map names to ids, not {type(special_tokens).__name__}")
    checked: dict[str, int] = {}
    names: dict[int, str] = {}
    for name, token_id in special_tokens.items():
        if not isinstance(name, str) or not name:
            raise VocabularyError(f"special_tokens has the name {name!r}; names are strings, not empty")
        checked[name] = _check_id(token_id, f"special_tokens[{name!r}]", size)
        other = names.setdefault(checked[name], name)
        if other != name:
            raise VocabularyError(f"special_tokens gives id {checked[name]} two names, {other!r} and {name!r}")
    return checked


def _check_id(token_id: int, where: str, size: int) -> int:
    if isinstance(token_id, bool):
        raise VocabularyError(f"{where}: {token_id!r} is no token id")
    try:
        number = operator.index(token_id)
    except TypeError:
        raise VocabularyError(f"{where}: {token_id!r} is no token id") from None
    if not 0 <= number < size:
        raise VocabularyError(f"{where}: id {number} is outside the vocabulary of {size} ids")
    return number
