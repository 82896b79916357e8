"""Token batches for llama.cpp.

This runs between any two forward passes with the processor's caches full of the model's weights, so it is written to touch
little: arrays of llama.cpp's own numbers, a slice assignment for each of them and piece, and one view of the logits that is made anew
only when they move.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from itertools import accumulate
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
    wanted: bytes | bytearray
    """For each token 1 where logits are wanted after it, else 0."""


class Batch:
    """A reusable ``llama_batch`` of fixed capacity."""

    def __init__(self, api: Any, capacity: int) -> None:
        self._api = api
        self._capacity = capacity
        self._token = array("i", bytes(4 * capacity))
        self._position = array("i", bytes(4 * capacity))
        self._sequence = array("i", bytes(4 * capacity))
        self._wanted = bytearray(capacity)
        # Every token belongs to one sequence, the one named in its own place.
        self._sequence_count = (ctypes.c_int32 * capacity)(*[1] * capacity)
        self._sequence_pointers = (ctypes.POINTER(ctypes.c_int32) * capacity)()
        for index in range(capacity):
            self._sequence_pointers[index] = ctypes.pointer(ctypes.c_int32.from_buffer(self._sequence, 4 * index))
        self._struct = api.llama_batch(
            n_tokens=0,
            token=ctypes.cast((ctypes.c_int32 * capacity).from_buffer(self._token), ctypes.POINTER(ctypes.c_int32)),
            embd=None,
            pos=ctypes.cast((ctypes.c_int32 * capacity).from_buffer(self._position), ctypes.POINTER(ctypes.c_int32)),
            n_seq_id=ctypes.cast(self._sequence_count, ctypes.POINTER(ctypes.c_int32)),
            seq_id=ctypes.cast(self._sequence_pointers, ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
            logits=ctypes.cast((ctypes.c_int8 * capacity).from_buffer(self._wanted), ctypes.POINTER(ctypes.c_int8)),
        )
        self._view: NDArray[np.float32] = np.empty((0, 0), np.float32)
        self._view_at = 0

    def run(self, context: Any, pieces: Sequence[Piece], width: int) -> list[NDArray[np.float32]]:
        """Decode all pieces in order, in as many passes as the capacity asks for.

        Returns:
            For each piece its wanted logits, shape (those wanted, width): views into llama.cpp's buffer where one
            pass was enough for all of them, copies otherwise.

        Raises:
            ContextError: the cache is full.
            ModelError: llama.cpp failed.
        """
        if len(pieces) == 1 and len(pieces[0].tokens) <= self._capacity:  # as it mostly is, and nothing has to be split
            (piece,) = pieces
            return [self._decode(context, self._put(0, *piece), piece.wanted.count(1), width)]
        if sum(len(piece.tokens) for piece in pieces) > self._capacity:
            return self._run_in_parts(context, pieces, width)
        end = 0
        for piece in pieces:
            end = self._put(end, *piece)
        rows = [piece.wanted.count(1) for piece in pieces]
        return self._split(self._decode(context, end, sum(rows), width), rows)

    def _put(self, place: int, tokens: Sequence[int], start: int, sequence: int, wanted: bytes | bytearray) -> int:
        """Write tokens into the batch from ``place`` on; returns where they end."""
        count = len(tokens)
        end = place + count
        self._token[place:end] = array("i", tokens)
        self._position[place:end] = array("i", range(start, start + count))
        self._sequence[place:end] = array("i", (sequence,)) * count
        self._wanted[place:end] = wanted
        return end

    def _run_in_parts(self, context: Any, pieces: Sequence[Piece], width: int) -> list[NDArray[np.float32]]:
        """As many passes as it takes; the rows of all but the last are copied out before the next one overwrites them."""
        parts: list[list[NDArray[np.float32]]] = [[] for _ in pieces]
        waiting: list[tuple[int, int]] = []  # piece and number of its rows in the pass being filled
        end = 0

        def run() -> None:
            rows = [rows for _, rows in waiting]
            logits = self._split(self._decode(context, end, sum(rows), width), rows)
            for (index, _), part in zip(waiting, logits, strict=True):
                parts[index].append(part.copy())

        for index, (tokens, start, sequence, wanted) in enumerate(pieces):
            done = 0
            while done < len(tokens):
                if end == self._capacity:
                    run()
                    waiting, end = [], 0
                part = tokens[done : done + self._capacity - end]
                flags = wanted[done : done + len(part)]
                end = self._put(end, part, start + done, sequence, flags)
                done += len(part)
                if 1 in flags:
                    waiting.append((index, flags.count(1)))
        run()
        return [part[0] if len(part) == 1 else np.concatenate(part) for part in parts]

    @staticmethod
    def _split(logits: NDArray[np.float32], rows: Sequence[int]) -> list[NDArray[np.float32]]:
        ends = list(accumulate(rows))
        return [logits[end - count : end] for count, end in zip(rows, ends, strict=True)]

    def _decode(self, context: Any, count: int, total: int, width: int) -> NDArray[np.float32]:
        self._struct.n_tokens = count
        code = self._api.llama_decode(context, self._struct)
        if code == 1:
            raise ContextError("the model's cache is full: shorten the prompt or ask for fewer tokens")
        if code != 0:
            raise ModelError(f"llama.cpp failed in a forward pass of {count} tokens (code {code})")
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
