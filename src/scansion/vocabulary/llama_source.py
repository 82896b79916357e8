"""Tokens of a model loaded by llama.cpp, as llama.cpp itself writes them.

The bytes of a token are what `llama_token_to_piece` writes without rendering special tokens; a token it writes nothing
for (control, unknown, unused) is never text. End tokens are all that `llama_vocab_is_eog` names: end of text, of turn,
of message, and what the model file adds.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from scansion.errors import VocabularyError
from scansion.vocabulary.source import Source

if TYPE_CHECKING:
    import llama_cpp

__all__ = ["key", "load", "vocab_pointer"]

# Put before a text so that a SentencePiece-type tokenizer spends its dummy leading space on it; the first whose tokens
# stay apart from those of the text is used.
_SEAMS = (b"\n", b"=", b"a", b"|")


class _Splitter:
    """`llama_tokenize`, without special tokens. Keeps the model's owner alive; does not survive pickling."""

    def __init__(self, vocab: int, owner: object) -> None:
        self._vocab = vocab
        self._owner = owner

    def encode(self, text: str) -> list[int]:
        import llama_cpp

        data = text.encode()
        if llama_cpp.llama_vocab_type(self._vocab) not in (llama_cpp.LLAMA_VOCAB_TYPE_SPM, llama_cpp.LLAMA_VOCAB_TYPE_UGM):
            return self._encode(data)
        for seam in _SEAMS:
            before = self._encode(seam)
            both = self._encode(seam + data)
            if both[: len(before)] == before:
                return both[len(before) :]
        raise VocabularyError("llama.cpp's tokenizer joins the beginning of this text to whatever stands before it")

    def _encode(self, data: bytes) -> list[int]:
        import llama_cpp

        room = len(data) + 8
        for _ in range(2):
            buffer = (llama_cpp.llama_token * room)()
            count = int(llama_cpp.llama_tokenize(self._vocab, data, len(data), buffer, room, False, False))
            if count >= 0:
                return list(buffer[:count])
            room = -count
        raise VocabularyError(f"llama.cpp cannot tokenize a text of {len(data)} bytes")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(None), ())  # a pointer means nothing in another process: the copy has no tokenizer


def vocab_pointer(model: llama_cpp.Llama | int | None, vocab: int | None) -> int:
    """The `llama_vocab *` of a Llama object, a `llama_model *` or a `llama_vocab *`."""
    if (model is None) == (vocab is None):
        raise VocabularyError("from_llama takes either a model or vocab=, the pointer from llama_model_get_vocab")
    try:
        import llama_cpp
    except ImportError as error:
        raise VocabularyError("reading a llama.cpp model needs the package llama-cpp-python (pip install 'scansion[local]')") from error
    if vocab is not None:
        return _address(vocab, "vocab")
    inner = getattr(model, "_model", None)  # llama_cpp.Llama keeps the model there
    pointer = llama_cpp.llama_model_get_vocab(_address(model if inner is None else inner.model, "model"))
    if not pointer:
        raise VocabularyError("llama.cpp gives no vocabulary for this model (is it closed?)")
    return int(pointer)


def key(model: llama_cpp.Llama | int | None) -> Hashable | None:
    """Identity of the source, for caching; None for a bare pointer, which may be freed and used again."""
    return None if model is None or isinstance(model, int) else ("llama", weakref.ref(model))


def load(vocab: int, owner: object) -> Source:
    """Read all tokens behind a `llama_vocab *`; about 0.1 s for 50,000 ids.

    ``owner`` is kept alive by the tokenizer; with a bare pointer the caller keeps the model loaded.
    """
    import llama_cpp

    tokens: list[bytes | None] = []
    special_tokens: dict[str, int] = {}
    eos_token_ids: list[int] = []
    buffer: Any = ctypes.create_string_buffer(256)
    unnamed = llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN
    for token_id in range(llama_cpp.llama_vocab_n_tokens(vocab)):
        length = llama_cpp.llama_token_to_piece(vocab, token_id, buffer, len(buffer), 0, False)
        if length < 0:
            buffer = ctypes.create_string_buffer(-length)
            length = llama_cpp.llama_token_to_piece(vocab, token_id, buffer, len(buffer), 0, False)
        is_end = bool(llama_cpp.llama_vocab_is_eog(vocab, token_id))
        if is_end:
            eos_token_ids.append(token_id)
        tokens.append(buffer.raw[:length] if length > 0 else None)
        if is_end or llama_cpp.llama_vocab_get_attr(vocab, token_id) & unnamed:
            text = llama_cpp.llama_vocab_get_text(vocab, token_id)
            if text:
                special_tokens.setdefault(text.decode("utf-8", "replace"), token_id)
    return Source(tokens, eos_token_ids, special_tokens, _Splitter(vocab, owner), "llama.cpp")


def _address(pointer: Any, what: str) -> int:
    value = getattr(pointer, "value", pointer)  # ctypes.c_void_p or a plain int
    if isinstance(value, bool) or not isinstance(value, int) or value == 0:
        raise VocabularyError(f"from_llama: {what} is {type(pointer).__name__}, neither a llama_cpp.Llama nor a pointer that is not null")
    return value
