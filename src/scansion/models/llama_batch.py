"""Token batches for llama.cpp, filled through numpy instead of field by field."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scansion.errors import ContextError, ModelError

__all__ = ["Batch", "Row"]


class Row(NamedTuple):
    """One token of a batch."""

    token: int
    position: int
    sequence: int
    wanted_by: int
    """Index of the feed that wants the logits after this token, or -1."""


class Batch:
    """A reusable ``llama_batch`` of fixed capacity whose arrays are numpy's."""

    def __init__(self, api: Any, capacity: int) -> None:
        self._api = api
        self._capacity = capacity
        self._token = np.zeros(capacity, np.int32)
        self._position = np.zeros(capacity, np.int32)
        self._sequence_count = np.ones(capacity, np.int32)  # every token belongs to one sequence
        self._sequence = np.zeros(capacity, np.int32)
        self._wanted = np.zeros(capacity, np.int8)
        addresses = self._sequence.ctypes.data + 4 * np.arange(capacity, dtype=np.uintp)
        self._sequence_pointers = addresses.astype(np.uintp)
        self._struct = api.llama_batch(
            n_tokens=0,
            token=_pointer(self._token, ctypes.c_int32),
            embd=None,
            pos=_pointer(self._position, ctypes.c_int32),
            n_seq_id=_pointer(self._sequence_count, ctypes.c_int32),
            seq_id=_pointer(self._sequence_pointers, ctypes.POINTER(ctypes.c_int32)),
            logits=_pointer(self._wanted, ctypes.c_int8),
        )

    def run(self, context: Any, rows: Sequence[Row], n_feeds: int, width: int) -> list[NDArray[np.float32]]:
        """Decode all rows in order, in as many passes as the capacity asks for.

        Returns:
            For each feed its wanted logits, shape (wanted rows, width): views into llama.cpp's buffer where one
            pass was enough for all wanted rows, copies otherwise.

        Raises:
            ModelError: llama.cpp failed.
        """
        pieces: list[list[NDArray[np.float32]]] = [[] for _ in range(n_feeds)]
        for start in range(0, len(rows), self._capacity):
            chunk = rows[start : start + self._capacity]
            last = start + self._capacity >= len(rows)
            logits = self._decode(context, chunk, width)
            # Feeds come one after the other, so each one's rows are a slice.
            owners = [row.wanted_by for row in chunk if row.wanted_by >= 0]
            begin = 0
            while begin < len(owners):
                end = begin
                while end < len(owners) and owners[end] == owners[begin]:
                    end += 1
                piece = logits[begin:end]
                pieces[owners[begin]].append(piece if last else piece.copy())
                begin = end
        return [piece[0] if len(piece) == 1 else np.concatenate(piece) for piece in pieces]

    def _decode(self, context: Any, chunk: Sequence[Row], width: int) -> NDArray[np.float32]:
        count = len(chunk)
        tokens, positions, sequences, wanted_by = zip(*chunk, strict=True)
        self._token[:count] = tokens
        self._position[:count] = positions
        self._sequence[:count] = sequences
        wanted = np.asarray(wanted_by) >= 0
        self._wanted[:count] = wanted
        self._struct.n_tokens = count
        code = self._api.llama_decode(context, self._struct)
        if code == 1:
            raise ContextError("the model's cache is full: shorten the prompt or ask for fewer tokens")
        if code != 0:
            raise ModelError(f"llama.cpp failed in a forward pass of {count} tokens (code {code})")
        total = int(np.count_nonzero(wanted))
        if total == 0:
            return np.empty((0, width), np.float32)
        # llama_get_logits waits for the pass to end and returns the wanted rows one after the other, in batch order.
        start = ctypes.cast(self._api.llama_get_logits(context), ctypes.c_void_p).value
        if not start:
            raise ModelError("llama.cpp returned no logits")
        logits: NDArray[np.float32] = np.ctypeslib.as_array((ctypes.c_float * (total * width)).from_address(start)).reshape(total, width)
        return logits


def _pointer(array: NDArray[Any], kind: Any) -> Any:
    return ctypes.cast(array.ctypes.data, ctypes.POINTER(kind))
