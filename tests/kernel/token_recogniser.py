"""Whether a program with token terminals matches a sequence of tokens: every way tried, by definition.

A position is a token's index and how many of its bytes are read. Text reads bytes across tokens; a token terminal reads one whole
token, and only where a token begins.
"""

from __future__ import annotations

from collections.abc import Sequence

from scansion._kernel import ALT, CALL, LEX, REPEAT, RET, TOKEN
from scansion.program import ProgramData

__all__ = ["accepts_tokens"]

Position = tuple[int, int]


def accepts_tokens(program: ProgramData, ids: Sequence[int], pieces: Sequence[bytes | None]) -> bool:
    """Whether all of ``ids`` is matched; ``pieces`` holds the ASCII bytes of each token, None for those that are never text."""
    memo: dict[tuple[int, Position], set[Position]] = {}

    def texts(start: Position) -> list[tuple[str, Position]]:
        """What text may be read from a position, and where that leads."""
        index, offset = start
        read, found = "", [("", start)]
        while index < len(ids):
            piece = pieces[ids[index]]
            if piece is None:
                break
            read += chr(piece[offset])
            index, offset = (index, offset + 1) if offset + 1 < len(piece) else (index + 1, 0)
            found.append((read, (index, offset)))
        return found

    def rule(number: int, start: Position) -> set[Position]:
        if (number, start) not in memo:
            memo[number, start] = set()
            memo[number, start] = node(program.rules[number], start)
        return memo[number, start]

    def node(number: int, start: Position) -> set[Position]:
        op, a, b = program.nodes[3 * number : 3 * number + 3]
        middles: set[Position] = set()
        if op == RET:
            return {start}
        if op == ALT:
            return set().union(*(node(target, start) for target in program.targets[a : a + b]))
        if op == LEX:
            language = program.lexemes[a][0]
            middles = {end for text, end in texts(start) if language.matches(text)}
        elif op == CALL:
            middles = rule(a, start)
        elif op == TOKEN:
            index, offset = start
            named = offset == 0 and index < len(ids) and any(low <= ids[index] <= high for low, high in program.token_sets[a])
            middles = {(index + 1, 0)} if named else set()
        elif op == REPEAT:
            body, low, high = program.targets[a : a + 3]
            level = {start}
            for count in range(high + 1 if high >= 0 else low + 4 * len(ids) + 4):
                if count >= low:
                    middles |= level
                if count != high:  # asking in vain could ask for what is being answered
                    level = set().union(*(rule(body, middle) for middle in level))
        return set().union(*(node(b, middle) for middle in middles))

    return (len(ids), 0) in rule(program.start, (0, 0))
