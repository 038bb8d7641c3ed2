"""The vector loops do what plain NumPy does, for any rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError

from xmtc.kernels.vectors import WIDTH, add_rows, add_to_rows


@njit
def sum_of_rows(columns, values, first, last, weights, sums):
    add_rows(columns, values, first, last, weights, sums)


@njit
def spread_over_rows(columns, values, first, last, change, weights):
    add_to_rows(columns, values, first, last, change, weights)


def problem(seed, entries, rows):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, rows, entries).astype(np.int32)
    values = rng.normal(size=entries).astype(np.float32)
    weights = rng.normal(size=(rows, WIDTH)).astype(np.float32)
    return columns, values, weights, rng.normal(size=WIDTH).astype(np.float32)


@given(st.integers(0, 999), st.integers(0, 40), st.integers(1, 9), st.data())
def test_rows_are_summed_as_numpy_does(seed, entries, rows, data):
    columns, values, weights, sums = problem(seed, entries, rows)
    first = data.draw(st.integers(0, entries))
    last = data.draw(st.integers(first, entries))
    part = slice(first, last)
    expected = sums + (values[part, None] * weights[columns[part]]).sum(axis=0)
    sum_of_rows(columns, values, first, last, weights, sums)
    assert np.allclose(sums, expected, atol=1e-4)


@given(st.integers(0, 999), st.integers(0, 40), st.integers(1, 9))
def test_rows_that_occur_twice_are_changed_twice(seed, entries, rows):
    columns, values, weights, change = problem(seed, entries, rows)
    expected = weights.copy()
    np.add.at(expected, columns, values[:, None] * change)
    spread_over_rows(columns, values, 0, entries, change, weights)
    assert np.allclose(weights, expected, atol=1e-4)


@pytest.mark.parametrize("odd", ["float64", "strided"])
def test_arrays_of_another_kind_do_not_compile(odd):
    columns, values, weights, sums = problem(0, 5, 3)
    values = values.astype(np.float64) if odd == "float64" else np.repeat(values, 2)[::2]
    with pytest.raises(TypingError, match="contiguous array of float32"):
        sum_of_rows(columns, values, 0, 5, weights, sums)
