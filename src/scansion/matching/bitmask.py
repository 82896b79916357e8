"""Bitmasks over token ids: allocate, fill a batch, apply to logits.

Layout: int32, C-contiguous, shape ``(rows, ceil(V / 32))`` for a vocabulary of V ids. Bit ``id % 32`` (from the least
significant) of word ``id // 32`` is 1 where the token is allowed. Bits from V on are 0.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scansion import _kernel
from scansion.errors import LimitError
from scansion.vocabulary.checks import check_size

if TYPE_CHECKING:
    import torch

__all__ = ["MAX_ROWS", "allocate_bitmask", "apply_bitmask", "fill_bitmasks"]

MAX_ROWS = 65_536  # sequences in one batch


def allocate_bitmask(rows: int, vocabulary_size: int) -> NDArray[np.int32]:
    """A bitmask that allows nothing, int32 of shape ``(rows, ceil(vocabulary_size / 32))``.

    Args:
        rows: sequences in the batch, 1 to 65,536.
        vocabulary_size: ``Vocabulary.size``.

    Raises:
        LimitError: ``rows`` or ``vocabulary_size`` is out of range.
        VocabularyError: ``vocabulary_size`` is 0 or less.
    """
    if not 1 <= rows <= MAX_ROWS:
        raise LimitError(f"a bitmask has 1 to {MAX_ROWS:,} rows, not {rows:,}", limit="bitmask_rows", allowed=MAX_ROWS)
    check_size(vocabulary_size)
    return np.zeros((rows, (vocabulary_size + 31) // 32), dtype=np.int32)


def fill_bitmasks(matchers: Sequence[_kernel.Matcher | None], mask: NDArray[np.int32]) -> None:
    """Fill row i of ``mask`` for matcher i, all in one call and without the interpreter's lock.

    Where several masks have not been computed before, matchers of different constraints are shared out among the processors;
    those of one constraint share its tables and stay with one.

    Args:
        matchers: one matcher for each row, from the first row on; a row whose matcher is None is left as it is.
        mask: from ``allocate_bitmask``, with at least ``len(matchers)`` rows.

    Raises:
        TypeError: something given is not a matcher.
        ValueError: ``mask`` has the wrong type or shape, or the matchers are for vocabularies of different sizes.
    """
    try:
        _kernel.fill_bitmasks(matchers, mask)
    except RuntimeError:  # the kernel's word for what it cannot take as a matcher
        for number, matcher in enumerate(matchers):
            if not (matcher is None or isinstance(matcher, _kernel.Matcher)):
                raise TypeError(f"matchers[{number}] is {type(matcher).__name__}, neither a Matcher nor None") from None
        raise


def apply_bitmask(logits: NDArray[np.floating[Any]] | torch.Tensor, mask: NDArray[np.int32] | torch.Tensor) -> None:
    """Set the logits of all tokens that are not allowed to minus infinity, in place.

    Args:
        logits: floating, shape ``(V,)`` or ``(rows, V)``; numpy array or torch tensor on any device. A row may be wider
            than the mask has bits (models pad their output): what the mask does not cover is not allowed.
        mask: int32, shape ``(W,)`` or ``(rows, W)``; see ``allocate_bitmask``. One row serves one row of logits.

    Raises:
        TypeError: the dtypes are wrong, or ``logits`` is neither an array nor a tensor.
        ValueError: the shapes do not go together, or ``logits`` is read-only.
    """
    if isinstance(logits, np.ndarray):
        _apply_numpy(logits, np.asarray(mask))
        return
    torch_module = sys.modules.get("torch")  # a tensor exists only where torch is imported
    if torch_module is not None and isinstance(logits, torch_module.Tensor):
        _apply_torch(torch_module, logits, mask)
        return
    raise TypeError(f"logits must be a numpy array or a torch tensor, not {type(logits).__name__}")


def _apply_numpy(logits: NDArray[Any], mask: NDArray[Any]) -> None:
    if not np.issubdtype(logits.dtype, np.floating):
        raise TypeError(f"logits must be floating, not {logits.dtype}")
    if not logits.flags.writeable:
        raise ValueError("logits are read-only: apply the mask to a copy")
    rows, words = _rows(logits.shape, mask.shape, str(mask.dtype))
    table = logits.reshape(rows, -1) if logits.ndim == 1 else logits
    if logits.dtype == np.float32 and table.flags.c_contiguous:
        for row, bits in zip(table, np.ascontiguousarray(mask).reshape(rows, words), strict=True):
            _kernel.apply_bitmask(row, bits)
        return
    # A little-endian byte view puts bit id % 8 of byte id // 8 first, on any machine.
    data = np.ascontiguousarray(mask, dtype="<i4").view(np.uint8).reshape(rows, 4 * words)
    covered = min(table.shape[1], 32 * words)
    allowed = np.unpackbits(data, axis=1, count=covered, bitorder="little").view(np.bool_)
    np.copyto(table[:, :covered], -np.inf, where=~allowed)
    table[:, covered:] = -np.inf


def _apply_torch(torch_module: Any, logits: torch.Tensor, mask: Any) -> None:
    if not logits.is_floating_point():
        raise TypeError(f"logits must be floating, not {logits.dtype}")
    bits = torch_module.as_tensor(mask)
    rows, words = _rows(tuple(logits.shape), tuple(bits.shape), str(bits.dtype).removeprefix("torch."))
    bits = bits.to(logits.device).reshape(rows, words, 1)
    table = logits.unsqueeze(0) if logits.ndim == 1 else logits
    shifts = torch_module.arange(32, dtype=torch_module.int32, device=logits.device)
    allowed = torch_module.bitwise_and(torch_module.bitwise_right_shift(bits, shifts), 1).reshape(rows, 32 * words)
    covered = min(table.shape[1], 32 * words)
    table[:, :covered].masked_fill_(allowed[:, :covered] == 0, float("-inf"))
    table[:, covered:] = float("-inf")


def _rows(logits: tuple[int, ...], mask: tuple[int, ...], mask_dtype: str) -> tuple[int, int]:
    """Number of rows and of words in a row, checked against each other."""
    if mask_dtype != "int32":
        raise TypeError(f"the bitmask must be int32, not {mask_dtype}")
    if len(logits) not in (1, 2) or len(mask) not in (1, 2):
        raise ValueError(f"logits have shape {logits} and the bitmask {mask}; both take one or two dimensions")
    rows = logits[0] if len(logits) == 2 else 1
    mask_rows = mask[0] if len(mask) == 2 else 1
    if rows != mask_rows:
        raise ValueError(f"logits have {rows} rows and the bitmask {mask_rows}: give one row of bits for each row of logits")
    return rows, mask[-1]
