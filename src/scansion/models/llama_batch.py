"""Token batches for llama.cpp, filled through numpy instead of field by field.

This runs between any two forward passes with the processor's caches full of the model's weights, so it is written for few
operations: a slice assignment for each array and piece, and one view of the logits that is made anew only when they move.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scansion.errors import ContextError, ModelError

__all__ = ["Batch", "Piece"]


class Piece(NamedTuple):
    """What one sequence brings to a forward pass."""

    tokens: Sequence[int]
    start: int
    """Position of the first token in its sequence."""
    sequence: int
    rows: int
    """Logits are wanted after each of the last ``rows`` tokens; at least 1."""


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
        self._places = np.arange(capacity, dtype=np.int32)
        self._view: NDArray[np.float32] = np.empty((0, 0), np.float32)
        self._view_at = 0

    def run(self, context: Any, pieces: Sequence[Piece], width: int) -> list[NDArray[np.float32]]:
        """Decode all pieces in order, in as many passes as the capacity asks for.

        Returns:
            For each piece its wanted logits, shape (rows, width): views into llama.cpp's buffer where one
            pass was enough for all of them, copies otherwise.

        Raises:
            ContextError: the cache is full.
            ModelError: llama.cpp failed.
        """
        parts: list[list[NDArray[np.float32]]] = [[] for _ in pieces]
        waiting: list[tuple[int, int]] = []  # piece and number of its rows in the pass being filled
        filled = 0
        for index, (tokens, start, sequence, rows) in enumerate(pieces):
            first_wanted, done = len(tokens) - rows, 0
            while done < len(tokens):
                if filled == self._capacity:
                    self._collect(self._decode(context, filled, waiting, width), waiting, parts, copy=True)
                    waiting, filled = [], 0
                count = min(len(tokens) - done, self._capacity - filled)
                end = filled + count
                self._token[filled:end] = tokens if count == len(tokens) else tokens[done : done + count]
                self._position[filled:end] = self._places[:count]
                self._position[filled:end] += start + done
                self._sequence[filled:end] = sequence
                unwanted = min(max(first_wanted - done, 0), count)
                self._wanted[filled : filled + unwanted] = 0
                self._wanted[filled + unwanted : end] = 1
                if unwanted < count:
                    waiting.append((index, count - unwanted))
                filled, done = end, done + count
        self._collect(self._decode(context, filled, waiting, width), waiting, parts, copy=False)
        return [part[0] if len(part) == 1 else np.concatenate(part) for part in parts]

    @staticmethod
    def _collect(
        logits: NDArray[np.float32], waiting: Sequence[tuple[int, int]], parts: list[list[NDArray[np.float32]]], *, copy: bool
    ) -> None:
        begin = 0
        for index, rows in waiting:
            part = logits[begin : begin + rows]
            parts[index].append(part.copy() if copy else part)
            begin += rows

    def _decode(self, context: Any, count: int, waiting: Sequence[tuple[int, int]], width: int) -> NDArray[np.float32]:
        self._struct.n_tokens = count
        code = self._api.llama_decode(context, self._struct)
        if code == 1:
            raise ContextError("the model's cache is full: shorten the prompt or ask for fewer tokens")
        if code != 0:
            raise ModelError(f"llama.cpp failed in a forward pass of {count} tokens (code {code})")
        total = sum(rows for _, rows in waiting)
        if total == 0:
            return self._view[:0]
        # llama_get_logits waits for the pass to end and returns the wanted rows one after the other, in batch order.
        first = self._api.llama_get_logits(context)
        if not first:
            raise ModelError("llama.cpp returned no logits")
        address = ctypes.addressof(first.contents)
        if address != self._view_at or total > len(self._view):
            memory = (ctypes.c_float * (total * width)).from_address(address)
            self._view = np.ctypeslib.as_array(memory).reshape(total, width)
            self._view_at = address
        return self._view[:total]


def _pointer(array: NDArray[Any], kind: Any) -> Any:
    return ctypes.cast(array.ctypes.data, ctypes.POINTER(kind))
