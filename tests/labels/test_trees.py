"""Label trees: the worked examples of the specification, and invariants of every kind of tree."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

import xmtc
from xmtc.core.arrays import as_csr, unit_rows
from xmtc.core.config import from_dict
from xmtc.kernels.balanced_kmeans import _fill_sides, split_in_half, split_like
from xmtc.labels.partition import every_nth
from xmtc.labels.trees import (
    PublishedTree,
    TreeConfig,
    balanced_tree,
    build_tree,
    given_tree,
    halvings_for,
    published_halvings,
)

FIVE = as_csr(np.array([[1, 0], [0.96, 0.28], [0.8, 0.6], [0.6, 0.8], [0.28, 0.96]]))
METHODS = ["balanced", "kmeans", "random", "frequency"]


def arrays(matrix):
    return matrix.indptr.astype(np.int64), matrix.indices, matrix.data


def some_vectors(labels, seed=0, features=40):
    rng = np.random.default_rng(seed)
    density = min(1.0, 6 / features)
    rows = sp.random_array((labels, features), density=density, rng=rng, dtype=np.float32)
    return unit_rows(as_csr(rows))


def cheap_vectors(labels):
    """One feature per label would be large; a few shared ones are enough to be split."""
    return as_csr(
        sp.csr_array(
            (np.ones(labels, np.float32), np.arange(labels) % 97, np.arange(labels + 1)),
            shape=(labels, 97),
        )
    )


def leaf_sizes(tree):
    if tree.depth == 1:
        return np.array([tree.label_count])
    return np.bincount(tree.parents[-1], minlength=len(tree.parents[-2]))


@given(st.lists(st.integers(-4, 4), min_size=2, max_size=40))
def test_the_smaller_half_goes_left_and_of_equals_the_first(gaps):
    gap = np.array(gaps, float)
    side = np.zeros(len(gaps), bool)
    _fill_sides(gap, side)
    order = np.argsort(gap, kind="stable")
    assert set(np.flatnonzero(~side)) == set(order[: len(gaps) // 2])


@given(st.integers(2, 60), st.integers(0, 1000))
def test_features_that_do_not_occur_do_not_matter(labels, seed):
    vectors = some_vectors(labels, seed)
    few = np.zeros(40, np.int32)
    many = np.zeros(100_000, np.int32)
    halves = [
        split_in_half(arrays(vectors), scratch, np.arange(labels), (0, labels - 1), -1.0, 20)
        for scratch in (few, many)
    ]
    assert (halves[0][0] == halves[1][0]).all()
    assert not few.any()
    assert not many.any()


@given(st.integers(2, 60), st.integers(0, 1000), st.booleans())
def test_halves_that_no_pass_changes_are_found_again_by_their_centres(labels, seed, means):
    vectors = some_vectors(labels, seed)
    every = np.arange(labels)
    left, right, gains = split_in_half(
        arrays(vectors), np.zeros(40, np.int32), every, (0, labels - 1), -1.0, 200, means=means
    )
    assert len(gains) < 200
    again = split_like(arrays(vectors), 40, every, (left, right), 2, means)
    assert [half.tolist() for half in again] == [left.tolist(), right.tolist()]


def test_a_few_labels_find_the_halves_of_many():
    clear = np.kron(np.eye(2), np.ones((1000, 1)))
    noisy = unit_rows(as_csr(clear + np.random.default_rng(0).random(clear.shape) / 10))
    order = np.random.default_rng(1).permutation(2000)
    tree = build_tree(
        as_csr(noisy[order]),
        np.ones(2000),
        TreeConfig(arity=2, max_leaf=1000, published=PublishedTree(sample=50)),
    )
    assert leaf_sizes(tree).tolist() == [1000, 1000]
    assert len(np.unique(tree.parents[-1][order < 1000])) == 1


@pytest.mark.parametrize(
    ("centres", "left", "cosines"),
    [
        ((0, 1), [0, 1], [0.84672, 0.9753587753, 0.9753587753]),
        ((4, 0), [3, 4], [0.9392, 0.9729269419, 0.9729269419]),
    ],
)
def test_two_means_goes_through_the_passes_of_the_specification(centres, left, cosines):
    found, right, gains = split_in_half(
        arrays(FIVE), np.zeros(2, np.int32), np.arange(5), centres, 1e-4, 50
    )
    assert found.tolist() == left
    assert sorted([*found, *right]) == [0, 1, 2, 3, 4]
    assert gains == pytest.approx(cosines, abs=1e-6)


@pytest.mark.parametrize(
    ("labels", "max_leaf", "leaves", "smallest", "largest"),
    [
        (3956, 100, 64, 61, 62),
        (1000, 100, 16, 62, 63),
        (201, 100, 3, 50, 100),
        (13, 4, 4, 3, 4),
        (9, 4, 3, 2, 4),
    ],
)
def test_variant_a_has_the_leaf_counts_of_the_specification(
    labels, max_leaf, leaves, smallest, largest
):
    config = TreeConfig(arity=2, max_leaf=max_leaf, published=PublishedTree("gain"))
    sizes = leaf_sizes(build_tree(cheap_vectors(labels), np.ones(labels), config))
    assert (len(sizes), sizes.min(), sizes.max()) == (leaves, smallest, largest)


@pytest.mark.parametrize(
    ("labels", "max_leaf", "depth"),
    [
        (3956, 16, 8),
        (30938, 16, 11),
        (13330, 16, 10),
        (501070, 16, 15),
        (670091, 32, 15),
        (3956, 100, 6),
    ],
)
def test_labels_are_halved_as_often_as_pecos_does(labels, max_leaf, depth):
    assert halvings_for(labels, max_leaf) == depth


@pytest.mark.parametrize(
    ("labels", "max_leaf", "arity", "sizes"),
    [
        (3956, 16, 16, [16, 256, 3956]),
        (3956, 16, 8, [4, 32, 256, 3956]),
        (13330, 100, 32, [8, 256, 13330]),
    ],
)
def test_levels_collapse_into_the_chains_of_pecos(labels, max_leaf, arity, sizes):
    config = TreeConfig(arity=arity, max_leaf=max_leaf)
    tree = build_tree(cheap_vectors(labels), np.ones(labels), config)
    assert [len(level) for level in tree.parents] == sizes


@pytest.mark.parametrize(
    ("labels", "max_leaf", "splits", "top", "sizes"),
    [
        (30938, 16, 16, 128, [128, 2048]),
        (13330, 16, 8, 128, [128, 1024]),
        (501070, 16, 8, 64, [64, 512, 4096, 32768]),
        (501070, 100, 32, 32, [8, 256, 8192]),
        (670091, 32, 16, 128, [128, 2048, 32768]),
        (670091, 100, 32, 32, [8, 256, 8192]),
    ],
)
def test_levels_collapse_into_the_chains_of_the_specification(labels, max_leaf, splits, top, sizes):
    halvings = halvings_for(labels, max_leaf)
    label = np.arange(labels)
    levels = [(label << depth) // labels for depth in range(1, halvings + 1)]
    found = every_nth(levels, int(np.log2(splits)), top)
    assert [int(members.max()) + 1 for members in found] == sizes


@given(
    st.sampled_from(METHODS),
    st.integers(1, 300),
    st.integers(1, 20),
    st.sampled_from([2, 4, 8]),
    st.integers(0, 99),
)
def test_every_label_is_in_the_tree_once_and_siblings_follow_each_other(
    method, labels, max_leaf, arity, seed
):
    counts = np.random.default_rng(seed).integers(0, 50, labels)
    config = TreeConfig(method=method, max_leaf=max_leaf, arity=arity)
    tree = build_tree(some_vectors(labels, seed), counts, config, seed)
    assert tree.label_count == labels
    for level in tree.parents[:-1]:
        assert (np.diff(level) >= 0).all()
        assert len(np.unique(level)) == level.max() + 1  # no node without children
    assert len(np.unique(tree.parents[-1])) == len(tree.children[-1].start) - 1


@given(st.integers(2, 400), st.integers(1, 30), st.integers(0, 99))
def test_leaves_of_a_balanced_tree_differ_by_at_most_one(labels, max_leaf, seed):
    tree = build_tree(some_vectors(labels, seed), np.ones(labels), TreeConfig(max_leaf=max_leaf))
    sizes = leaf_sizes(tree)
    assert sizes.max() - sizes.min() <= 1
    assert sizes.max() <= max_leaf or tree.depth == 1


@pytest.mark.parametrize("method", METHODS)
def test_the_number_of_threads_does_not_change_the_tree(method):
    vectors = some_vectors(500, 3)
    config = TreeConfig(method=method, arity=8)
    xmtc.set_threads(1)
    alone = build_tree(vectors, np.arange(500), config)
    xmtc.set_threads(4)
    together = build_tree(vectors, np.arange(500), config)
    assert all((a == b).all() for a, b in zip(alone.parents, together.parents, strict=True))


@pytest.mark.parametrize("method", METHODS)
def test_labels_without_a_vector_have_a_place(method):
    empty = as_csr(sp.csr_array((50, 10), dtype=np.float32))
    tree = build_tree(empty, np.zeros(50, np.int64), TreeConfig(method=method, max_leaf=5))
    assert tree.label_count == 50


def test_labels_that_are_alike_end_up_together():
    groups = np.repeat(np.eye(4, dtype=np.float32), 8, axis=0)
    noisy = unit_rows(as_csr(groups + np.random.default_rng(0).random(groups.shape) * 0.1))
    order = np.random.default_rng(1).permutation(32)
    tree = build_tree(noisy[order], np.ones(32), TreeConfig(arity=4, max_leaf=8))
    together = tree.parents[-1]
    assert all(len(set(together[order // 8 == group])) == 1 for group in range(4))


def test_plain_k_means_leaves_no_label_alone():
    config = TreeConfig(method="kmeans", arity=10, max_leaf=10, max_depth=1)
    sizes = leaf_sizes(build_tree(some_vectors(200, 5), np.ones(200), config))
    assert sizes.min() >= 2
    assert sizes.sum() == 200


def test_frequent_labels_are_nearer_to_the_root():
    counts = np.array([10_000, *([1] * 200)])
    config = TreeConfig(method="frequency", arity=4, max_leaf=1)
    tree = build_tree(some_vectors(201), counts, config)
    assert (tree.parents[0] == 0).all()
    node = 0  # the frequent label's own branch never splits
    for level in tree.parents[1:-1]:
        assert (level == node).sum() == 1
        node = int(np.flatnonzero(level == node)[0])


@pytest.mark.parametrize("arity", [2, 16])
@pytest.mark.parametrize(
    "counts", [[100] + [1] * 20, [10_000] + [1] * 300, [1000 // rank**2 for rank in range(1, 200)]]
)
def test_one_very_frequent_label_does_not_keep_the_others_together(counts, arity):
    config = TreeConfig(method="frequency", arity=arity, max_leaf=5, max_depth=60)
    tree = build_tree(some_vectors(len(counts)), np.array(counts), config)
    assert leaf_sizes(tree).max() <= 5


def test_a_given_tree_is_used_as_it_is():
    labels = xmtc.LabelSpace(("apple", "fish", "food", "pear", "stone"))
    tree = given_tree(labels, {"apple": "fruit", "pear": "fruit", "fruit": "food", "fish": "food"})
    above = [tuple(_path(tree, label)) for label in range(5)]
    assert above[0] == above[3]  # apple and pear, below fruit, below food
    assert above[1][0] == above[0][0] == above[2][0]  # all below food
    assert above[1] != above[0]
    assert above[4][0] != above[0][0]


def test_a_cycle_in_a_given_tree_is_an_error():
    with pytest.raises(xmtc.DataError, match="cycle"):
        given_tree(xmtc.LabelSpace(("a",)), {"a": "b", "b": "c", "c": "b"})


@pytest.mark.parametrize(
    "bad",
    [
        {"arity": 3},
        {"arity": 1},
        {"max_leaf": 0},
        {"max_depth": 0},
        {"published": {"stop": "gain", "centres": "mean"}},
    ],
    ids=str,
)
def test_impossible_settings_are_refused(bad):
    with pytest.raises(xmtc.ConfigError, match=next(iter(bad))):
        from_dict(TreeConfig, bad)


def _path(tree, label):
    path = []
    node = label
    for level in reversed(tree.parents):
        node = int(level[node])
        path.append(node)
    return path[::-1][1:]


def split_b(rows, left, right, means):
    """Variant B, written down plainly: the left half, sorted."""
    count = len(rows)
    before = None
    a = rows[left]
    b = rows[right]
    for _ in range(20):
        score = rows @ (b - a)
        squared = (score**2).sum()
        if before is not None and abs(squared - before) <= 0.01 * before:
            break
        before = squared
        order = np.argsort(score, kind="stable")
        halves = order[: count // 2], order[count // 2 :]
        a, b = (rows[half].mean(0) if means else rows[half].sum(0) for half in halves)
        if not means:
            a = a / np.linalg.norm(a)
            b = b / np.linalg.norm(b)
    return sorted(halves[0].tolist())


@example(41, 138, True)  # a pass that lowers the mean by more than 1 ended it once
@given(st.integers(4, 60), st.integers(0, 1000), st.booleans())
def test_x_bert_stops_when_the_squared_gaps_hardly_change(labels, seed, means):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(labels, 5)).astype(np.float32) + rng.normal(size=5).astype(np.float32)
    rows = rows if means else rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found, _, _ = split_in_half(
        arrays(as_csr(rows)),
        np.zeros(5, np.int32),
        np.arange(labels),
        (0, labels - 1),
        -1.0,
        20,
        0.01,
        means,
    )
    assert found.tolist() == split_b(rows.astype(np.float64), 0, labels - 1, means)


def test_means_see_how_long_vectors_are():
    rows = arrays(as_csr(np.array([[1, 0], [9, 0.1], [1.2, 0.01], [9.3, 0.2]])))
    ways = (np.zeros(2, np.int32), np.arange(4), (0, 1), -1.0, 20, -1.0, True)
    assert split_in_half(rows, *ways)[0].tolist() == [0, 2]


@pytest.mark.parametrize(
    ("labels", "depth"),
    [
        (3714, 6),
        (3956, 6),
        (28139, 9),
        (30938, 9),
        (13234, 8),
        (13330, 8),
        (479315, 13),
        (501070, 13),
        (1, 0),
        (2, 1),
        (3, 1),
        (12, 1),
        (250, 2),
    ],
)
def test_published_depths(labels, depth):
    assert published_halvings(labels) == depth


def test_as_many_halvings_as_asked():
    tree = balanced_tree(
        some_vectors(100), TreeConfig(arity=2, published=PublishedTree("change")), 0, 4
    )
    assert [len(level) for level in tree.parents] == [2, 4, 8, 16, 100]
    assert (tree.parents[3] == np.arange(16) // 2).all()
    assert set(leaf_sizes(tree).tolist()) == {6, 7}
