"""A forest comes back from disk as it was, small, and a damaged one is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linear.forests import random_forest, random_texts

from xmtc.core.dataset import TrainedOn
from xmtc.core.errors import XmtcError
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts
from xmtc.core.tree import LabelTree
from xmtc.linear.forest import chunk_of, forest_of
from xmtc.linear.forest_store import forest_arrays, read_forest


def parts_of(arrays, labels):
    names = tuple(f"label {n}" for n in range(labels))
    return Parts({}, LabelSpace(names), TrainedOn(1, np.zeros(labels, np.int64)), arrays)


def flat_forest(seed, features, rows, labels):
    """One node with weights for any features, far apart or close together."""
    rng = np.random.default_rng(seed)
    chunk = chunk_of(
        np.sort(rng.choice(features, rows, replace=False)),
        rng.integers(0, labels, rows),
        rng.normal(size=rows),
        rng.normal(size=labels),
    )
    return forest_of(LabelTree.flat(labels), [chunk], features)


def assert_equal(first, second):
    for name in (
        "row_start",
        "row_feature",
        "entry_start",
        "entry_sibling",
        "entry_value",
        "scales",
        "biases",
    ):
        ours = getattr(first, name)
        theirs = getattr(second, name)
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs), name


@given(
    st.integers(0, 5000),
    st.sampled_from([5, 300, 70_000, 1_000_000]),
    st.integers(0, 5),
    st.sampled_from([1, 256, 300]),
    st.booleans(),
)
def test_any_gap_between_features_survives_the_disk(seed, features, rows, labels, int8):
    forest = flat_forest(seed, features, rows, labels)
    forest = forest.as_int8() if int8 else forest
    parts = parts_of(forest_arrays(forest, "t"), labels)
    assert_equal(read_forest(parts, "t", 1, features, labels), forest)


@given(st.integers(0, 5000))
def test_a_whole_tree_survives_the_disk(seed):
    forest = random_forest(seed).as_int8()
    parts = parts_of(forest_arrays(forest, "t"), 40)
    assert_equal(read_forest(parts, "t", forest.tree.depth, forest.feature_count, 40), forest)


@given(st.integers(0, 5000), st.floats(1e-6, 1e6))
def test_rounding_moves_a_weight_by_half_a_step_and_happens_once(seed, size):
    plain = random_forest(seed)
    plain.entry_value[:] *= np.float32(size)
    rounded = plain.as_int8()
    assert_equal(rounded.as_int8(), rounded)
    for node in range(plain.inner_nodes):
        before = plain.chunk(node)
        after = rounded.chunk(node)
        first = plain.child_start[node] - 1
        step = rounded.scales[first + before.siblings]
        assert (np.abs(before.values - after.values) <= 0.501 * step).all()
        assert (step * 127 <= np.abs(before.values).max(initial=0) * 1.001).all()


def test_nodes_of_more_than_256_children_rank_like_single_ones():
    wide = flat_forest(3, 30, 25, 300)
    texts = random_texts(3)
    dense = np.zeros((30, 300))
    for row, feature in enumerate(wide.row_feature):
        for entry in range(*wide.entry_start[row : row + 2]):
            dense[feature, wide.entry_sibling[entry]] = wide.entry_value[entry]
    margins = texts @ dense + wide.biases
    found = wide.rank(texts, 300, score="label")
    assert np.allclose(found.scores, -np.sort(-1 / (1 + np.exp(-margins))), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("row_step", lambda steps: steps + 200),
        ("row_step", lambda steps: steps * 0),
        ("row_step", lambda steps: steps[:-1]),
        ("row_step", lambda steps: steps.astype(np.int32)),
        ("row_counts", lambda counts: -counts),
        ("entry_counts", lambda counts: counts + 1),
        ("entry_sibling", lambda siblings: siblings + 100),
        ("entry_value", lambda values: values.astype(np.float32)),
        ("scales", lambda scales: scales * np.inf),
        ("scales", lambda scales: scales + 1e20),
        ("scales", lambda scales: scales[1:]),
        ("biases", lambda biases: biases * np.nan),
    ],
)
def test_a_damaged_forest_is_refused(name, change):
    forest = random_forest(1).as_int8()
    arrays = forest_arrays(forest, "t")
    arrays[f"t.{name}"] = np.asarray(change(arrays[f"t.{name}"]))
    with pytest.raises(XmtcError):
        read_forest(parts_of(arrays, 40), "t", forest.tree.depth, forest.feature_count, 40)
