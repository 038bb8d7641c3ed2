"""The vector loops do what plain NumPy does, for any rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError

from xmtc.kernels.simd import (
    CHANGE,
    HIGHEST,
    LOWEST,
    MARGIN,
    WIDTH,
    WORKING,
    add_rows,
    add_to_rows,
    descend,
)


@njit
def sum_of_rows(columns, values, first, last, weights, start, sums):
    add_rows(columns, values, first, last, weights, start, sums)


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
    columns, values, weights, start = problem(seed, entries, rows)
    first = data.draw(st.integers(0, entries))
    last = data.draw(st.integers(first, entries))
    part = slice(first, last)
    expected = start + (values[part, None] * weights[columns[part]]).sum(axis=0)
    sums = np.ones((2, WIDTH), np.float32)
    sum_of_rows(columns, values, first, last, weights, start, sums)
    assert np.allclose(sums, [expected, np.ones(WIDTH)], atol=1e-4)


@given(st.integers(0, 999), st.integers(0, 40), st.integers(1, 9))
def test_rows_that_occur_twice_are_changed_twice(seed, entries, rows):
    columns, values, weights, change = problem(seed, entries, rows)
    expected = weights.copy()
    np.add.at(expected, columns, values[:, None] * change)
    spread_over_rows(columns, values, 0, entries, change, weights)
    assert np.allclose(weights, expected, atol=1e-4)


@pytest.mark.parametrize("odd", ["float64", "strided"])
def test_arrays_of_another_kind_do_not_compile(odd):
    columns, values, weights, start = problem(0, 5, 3)
    values = values.astype(np.float64) if odd == "float64" else np.repeat(values, 2)[::2]
    with pytest.raises(TypingError, match="contiguous array of float32"):
        sum_of_rows(columns, values, 0, 5, weights, start, weights)


@njit
def step(row, positive, alphas, diagonals, which, scalars, state, biases):
    return descend(row, positive, alphas, diagonals, which, scalars, state, biases)


def stepped(sign, alpha, diagonal, length, state):
    """The formula of the descent on one row, in NumPy."""
    gradient = (sign * state[MARGIN] - 1 + diagonal * alpha) * state[WORKING]
    projected = np.where(alpha > 0, gradient, np.minimum(gradient, 0))
    new = np.maximum(alpha - gradient / (length + diagonal), 0)
    return new, projected


@given(st.integers(0, 9999), st.integers(0, 3), st.sampled_from([0.0, 0.5, 100.0]))
def test_a_step_is_that_of_the_formula(seed, row, rest):
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1, 1], (4, WIDTH))
    positive = ((signs > 0) << np.arange(WIDTH)).sum(axis=1).astype(np.uint16)
    alphas = np.maximum(rng.normal(size=(4, WIDTH)), 0).astype(np.float32)
    diagonals = rng.uniform(0.1, 2, (2, WIDTH)).astype(np.float32)
    state = rng.normal(size=(5, WIDTH)).astype(np.float32)
    biases = np.ones(WIDTH, np.float32)
    state[WORKING] = rng.random(WIDTH) < 0.8
    scalars = tuple(np.float32([1.5, 0.25, rest]))
    diagonal = np.where(signs[row] > 0, diagonals[seed % 2], 0.25)
    new, projected = stepped(signs[row], alphas[row], diagonal, 1.5, state)
    before = state.copy()
    old = alphas.copy()
    was = alphas[row].copy()
    moved = step(row, positive, alphas, diagonals, seed % 2, scalars, state, biases)
    assert moved == (np.abs(projected) > rest).any()
    assert np.allclose(state[LOWEST], np.minimum(before[LOWEST], projected), atol=1e-5)
    assert np.allclose(state[HIGHEST], np.maximum(before[HIGHEST], projected), atol=1e-5)
    assert np.allclose(alphas[row], new if moved else was, atol=1e-5)
    assert (np.delete(alphas, row, axis=0) == np.delete(old, row, axis=0)).all()
    assert np.allclose(biases - 1, (alphas[row] - was) * signs[row], atol=1e-5)
    if moved:
        assert np.allclose(state[CHANGE], biases - 1, atol=1e-5)
