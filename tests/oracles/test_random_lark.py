"""Masks of random Lark grammars against llguidance, byte by byte.

Terminals are one character each, so that the longest match, which llguidance takes and Scansion does not, is every match. Lazy rules are
random as well. Seeds are fixed, so a failure names the grammar to look at.
"""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable

import pytest
from tests.languages.texts import BYTES
from tests.oracles.test_llguidance import our_bytes, their_bytes, their_matcher

from scansion import Grammar, LimitError, UnsatisfiableError

pytestmark = pytest.mark.skipif(importlib.util.find_spec("llguidance") is None, reason="needs llguidance")

_TERMINALS = ['"a"', '"b"', '"é"', '"€"', '"b"i', '"a".."c"', "/[ab]/", "/[^a-z]/", "/[é€]/", "/./", "/(?i:a)/", "/[a-z]/", "T", "U"]
_COUNTS = ["", "", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,3}", "{2,}", "~2", "{,2}"]
_BODIES = ["/[a-d]*/", "/[a-c]+/", "/.*/", "/(ab|c)*/", "/[^x]*/", "W"]
_ENDS = ['"x"', '"xy"', '"<f"', "/x+y/", '"é"', "E"]
_TAILS = ['"1"', '"2"', '"=" "a"', '""']


class _Maker:
    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.names = ["start", *(f"r{number}" for number in range(1, self.draw.randint(1, 4)))]

    def grammar(self) -> str:
        lines = [f"{name}: {' | '.join(self.sequence(2) for _ in range(self.draw.randint(1, 3)))}" for name in self.names]
        return "\n".join([*lines, "T: /[a-z]/ & ~/b/", 'U: "a" | "c"', ""])

    def sequence(self, depth: int) -> str:
        return " ".join(self.item(depth) for _ in range(self.draw.choice([0, 1, 1, 2, 2, 3]))) or '""'

    def item(self, depth: int) -> str:
        kind = self.draw.random()
        if kind < 0.3:
            part = self.draw.choice(self.names)
        elif kind < 0.45 and depth:
            part = self.draw.choice(["({})", "[{}]"]).format(" | ".join(self.sequence(depth - 1) for _ in range(self.draw.randint(1, 3))))
        else:
            part = self.draw.choice(_TERMINALS)
        return part + self.draw.choice(_COUNTS)

    def lazy_grammar(self) -> str:
        """Free text and calls that lazy rules begin."""
        draw = self.draw
        heads: list[str] = []
        for number in range(draw.randint(1, 3)):
            body, end = draw.choice(_BODIES), draw.choice(_ENDS)
            heads.append(f"h{number}[suffix={end}]: {body}" if draw.random() < 0.5 else f"h{number}[lazy]: {body} {end}")
        calls = [f"c{number}: h{number} {draw.choice(_TAILS)}" for number in range(len(heads))]
        some = " | ".join(f"c{number}" for number in range(len(heads)))
        start = draw.choice([f"({some})* f", f"({some})+", some, f'"(" ({some})* ")"'])
        return "\n".join([f"start: {start}", *calls, *heads, "f: W", "W: /[a-z]*/", 'E: "e" "f"', ""])


def compare(text: str, seed: int) -> int:
    """Compare masks along two random texts; how many were compared."""
    constraint = Grammar.from_lark(text).compile(BYTES)
    draw = random.Random(seed)
    compared = 0
    for _ in range(2):
        theirs, ours, read = their_matcher(text), constraint.matcher(), b""
        for _ in range(8):
            expected, found = their_bytes(theirs), our_bytes(ours)
            assert found == expected, f"seed {seed}, after {read!r}: {bytes(found)!r}, not {bytes(expected)!r}\n{text}"
            assert ours.is_complete == theirs.is_accepting(), f"seed {seed}, after {read!r}\n{text}"
            compared += 1
            if not found:
                break
            byte = draw.choice(sorted(found))
            read += bytes([byte])
            assert ours.accept(byte) and theirs.try_consume_tokens([byte]) == 1
    return compared


@pytest.mark.parametrize("kind", ["rules", "lazy rules"])
def test_masks_of_random_grammars_are_llguidances(kind: str, rounds: Callable[[int], int]) -> None:
    compared = 0
    for seed in range(rounds(100)):
        maker = _Maker(seed)
        try:
            compared += compare(maker.grammar() if kind == "rules" else maker.lazy_grammar(), seed)
        except (LimitError, UnsatisfiableError):  # read in too many ways at once, or no text at all
            continue
    assert compared >= rounds(500)
