"""How tokenizers write bytes as printable pieces, and back.

Two conventions cover the vocabularies in use:

- the byte map of GPT-2 (`bytes_to_unicode` in openai/gpt-2, `src/encoder.py`): every byte is one printable character,
  itself where it is printable in Latin-1, otherwise the next free character from U+0100 on;
- SentencePiece (google/sentencepiece, `src/model_interface.h`): a space is `▁` (U+2581), and a byte that no piece covers
  is the piece `<0xHH>`.
"""

from __future__ import annotations

import re

__all__ = ["SPACE_SYMBOL", "byte_fallback", "from_byte_map"]

SPACE_SYMBOL = "\u2581"

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def _byte_map() -> dict[str, int]:
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    character_bytes = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(256) if byte not in set(printable))
    character_bytes.update((chr(0x100 + position), byte) for position, byte in enumerate(others))
    return character_bytes


_CHARACTER_BYTES = _byte_map()


def from_byte_map(piece: str) -> bytes:
    """Bytes of a piece in GPT-2's byte map.

    A piece with a character outside the map is text as it stands, as byte-level decoders take it.
    """
    try:
        return bytes([_CHARACTER_BYTES[character] for character in piece])
    except KeyError:
        return piece.encode()


def byte_fallback(piece: str) -> bytes | None:
    """The byte of a piece ``<0xHH>``, or None for any other piece."""
    match = _BYTE_PIECE.fullmatch(piece)
    return None if match is None else bytes([int(match[1], 16)])
