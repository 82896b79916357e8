"""Draft sources and the choice of what to send."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from tests.generation.stand_ins import EOS, StandInModel, Texts

import scansion
from scansion.generation.draft_sources import ForcedSpans, PromptLookup, whole_characters
from scansion.generation.drafting import Drafting
from scansion.generation.span_habits import SpanHabits
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
    assert spans.propose(b'{"name":', [], 24) == greedy(b'{"name":')
    assert spans.propose(b"", [], 24) == []
    assert spans.propose(b"name name", [], 2) == greedy(b"name name")[:2]


def test_a_seam_the_tokenizer_would_join_is_cut_where_the_model_cut_it() -> None:
    model = StandInModel()
    spans = ForcedSpans(model)
    before = model.vocabulary.tokenize_greedy(b"xn")  # the tokenizer would write "na" as one token
    assert model.vocabulary.text(spans.propose(b"ame", before, 24)) == b"ame"


def test_half_a_character_is_never_drafted() -> None:
    drafting = Drafting(StandInModel(), sources=["grammar"], longest=24, prompt=[])
    assert drafting.propose(Span(b"\xc3"), [], None, 24) == []
    assert whole_characters("aé".encode()[:2]) == b"a"
    assert whole_characters("a😀".encode()[:4]) == b"a"
    assert whole_characters("a😀".encode()) == "a😀".encode()
    assert whole_characters(b"") == b""


def test_lookup_goes_on_as_the_text_did_before() -> None:
    lookup = PromptLookup([1, 2, 3, 4, 5, 9, 2, 3])
    assert lookup.propose([], 3) == ([4, 5, 9], 2)
    assert lookup.propose([4], 8) == ([5, 9, 2, 3], 3)
    assert lookup.propose([7], 8) == ([], 0)
    lookup.append(4)
    assert lookup.propose([], 2) == ([5, 9], 3)


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
        found, agreeing = PromptLookup(tokens).propose([], 100)
        assert found == expected
        if found:
            end = len(tokens) - len(found)
            shared = next((n for n in range(end) if tokens[end - 1 - n] != tokens[-1 - n]), end)
            assert agreeing == min(shared, 16)


def test_a_source_that_is_wrong_goes_quiet_and_comes_back() -> None:
    model = StandInModel()
    drafting = Drafting(model, sources=["grammar"], longest=24, prompt=[])
    span = Span(b"xyz xyz")
    assert drafting.propose(Span(b"", token=7), [], None, 24) == []  # a single token is one that may be a guess
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
        span.forced = b"xyz xyz" + span.forced[:1]  # another span each time, so that nothing is known of how it was written
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


def test_a_token_at_the_end_of_a_span_is_doubted_however_sure_words_are() -> None:
    model = StandInModel()
    model.vocabulary.add(b"ex")
    word, short, more = (model.vocabulary.tokenize_greedy(text)[0] for text in (b"name", b"e", b"ex"))
    drafting = Drafting(model, sources=["grammar"], longest=24, prompt=[])
    sent: list[list[int]] = []
    for number in range(8):
        for before in range(10 * number, 10 * number + 8):  # another place each time
            drafting.observe(before)
            assert drafting.propose(Span(b"name "), [before], None, 100)[:1] == [word]
            drafting.observe(word)
        drafting.observe(200 + number)
        sent.append(drafting.propose(Span(b"e"), [200 + number], None, 100))
        drafting.observe(more if number else short)  # once as the grammar alone would have it
    assert sent[1] == [short] and sent[4:] == [[]] * 4


def passes(drafting: Drafting, matcher: Any, text: Sequence[int]) -> list[int]:
    """How many tokens each forward pass brings where the model writes ``text``."""
    brought: list[int] = []
    while (done := sum(brought)) < len(text):
        drafts = drafting.propose(matcher, text[:done], matcher.fork, len(text) - done)
        agreeing = next((n for n, draft in enumerate(drafts) if draft != text[done + n]), len(drafts))
        brought.append(min(agreeing + 1, len(text) - done))
        for token in text[done : done + brought[-1]]:
            assert matcher.accept(token)
            drafting.observe(token)
    return brought


def test_white_space_is_drafted_as_the_model_writes_it() -> None:
    model = StandInModel()
    spaced = [b'{"a": x, "b": y}', b'{"a":x,"b":y}', b'{"a":\tx, "b": y}', b'{"a": x,"b": y}', b'{"a":x, "b": y}']
    written = model.vocabulary.tokenize_greedy(spaced[0])
    first, second = (
        passes(Drafting(model, sources=["grammar"], longest=24, prompt=[]), Texts(spaced, model.vocabulary).matcher(), written)
        for _ in range(2)
    )
    assert len(first) > len(second) and sum(second[:2]) == len(written)  # the last token of an answer is drawn


def test_indentation_is_drafted_as_in_the_line_before() -> None:
    model = StandInModel()
    vocabulary = model.vocabulary
    vocabulary.add(b"\n ")  # a token of its own, as indentations are
    styles = (b" ", b"\n", b"\n ")
    texts = [b"{" + a + b"x," + b + b"y," + c + b"z}" for a in styles for b in styles for c in styles]
    for style in (b"\n ", b"\n", b"\n ", b"\n", b"\n "):
        text = vocabulary.tokenize_greedy(style.join([b"{", b"x,", b"y,", b"z}"]))
        brought = passes(Drafting(model, sources=["grammar"], longest=24, prompt=[]), Texts(texts, vocabulary).matcher(), text)
    assert brought[-1] == len(text) - 2  # the first line may begin either way, those that follow begin like it


def test_what_is_forced_between_looked_up_tokens_is_trusted_as_forced() -> None:
    model = StandInModel()
    model.costs = measured({1: 1.0, 2: 1.8, 3: 2.3, 4: 2.8, 5: 3.3, 6: 3.8})  # drafts of 60 % do not pay
    vocabulary = scansion.Vocabulary(model.vocabulary.tokens, eos_token_ids=[EOS])
    # After a quote comes a letter nobody can foresee, or one that the grammar forces.
    matcher = scansion.Grammar.from_gbnf(r'root ::= ("\"" [pq] [!?] "\"z")+').compile(vocabulary).matcher()
    rng = random.Random(3)
    text = model.vocabulary.tokenize_greedy(b"".join(b'"%b!"z' % rng.choice([b"p", b"q"]) for _ in range(20)))
    brought = passes(Drafting(model, sources=["grammar", "ngram"], longest=24, prompt=[]), matcher, text)
    assert brought[-8:-1] == [5] * 7  # a row each time, up to the letter


def test_marks_are_written_like_marks_after_something_alike() -> None:
    model = StandInModel()
    token = {piece: index for index, piece in enumerate(model.vocabulary.tokens)}
    habits = SpanHabits(model.vocabulary.token_bytes)
    habits.learn(token[b"4"], b',"name":', token[b","], token[b","])
    for before in (b"4", b"7"):
        like = habits.written_like(token[before], b',"me":')
        assert like is not None and like.token == token[b","]
    assert habits.written_like(token[b"a"], b',"me":') is None  # after a letter
    assert habits.written_like(token[b"4"], b',name":') is None and habits.written_like(token[b"4"], b"name") is None


def measured(times: dict[int, float]) -> ForwardCosts:
    costs = ForwardCosts()
    for size, seconds in times.items():
        costs.record(size, seconds)
        costs.record(size, seconds)
    return costs


def test_costs_choose_the_length() -> None:
    cheap = measured({1: 1.0, 2: 1.1, 3: 1.1, 4: 1.2, 5: 1.2})
    assert cheap.best_length([0.9] * 4) == 4
    cheap.record(5, 100.0)  # a single slow pass is somebody else's doing
    assert cheap.best_length([0.9] * 4) == 4
    dear = measured({1: 1.0, 2: 1.9, 3: 2.9})
    assert dear.best_length([0.5, 0.5]) == 0
    assert dear.best_length([1.0, 1.0]) == 1  # two tokens for 1.9, against three for 2.9


def test_a_doubtful_token_before_many_sure_ones_is_settled_first() -> None:
    costs = measured({1: 9.0, 2: 15.0, 4: 23.0, 8: 37.0, 16: 68.0})
    doubtful = [0.8, *[1.0] * 14]
    known = [True] * 15
    assert costs.best_length(doubtful) == 15  # the most expected tokens for the time of this pass
    assert costs.best_length(doubtful, stays=known) == 0  # but all of them come sooner in the next
    assert costs.best_length([1.0, 1.0, *doubtful], stays=[True] * 17) == 2
    assert costs.best_length([0.96, *[1.0] * 14], stays=known) == 15
    assert costs.best_length([0.8, 1.0, 1.0], stays=[True] * 3) == 3  # less is at stake
    assert costs.best_length([0.9, 0.9], stays=[False] * 2) == 2  # what follows a wrong one is lost either way


def test_sizes_never_run_are_guessed_then_interpolated() -> None:
    assert ForwardCosts().best_length([0.9] * 4) == 4
    assert ForwardCosts().best_length([0.9, 0.9, 0.4]) == 2
    one = measured({1: 1.0})
    assert one.estimate(11) == 2.5 and one.best_length([0.9] * 4) == 4
    two = measured({1: 1.0, 5: 3.0})
    assert two.estimate(3) == 2.0 and two.estimate(20) == 10.5
    assert two.best_length([0.4]) == 0 and two.best_length([0.9]) == 1


def test_one_slow_pass_does_not_silence_a_size() -> None:
    costs = measured({1: 1.0, 2: 1.3})
    costs.record(5, 50.0)  # the first of its size, while the machine did something else
    assert costs.best_length([0.95] * 4) == 4
    costs.record(5, 2.2)
    assert costs.estimate(5) == pytest.approx(2.2)


def test_drafts_are_tried_again_after_a_busy_time() -> None:
    costs = measured({1: 1.0, 4: 4.5, 8: 9.0})  # a core was taken: more tokens in a pass brought nothing
    sent = [costs.best_length([0.95] * 7) for _ in range(200)]
    assert 0 < sum(1 for length in sent if length) <= 4
    assert max(sent) == 3
    for _ in range(2):
        costs.record(4, 1.9)
    assert costs.best_length([0.95] * 7) == 7  # what is true of four is taken to be true of eight
    quiet = measured({1: 1.0, 4: 4.5})
    assert not any(quiet.best_length([0.5] * 3) for _ in range(200))  # nothing is lost by not sending these


def test_text_cut_another_way_is_drafted_that_way_the_next_time() -> None:
    model = StandInModel()
    token = {piece: index for index, piece in enumerate(model.vocabulary.tokens)}
    drafting = Drafting(model, sources=["grammar"], longest=24, prompt=[])
    text = b'{"name":'
    written = [token[piece] for piece in (b"{", b'"', b"na", b"me", b'":')]
    assert drafting.propose(Span(text), [], None, 100) == [token[b'{"'], token[b"name"]]  # the last one is a guess
    for index, one in enumerate(written):
        drafting.observe(one)
        rest = text[len(model.vocabulary.text(written[: index + 1])) :]
        drafting.propose(Span(rest), written[: index + 1], None, 100)
    assert drafting.propose(Span(text), written, None, 100) == written
    # The habit holds in text that has not been seen as a whole.
    assert drafting.propose(Span(b'{"name b'), written, None, 100)[:4] == written[:4]


def test_habits_are_learned_from_forced_text_only() -> None:
    model = StandInModel()
    token = {piece: index for index, piece in enumerate(model.vocabulary.tokens)}
    habits = SpanHabits(model.vocabulary.token_bytes)
    habits.learn(token[b"a"], b'","b', token[b'","'], token[b'"'])
    assert habits.written(token[b"a"], b'","b":') == token[b'"']
    assert habits.written(token[b"a"], b'","c') is None and habits.written(None, b'","b') is None
    assert habits.in_place_of(token[b'","'], b'","') == token[b'"']
    habits.learn(token[b"a"], b'","b', token[b'","'], token[b'","'])  # as the tokenizer has it, this time
    assert habits.in_place_of(token[b'","'], b'","') == token[b'","']
    drafting = Drafting(model, sources=["grammar"], longest=24, prompt=[])
    drafting.propose(Span(b"name"), [token[b"x"]], None, 100)
    drafting.observe(token[b"b"])  # not what was forced: an assisted text that leaves its grammar
    assert drafting.propose(Span(b"b name "), [token[b"x"]], None, 100)[0] == token[b"b"]


def test_a_machine_that_slows_down_slows_all_sizes_down() -> None:
    costs = ForwardCosts()
    for _ in range(50):
        costs.record(1, 1.0)
        costs.record(4, 2.0)
    for _ in range(30):
        costs.record(1, 3.0)
    single, four = costs.estimate(1), costs.estimate(4)
    assert single == pytest.approx(3.0, rel=0.02)
    assert four is not None and four == pytest.approx(6.0, rel=0.25)  # though none was run since
    costs.record(1000, 5.0)  # a prompt, not a draft
    assert costs.estimate(1) == single


def test_costs_are_learned_on_a_machine_whose_pace_wanders() -> None:
    rng = random.Random(1)
    costs, pace = ForwardCosts(), 1.0
    for _ in range(600):
        pace = min(3.0, max(1.0, pace * rng.uniform(0.9, 1.11)))
        size = rng.choice([1, 1, 1, 1, 2, 4, 8])
        costs.record(size, pace * (1 + 0.5 * (size - 1)) * rng.uniform(1.0, 1.2))
    single = costs.estimate(1)
    for size in (2, 4, 8):
        assert costs.estimate(size) / single == pytest.approx(1 + 0.5 * (size - 1), rel=0.15)


def test_what_is_kept_of_costs_between_passes_is_what_they_are() -> None:
    costs = ForwardCosts()
    rng = random.Random(11)
    for _ in range(1500):
        costs.record(rng.choice([1, 1, 2, 3, 4, 5, 7, 9, 13, 25, 48]), rng.uniform(0.5, 3.0))
        if rng.random() < 0.1:
            costs.best_length([0.99] * 3)  # may give a size up, to try it again
        kept = costs.least_chance(), [costs.estimate(size) for size in (1, 2, 3, 6, 12, 30, 49)]
        costs._draw_lines()
        assert kept == (costs.least_chance(), [costs.estimate(size) for size in (1, 2, 3, 6, 12, 30, 49)])


def test_the_start_of_an_answer_is_a_place_of_its_own() -> None:
    model = StandInModel()
    token = {piece: index for index, piece in enumerate(model.vocabulary.tokens)}
    text = b'{"name":{"name":'
    first = Drafting(model, sources=["grammar"], longest=24, prompt=[])
    first.propose(Span(text), [], None, 100)
    first.observe(token[b"{"])  # here the model writes the two apart
    before = [token[b"{"], token[b'"'], token[b"name"], token[b'":']]
    for written in before[1:]:
        first.observe(written)
    first.propose(Span(b'{"name":'), before, None, 100)
    first.observe(token[b'{"'])  # and here not
    second = Drafting(model, sources=["grammar"], longest=24, prompt=[])
    assert second.propose(Span(text), [], None, 100)[0] == token[b"{"]


def test_the_last_token_of_an_answer_is_drawn_and_not_drafted() -> None:
    model = StandInModel()
    tokens = model.vocabulary.tokenize_greedy(b"xyz xyz")
    for longer, sent in ((b"", tokens[:-1]), (b"!", tokens)):
        matcher = Texts([b"xyz xyz" + longer], model.vocabulary).matcher()
        drafting = Drafting(model, sources=["grammar"], longest=len(tokens), prompt=[])
        for _ in range(2):  # the second time the last token is no guess any more
            proposed = drafting.propose(matcher, [], matcher.fork, 100)
            for token in tokens:
                drafting.observe(token)
        assert proposed == sent


def test_looked_up_tokens_are_doubted_where_texts_part_again_and_again() -> None:
    costs = measured({1: 1.0, 2: 1.3})
    model = StandInModel()
    model.costs = costs
    value, key = 20, list(range(1, 15))
    drafting = Drafting(model, sources=["ngram"], longest=1, prompt=[])
    after_key = []
    for _ in range(12):
        for token in [*key, value]:
            if token == value:
                after_key.append(drafting.propose(None, [], None, 100))
            else:
                drafting.propose(None, [], None, 100)
            drafting.observe(token)
        value += 1  # never the same value again: every match is long, and wrong in one place
    assert after_key[-1] == []
    for expected in key:  # elsewhere the same matches are trusted as before
        if expected not in key[:2]:  # two tokens have to agree
            assert drafting.propose(None, [], None, 100) == [expected]
        drafting.observe(expected)
