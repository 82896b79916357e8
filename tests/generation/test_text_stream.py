"""What may be shown of a growing text: every prefix, every cut."""

from __future__ import annotations

import json
import random

import pytest

from scansion.generation.text_stream import TextStream

ANSWERS = [
    '{"a": "plain"}',
    '{"a": "\\n\\t\\\\ \\" \\/ \\u00e9 \\ud83d\\ude00 é😀"}',
    '"\\\\\\\\\\\\"',
    '"\\ud83d\\ude00\\ud83d\\ude01"',
    "free text with \\ and \\u12 and 😀, no JSON",
    json.dumps({"deep": [{"é": "日本語" * 3}, -1.5e10, None]}),
]


@pytest.mark.parametrize("text", ANSWERS)
def test_pieces_join_to_the_text_and_never_split_a_character_or_escape(text: str) -> None:
    data = text.encode()
    rng = random.Random(text)
    for _ in range(200):
        stream = TextStream()
        shown, start = "", 0
        while start < len(data):
            end = start + rng.randint(1, 5)
            shown += stream.feed(data[start:end])
            start = end
            assert text.startswith(shown)
            assert not shown.endswith("\ufffd")
            if text[0] in '{"' and text.startswith('"'):
                # What has been shown of a string literal is one as soon as it is closed.
                json.loads(shown + '"') if shown and not (len(shown) > 1 and shown.endswith('"')) else None
        assert shown + stream.finish() == text


def test_an_unfinished_escape_waits() -> None:
    stream = TextStream()
    assert stream.feed(b'"a\\') == '"a'
    assert stream.feed(b"u00") == ""
    assert stream.feed(b"e9") == "\\u00e9"
    assert stream.feed(b"\\\\") == "\\\\"
    assert stream.feed(b"\\ud83d") == ""
    assert stream.feed(b"\\u") == ""
    assert stream.feed(b"de00x") == "\\ud83d\\ude00x"


def test_what_is_held_comes_at_the_end() -> None:
    stream = TextStream(["STOP"])
    assert stream.feed(b"see STO") == "see "
    assert stream.finish() == "STO"
    stream = TextStream()
    assert stream.feed("é".encode()[:1]) == ""
    assert stream.finish() == "\ufffd"


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_nothing_at_or_after_a_stop_text_is_shown(size: int) -> None:
    data = b"one two STOP three"
    stream = TextStream(["STOP", "two STOX"])
    shown = "".join(stream.feed(data[start : start + size]) for start in range(0, len(data), size)) + stream.finish()
    assert shown == "one two " and stream.stopped


def test_the_earliest_stop_text_wins() -> None:
    stream = TextStream(["cd", "b"])
    assert stream.feed(b"abcd") == "a"
