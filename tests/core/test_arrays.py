"""Rows of length 1, whatever they held."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from xmtc.core.arrays import as_csr, unit_rows


def random_rows(seed, size):
    rng = np.random.default_rng(seed)
    matrix = sp.random_array((9, 6), density=0.3, rng=rng, dtype=np.float32)  # some rows are empty
    return as_csr(matrix * np.float32(size))


@given(st.integers(0, 5000), st.sampled_from([1e-15, 1.0, 1e15]))
def test_every_row_that_is_not_zero_gets_length_one(seed, size):
    matrix = random_rows(seed, size)
    before = matrix.toarray()
    lengths = np.linalg.norm(before.astype(np.float64), axis=1, keepdims=True)
    expected = np.divide(before, lengths, out=np.zeros_like(before), where=lengths > 0)
    assert np.allclose(unit_rows(matrix).toarray(), expected, atol=1e-6)
    assert (matrix.toarray() == before).all()


@given(st.integers(0, 5000))
def test_rows_of_length_one_are_left_alone(seed):
    scaled = unit_rows(random_rows(seed, 1))
    assert unit_rows(scaled) is scaled
