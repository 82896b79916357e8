"""Draft sources and the choice of what to send."""

from __future__ import annotations

import random

from tests.generation.stand_ins import StandInModel

from scansion.generation.draft_sources import ForcedSpans, PromptLookup, whole_characters
from scansion.generation.drafting import Drafting
from scansion.models.costs import ForwardCosts


class Span:
    def __init__(self, forced: bytes, token: int | None = None) -> None:
        self.forced, self.token = forced, token

    def forced_bytes(self, limit: int = 4096) -> bytes:
        return self.forced[:limit]

    def forced_token(self) -> int | None:
        return self.token


def test_forced_spans_are_cut_as_the_tokenizer_cuts_them() -> None:
    model = StandInModel()
    spans = ForcedSpans(model)
    greedy = model.vocabulary.tokenize_greedy
    assert spans.propose(Span(b'{"name":'), [], 24) == greedy(b'{"name":')
    assert spans.propose(Span(b""), [], 24) == []
    assert spans.propose(Span(b"name name"), [], 2) == greedy(b"name name")[:2]
    assert spans.propose(Span(b"", token=7), [], 24) == [7]


def test_a_seam_the_tokenizer_would_join_is_cut_where_the_model_cut_it() -> None:
    model = StandInModel()
    spans = ForcedSpans(model)
    before = model.vocabulary.tokenize_greedy(b"xn")  # the tokenizer would write "na" as one token
    assert model.vocabulary.text(spans.propose(Span(b"ame"), before, 24)) == b"ame"


def test_half_a_character_is_never_drafted() -> None:
    spans = ForcedSpans(StandInModel())
    assert spans.propose(Span(b"\xc3"), [], 24) == []
    assert whole_characters("aé".encode()[:2]) == b"a"
    assert whole_characters("a😀".encode()[:4]) == b"a"
    assert whole_characters("a😀".encode()) == "a😀".encode()
    assert whole_characters(b"") == b""


def test_lookup_goes_on_as_the_text_did_before() -> None:
    lookup = PromptLookup([1, 2, 3, 4, 5, 9, 2, 3])
    assert lookup.propose([], 3) == [4, 5, 9]
    assert lookup.propose([4], 8) == [5, 9, 2, 3]
    assert lookup.propose([7], 8) == []
    lookup.append(4)
    assert lookup.propose([], 2) == [5, 9]


def test_lookup_agrees_with_a_plain_search() -> None:
    rng = random.Random(1)
    for _ in range(200):
        tokens = [rng.randrange(4) for _ in range(rng.randint(2, 40))]
        expected: list[int] = []
        for length in range(min(4, len(tokens)), 1, -1):
            ends = [end for end in range(length, len(tokens)) if tokens[end - length : end] == tokens[-length:]]
            if ends:
                expected = tokens[ends[-1] :]
                break
        assert PromptLookup(tokens).propose([], 100) == expected


def test_a_source_that_is_wrong_goes_quiet_and_comes_back() -> None:
    model = StandInModel()
    drafting = Drafting(model, sources=["grammar"], longest=24, prompt=[])
    span = Span(b"xyz xyz")
    right = model.vocabulary.tokenize_greedy(b"xyz xyz")
    assert drafting.propose(span, [], None, 100)
    for _ in range(40):
        drafting.propose(span, [], None, 100)
        drafting.observe(1)
    assert drafting.propose(span, [], None, 100) == []
    proposed = drafting.figures["grammar"].proposed
    for _ in range(40):  # now its predictions come true, though none is sent at first
        drafting.propose(span, [], None, 100)
        drafting.observe(right[0])
    assert drafting.propose(span, [], None, 100)
    assert drafting.figures["grammar"].proposed > proposed


def test_a_token_at_the_end_of_a_span_is_sent_once_it_has_proved_right() -> None:
    model = StandInModel()
    drafting = Drafting(model, sources=["grammar"], longest=24, prompt=[])
    span = Span(b"xyz")
    tokens = model.vocabulary.tokenize_greedy(b"xyz")
    assert drafting.propose(span, [], None, 100) == tokens[:-1]
    for token in tokens:
        drafting.observe(token)
    assert drafting.propose(span, [], None, 100) == tokens


def test_costs_choose_the_length() -> None:
    costs = ForwardCosts()
    assert costs.best_length([0.9] * 4) == 4  # nothing known: send all
    costs.record(1, 1.0)
    costs.record(5, 1.2)
    assert costs.estimate(3) == 1.1
    assert costs.best_length([0.9] * 4) == 4
    costs.record(5, 100.0)  # a single slow pass is somebody else's doing
    assert costs.best_length([0.9] * 4) == 4
    dear = ForwardCosts()
    dear.record(1, 1.0)
    dear.record(2, 1.9)
    dear.record(3, 2.9)
    assert dear.best_length([0.5, 0.5]) == 0
    assert dear.best_length([1.0, 1.0]) == 1  # two tokens for 1.9, against three for 2.9


def test_costs_forget_slowly() -> None:
    costs = ForwardCosts()
    costs.record(1, 1.0)
    costs.record(2, 1.0)
    for _ in range(100):
        costs.record(1, 3.0)
    assert costs.estimate(1) == 3.0
    costs.record(1000, 5.0)
    assert costs.estimate(64) is not None and costs.estimate(1000) is not None
