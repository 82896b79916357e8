"""Writes a GGUF file that holds a vocabulary and nothing else, from a tiktoken file of ranks."""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from pathlib import Path

_UINT32, _STRING, _ARRAY, _INT32 = 4, 8, 9, 5
_NORMAL, _CONTROL = 1, 3


def read_ranks(path: Path) -> list[bytes]:
    """Token bytes in the order of their ranks."""
    pairs = (line.split() for line in path.read_bytes().splitlines() if line)
    ranked = sorted((int(rank), base64.b64decode(token)) for token, rank in pairs)
    return [token for _, token in ranked]


def write_vocabulary(path: Path, tokens: Sequence[bytes], special: Sequence[str], end: str, pre: str) -> None:
    """A byte-level BPE vocabulary: ``tokens``, then ``special`` ones, of which ``end`` ends a text. ``pre`` names the splitting rule."""
    ranks = {token: rank for rank, token in enumerate(tokens)}
    spelled = byte_letters()
    pieces = ["".join(spelled[byte] for byte in token) for token in tokens]
    merges = []
    for token in tokens:
        if len(token) > 1:
            left, right = last_merge(token, ranks)
            merges.append("".join(spelled[byte] for byte in left) + " " + "".join(spelled[byte] for byte in right))
    end_id = len(pieces) + list(special).index(end)
    types = [_NORMAL] * len(pieces) + [_CONTROL] * len(special)
    fields = [
        string("general.architecture") + struct.pack("<I", _STRING) + string("qwen2"),
        string("tokenizer.ggml.model") + struct.pack("<I", _STRING) + string("gpt2"),
        string("tokenizer.ggml.pre") + struct.pack("<I", _STRING) + string(pre),
        string("tokenizer.ggml.tokens") + array(_STRING, [string(piece) for piece in [*pieces, *special]]),
        string("tokenizer.ggml.token_type") + array(_INT32, [struct.pack("<i", kind) for kind in types]),
        string("tokenizer.ggml.merges") + array(_STRING, [string(merge) for merge in merges]),
        string("tokenizer.ggml.eos_token_id") + struct.pack("<II", _UINT32, end_id),
    ]
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields)) + b"".join(fields))


def string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def array(kind: int, items: Sequence[bytes]) -> bytes:
    return struct.pack("<IIQ", _ARRAY, kind, len(items)) + b"".join(items)


def byte_letters() -> list[str]:
    """GPT-2's letters for bytes: printable Latin-1 stands for itself, the rest follows U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = (byte for byte in range(256) if byte not in printable)
    letters = {byte: chr(byte) for byte in printable} | {byte: chr(0x100 + count) for count, byte in enumerate(others)}
    return [letters[byte] for byte in range(256)]


def last_merge(token: bytes, ranks: dict[bytes, int]) -> tuple[bytes, bytes]:
    """The two parts whose merge makes a token: merge its bytes by rank until two are left."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        best = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], 1 << 30))
        parts[best : best + 2] = [parts[best] + parts[best + 1]]
    return parts[0], parts[1]
