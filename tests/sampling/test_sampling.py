"""Draws: settings, llama.cpp's chain, and what is done when a draw is refused."""

from __future__ import annotations

import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from scansion.errors import DeadEndError, RequestError
from scansion.sampling import ConstrainedDraws, Sampling, make_drawer
from scansion.sampling.chain import GreedyDrawer

SIZE = 100
MODEL = SimpleNamespace(vocabulary=SimpleNamespace(size=SIZE), context_size=64, sampler_vocabulary=None, name="stand-in")


def drawer(settings: Sampling, prompt: list[int] | None = None, seed: int = 1):
    if not settings.is_plain_greedy:
        pytest.importorskip("llama_cpp")
    return make_drawer(settings, MODEL, prompt or [], seed)


def logits(**values: float) -> np.ndarray:
    row = np.full(SIZE, -20.0, np.float32)
    for name, value in values.items():
        row[int(name[1:])] = value
    return row


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", math.nan),
        ("temperature", "1"),
        ("top_p", 1.5),
        ("min_p", -1),
        ("top_k", 2.5),
        ("seed", -1),
        ("seed", 2**32 - 1),
        ("seed", True),
        ("mirostat", 3),
        ("logit_bias", {-1: 1.0}),
        ("logit_bias", {1: math.inf}),
        ("logit_bias", {"a": 1.0}),
    ],
)
def test_settings_out_of_range_are_named(name: str, value: object) -> None:
    with pytest.raises(RequestError, match=name):
        Sampling(**{name: value})


def test_plain_greedy_is_recognised() -> None:
    assert Sampling().is_plain_greedy and Sampling(top_k=5, top_p=0.5, min_p=0.1, seed=3).is_plain_greedy
    for other in ({"temperature": 0.5}, {"repeat_penalty": 1.1}, {"logit_bias": {1: 5.0}}, {"mirostat": 2}, {"dry_multiplier": 0.8}):
        assert not Sampling(**other).is_plain_greedy
    assert isinstance(drawer(Sampling()), GreedyDrawer)


def test_temperature_zero_through_the_chain_is_the_maximum() -> None:
    rng = np.random.default_rng(1)
    chain = drawer(Sampling(logit_bias={0: -math.inf}))
    for _ in range(20):
        row = rng.normal(size=SIZE).astype(np.float32)
        row[0] = 50
        assert chain.draw(row) == 1 + row[1:].argmax()


def test_a_seed_repeats_the_draws() -> None:
    rows = np.random.default_rng(2).normal(size=(50, SIZE)).astype(np.float32)
    runs = []
    for seed in (7, 7, 8):
        one = drawer(Sampling(temperature=1.0), seed=seed)
        runs.append([one.draw(row) for row in rows])
    assert runs[0] == runs[1] != runs[2]


def test_draws_follow_the_distribution() -> None:
    row = logits(t1=math.log(0.5), t2=math.log(0.3), t3=math.log(0.2))
    one = drawer(Sampling(temperature=1.0), seed=3)
    counts = Counter(one.draw(row) for _ in range(20_000))
    expected = {1: 10_000, 2: 6_000, 3: 4_000}
    chi = sum((counts[token] - n) ** 2 / n for token, n in expected.items())
    assert chi < 13.8 and sum(counts[token] for token in expected) == 20_000  # 0.1 % of chi-square with 2 degrees of freedom


def test_truncations_leave_out_what_they_say() -> None:
    row = logits(t1=3.0, t2=2.0, t3=1.0, t4=0.0)
    assert {drawer(Sampling(temperature=2.0, top_k=2), seed=s).draw(row) for s in range(60)} == {1, 2}
    assert {drawer(Sampling(temperature=1.0, top_p=0.5), seed=s).draw(row) for s in range(60)} == {1}
    assert {drawer(Sampling(temperature=2.0, min_p=0.3), seed=s).draw(row) for s in range(60)} == {1, 2}


def test_penalties_count_the_prompt() -> None:
    row = logits(t1=3.0, t2=2.9)
    assert drawer(Sampling(repeat_penalty=1.5), prompt=[5, 1]).draw(row) == 2
    one = drawer(Sampling(presence_penalty=1.0))
    assert one.draw(row) == 1
    one.accept(1)
    assert one.draw(row) == 2


def test_what_the_model_lacks_is_refused() -> None:
    with pytest.raises(RequestError, match="token 100"):
        drawer(Sampling(logit_bias={100: 1.0}))
    pytest.importorskip("llama_cpp")
    with pytest.raises(RequestError, match="DRY"):
        drawer(Sampling(dry_multiplier=0.5))


class Allowing:
    """Allows some tokens; promises more than it accepts where ``fits`` is smaller."""

    def __init__(self, allowed: set[int], fits: set[int] | None = None, way_out: int | None = None) -> None:
        self.allowed, self.fits, self._way_out = allowed, allowed if fits is None else fits, way_out
        self.masks = 0
        self.accepted: list[int] = []

    def accept(self, token_id: int) -> bool:
        if token_id not in self.fits:
            return False
        self.accepted.append(token_id)
        return True

    def fill_bitmask(self, mask: np.ndarray, row: int = 0) -> None:
        self.masks += 1
        bits = np.zeros(mask.shape[1] * 32, np.uint8)
        bits[list(self.allowed)] = 1
        mask[row] = np.packbits(bits, bitorder="little").view(np.int32)

    def way_out(self) -> int | None:
        return self._way_out


def test_a_legal_draw_pays_for_no_mask() -> None:
    draws = ConstrainedDraws(drawer(Sampling()), SIZE)
    constraint = Allowing({4, 5})
    assert draws.draw(logits(t4=1.0, t5=0.5), constraint) == 4
    assert constraint.masks == 0 and draws.redraws == 0 and draws.draws == 1 and len(draws.seconds) == 1


@pytest.mark.parametrize("words", [1, 20, 200, 1500])
def test_few_and_many_allowed_tokens_are_drawn_alike(words: int) -> None:
    rng = np.random.default_rng(words)
    size = 50_000
    for _ in range(5):
        allowed = {int(word) * 32 + int(rng.integers(32)) for word in rng.choice(size // 32, words, replace=False)} | {size - 1}
        row = rng.integers(-50, 50, size).astype(np.float32) / 10  # with many equals
        refused = int(row.argmax())
        allowed.discard(refused)
        best = max(sorted(allowed), key=lambda token: row[token])
        fits = allowed - {best}
        second = max(sorted(fits), key=lambda token: row[token])
        for taken, expected in ((allowed, best), (fits, second)):  # the second time the mask promises too much
            assert ConstrainedDraws(GreedyDrawer(), size).draw(row.copy(), Allowing(allowed, taken)) == expected


@pytest.mark.parametrize("others", [0, 60])
def test_a_refused_draw_is_drawn_again_under_the_mask(others: int) -> None:
    draws = ConstrainedDraws(drawer(Sampling()), SIZE)
    constraint = Allowing({5, 6, *range(40, 40 + others)})
    assert draws.draw(logits(t4=3.0, t5=1.0, t6=2.0), constraint) == 6
    assert constraint.masks == 1 and draws.redraws == 1 and constraint.accepted == [6]


def test_tokens_that_do_not_fit_after_all_are_drawn_without_replacement() -> None:
    row = logits(t1=2.0, t2=math.log(0.6), t3=math.log(0.4), t4=3.0)
    counts: Counter[int] = Counter()
    for seed in range(4000):
        draws = ConstrainedDraws(drawer(Sampling(temperature=1.0), seed=seed), SIZE)
        counts[draws.draw(row.copy(), Allowing({1, 2, 3}, fits={2, 3}))] += 1
    assert abs(counts[2] / 4000 - 0.6) < 0.04 and counts[2] + counts[3] == 4000


def test_the_way_out_is_taken_when_all_else_is_refused() -> None:
    draws = ConstrainedDraws(drawer(Sampling()), SIZE)
    constraint = Allowing(set(range(90)), fits={89}, way_out=89)
    row = np.arange(SIZE, dtype=np.float32)[::-1].copy()
    assert draws.draw(row, constraint) == 89


def test_a_dead_end_is_an_error_not_an_empty_mask() -> None:
    draws = ConstrainedDraws(drawer(Sampling()), SIZE)
    with pytest.raises(DeadEndError, match="0 in its mask"):
        draws.draw(logits(t1=1.0), Allowing(set()))


def test_rows_drawn_at_once_are_drawn_as_each_alone() -> None:
    rows = np.stack([logits(t3=1.0, t7=1.0), logits(t5=2.0), logits(t9=0.5, t4=3.0)])
    greedy = ConstrainedDraws(GreedyDrawer(), SIZE)
    assert greedy.at_once(rows) == [3, 5, 4] == [greedy.draw(row, None) for row in rows]
    refusing = Allowing({5, 9})
    assert [greedy.draw(rows[1], refusing, 5), greedy.draw(rows[2], refusing, 4)] == [5, 9]
    assert ConstrainedDraws(drawer(Sampling(temperature=1.0)), SIZE).at_once(rows) == []  # each draw moves the generator on


def test_friction_is_the_probability_outside_the_mask() -> None:
    draws = ConstrainedDraws(drawer(Sampling()), SIZE, measure_friction=True)
    row = np.full(SIZE, -np.inf, np.float32)
    row[[1, 2, 3]] = np.log([0.5, 0.3, 0.2])
    draws.draw(row, Allowing({2, 3}))
    assert draws.friction == pytest.approx([0.5])
