"""The same tokens as llama.cpp: its sampler chain with its own grammar sampler, in the order its server draws.

The reference draws with the chain, checks the one token with llama.cpp's grammar, and where that refuses it draws again
from candidates the grammar was applied to first. Ours differs only in whose grammar it is.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from tests.models.embedded import embedded_model

import scansion
from scansion.models.base import Feed
from scansion.sampling import Sampling
from scansion.sampling.chain import LlamaDrawer

pytestmark = pytest.mark.model

GRAMMARS = {
    "arithmetic": 'root ::= expr "=" num\nexpr ::= term ([-+*/] term){0,3}\nterm ::= num | "(" expr ")"\nnum ::= [0-9]{1,4}\n',
    "records": 'root ::= row{1,3}\nrow ::= "{\\"name\\":\\"" [A-Za-z ]{1,12} "\\",\\"age\\":" [1-9] [0-9]? "}\\n"\n',
    "list": 'root ::= ("- " item)+\nitem ::= [^\\n]{1,40} "\\n"\n',
    "words": 'root ::= word (" " word){2,12} "."\nword ::= [a-z]+ | [A-Z] [a-z]*\n',
    "answer": 'root ::= ("Yes" | "No" | "Perhaps") (", because " [a-z ,]+)? "."\n',
}
SETTINGS = {
    "greedy": Sampling(logit_bias={0: -1.0}),  # through the chain, as there
    "plain": Sampling(temperature=1.0),
    "truncated": Sampling(temperature=0.8, top_k=40, top_p=0.95, min_p=0.05),
    "penalised": Sampling(temperature=1.2, min_p=0.02, repeat_penalty=1.1),
}
LENGTH = 32


class Reference:
    """llama.cpp's grammar sampler beside its chain."""

    def __init__(self, grammar: str, settings: Sampling, prompt: list[int], seed: int) -> None:
        model = embedded_model()
        self.model = model
        self.api = model._api
        size = model.vocabulary_size
        self.chain = LlamaDrawer(settings, vocabulary_size=size, context_size=2048, vocabulary_pointer=model.sampler_vocabulary, seed=seed)
        if settings.has_history:
            for token in prompt:
                self.chain.accept(token)
        self.grammar = self.api.llama_sampler_init_grammar(model.sampler_vocabulary, grammar.encode(), b"root")
        assert self.grammar

    def apply_grammar(self, ids: np.ndarray, logits: np.ndarray) -> np.ndarray:
        candidates = np.zeros(len(ids), dtype=[("id", np.int32), ("logit", np.float32), ("p", np.float32)])
        candidates["id"], candidates["logit"] = ids, logits
        array = self.api.llama_token_data_array(
            ctypes.cast(candidates.ctypes.data, ctypes.POINTER(self.api.llama_token_data)), len(ids), -1, False
        )
        self.api.llama_sampler_apply(self.grammar, ctypes.byref(array))
        return candidates["logit"]

    def draw(self, logits: np.ndarray) -> int:
        token = self.chain.draw(logits)
        if np.isneginf(self.apply_grammar(np.array([token]), np.ones(1, np.float32))[0]):
            token = self.chain.draw(self.apply_grammar(np.arange(len(logits)), logits))
        self.chain.accept(token)
        self.api.llama_sampler_accept(self.grammar, token)
        return token

    def write(self, prompt: list[int]) -> list[int]:
        sequence = self.model.open_sequence(prompt)
        sequence.truncate(0)
        feed, written = prompt, []
        while len(written) < LENGTH:
            (rows,) = self.model.forward([Feed(sequence, feed, 1)])
            token = self.draw(rows[0].copy())
            if token in self.model.vocabulary.eos_token_ids:
                break
            written.append(token)
            feed = [token]
        sequence.truncate(0)  # so that ours starts from the same batch shapes
        sequence.close()
        self.api.llama_sampler_free(self.grammar)
        return written


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("name", GRAMMARS)
def test_token_ids_are_those_of_llama_cpp(name: str, settings: str, request: pytest.FixtureRequest) -> None:
    model = embedded_model()
    prompt_text = model.chat_prompt([{"role": "user", "content": f"Write {name}, please."}])
    prompt = model.prompt_tokens(prompt_text)
    grammar = scansion.Grammar.from_gbnf(GRAMMARS[name])
    for seed in range(3 if request.config.getoption("--long") else 1):
        theirs = Reference(GRAMMARS[name], SETTINGS[settings], prompt, seed).write(prompt)
        ours = scansion.generate(
            model, prompt_text, raw=True, grammar=grammar, sampling=SETTINGS[settings], seed=seed, draft=[], finish=False, max_tokens=LENGTH
        )
        assert list(ours.tokens) == theirs, ours.content
