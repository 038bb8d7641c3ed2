"""Concatenated features: each block of length 1, and rows of length 1 where asked."""

from __future__ import annotations

import numpy as np
import pytest

from xmtc.core.arrays import as_csr
from xmtc.text.concat import concat

WORDS = as_csr(np.array([[3.0, 0, 4], [0, 0, 0], [0, 2, 0]]))
VECTORS = np.array([[1.0, 1], [0, -5], [0, 0]], np.float32)


def test_both_blocks_count_the_same():
    rows = concat(WORDS, VECTORS, whole=False).toarray()
    half = np.sqrt(0.5)
    assert rows == pytest.approx(
        np.array([[0.6, 0, 0.8, half, half], [0, 0, 0, 0, -1], [0, 1, 0, 0, 0]])
    )


def test_whole_rows_have_length_one():
    rows = concat(WORDS, VECTORS)
    assert np.linalg.norm(rows.toarray(), axis=1) == pytest.approx(np.ones(3))
    assert rows.dtype == np.float32
    assert rows.indices.dtype == np.int32


def test_no_texts_give_no_rows():
    assert concat(WORDS[:0], VECTORS[:0]).shape == (0, 5)
