"""How llama.cpp reads bytes, as languages: what ``compat="llama.cpp"`` matches instead of characters.

llama.cpp decodes each token as it comes (``decode_utf8`` in ``src/llama-grammar.cpp``): inside a token any byte continues a
character, also one that UTF-8 does not allow there; lead bytes up to 0xFF and values past the last code point are taken; and
where a token ends inside a character, a class decides by the range the character can still come from
(``llama_grammar_match_partial_char``), which for a negated class is stricter than it need be. That decides only whether the token
is allowed: once it is, classes that would have refused it go on as well (``llama_grammar_accept_token``).

None of this is a language of characters, but it is one of *symbols*: the bytes 0x01 to 0xFF as the code points of the same number;
``CUT`` where a token ends inside a character, as masks ask for it, and ``CUT_ALLOWED``, once the token has been allowed
(``CUT_LATE`` and ``CUT_LATE_ALLOWED`` where the token has whole characters before: a text that could end after these may then still
end, which ``ENDING`` stands for); and ``BEGIN`` where a token begins, in grammars that need to know. ``llama_cpp_view`` writes tokens so.
"""

from __future__ import annotations

from bisect import bisect_right

from scansion._kernel import Language

__all__ = ["ANY_MIDDLE", "BEGIN", "CUT", "CUT_ALLOWED", "CUT_LATE", "CUT_LATE_ALLOWED", "ENDING", "SymbolClasses"]

CUT = 0x100
CUT_LATE = 0x101
CUT_ALLOWED = 0x102
CUT_LATE_ALLOWED = 0x103
BEGIN = 0x104
_LAST_VALUE = 0x3FFFFF  # four bytes of which the first gives four bits
_LATE = (CUT_LATE_ALLOWED, CUT_LATE_ALLOWED, 4)
# The rest of a token from some place inside it on, with at least one whole character.
ANY_MIDDLE = Language.automaton(
    [
        [(1, 0x7F, 4), (0xC0, 0xDF, 1), (0xE0, 0xEF, 2), (0xF0, 0xFF, 3)],
        [(1, 0xFF, 4)],
        [(1, 0xFF, 1)],
        [(1, 0xFF, 2)],
        [(1, 0xFF, 4), (CUT, CUT_LATE_ALLOWED, 4)],
    ],
    [False, False, False, False, True],
)

# The beginning of a character at the end of a token that has been allowed.
ENDING = Language.automaton(
    [[(0xC0, 0xDF, 1), (0xE0, 0xEF, 2), (0xF0, 0xFF, 3)], [_LATE], [_LATE, (1, 0xFF, 1)], [_LATE, (1, 0xFF, 2)], []],
    [False, False, False, False, True],
)

Ranges = tuple[tuple[int, int], ...]
_Rows = list[list[tuple[int, int, int]]]


class SymbolClasses:
    """Character classes as languages of symbols, each made once.

    Args:
        begins: tokens are marked where they begin.
    """

    def __init__(self, begins: bool) -> None:
        self.begins = begins
        self._known: dict[tuple[Ranges, bool], Language] = {}

    def language(self, ranges: Ranges, negated: bool) -> Language:
        """The symbols of one character of a class, given as the grammar writes it."""
        key = (ranges, negated)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _ClassAutomaton(ranges, negated, self.begins).language()
        return known


class _ClassAutomaton:
    """States: 0 the beginning, 1 a whole character read, 2 the same and the token ended; then one for each sort of remainder."""

    def __init__(self, ranges: Ranges, negated: bool, begins: bool) -> None:
        self.negated = negated
        self.written = _union(ranges)
        self.matched = _without_zero(_complement(self.written) if negated else self.written)
        self.starts = [first for first, _ in self.matched]
        self.begins = begins
        self.strict: dict[int, int] = {}  # the same state in a character begun by an earlier token
        self.rows: _Rows = [[], [(CUT, CUT_LATE_ALLOWED, 2)], []]
        self.known: dict[tuple[int, bool, tuple[int, ...] | None], int] = {}

    def language(self) -> Language:
        start = [(byte, byte, 1) for byte in range(1, 0x80) if self.overlap(byte, byte)]
        for first, last, bits, left in ((0xC0, 0xDF, 0x1F, 1), (0xE0, 0xEF, 0xF, 2), (0xF0, 0xFF, 0xF, 3)):
            for byte in range(first, last + 1):
                target = self.partial(byte & bits, left)
                if target:
                    start.append((byte, byte, target))
        if self.begins:
            self.rows.append(_joined(start))
            start = [*start, (BEGIN, BEGIN, len(self.rows) - 1)]
        self.rows[0] = _joined(start)
        return Language.automaton(self.rows, [state in (1, 2) for state in range(len(self.rows))])

    def overlap(self, low: int, high: int) -> bool:
        """Whether a value from low to high is matched."""
        at = bisect_right(self.starts, high) - 1
        return at >= 0 and self.matched[at][1] >= low

    def covers(self, low: int, high: int) -> bool:
        at = bisect_right(self.starts, low) - 1
        return at >= 0 and self.matched[at][1] >= high

    def may_end(self, value: int, left: int) -> bool:
        """llama.cpp's answer to a token that ends with ``left`` bytes of a character to come."""
        if left == 1 and value < 2:
            return False
        low = value << 6 * left
        high = low | (1 << 6 * left) - 1
        if low == 0:
            low = 1 << 11 if left == 2 else 1 << 16
        touched = any(first <= high and low <= last for first, last in self.written)
        return touched != self.negated

    def partial(self, value: int, left: int) -> int:
        """The state with ``left`` bytes to come of a character of which ``value`` is known; 0 where none is matched."""
        low = value << 6 * left
        high = low | (1 << 6 * left) - 1
        if not self.overlap(low, high):
            return 0
        may_end = self.may_end(value, left)
        whole = self.covers(low, high)
        targets: list[int] = []
        if not whole:
            for byte in range(64):
                following = value << 6 | byte
                targets.append(self.partial(following, left - 1) if left > 1 else int(self.overlap(following, following)))
        key = (left, may_end, None if whole else tuple(targets))
        known = self.known.get(key)
        if known is not None:
            return known
        if whole:
            # Every value below is matched and may be cut: small values, which may not, are never wholly matched (0 is not).
            targets = [self.uniform(left - 1)] * 64
        return self.state(key, targets, may_end)

    def uniform(self, left: int) -> int:
        if left == 0:
            return 1
        key = (left, True, None)
        return self.known.get(key) or self.state(key, [self.uniform(left - 1)] * 64, True)

    def state(self, key: tuple[int, bool, tuple[int, ...] | None], targets: list[int], may_end: bool) -> int:
        """A state, and with it the same in a character begun by an earlier token, and the one right after a cut.

        In these only true continuation bytes go on.
        """
        number = self.known[key] = len(self.rows)
        row = [(64 * quarter + byte, 64 * quarter + byte, target) for quarter in range(4) for byte, target in enumerate(targets) if target]
        self.rows += [[], [], []]
        self.strict[number] = number + 1
        after_cut = number + 2
        going_on = [(0x80 + byte, 0x80 + byte, self.strict.get(target, target)) for byte, target in enumerate(targets) if target]
        cut = (CUT if may_end else CUT_ALLOWED, CUT_LATE_ALLOWED, after_cut)
        self.rows[number] = _joined([*(edge for edge in row if edge[0] > 0), cut])
        self.rows[number + 1] = _joined([*going_on, cut])
        begun = _joined(going_on)
        if self.begins:
            self.rows.append(begun)
            begun = [*begun, (BEGIN, BEGIN, len(self.rows) - 1)]
        self.rows[after_cut] = begun
        return number


def _union(ranges: Ranges) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for first, last in sorted(pair for pair in ranges if pair[0] <= pair[1]):
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return out


def _complement(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    following = 0
    for first, last in ranges:
        if first > following:
            out.append((following, first - 1))
        following = last + 1
    if following <= _LAST_VALUE:
        out.append((following, _LAST_VALUE))
    return out


def _without_zero(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Zero ends the text of a token, so that nothing matches it."""
    return [(max(first, 1), last) for first, last in ranges if last >= 1]


def _joined(edges: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    out: list[tuple[int, int, int]] = []
    for first, last, target in sorted(edges):
        if out and out[-1][2] == target and out[-1][1] + 1 == first:
            out[-1] = (out[-1][0], last, target)
        else:
            out.append((first, last, target))
    return out
