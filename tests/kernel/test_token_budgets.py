"""Budgets of tokens (``BUDGET`` nodes, Lark's ``max_tokens``): masks and acceptance against a recogniser written apart."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from tests.kernel.budget_recogniser import Budgets, Grammar, Reading, TooWide, random_grammar
from tests.kernel.walks import mask_of

from scansion import Grammar as ScansionGrammar
from scansion import UnsatisfiableError
from scansion._kernel import Constraint, Matcher, Vocabulary

# Bytes, tokens of several bytes, tokens that end and begin inside the character é.
PIECES = [bytes([byte]) for byte in b"ab\xc3\xa9"] + [
    b"aa",
    b"ab",
    b"ba",
    b"bb",
    b"aba",
    b"abab",
    b"a\xc3",
    b"\xa9a",
    "é".encode(),
    "aé".encode(),
    "éé".encode(),
]
END = len(PIECES)
SIZE = END + 1
VOCABULARY = Vocabulary([*PIECES, None], [END], [])


def grammars(seeds: range) -> Iterator[tuple[int, random.Random, Grammar, Matcher]]:
    """Random grammars, with the matchers of those that are ones."""
    for seed in seeds:
        draw = random.Random(seed)
        grammar = random_grammar(draw)
        if grammar is None:
            continue
        try:
            program = ScansionGrammar.from_lark(grammar.lark()).program
        except UnsatisfiableError:
            continue
        yield seed, draw, grammar, Matcher(Constraint(program.kernel(), VOCABULARY))


def allowed_by(slow: Budgets, readings: frozenset[Reading]) -> set[int]:
    tokens = {token for token, piece in enumerate(PIECES) if slow.text(readings, piece)}
    return tokens | {END} if () in readings else tokens


def test_masks_and_acceptance_are_those_of_the_recogniser(rounds: Callable[[int], int]) -> None:
    masks = cuts = 0
    for seed, draw, grammar, matcher in grammars(range(rounds(2000))):
        try:
            slow = Budgets(grammar)
            for _ in range(3):
                matcher.reset()
                readings = slow.start
                for step in range(draw.randint(4, 12)):
                    allowed = allowed_by(slow, readings)
                    assert mask_of(matcher, SIZE) == allowed, (seed, step, grammar.lark())
                    assert [matcher.allows(token) for token in range(END + 1)] == [token in allowed for token in range(END + 1)], seed
                    assert matcher.is_complete == (() in readings)
                    masks += 1
                    choices = sorted(allowed - {END})
                    if not choices:
                        break
                    token = draw.choice(choices)
                    if draw.random() < 0.1:  # text that is no token counts for nothing
                        assert matcher.accept_bytes(PIECES[token])
                        readings = slow.text(readings, PIECES[token])
                        continue
                    assert matcher.accept(token)
                    uncut = slow.text(readings, PIECES[token])
                    readings = slow.token(readings, PIECES[token])
                    cuts += {reading[0] for reading in readings if reading} != {reading[0] for reading in uncut if reading}
        except TooWide:
            continue
    assert masks > 2000
    assert cuts > 200


def test_rollback_and_fork_restore_what_is_left(rounds: Callable[[int], int]) -> None:
    compared = 0
    for seed, draw, grammar, matcher in grammars(range(rounds(900))):
        history: list[tuple[int, set[int]]] = []
        for _ in range(10):
            allowed = mask_of(matcher, SIZE)
            choices = sorted(allowed - {END})
            if not choices:
                break
            token = draw.choice(choices)
            history.append((token, allowed))
            fork = matcher.fork()
            matcher.accept(token)
            assert mask_of(fork, SIZE) == allowed, (seed, grammar.lark())
        again = Matcher(matcher)
        again.reset()
        for token, allowed in history:
            assert mask_of(again, SIZE) == allowed
            assert again.accept(token)
        for _, allowed in reversed(history):
            matcher.rollback(1)
            assert mask_of(matcher, SIZE) == allowed, (seed, grammar.lark())
            compared += 1
    assert compared > 300


def test_forced_bytes_are_forced_however_they_are_cut(rounds: Callable[[int], int]) -> None:
    spans = 0
    for seed, draw, grammar, matcher in grammars(range(rounds(2500))):
        for _ in range(3):
            walker = matcher.fork()
            for _ in range(draw.randint(0, 5)):
                choices = sorted(mask_of(walker, SIZE) - {END})
                if not choices:
                    break
                walker.accept(draw.choice(choices))
            forced = walker.forced_bytes()
            while forced:
                allowed = mask_of(walker, SIZE)
                assert END not in allowed
                assert all(PIECES[token].startswith(forced) or forced.startswith(PIECES[token]) for token in allowed), (
                    seed,
                    grammar.lark(),
                )
                token = draw.choice(sorted(allowed))
                walker.accept(token)
                forced = forced[len(PIECES[token]) :]
                spans += 1
    assert spans > 300


def test_token_terminals_count_as_the_tokens_they_are() -> None:
    vocabulary = Vocabulary([b"a", b"!", None, None], [3], [])
    grammar = ScansionGrammar.from_lark('start: a "!"\na[max_tokens=2]: (<[2]> | "a")*')
    matcher = Matcher(Constraint(grammar.program.kernel(), vocabulary))
    for tokens in ((2, 2), (0, 2), (2, 0), (0, 0)):
        matcher.reset()
        for token in tokens:
            assert mask_of(matcher, 4) == {0, 1, 2}
            assert matcher.accept(token)
        assert mask_of(matcher, 4) == {1}


def test_a_matcher_says_whether_it_counts() -> None:
    for text, counts in (('start: "a"', False), ('start: a\na[max_tokens=3]: "a"', True), ('start: a\na[max_tokens=0]: "a"', False)):
        assert Matcher(Constraint(ScansionGrammar.from_lark(text).program.kernel(), VOCABULARY)).counts_tokens == counts


def test_places_that_differ_in_what_is_left_are_told_apart() -> None:
    matcher = Matcher(Constraint(ScansionGrammar.from_lark("start: a\na[max_tokens=9]: /a*/").program.kernel(), VOCABULARY))
    assert matcher.accept(0)
    first = matcher.state_id
    assert matcher.accept(0)
    assert matcher.state_id != first
    matcher.rollback(1)
    assert matcher.state_id == first
