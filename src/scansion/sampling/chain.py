"""Drawing a token from logits: the plain maximum, or llama.cpp's own sampler chain."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scansion.errors import RequestError
from scansion.sampling.settings import Sampling

if TYPE_CHECKING:
    from scansion.models.base import LanguageModel

__all__ = ["Drawer", "GreedyDrawer", "LlamaDrawer", "make_drawer"]

_DRY_BREAKERS = ("\n", ":", '"', "*")
"""What ends a repetition for DRY: llama.cpp's own default."""
_MIROSTAT_WINDOW = 100
_MIN_KEEP = 1


class Drawer(Protocol):
    """One text's source of draws."""

    def draw(self, logits: NDArray[np.float32]) -> int:
        """A token id for logits of shape (vocabulary size,), which are not changed."""

    def accept(self, token: int) -> None:
        """The text goes on with ``token``: what penalties count."""


class GreedyDrawer:
    """The largest logit; the least id among equals."""

    def draw(self, logits: NDArray[np.float32]) -> int:
        return int(logits.argmax())

    def accept(self, token: int) -> None:
        """Nothing to remember."""


class LlamaDrawer:
    """llama.cpp's sampler chain, stages in the order of llama.cpp's server.

    Every ``draw`` takes its random numbers from one generator, so a second draw for the same token is what
    llama.cpp's server does after its grammar refused the first.
    """

    def __init__(self, settings: Sampling, *, vocabulary_size: int, context_size: int, vocabulary_pointer: Any, seed: int) -> None:
        from scansion.models.llama_library import llama_library

        self._api = llama_library()
        self._chain: Any = self._api.llama_sampler_chain_init(self._api.llama_sampler_chain_default_params())
        self._add_stages(settings, vocabulary_size, context_size, vocabulary_pointer, seed)
        self._ids = np.arange(vocabulary_size, dtype=np.int32)
        self._candidates = np.zeros(vocabulary_size, dtype=[("id", np.int32), ("logit", np.float32), ("p", np.float32)])
        self._array = self._api.llama_token_data_array()
        self._data = ctypes.cast(self._candidates.ctypes.data, ctypes.POINTER(self._api.llama_token_data))

    def _add_stages(self, s: Sampling, vocabulary_size: int, context_size: int, vocabulary_pointer: Any, seed: int) -> None:
        api = self._api
        if s.logit_bias:
            biases = (api.llama_logit_bias * len(s.logit_bias))(*[api.llama_logit_bias(t, b) for t, b in s.logit_bias.items()])
            self._add(api.llama_sampler_init_logit_bias(vocabulary_size, len(biases), biases))
        if s.mirostat:
            self._add(api.llama_sampler_init_temp(s.temperature))
            if s.mirostat == 1:
                self._add(api.llama_sampler_init_mirostat(vocabulary_size, seed, s.mirostat_tau, s.mirostat_eta, _MIROSTAT_WINDOW))
            else:
                self._add(api.llama_sampler_init_mirostat_v2(seed, s.mirostat_tau, s.mirostat_eta))
            return
        if s.repeat_penalty != 1 or s.frequency_penalty != 0 or s.presence_penalty != 0:
            window = context_size if s.penalty_last_n < 0 else s.penalty_last_n
            penalties = (s.repeat_penalty, s.frequency_penalty, s.presence_penalty)
            self._add(api.llama_sampler_init_penalties(vocabulary_size, window, *penalties))
        if s.dry_multiplier:
            if vocabulary_pointer is None:
                raise RequestError("dry_multiplier needs a llama.cpp model: DRY compares the text of tokens")
            window = context_size if s.dry_penalty_last_n < 0 else s.dry_penalty_last_n
            breakers = (ctypes.c_char_p * len(_DRY_BREAKERS))(*[text.encode() for text in _DRY_BREAKERS])
            self._add(
                api.llama_sampler_init_dry(
                    vocabulary_pointer, s.dry_multiplier, s.dry_base, s.dry_allowed_length, window, breakers, len(breakers)
                )
            )
        if s.top_n_sigma > 0:
            self._add(api.llama_sampler_init_top_n_sigma(s.top_n_sigma))
        if s.top_k:
            self._add(api.llama_sampler_init_top_k(s.top_k))
        if s.typical_p < 1:
            self._add(api.llama_sampler_init_typical(s.typical_p, _MIN_KEEP))
        if s.top_p < 1:
            self._add(api.llama_sampler_init_top_p(s.top_p, _MIN_KEEP))
        if s.min_p > 0:
            self._add(api.llama_sampler_init_min_p(s.min_p, _MIN_KEEP))
        if s.xtc_probability > 0:
            self._add(api.llama_sampler_init_xtc(s.xtc_probability, s.xtc_threshold, _MIN_KEEP, seed))
        self._add(api.llama_sampler_init_temp(s.temperature))
        self._add(api.llama_sampler_init_dist(seed))

    def _add(self, stage: Any) -> None:
        self._api.llama_sampler_chain_add(self._chain, stage)  # the chain owns the stage from here on

    def draw(self, logits: NDArray[np.float32]) -> int:
        candidates = self._candidates
        # Samplers reorder and cut the array in place, so it is filled anew each time.
        candidates["id"] = self._ids
        candidates["logit"] = logits
        array = self._array
        array.data = self._data
        array.size = len(candidates)
        array.selected = -1
        array.sorted = False
        self._api.llama_sampler_apply(self._chain, ctypes.byref(array))
        return int(array.data[array.selected].id)

    def accept(self, token: int) -> None:
        self._api.llama_sampler_accept(self._chain, token)

    def __del__(self) -> None:
        chain = getattr(self, "_chain", None)
        if chain is not None:
            self._api.llama_sampler_free(chain)
            self._chain = None


def make_drawer(settings: Sampling, model: LanguageModel, prompt: Sequence[int], seed: int) -> Drawer:
    """The cheapest source of draws that does what ``settings`` ask.

    Args:
        settings: what to do.
        model: whose logits they are.
        prompt: tokens before the answer; penalties count them, as in llama.cpp's server.
        seed: of the generator.

    Raises:
        RequestError: a token id in ``logit_bias`` is outside the vocabulary, or a setting does not work with this model.
    """
    size = model.vocabulary.size
    for token in settings.logit_bias:
        if token >= size:
            raise RequestError(f"logit_bias names token {token}, but {model.name} has only {size} tokens")
    if settings.is_plain_greedy:
        return GreedyDrawer()
    drawer = LlamaDrawer(
        settings,
        vocabulary_size=size,
        context_size=model.context_size,
        vocabulary_pointer=model.sampler_vocabulary,
        seed=seed,
    )
    if settings.has_history:
        for token in prompt:
            drawer.accept(token)
    return drawer
