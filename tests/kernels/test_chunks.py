"""What chunks make of a text is what dense weights make of it, however their rows are stored."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linear.forests import FEATURES, random_texts

from xmtc.core.arrays import kernel_arrays
from xmtc.core.tree import LabelTree
from xmtc.kernels.chunks import FULLER, fill_margins, first_cell, in_vectors, scratch_for
from xmtc.kernels.simd import WIDTH
from xmtc.linear.forest import chunk_of, forest_of


def siblings_of(seed, children, share):
    """A forest of one node, whose rows have any number of weights; and these, dense."""
    rng = np.random.default_rng(seed)
    used = rng.random((FEATURES, children)) < rng.random((FEATURES, 1)) * share
    weights = (rng.normal(size=used.shape) * used).astype(np.float32)
    features, siblings = np.nonzero(weights)
    biases = rng.normal(size=children).astype(np.float32)
    chunk = chunk_of(features, siblings, weights[features, siblings], biases)
    return forest_of(LabelTree.flat(children), [chunk], FEATURES), weights, biases


@given(
    st.integers(0, 5000),
    st.integers(1, 70) | st.sampled_from([256, 257, 700]),
    st.sampled_from([0.02, 0.3, 1.0]),
    st.booleans(),
)
def test_margins_are_those_of_dense_weights(seed, children, share, int8):
    forest, weights, biases = siblings_of(seed, children, share)
    if int8:
        forest = forest.as_int8()
        weights, biases = (dense.T if dense.ndim > 1 else dense for dense in forest.last_level())
    texts = random_texts(seed, 4)
    arrays = kernel_arrays(texts)
    tree = forest.searched[0]
    expected = texts @ weights + biases
    for text in range(4):
        scratch = scratch_for(arrays, tree.widest)
        fill_margins(arrays, text, tree.weights, 0, scratch)
        assert np.allclose(scratch.margins[:children], expected[text], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("children", [1, 4, 16, 17, 100])
def test_a_row_is_full_where_that_takes_at_most_twice_the_cells(children):
    forest, weights, _ = siblings_of(3, children, 1.0)
    packed = forest.searched[0].weights
    sizes = np.diff(first_cell(packed.row_key))
    entries = np.count_nonzero(weights, axis=1)
    entries = entries[entries > 0]
    full = in_vectors(children)
    assert full % WIDTH == 0
    assert children <= full < children + WIDTH
    assert (sizes == np.where(full <= FULLER * 2 * entries, full, 2 * entries)).all()
    assert len(packed.cells) == sizes.sum()
