"""Do two grammars have the same texts? Judged on random texts of both, whole and changed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from scansion.vocabulary import Vocabulary

if TYPE_CHECKING:
    from scansion.grammar import Grammar
    from scansion.matching import Constraint

__all__ = ["differing_text"]

_STEPS = 200  # bytes of a random text before it is brought to its end the shortest way
_OFTEN = b'"{}[](),:;= \n09az\\'


def differing_text(first: Grammar, second: Grammar, *, texts: int = 50, seed: int = 0) -> bytes | None:
    """A text that one grammar has or can go on with and the other has not or cannot; None where none was found.

    Args:
        first, second: the grammars.
        texts: random texts drawn from each; each is also tried with a byte changed.
        seed: of the random numbers.
    """
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=[256])
    one, two = first.compile(vocabulary), second.compile(vocabulary)
    draw = random.Random(seed)
    for _ in range(texts):
        for source in (one, two):
            text = _random_text(source, draw)
            changed = bytearray(text)
            if changed:
                changed[draw.randrange(len(changed))] = draw.choice([draw.randrange(256), *_OFTEN])
            for sample in (text, bytes(changed)):
                if _verdict(one, sample) != _verdict(two, sample):
                    return sample
    return None


def _random_text(constraint: Constraint, draw: random.Random) -> bytes:
    matcher = constraint.matcher()
    text = bytearray()
    for _ in range(_STEPS):
        following = matcher.next_bytes()
        if not following or (matcher.is_complete and draw.random() < 0.1):
            return bytes(text)
        plain = [byte for byte in following if 0x20 <= byte < 0x7F]
        byte = draw.choice(plain) if plain and draw.random() < 0.8 else draw.choice(following)
        matcher.accept(byte)
        text.append(byte)
    return bytes(text) + (matcher.shortest_completion() or b"")


def _verdict(constraint: Constraint, text: bytes) -> tuple[int, bool]:
    """How far a text is the beginning of one, and whether it is whole."""
    matcher = constraint.matcher()
    return matcher.bytes_accepted(text), matcher.accept_bytes(text) and matcher.is_complete
