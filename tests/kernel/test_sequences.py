"""Matchers as sequences: forced bytes, history, and texts cut into tokens in any way."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable

import numpy as np
import pytest
from tests.kernel.test_container_masks import any_json, seam_vocabulary
from tests.kernel.test_unique_item_masks import unique_arrays
from tests.kernel.walks import END, byte_vocabulary, mask_of

from scansion._kernel import ARRAY, CALL, JSON_STRING, OBJECT, TEXT, Constraint, Language, Matcher, fill_bitmasks
from scansion.program import ProgramBuilder, ProgramData

VOCABULARY = byte_vocabulary()


def record(whitespace: str = "spaced") -> ProgramData:
    """Records of a name, a flag and a list of words, with much that is forced."""
    builder = ProgramBuilder(whitespace=whitespace)
    name, flag, word, words, root = (builder.new_rule() for _ in range(5))
    builder.set_rule(name, builder.lex(Language.char_class([(97, 122)]).repeat(1, 8), JSON_STRING))
    builder.set_rule(flag, builder.lex(Language.literals(["true", "false"]), TEXT))
    builder.set_rule(word, builder.lex(Language.literals(['"alpha"', '"alps"', '"beta"']), TEXT))
    builder.set_rule(words, builder.node(ARRAY, builder.array([], word, 1, 3, True), builder.ret))
    spec = builder.object(0, [("name", name, True), ("flag", flag, True), ("words", words, False)])
    builder.set_rule(root, builder.node(OBJECT, spec, builder.ret))
    return builder.finish(root)


def random_text(constraint: Constraint, draw: random.Random, length: int) -> bytes:
    """Bytes of a random walk."""
    matcher = Matcher(constraint)
    text = b""
    while len(text) < length and (following := matcher.next_bytes()):
        byte = draw.choice([b for b in following if b < 128] or list(following))
        assert matcher.accept_bytes(bytes([byte]))
        text += bytes([byte])
    return text


def test_forced_bytes_are_those_without_a_choice() -> None:
    constraint = Constraint(record().kernel(), VOCABULARY)
    draw = random.Random(3)
    forced_seen = 0
    for _ in range(40):
        matcher = Matcher(constraint)
        for byte in random_text(constraint, draw, 60):
            forced = matcher.forced_bytes()
            assert matcher.forced_bytes(2) == forced[:2]
            probe = matcher.fork()
            for one in forced:
                assert not probe.is_complete
                assert probe.next_bytes() == bytes([one])
                assert probe.accept(one)
            assert probe.is_complete or len(probe.next_bytes()) != 1
            forced_seen += len(forced)
            assert matcher.accept(byte)
    assert forced_seen > 1000


def test_next_bytes_are_those_that_one_byte_tokens_may_be() -> None:
    draw = random.Random(4)
    for seed in range(60):
        constraint = Constraint(any_json(random.Random(seed)).kernel(), VOCABULARY)
        matcher = Matcher(constraint)
        for byte in random_text(constraint, draw, 40):
            following = matcher.next_bytes()
            assert following == bytes(token for token in range(256) if matcher.allows(token))
            for other in range(0, 256, 7):
                assert matcher.bytes_accepted(bytes([other])) == (other in following)
            assert matcher.accept(byte)


@pytest.mark.parametrize("make", [any_json, unique_arrays])
def test_history_is_exact(make: Callable[[random.Random], ProgramData]) -> None:
    """Rollback, fork and reset lead to states that are the same as if what was undone had never been."""
    draw = random.Random(5)
    for seed in range(60):
        constraint = Constraint(make(random.Random(seed)).kernel(), VOCABULARY)
        text = random_text(constraint, draw, 40)
        matcher = Matcher(constraint)
        states = [matcher.state_id]
        for byte in text:
            assert matcher.accept(byte)
            states.append(matcher.state_id)
        for _ in range(20):
            at = draw.randint(0, matcher.token_count)
            fork = matcher.fork()
            matcher.rollback(matcher.token_count - at)
            assert matcher.state_id == states[at]
            assert fork.state_id == states[fork.token_count]
            assert mask_of(matcher, VOCABULARY.size) == mask_of(Matcher(matcher), VOCABULARY.size)
            with pytest.raises(ValueError, match="cannot roll back"):
                matcher.rollback(at + 1)
            with pytest.raises(ValueError, match="cannot roll back"):
                matcher.rollback(-1)
            for byte in text[at : draw.randint(at, len(text))]:
                assert matcher.accept(byte)
        matcher.reset()
        assert (matcher.token_count, matcher.state_id) == (0, states[0])


@pytest.mark.parametrize("seed", range(4))
def test_how_a_text_is_cut_makes_no_difference(seed: int) -> None:
    draw = random.Random(seed)
    vocabulary = seam_vocabulary(draw)
    for _ in range(30):
        constraint = Constraint(draw.choice([any_json, unique_arrays])(draw).kernel(), vocabulary)
        text = random_text(constraint, draw, 40)
        whole = Matcher(constraint)
        assert not text or whole.accept_bytes(text)
        for _ in range(6):
            matcher = Matcher(constraint)
            at = 0
            while at < len(text):
                end = draw.randint(at + 1, len(text))
                assert matcher.accept_bytes(text[at:end])
                at = end
            assert matcher.state_id == whole.state_id
            assert mask_of(matcher, vocabulary.size) == mask_of(whole, vocabulary.size)


def test_what_is_refused_changes_nothing() -> None:
    matcher = Matcher(Constraint(record().kernel(), VOCABULARY))
    assert matcher.accept_bytes(b'{"name": "ab')
    state, count = matcher.state_id, matcher.token_count
    assert not matcher.accept_bytes(b'cd", "flag": maybe')
    assert not matcher.accept(ord("1"))
    assert not matcher.accept(END)
    assert not matcher.accept(100_000)
    assert matcher.bytes_accepted(b'cd", "flag": maybe') == len(b'cd", "flag": ')
    assert (matcher.state_id, matcher.token_count) == (state, count)


def test_after_the_end_only_the_end() -> None:
    matcher = Matcher(Constraint(record().kernel(), VOCABULARY))
    assert matcher.accept_bytes(b'{"name": "a", "flag": true}')
    assert matcher.is_complete and not matcher.is_finished
    assert matcher.accept(END)
    assert matcher.is_complete and matcher.is_finished
    assert mask_of(matcher, VOCABULARY.size) == {END}
    assert matcher.next_bytes() == matcher.forced_bytes() == matcher.shortest_completion() == b""
    assert matcher.shortest_cost() == 0
    assert matcher.expected() == []
    assert not matcher.accept_bytes(b" ")
    matcher.rollback(1)
    assert not matcher.is_finished


def test_completions_of_records_are_shortest_and_equal_json() -> None:
    constraint = Constraint(record().kernel(), VOCABULARY)
    matcher = Matcher(constraint)
    assert matcher.shortest_completion() == b'{"name": "a", "flag": true}'
    assert matcher.shortest_completion(5) is None
    assert matcher.shortest_cost() == len(b'{"name": "a", "flag": true}')
    assert matcher.accept_bytes(b'{"name": "abc", "flag": false, "words": ["alps", ')
    completion = matcher.shortest_completion()
    assert completion == b'"beta"]}'
    assert json.loads(b'{"name": "abc", "flag": false, "words": ["alps", ' + completion)


def test_a_batch_is_the_rows_one_by_one() -> None:
    constraint = Constraint(record().kernel(), VOCABULARY)
    draw = random.Random(8)
    matchers: list[Matcher | None] = []
    for _ in range(9):
        matcher = Matcher(constraint)
        text = random_text(constraint, draw, draw.randint(0, 30))
        assert not text or matcher.accept_bytes(text)
        matchers += [matcher, None]
    mask = np.full((len(matchers), (VOCABULARY.size + 31) // 32), 7, np.int32)
    fill_bitmasks(matchers, mask)
    for row, one in enumerate(matchers):
        alone = np.full_like(mask[:1], 7)
        if one is not None:
            one.fill_bitmask(alone, 0)
        assert (alone[0] == mask[row]).all()


def batch_of_constraints(seed: int) -> bool:
    """Whether the masks of matchers of constraints of their own, all new and one asked for twice, are those found one by one."""
    draw = random.Random(seed)
    texts = [random_text(Constraint(record().kernel(), VOCABULARY), draw, draw.randint(0, 30)) for _ in range(20)]

    def fresh() -> list[Matcher]:
        matchers = [Matcher(Constraint(record().kernel(), VOCABULARY)) for _ in texts]
        for matcher, text in zip(matchers, texts, strict=True):
            assert not text or matcher.accept_bytes(text)
        return [*matchers, matchers[0]]

    together, alone = (np.zeros((len(texts) + 1, (VOCABULARY.size + 31) // 32), np.int32) for _ in range(2))
    fill_bitmasks(fresh(), together)
    for row, matcher in enumerate(fresh()):
        matcher.fill_bitmask(alone, row)
    return bool((together == alone).all() and together.any(axis=1).all())


def test_a_batch_of_many_constraints_is_shared_out() -> None:
    assert all(batch_of_constraints(seed) for seed in range(6))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_helpers_of_its_own() -> None:
    assert batch_of_constraints(1)
    child = os.fork()
    if child == 0:
        os._exit(0 if batch_of_constraints(2) else 1)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended == (child, 0)
    assert batch_of_constraints(3)


def test_alternatives_of_one_kind_share_one_state() -> None:
    """Two readings with the same future are one: the state after either is the same."""
    builder = ProgramBuilder()
    rules = [builder.new_rule() for _ in range(3)]
    for rule, word in zip(rules[1:], ["ax", "bx"], strict=True):
        builder.set_rule(rule, builder.lex(Language.literal(word), TEXT))
    builder.set_rule(rules[0], builder.alt([builder.node(CALL, rule, builder.ret) for rule in rules[1:]]))
    constraint = Constraint(builder.finish(rules[0]).kernel(), VOCABULARY)
    first, second = Matcher(constraint), Matcher(constraint)
    assert first.accept_bytes(b"a") and second.accept_bytes(b"b")
    assert first.state_id == second.state_id
