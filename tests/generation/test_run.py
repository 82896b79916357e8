"""Answers under a grammar on the stand-in model: drafts, budgets, streaming, the cache."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from tests.generation.stand_ins import StandInModel, StandInVocabulary, Texts, TextsMatcher

from scansion.errors import ContextError, RequestError
from scansion.generation.api import generate_many
from scansion.generation.events import Completion, Delta
from scansion.generation.loop import AnswerStream, step
from scansion.generation.options import GenerationOptions
from scansion.generation.run import Run
from scansion.json_schema import SchemaOptions
from scansion.json_schema.violation import SchemaSource
from scansion.models.base import Feed
from scansion.sampling import Sampling

NAMES = (b"ana", b"bo", b"cat", b"\xc3\xa9mile", b"a banana", b"zoe \xf0\x9f\x98\x80")
RECORDS = [
    b'{"name":"' + name + b'","name again":"' + other + b'","n":' + number + b"}"
    for name in NAMES
    for other in NAMES
    for number in (b"1", b"12", b"-3")
]


def answer(model: StandInModel, texts: list[bytes] | None = None, prompt: str = "name: banana", **options: object) -> Completion:
    constraint = None if texts is None else Texts(texts, model.vocabulary)
    stream = AnswerStream(model, prompt, constraint, GenerationOptions(**options))  # type: ignore[arg-type]
    deltas = list(stream)
    completion = stream.completion
    assert "".join(delta.content for delta in deltas) == completion.content
    assert [token for delta in deltas for token in delta.tokens] == list(completion.tokens)
    assert not model.sequences[-1].open
    return completion


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=1.0, seed=5), Sampling(temperature=2.0, top_k=40, seed=9)])
def test_drafts_do_not_change_the_answer(seed: int, sampling: Sampling) -> None:
    plain = answer(StandInModel(seed), RECORDS, sampling=sampling, draft=())
    for draft in (("grammar",), ("ngram",), ("grammar", "ngram")):
        model = StandInModel(seed)
        drafted = answer(model, RECORDS, sampling=sampling, draft=draft)
        assert drafted.tokens == plain.tokens
        assert drafted.content == plain.content
        assert drafted.stats.forwards <= plain.stats.forwards
    assert plain.content.encode() in RECORDS
    assert plain.complete and plain.finish_reason == "stop"


class SparingModel(StandInModel):
    """Leaves out the rows nobody reads, and counts them."""

    left_out = 0

    def forward(self, feeds: Sequence[Feed]) -> list[np.ndarray]:
        self.left_out += sum(len(feed.unwanted) for feed in feeds)
        return [np.delete(rows, list(feed.unwanted), axis=0) for feed, rows in zip(feeds, super().forward(feeds), strict=True)]


@pytest.mark.parametrize("seed", range(6))
def test_the_only_tokens_a_grammar_takes_need_no_logits(seed: int) -> None:
    plain = answer(StandInModel(seed), RECORDS, draft=())
    for draft in (("grammar",), ("grammar", "ngram")):
        model = SparingModel(seed)
        drafted = answer(model, RECORDS, draft=draft)
        assert drafted.tokens == plain.tokens and drafted.stats.forced_tokens == plain.stats.forced_tokens
        assert model.left_out > 0


@pytest.mark.parametrize("think", [False, True])
def test_tokens_are_counted_as_forced_where_every_byte_was(think: bool) -> None:
    model = StandInModel(4)
    options = GenerationOptions(think=think, think_max=5 if think else None, sampling=Sampling(temperature=2.0, seed=1))
    stream = AnswerStream(model, "name: banana", Texts(RECORDS, model.vocabulary), options)
    seen = [stream.completion.stats.forced_tokens for _ in stream]  # whoever asks on the way changes nothing
    completion = stream.completion
    before, forced = b"", 0
    for token in completion.tokens[5 if think else 0 :]:
        data = model.vocabulary.token_bytes(token) or b""
        places = [before + data[:n] for n in range(len(data))]
        forced += all(
            place not in RECORDS and len({text[len(place)] for text in RECORDS if text.startswith(place)}) == 1 for place in places
        )
        before += data
    assert before in RECORDS and 0 < forced < len(completion.tokens)
    assert completion.stats.forced_tokens == forced and seen == sorted(seen) and seen[-1] == forced


@pytest.mark.parametrize("other", [{"sampling": Sampling(temperature=1.0, seed=5)}, {"logprobs": 2}, {"friction": True}])
def test_where_logits_are_asked_for_none_is_left_out(other: dict[str, object]) -> None:
    model = SparingModel(3)
    drafted = answer(model, RECORDS, **other)
    assert model.left_out == 0 and drafted.tokens == answer(StandInModel(3), RECORDS, draft=(), **other).tokens
    if "logprobs" in other:
        assert [entry.token for entry in drafted.logprobs] == list(drafted.tokens)


@pytest.mark.parametrize("seed", range(6))
def test_free_text_is_the_same_with_lookup_drafts(seed: int) -> None:
    plain = answer(StandInModel(seed, memory=2), None, max_tokens=120, draft=())
    drafted = answer(StandInModel(seed, memory=2), None, max_tokens=120, draft=("ngram",))
    assert drafted.tokens == plain.tokens


def test_forced_spans_save_forwards() -> None:
    model = StandInModel(3)
    completion = answer(model, RECORDS)
    figures = completion.stats.drafts["grammar"]
    assert figures.accepted > 0
    assert completion.stats.tokens_per_forward > 1.3
    assert figures.accepted <= figures.proposed


@pytest.mark.parametrize("mode_texts", [RECORDS, [b"other"], [b'{"na'], [b"n" * 40]])
def test_assist_leaves_the_text_alone(mode_texts: list[bytes]) -> None:
    plain = answer(StandInModel(11), None, max_tokens=60, draft=())
    assisted = answer(StandInModel(11), mode_texts, max_tokens=60, mode="assist", draft=("grammar", "ngram"))
    assert assisted.tokens == plain.tokens


def test_every_budget_that_any_answer_fits_gives_a_whole_answer() -> None:
    texts = [b"a", b"name me", b"banana banana", b'{"name":"ana"}', b"x" * 30]
    for budget in range(1, 34):
        for seed in range(8):
            completion = answer(StandInModel(seed), texts, max_tokens=budget, sampling=Sampling(temperature=1.0, seed=seed))
            assert completion.complete and completion.content.encode() in texts
            assert len(completion.tokens) <= budget


def test_a_budget_is_counted_in_tokens_not_bytes() -> None:
    # Seven bytes, but two tokens of the stand-in vocabulary ("name", "me") and a byte between.
    completion = answer(StandInModel(0), [b"name me", b"name me name me name me"], max_tokens=3)
    assert completion.content == "name me" and len(completion.tokens) <= 3


def test_a_text_with_more_bytes_but_fewer_tokens_fits_a_small_budget() -> None:
    for seed in range(6):
        completion = answer(StandInModel(seed), [b"x,y", b"anana"], max_tokens=2, sampling=Sampling(temperature=1.0, seed=seed))
        assert completion.content == "anana" and completion.complete
    with pytest.raises(RequestError, match="shortest answer has 2 tokens"):
        answer(StandInModel(0), [b"x,y", b"anana"], max_tokens=1)


def test_a_budget_below_the_shortest_answer_is_refused_before_anything_runs() -> None:
    model = StandInModel(0)
    with pytest.raises(RequestError, match="shortest answer has 3 tokens"):
        answer(model, [b"name me"], max_tokens=2)
    assert not model.forwards


def test_without_finish_an_answer_may_be_cut() -> None:
    completion = answer(StandInModel(0), [b"x" * 50], max_tokens=5, finish=False)
    assert completion.finish_reason == "length" and not completion.complete and completion.content == "xxxxx"


def test_a_prompt_without_room_for_an_answer_is_refused() -> None:
    with pytest.raises(ContextError, match="leaves room for"):
        answer(StandInModel(0, context_size=16), [b"x" * 12], prompt="a prompt.")
    with pytest.raises(ContextError, match="shorten the prompt"):
        answer(StandInModel(0, context_size=8), [b"x"], prompt="a long prompt for eight tokens")


def test_prefill_counts_for_the_grammar_and_is_part_of_the_answer() -> None:
    completion = answer(StandInModel(4), RECORDS, prefill='{"name":"zo')
    assert completion.content.startswith('{"name":"zoe') and completion.content.encode() in RECORDS
    with pytest.raises(RequestError, match="for 3 bytes only"):
        answer(StandInModel(4), RECORDS, prefill='{"no')
    whole = answer(StandInModel(4), [b"yes"], prefill="yes")
    assert whole.content == "yes" and whole.stats.forwards == 0


def test_the_cache_holds_prompt_and_answer_after_every_step() -> None:
    model = StandInModel(5)
    run = Run(model, "prompt", Texts(RECORDS, model.vocabulary), GenerationOptions(draft=("grammar", "ngram")))  # type: ignore[arg-type]
    prompt = model.prompt_tokens("prompt")
    while not run.finished:
        step(model, [run])
        written = prompt + list(run.completion().tokens)
        cached = list(model.sequences[0].tokens)
        assert cached == written[: len(cached)] and len(cached) >= len(written) - 1


def test_several_runs_share_forwards_and_write_what_they_write_alone() -> None:
    alone = [answer(StandInModel(2), RECORDS, prompt=prompt).tokens for prompt in ("one", "two", "three")]
    model = StandInModel(2)
    runs = [Run(model, prompt, Texts(RECORDS, model.vocabulary), GenerationOptions()) for prompt in ("one", "two", "three")]  # type: ignore[arg-type]
    while not all(run.finished for run in runs):
        step(model, runs)
    assert [run.completion().tokens for run in runs] == alone
    assert len(model.forwards) == max(run.completion().stats.forwards for run in runs)


class FailingTexts(Texts):
    """A constraint with a fault in it, after a few tokens."""

    def matcher(self) -> TextsMatcher:
        matcher = super().matcher()
        accept = matcher.accept

        def failing(token_id: int) -> bool:
            if len(matcher._history) > 4:
                raise ValueError("a fault")
            return accept(token_id)

        matcher.accept = failing  # type: ignore[method-assign]
        return matcher


def test_a_run_that_fails_or_is_cancelled_leaves_the_others_alone() -> None:
    alone = answer(StandInModel(2), RECORDS, prompt="two").tokens
    model = StandInModel(2)
    constraints = [FailingTexts(RECORDS, model.vocabulary), Texts(RECORDS, model.vocabulary), Texts(RECORDS, model.vocabulary)]
    runs = [
        Run(model, prompt, constraint, GenerationOptions(draft=("ngram",)))  # type: ignore[arg-type]
        for prompt, constraint in zip(("one", "two", "three"), constraints, strict=True)
    ]
    for turn in range(200):
        step(model, runs)
        if turn == 3:
            runs.pop().close()
        if all(run.finished for run in runs):
            break
    assert runs[0].finish_reason == "error" and isinstance(runs[0].error, ValueError)
    assert not runs[0].completion().complete
    assert runs[1].finish_reason == "stop" and runs[1].completion().tokens == alone
    stream = AnswerStream(model, "x", FailingTexts(RECORDS, model.vocabulary), GenerationOptions())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a fault"):
        list(stream)
    assert not model.sequences[-1].open


def test_one_of_many_that_cannot_be_answered_gives_its_error_in_its_place() -> None:
    model = StandInModel(1)
    prompts = ["ok", "x" * 600, "fine"]
    outcomes = generate_many(model, prompts, raw=True, max_tokens=4, return_errors=True)
    assert [type(outcome) for outcome in outcomes] == [Completion, ContextError, Completion]
    with pytest.raises(ContextError):
        generate_many(model, prompts, raw=True, max_tokens=4)
    with pytest.raises(RequestError, match="list of prompts"):
        generate_many(model, "ok")


# -- a draft model -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draft", [(), ("grammar",), ("grammar", "ngram")])
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=1.0, seed=5)])
@pytest.mark.parametrize("drafter_seed", [0, 1])
def test_a_draft_model_does_not_change_the_answer(draft: tuple[str, ...], sampling: Sampling, drafter_seed: int) -> None:
    for texts in (RECORDS, None):
        plain = answer(StandInModel(0, spread=9), texts, sampling=sampling, draft=(), max_tokens=60)
        model, drafter = StandInModel(0, spread=9), StandInModel(drafter_seed, spread=9)
        drafter.vocabulary = model.vocabulary
        drafted = answer(model, texts, sampling=sampling, draft=draft, max_tokens=60, draft_model=drafter)
        assert drafted.tokens == plain.tokens
        assert not drafter.sequences[-1].open
        figures = drafted.stats.drafts["model"]
        if drafter_seed == 0 and sampling.temperature == 0:  # its own twin is right, except behind a forced span cut otherwise
            assert figures.accepted > 0 and (draft or figures.accepted == figures.proposed)
            assert drafted.stats.forwards < plain.stats.forwards
            assert "model: " in drafted.stats.line()


def test_a_draft_model_that_is_wrong_goes_quiet() -> None:
    model, drafter = StandInModel(0, spread=9), StandInModel(1, spread=9)
    drafter.vocabulary = model.vocabulary
    answer(model, None, draft=(), max_tokens=200, draft_model=drafter)
    assert len(drafter.forwards) < 60


def test_a_draft_model_of_another_family_is_refused() -> None:
    model = StandInModel(0)
    with pytest.raises(RequestError, match="another vocabulary"):
        answer(model, None, draft_model=StandInModel(1))
    assert not model.sequences[-1].open
    with pytest.raises(RequestError, match="draft_model must be a model"):
        GenerationOptions(draft_model=3)  # type: ignore[arg-type]


def test_stop_texts_end_the_answer_before_them() -> None:
    full = answer(StandInModel(8), None, max_tokens=80).content
    stop = full[20:23]
    stopped = answer(StandInModel(8), None, max_tokens=80, stop=[stop, "never"])
    assert stopped.finish_reason == "stop"
    assert stopped.content == full[: full.index(stop)]


def test_friction_is_the_probability_taken_away() -> None:
    model = StandInModel(1)
    completion = answer(model, [b"x", b"y"], friction=True)
    logits = model.logits(model.prompt_tokens("name: banana")).astype(np.float64)
    weights = np.exp(logits - logits.max())
    allowed = [model.vocabulary.tokenize_greedy(text)[0] for text in (b"x", b"y")]  # type: ignore[index]
    assert completion.stats.friction == pytest.approx([1 - weights[allowed].sum() / weights.sum()])


def test_logprobs_are_the_models_own() -> None:
    completion = answer(StandInModel(1), RECORDS, logprobs=3, max_tokens=40)
    assert len(completion.logprobs) == len(completion.tokens)
    for entry, token in zip(completion.logprobs, completion.tokens, strict=True):
        assert entry.token == token and entry.logprob <= entry.top[0][1] + 1e-9 and len(entry.top) == 3


class BiasedRun(Run):
    """Verification gone wrong: what was drafted is favoured, as it would be if a rejected draft could still come back."""

    def take(self, logits: np.ndarray) -> Delta:
        for row, draft in zip(logits, self._drafts, strict=False):
            row[draft] += 1.0
        return super().take(logits)


def chi_square(draft: tuple[str, ...], kind: type[Run] = Run) -> float:
    """10,000 answers drawn with drafts against 10,000 without; 8 degrees of freedom."""
    texts = [b"na" + middle + end for middle in (b"me", b"n", b"mm") for end in (b"a", b"b", b"name")]
    model = StandInModel(21, spread=0.7, memory=3)
    constraint = Texts(texts, model.vocabulary)
    drawn: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for with_drafts, counter in drawn.items():
        for seed in range(10_000):
            sampling = Sampling(temperature=1.0, seed=seed + 1_000_000 * with_drafts)
            run = kind(
                model, "q namename q namename q ", constraint, GenerationOptions(sampling=sampling, draft=draft if with_drafts else ())
            )  # type: ignore[arg-type]
            while not run.finished:
                step(model, [run])
            counter[run.completion().content] += 1
            run.close()
            model.sequences.clear()
    with_, without = drawn[True], drawn[False]
    assert len(without) == 9
    return sum((with_[text] - without[text]) ** 2 / (with_[text] + without[text]) for text in without)


_ONE_IN_A_THOUSAND = 26.1
"""Of chi-square with 8 degrees of freedom."""


@pytest.mark.slow
@pytest.mark.parametrize("draft", [("grammar",), ("ngram", "grammar")])
def test_drafting_keeps_the_distribution(draft: tuple[str, ...]) -> None:
    assert chi_square(draft) < _ONE_IN_A_THOUSAND


@pytest.mark.slow
def test_a_verification_that_favours_drafts_is_noticed() -> None:
    assert chi_square(("ngram", "grammar"), BiasedRun) > _ONE_IN_A_THOUSAND


@pytest.mark.parametrize("spare", [0, 1, 2, 5])
@pytest.mark.parametrize("think_max", [None, 0, 1, 3])
@pytest.mark.parametrize("draft", [(), ("grammar", "ngram")])
def test_reasoning_leaves_room_for_the_answer(spare: int, think_max: int | None, draft: tuple[str, ...]) -> None:
    texts = [b'{"name":"ana"}', b'{"name":"bo","again":"bo"}', b'{"name":"banana ana"}']
    least = 5  # tokens of the first text
    for seed in range(8):
        model = StandInModel(seed)
        model.vocabulary = StandInVocabulary((b"</think>", b"k>{", b'</think>{"', b'{"', b'":"', b"name", b"ana", b'"}'))
        completion = answer(model, texts, max_tokens=least + spare, think=True, think_max=think_max, draft=draft)
        assert completion.complete and completion.content.encode() in texts
        assert len(completion.tokens) <= least + spare
        if think_max == 0 or spare == 0:
            assert completion.reasoning == ""


@pytest.mark.parametrize("prefill", ['{"name":"\ud83d', "\udc00"])
def test_half_a_surrogate_pair_is_no_prefill(prefill: str) -> None:
    with pytest.raises(RequestError, match="surrogate"):
        GenerationOptions(prefill=prefill)


@pytest.mark.parametrize("other", [{"fence": True}, {"prefill": "a"}])
def test_reasoning_does_not_go_with_an_opened_answer(other: dict[str, object]) -> None:
    with pytest.raises(RequestError, match="think does not go with"):
        GenerationOptions(think=True, **other)  # type: ignore[arg-type]


def test_several_answers_take_several_grammars() -> None:
    with pytest.raises(RequestError, match="grammars="):
        generate_many(StandInModel(), ["a", "b"], grammar=None)


def test_a_prefill_the_schema_refuses_is_explained() -> None:
    model = StandInModel(0)
    source = SchemaSource({"properties": {"age": {"maximum": 120}}}, SchemaOptions())
    constraint = Texts([b'{"age":12}'], model.vocabulary, source)
    with pytest.raises(RequestError, match=r"prefill: at byte \d+: `/age` must be at most 120 \(`/properties/age/maximum`\)"):
        list(AnswerStream(model, "name: banana", constraint, GenerationOptions(prefill='{"age":130}')))  # type: ignore[arg-type]
