"""Random walks through a constraint that hold every mask against asking for each token by itself.

A mask comes from slices of the vocabulary, folded states and what is remembered of other states; ``allows`` steps the engine through
the bytes of one token and knows none of these. The two must agree on every id of every state.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from scansion._kernel import Constraint, Matcher, Vocabulary

END = 256  # the end token of `byte_vocabulary`


def byte_vocabulary(tokens: Sequence[bytes] = ()) -> Vocabulary:
    """A token for each byte, the end token, then the tokens given."""
    return Vocabulary([*(bytes([byte]) for byte in range(256)), None, *tokens], [END], [])


def random_tokens(draw: random.Random, pieces: Sequence[bytes], count: int, longest: int) -> list[bytes]:
    """Tokens of two to ``longest`` pieces."""
    return [b"".join(draw.choice(pieces) for _ in range(draw.randint(2, longest))) for _ in range(count)]


def mask_of(matcher: Matcher, size: int) -> set[int]:
    """Ids whose bit is set."""
    mask = np.full((1, (size + 31) // 32), -1, np.int32)
    matcher.fill_bitmask(mask, 0)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little")
    assert not bits[size:].any(), "bits beyond the vocabulary are set"
    return set(np.flatnonzero(bits).tolist())


def allowed_one_by_one(matcher: Matcher, size: int) -> set[int]:
    return {token for token in range(size) if matcher.allows(token)}


def check_masks_on_a_walk(
    constraint: Constraint, vocabulary: Vocabulary, draw: random.Random, *, length: int, merged: float = 0.5
) -> tuple[bytes, bool]:
    """Walks up to ``length`` tokens at random and compares each mask on the way; every state must lead somewhere.

    ``merged`` is the share of steps that take a token longer than a byte where there is one. Returns the text and
    whether it ended; a text that did not is finished by ``shortest_completion``, which must be right.
    """
    matcher = Matcher(constraint)
    text = b""
    for _ in range(length):
        only = matcher.only_token()  # before there is a mask to look at
        expected = allowed_one_by_one(matcher, vocabulary.size)
        assert only == (min(expected) if len(expected) == 1 else None), (
            f"after {text!r}: {only} is not the only one of {sorted(expected)[:5]}"
        )
        found = mask_of(matcher, vocabulary.size)
        assert found == expected, (
            f"after {text!r} wrong: {[vocabulary.token_bytes(t) for t in sorted(found - expected)][:5]}, "
            f"missing: {[vocabulary.token_bytes(t) for t in sorted(expected - found)][:5]}"
        )
        assert expected, f"nothing may follow {text!r}"
        usable = sorted(expected)
        longer = [token for token in usable if token > END]
        plain = [token for token in usable if token < 128]
        token = draw.choice((longer if draw.random() < merged else plain) or usable)
        assert matcher.accept(token)
        text += vocabulary.token_bytes(token) or b""
        if matcher.is_finished:
            return text, True
    completion = matcher.shortest_completion()
    assert completion is not None, f"{text!r} cannot be finished"
    assert not completion or matcher.accept_bytes(completion), f"{text!r} is not finished by {completion!r}"
    assert matcher.is_complete, f"{text!r} is not finished by {completion!r}"
    return text + completion, False
