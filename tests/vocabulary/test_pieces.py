"""Byte map and byte fallback."""

import pytest

from scansion.vocabulary.end_tokens import end_tokens_by_name
from scansion.vocabulary.pieces import byte_fallback, from_byte_map


@pytest.mark.parametrize(
    ("piece", "data"),
    [
        ("hello", b"hello"),
        ("Ġhello", b" hello"),
        ("Ċ", b"\n"),
        ("Ã©", "é".encode()),
        ("Ã", b"\xc3"),
        ("Ń", b"\xad"),  # the soft hyphen, the last byte without a character of its own
        ("<｜end｜>", "<｜end｜>".encode()),  # outside the map: as it stands
    ],
)
def test_byte_map(piece, data):
    assert from_byte_map(piece) == data


def test_byte_map_covers_every_byte_once():
    pieces = [chr(code) for code in range(0x21, 0x144) if code < 0x7F or 0xA1 <= code != 0xAD]
    assert sorted(from_byte_map(piece) for piece in pieces) == [bytes([byte]) for byte in range(256)]


@pytest.mark.parametrize(
    ("piece", "data"), [("<0x0A>", b"\n"), ("<0xff>", b"\xff"), ("<0xF>", None), ("0x0A", None), ("<0x0A>x", None), ("", None)]
)
def test_byte_fallback(piece, data):
    assert byte_fallback(piece) == data


def test_end_tokens_by_name():
    assert end_tokens_by_name({"<|eot_id|>": 9, "<|end_of_text|>": 1, "<|eom_id|>": 8, "<|begin_of_text|>": 0}) == [1, 8, 9]
    assert end_tokens_by_name({"<|end|>": 3}) == [3]
    assert end_tokens_by_name({"<|end|>": 3, "<|return|>": 4, "<|call|>": 5}) == [4, 5]
    assert end_tokens_by_name({"<s>": 0}) == []
