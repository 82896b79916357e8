"""``max_tokens`` against llguidance, mask by mask, over tokens of several bytes. ``docs/lark.md`` names where the two differ."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from scansion import Grammar, Matcher, Vocabulary, allocate_bitmask

pytestmark = pytest.mark.skipif(importlib.util.find_spec("llguidance") is None, reason="needs llguidance")

LONGER = ["aa", "ab", "aaa", "abc", "a!", "!a", ", ", "a,", ",a", "12", "1,", '","', "<a", "c!", "cd", "b\n", " a", "あ", "[1", "]!", "a?"]
PIECES = [bytes([byte]) for byte in range(256)] + [piece.encode() for piece in LONGER]
END = len(PIECES)

_PLAIN = '%llguidance {"no_forcing": true}\n'  # else llguidance leaves one split of a text it can foresee
GRAMMARS = {
    "may end earlier": 'start: a "!"\na[max_tokens=3]: /[a-c]*/',
    "cut before it matches": 'start: a "!"\na[max_tokens=3]: /[a-c]{5}/',
    "one token": 'start: a "!"\na[max_tokens=1]: /[a-c]+/',
    "no token": 'start: a "!"\na[max_tokens=0]: /[a-c]*/',
    "met anew": 'start: (a ",")* "!"\na[max_tokens=2]: /[a-c]+/',
    "after other text": 'start: "<<" a "!"\na[max_tokens=2]: /[a-c]+/',
    "at the end": "start: a\na[max_tokens=2]: /[a-c]+/",
    "a word": _PLAIN + 'start: a "!"\na[max_tokens=2]: "abcabcabc"',
    "a name": 'start: a "!"\na[max_tokens=2]: ABC\nABC: /[abc,]+/',
    "a suffix that may be missing": 'start: a "!"\na[max_tokens=2, suffix="?"]: /[a-c]*/',
    "optional": 'start: a? "!"\na[max_tokens=2]: /[a-c]+/',
    "followed by what it could be": 'start: a b "!"\na[max_tokens=2]: /[a-c]*/\nb: /[c-e]*/',
    "followed by anything": 'start: a /[a-z]*/ "!"\na[max_tokens=2]: /[a-c]+/',
    "ignored text": '%ignore /[ ]+/\nstart: a ";" a "!"\na[max_tokens=2]: /[a-c]+/',
    "lazy": 'start: x ";" x\nx: a | "y"\na[max_tokens=2, lazy]: /[a-c]+b/',
    "two rules": 'start: a ";" b "!"\na[max_tokens=2]: /[a-c]+/\nb[max_tokens=3]: /[0-9,]+/',
    "an alternative": 'start: (a | b) "!"\na[max_tokens=2]: /[a-c]+/\nb: /[0-9]+/',
    "inside a recursion": 'start: x\nx: "<" x ">" | ";;" a "!"\na[max_tokens=2]: /[a-c]+/',
    "inside a parametric rule": 'start: x::0\nx::_: ";;" a "," x::incr(_) %if lt(_, 3) | "!"\na[max_tokens=2]: /[a-c]+/',
    "json": _PLAIN + 'start: "<<" a "!"\na[max_tokens=2]: %json {"const": [true]}',
    "with other attributes": 'start: a "!"\na[capture, max_tokens=3, temperature=0.5]: /[a-c]*/',
    "twice": 'start: a "," a "!"\na[max_tokens=3]: /[a-c]+/',
}


class _Tokens:
    """What llguidance asks of a tokenizer."""

    eos_token_id = END
    bos_token_id = unk_token_id = None
    tokens = (*PIECES, b"<|end|>")
    special_token_ids = (END,)

    def __call__(self, text: str | bytes) -> list[int]:
        return list(text.encode() if isinstance(text, str) else text)


@cache
def _tokenizer() -> Any:
    from llguidance import LLTokenizer, TokenizerWrapper

    return LLTokenizer(TokenizerWrapper(_Tokens()))


def _theirs(matcher: Any) -> set[int]:
    return set(np.flatnonzero(np.frombuffer(matcher.compute_logit_bias(), np.uint8)[: END + 1]).tolist())


def _ours(matcher: Matcher) -> set[int]:
    mask = allocate_bitmask(1, END + 1)
    matcher.fill_bitmask(mask)
    return set(np.flatnonzero(np.unpackbits(mask[0].view(np.uint8), bitorder="little")).tolist())


@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_are_llguidances(name: str, rounds: Callable[[int], int]) -> None:
    from llguidance import LLMatcher

    text = GRAMMARS[name]
    constraint = Grammar.from_lark(text).compile(Vocabulary([*PIECES, None], eos_token_ids=[END]))
    compared = 0
    for seed in range(rounds(12)):
        draw = random.Random(seed)
        theirs, ours = LLMatcher(_tokenizer(), LLMatcher.grammar_from_lark(text)), constraint.matcher()
        assert not theirs.is_error(), theirs.get_error()
        taken: list[bytes] = []
        for _ in range(12):
            allowed = _ours(ours)
            assert allowed == _theirs(theirs), taken
            compared += 1
            choices = sorted(allowed - {END})
            if not choices:
                break
            longer = [token for token in choices if token >= 256]
            token = draw.choice(longer) if longer and draw.random() < 0.5 else draw.choice(choices)
            assert ours.accept(token) and theirs.consume_token(token)
            taken.append(PIECES[token])
    assert compared >= 24
