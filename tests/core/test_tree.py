"""A label tree holds every label once, whatever its shape."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from xmtc.core.arrays import as_csr
from xmtc.core.errors import DataError
from xmtc.core.tree import MAX_DEPTH, LabelTree


@st.composite
def trees(draw, max_depth=20, max_nodes=8):
    """Of any depth and balance; some nodes have no children."""
    levels = []
    above = 1
    for _ in range(draw(st.integers(1, max_depth))):
        size = draw(st.integers(1, max_nodes))
        levels.append(draw(st.lists(st.integers(0, above - 1), min_size=size, max_size=size)))
        above = size
    return LabelTree.of(levels)


@given(trees())
def test_every_node_is_the_child_of_its_parent_and_of_no_other(tree):
    for level, children in enumerate(tree.children):
        above = 1 if level == 0 else len(tree.parents[level - 1])
        found = [children.nodes[children.start[n] : children.start[n + 1]] for n in range(above)]
        for parent, nodes in enumerate(found):
            assert nodes.tolist() == np.flatnonzero(tree.parents[level] == parent).tolist()
        assert children.start[-1] == len(tree.parents[level])
        assert (children.start.dtype, children.nodes.dtype) == (np.int64, np.int32)


@given(trees(max_depth=6), st.data())
def test_a_node_is_relevant_when_a_label_below_it_is(tree, data):
    rows = data.draw(
        st.lists(st.sets(st.integers(0, tree.label_count - 1)), min_size=1, max_size=4)
    )
    dense = np.zeros((len(rows), tree.label_count), np.float32)
    for row, labels in enumerate(rows):
        dense[row, list(labels)] = data.draw(st.sampled_from([1, 3]))
    relevant = as_csr(dense)
    for level in range(tree.depth):
        expected = np.zeros((len(rows), len(tree.parents[level])))
        for row, labels in enumerate(rows):
            for node in labels:
                for below in range(tree.depth - 1, level, -1):
                    node = tree.parents[below][node]
                expected[row, node] = dense[row].max() if level == tree.depth - 1 else 1
        np.testing.assert_array_equal(tree.relevant_at(level, relevant).toarray(), expected)
    np.testing.assert_array_equal(relevant.toarray(), dense)  # the caller's are as they were


def test_looking_up_a_level_never_writes_into_the_data_set():
    relevant = sp.csr_array(np.array([[0, 2, 0, 0], [5, 0, 0, 0]], np.float32))
    LabelTree.of([[0, 0], [0, 1, 1, 1]]).relevant_at(0, relevant)
    assert relevant.data.tolist() == [2, 5]


@given(st.integers(0, 50))
def test_a_flat_tree_has_all_labels_below_the_root(labels):
    tree = LabelTree.flat(labels)
    assert (tree.depth, tree.label_count) == (1, labels)
    assert tree.children[0].nodes.tolist() == list(range(labels))


@pytest.mark.parametrize(
    "levels",
    [
        [],
        [[1]],
        [[-1]],
        [[0], [1]],
        [[0, 0], [0, 2]],
        [[], [0]],
        [[0]] * (MAX_DEPTH + 1),
        [[[0]]],
        [[0], [[0], [0]]],
    ],
)
def test_a_tree_that_hangs_from_nothing_is_refused(levels):
    with pytest.raises(DataError):
        LabelTree.of(levels)


def test_the_deepest_tree_and_the_emptiest_are_trees():
    assert LabelTree.of([[0]] * MAX_DEPTH).depth == MAX_DEPTH
    empty = LabelTree.of([[], []])
    assert empty.label_count == 0
    assert empty.children[1].start.tolist() == [0]
    assert empty.relevant_at(0, as_csr(np.zeros((3, 0)))).shape == (3, 0)
