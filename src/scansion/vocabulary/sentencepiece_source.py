"""Tokens of a SentencePiece model: `▁` is a space, `<0xHH>` a byte, control and unknown pieces never text."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scansion.errors import VocabularyError
from scansion.vocabulary.end_tokens import END_TOKEN_NAMES, end_tokens_by_name
from scansion.vocabulary.pieces import SPACE_SYMBOL, byte_fallback
from scansion.vocabulary.source import Source

if TYPE_CHECKING:
    import sentencepiece

__all__ = ["key", "load", "read"]

# ModelProto.normalizer_spec (field 3) with add_dummy_prefix (field 3) and remove_extra_whitespaces (field 4) false.
# Protocol buffers merge a repeated occurrence of a message field into the first, so appending this to a serialised
# model changes just these two settings (protobuf.dev, "Encoding", "Last One Wins").
_AS_IN_MID_TEXT = b"\x1a\x04\x18\x00\x20\x00"


class _Splitter:
    """The model without the space it puts before a text, loaded on first use."""

    def __init__(self, model: bytes) -> None:
        self._model = model
        self._processor: Any = None

    def encode(self, text: str) -> list[int]:
        if self._processor is None:
            self._processor = _processor(self._model + _AS_IN_MID_TEXT)
        return list(self._processor.encode(text))

    def __reduce__(self) -> tuple[object, ...]:
        return (_Splitter, (self._model,))


def read(model: sentencepiece.SentencePieceProcessor | str | Path) -> bytes:
    """The serialised model of a processor or of a ``.model`` file."""
    if isinstance(model, str | Path):
        try:
            return Path(model).read_bytes()
        except OSError as error:
            raise VocabularyError(f"cannot read the SentencePiece model {str(model)!r}: {error.strerror or error}") from error
    serialised = getattr(model, "serialized_model_proto", None)
    if serialised is None:
        raise VocabularyError(f"from_sentencepiece takes a SentencePieceProcessor or the path of a .model file, not {type(model).__name__}")
    data = bytes(serialised())
    if not data:
        raise VocabularyError("the SentencePieceProcessor has no model loaded (load one with model_file= or model_proto=)")
    return data


def key(model: bytes) -> Hashable:
    """Identity of the source, for caching."""
    return ("sentencepiece", hashlib.sha256(model).digest())


def load(model: bytes) -> Source:
    """Read all pieces of a serialised model."""
    processor = _processor(model)
    names: dict[str, int] = {}
    special_tokens: dict[str, int] = {}
    tokens: list[bytes | None] = []
    for token_id in range(len(processor)):
        piece = processor.id_to_piece(token_id)
        if piece in END_TOKEN_NAMES:
            names[piece] = token_id
        if processor.is_control(token_id) or processor.is_unknown(token_id):
            special_tokens[piece] = token_id
            tokens.append(None)
        elif processor.is_unused(token_id):
            tokens.append(None)
        elif processor.is_byte(token_id):
            tokens.append(byte_fallback(piece))
        else:
            tokens.append(piece.replace(SPACE_SYMBOL, " ").encode())
    ends = set(end_tokens_by_name(names))
    if processor.eos_id() >= 0:
        ends.add(processor.eos_id())
    # An end of turn may be stored as a user-defined piece (Gemma): it is a name all the same, not text.
    special_tokens.update((name, token_id) for name, token_id in names.items() if token_id in ends)
    return Source(tokens, sorted(ends), special_tokens, _Splitter(model), "sentencepiece")


def _processor(model: bytes) -> Any:
    try:
        import sentencepiece
    except ImportError as error:
        raise VocabularyError("reading a SentencePiece model needs the package sentencepiece (pip install sentencepiece)") from error
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=model)
    except Exception as error:  # the binding raises RuntimeError, OSError or its own classes, by version
        raise VocabularyError(f"not a SentencePiece model: {error}") from error
