"""Bitmask layout, and applying it to logits of numpy and torch."""

import numpy as np
import pytest

import scansion
from scansion import _kernel
from scansion.errors import LimitError, VocabularyError


def bits_of(mask_row, size):
    return [bool(int(mask_row[token_id // 32]) >> (token_id % 32) & 1) for token_id in range(size)]


def mask_of(rows, size):
    """A mask with the given sets of ids, one a row."""
    words = np.zeros((len(rows), (size + 31) // 32), dtype=np.uint32)
    for row, ids in enumerate(rows):
        for token_id in ids:
            words[row, token_id // 32] |= np.uint32(1 << token_id % 32)
    return words.view(np.int32)


def test_a_new_mask_allows_nothing():
    mask = scansion.allocate_bitmask(3, 65)
    assert (mask.dtype, mask.shape, mask.flags.c_contiguous) == (np.int32, (3, 3), True)
    assert not mask.any()


@pytest.mark.parametrize("rows", [0, -1, 65_537])
def test_the_number_of_rows_is_bounded(rows):
    with pytest.raises(LimitError, match="1 to 65,536 rows"):
        scansion.allocate_bitmask(rows, 10)


def test_the_size_is_bounded():
    with pytest.raises(VocabularyError, match="empty"):
        scansion.allocate_bitmask(1, 0)
    with pytest.raises(VocabularyError, match="cannot have -3 ids"):
        scansion.allocate_bitmask(1, -3)
    with pytest.raises(LimitError, match="1,000,001 ids"):
        scansion.allocate_bitmask(1, 1_000_001)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", [31, 32, 33, 70])
def test_what_is_not_allowed_becomes_minus_infinity(dtype, size):
    generator = np.random.default_rng(size)
    rows = [set(generator.choice(size, size // 3, replace=False).tolist()) | {size - 1}, set(), set(range(size))]
    mask = mask_of(rows, size)
    logits = generator.normal(size=(3, size)).astype(dtype)
    before = logits.copy()
    scansion.apply_bitmask(logits, mask)
    for row, ids in enumerate(rows):
        assert bits_of(mask[row], size) == [token_id in ids for token_id in range(size)]
        for token_id in range(size):
            assert logits[row, token_id] == (before[row, token_id] if token_id in ids else -np.inf)


def test_one_row_without_a_batch_dimension():
    logits = np.zeros(40, dtype=np.float32)
    scansion.apply_bitmask(logits, mask_of([{0, 39}], 40)[0])
    assert np.flatnonzero(np.isfinite(logits)).tolist() == [0, 39]
    logits = np.zeros(40, dtype=np.float32)
    scansion.apply_bitmask(logits, mask_of([{5}], 40))
    assert np.flatnonzero(np.isfinite(logits)).tolist() == [5]


def test_logits_wider_than_the_mask_are_not_allowed_there():
    logits = np.zeros((1, 100), dtype=np.float32)
    scansion.apply_bitmask(logits, mask_of([{3, 31}], 32))
    assert np.flatnonzero(np.isfinite(logits[0])).tolist() == [3, 31]


def test_a_view_is_changed_in_place():
    store = np.zeros((2, 80), dtype=np.float32)
    scansion.apply_bitmask(store[:, ::2], mask_of([{1}, {2}], 40))
    assert np.flatnonzero(np.isfinite(store[0, ::2])).tolist() == [1]
    assert np.isfinite(store[:, 1::2]).all()


def test_wrong_types_and_shapes_are_refused():
    mask = mask_of([{1}], 40)
    with pytest.raises(TypeError, match="floating, not int64"):
        scansion.apply_bitmask(np.zeros((1, 40), dtype=np.int64), mask)
    with pytest.raises(TypeError, match="int32, not int64"):
        scansion.apply_bitmask(np.zeros((1, 40)), mask.astype(np.int64))
    with pytest.raises(TypeError, match="array or a torch tensor, not list"):
        scansion.apply_bitmask([0.0] * 40, mask)
    with pytest.raises(ValueError, match="2 rows and the bitmask 1"):
        scansion.apply_bitmask(np.zeros((2, 40)), mask)
    with pytest.raises(ValueError, match="one or two dimensions"):
        scansion.apply_bitmask(np.zeros((1, 1, 40)), mask)
    frozen = np.zeros((1, 40))
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        scansion.apply_bitmask(frozen, mask)


def test_torch_does_the_same():
    torch = pytest.importorskip("torch")
    rows, size = [{0, 31, 32, 69}, {5}], 70
    mask = mask_of(rows, size)
    for bits in (mask, torch.from_numpy(mask)):
        logits = torch.zeros((2, 75))
        scansion.apply_bitmask(logits, bits)
        for row, ids in enumerate(rows):
            assert set(torch.isfinite(logits[row]).nonzero().flatten().tolist()) == ids
    single = torch.zeros(size)
    scansion.apply_bitmask(single, torch.from_numpy(mask[0]))
    assert set(torch.isfinite(single).nonzero().flatten().tolist()) == rows[0]
    with pytest.raises(TypeError, match="int32, not int64"):
        scansion.apply_bitmask(single, torch.from_numpy(mask[0]).long())


def test_rows_that_are_apart_in_memory_and_rows_made_elsewhere():
    mask = mask_of([{1, 33}, {2}], 40)
    expected = np.full((2, 40), -np.inf, np.float32)
    expected[0, [1, 33]] = expected[1, 2] = 0
    wide = np.zeros((4, 80), np.float32)
    for logits in (wide[::2, ::2], np.asfortranarray(wide[:2, :40]), np.ctypeslib.as_array(np.ctypeslib.as_ctypes(wide[:2, :40].copy()))):
        scansion.apply_bitmask(logits, mask)
        assert (logits == expected).all()
    logits = np.zeros((2, 40), np.float32)
    scansion.apply_bitmask(logits, np.repeat(mask, 2, axis=1)[:, ::2])
    assert (logits == expected).all()


@pytest.mark.parametrize("logits", [np.zeros(40, np.float64), np.zeros((1, 40), np.float32), np.zeros(40, np.dtype(">f4"))])
def test_the_kernel_takes_nothing_but_a_row_of_floats(logits):
    with pytest.raises(TypeError, match="C-contiguous float32"):
        _kernel.apply_bitmask(logits, np.zeros(2, np.int32))


def test_the_kernel_takes_nothing_but_a_row_of_bits():
    with pytest.raises(TypeError, match="C-contiguous int32"):
        _kernel.apply_bitmask(np.zeros(40, np.float32), np.zeros(2, np.float32))
    with pytest.raises(ValueError, match="contiguous"):
        _kernel.apply_bitmask(np.zeros(40, np.float32), np.zeros(4, np.int32)[::2])
