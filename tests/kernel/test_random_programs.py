"""Random programs against recognisers that share nothing with the kernel."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

import pytest
from tests.kernel.random_programs import LETTERS, is_left_recursive, is_productive, random_program
from tests.kernel.token_recogniser import accepts_tokens
from tests.kernel.walks import END, allowed_one_by_one, byte_vocabulary, mask_of
from tests.oracles.program_recogniser import accepts

from scansion._kernel import Constraint, Matcher, Vocabulary
from scansion.program import ProgramData

LONGEST = 5
TEXTS = ["".join(letters) for length in range(LONGEST + 1) for letters in itertools.product(LETTERS, repeat=length)]
TOKENS = [bytes(letters) for length in (2, 3) for letters in itertools.product(b"abc", repeat=length)] + [b"abcabc", b"aaaaaa"]


def programs(seeds: range, **options: object) -> Iterator[tuple[int, random.Random, ProgramData]]:
    """Programs the kernel should take, with the seeds they come from."""
    for seed in seeds:
        draw = random.Random(seed)
        program = random_program(draw, **options)  # type: ignore[arg-type]
        if is_productive(program) and not is_left_recursive(program):
            yield seed, draw, program


def test_left_recursion_is_refused_and_nothing_else(rounds: Callable[[int], int]) -> None:
    refused = 0
    for seed in range(rounds(1500)):
        program = random_program(random.Random(seed))
        if is_left_recursive(program):
            refused += 1
            with pytest.raises(ValueError, match="left recursive"):
                program.kernel()
        else:
            program.kernel()
    assert refused > 50


def test_texts_and_completions_are_those_of_the_recogniser(rounds: Callable[[int], int]) -> None:
    vocabulary = byte_vocabulary()
    compared = 0
    for seed, _, program in programs(range(rounds(1200)), repeat_none=False):
        words = {text for text in TEXTS if accepts(program, text)}
        constraint = Constraint(program.kernel(), vocabulary)
        for text in TEXTS:
            matcher = Matcher(constraint)
            viable = not text or matcher.accept_bytes(text.encode())
            endings = [len(word) - len(text) for word in words if word.startswith(text)]
            assert viable or not endings, (seed, text)
            assert (viable and matcher.is_complete) == (text in words), (seed, text)
            if not viable or len(text) > 3:
                continue
            completion = matcher.shortest_completion()
            assert completion is not None, (seed, text)
            assert accepts(program, text + completion.decode()), (seed, text, completion)
            assert len(completion) == matcher.shortest_cost() <= min(endings, default=len(completion)), (seed, text, completion)
            assert len(completion) == min(endings, default=len(completion)) or len(text) + len(completion) > LONGEST, (seed, text)
            compared += 1
    assert compared > 500


def test_masks_say_what_each_token_does(rounds: Callable[[int], int]) -> None:
    vocabulary = byte_vocabulary(TOKENS)
    for seed, draw, program in programs(range(1000, 1000 + rounds(1500))):
        constraint = Constraint(program.kernel(), vocabulary)
        for _ in range(3):
            matcher = Matcher(constraint)
            for _ in range(6):
                expected = allowed_one_by_one(matcher, vocabulary.size)
                assert mask_of(matcher, vocabulary.size) == expected, seed
                assert expected, seed
                assert matcher.accept(draw.choice(sorted(expected)))
                if matcher.is_finished:
                    break


SPECIAL = 5
TOKEN_PIECES: list[bytes | None] = [b"a", b"b", b"ab", b"ba", None, None]
TOKEN_SETS = (((0, 0),), ((2, 3),), ((SPECIAL, SPECIAL),), ((0, 1), (SPECIAL, SPECIAL)), ((3, 5),))


def test_token_terminals_are_tokens_and_text_is_text(rounds: Callable[[int], int]) -> None:
    """All sequences of up to three of six tokens, a special one among them; token 4 is the end."""
    vocabulary = Vocabulary(TOKEN_PIECES, [4], [SPECIAL])
    sequences = [list(ids) for length in range(4) for ids in itertools.product([0, 1, 2, 3, SPECIAL], repeat=length)]
    ended = 0
    for seed, _, program in programs(range(rounds(1000)), token_sets=TOKEN_SETS):
        constraint = Constraint(program.kernel(), vocabulary)
        good = [ids for ids in sequences if accepts_tokens(program, ids, TOKEN_PIECES)]
        viable = {tuple(ids[:length]) for ids in good for length in range(len(ids) + 1)}
        for ids in sequences:
            matcher = Matcher(constraint)
            read = all(matcher.accept(token) for token in ids)
            assert read or tuple(ids) not in viable, (seed, ids)
            assert (read and matcher.is_complete) == (ids in good), (seed, ids)
            if read:
                assert mask_of(matcher, vocabulary.size) == allowed_one_by_one(matcher, vocabulary.size), (seed, ids)
                assert matcher.allows(4) >= matcher.is_complete
        ended += len(good)
    assert ended > 500


def test_the_end_is_allowed_where_the_text_may_end() -> None:
    vocabulary = byte_vocabulary()
    for seed, _, program in programs(range(60)):
        constraint = Constraint(program.kernel(), vocabulary)
        for text in TEXTS[:100]:
            matcher = Matcher(constraint)
            if text and not matcher.accept_bytes(text.encode()):
                continue
            assert matcher.allows(END) == matcher.is_complete == (END in mask_of(matcher, vocabulary.size)), (seed, text)
