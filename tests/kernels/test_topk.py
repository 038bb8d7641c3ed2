"""The k best of a row are what sorting the whole row would put first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmtc.kernels.topk import best

SCORES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, np.nan, np.inf, -np.inf, 1e-45, 3e38])


@st.composite
def tables(draw):
    """Ids in any order, some missing, and scores that often tie."""
    rows = draw(st.integers(0, 4))
    width = draw(st.integers(0, 12))
    ids = np.full((rows, width), -1, np.int32)
    for row in range(rows):
        ids[row] = draw(st.permutations(range(width)))
        ids[row, draw(st.lists(st.booleans(), min_size=width, max_size=width))] = -1
    cells = draw(st.lists(SCORES, min_size=rows * width, max_size=rows * width))
    return ids, np.array(cells, np.float32).reshape(rows, width)


def by_sorting(ids, scores, k):
    """The same, the slow way."""
    below = np.where(np.isnan(scores), -np.inf, scores)
    rows = []
    for row_ids, row_scores in zip(ids.tolist(), below.tolist(), strict=True):
        there = [
            (-score, node) for node, score in zip(row_ids, row_scores, strict=True) if node >= 0
        ]
        row = [(node, -score) for score, node in sorted(there)][:k]
        rows.append(row + [(-1, -np.inf)] * (k - len(row)))
    return rows


@given(tables(), st.integers(0, 15))
def test_the_best_are_the_first_of_the_sorted_row(table, k):
    ids, scores = table
    before = ids.copy(), scores.copy()
    top_ids, top_scores = best(ids, scores, k)
    found = [
        list(zip(*row, strict=True))
        for row in zip(top_ids.tolist(), top_scores.tolist(), strict=True)
    ]
    assert found == by_sorting(ids, scores, k)
    assert (top_ids.dtype, top_scores.dtype) == (np.int32, np.float32)
    assert top_ids.shape == top_scores.shape == (len(ids), k)
    np.testing.assert_array_equal(ids, before[0])
    np.testing.assert_array_equal(scores, before[1])


@given(tables(), st.integers(1, 15), st.randoms())
def test_the_order_of_the_candidates_does_not_matter(table, k, random):
    ids, scores = table
    order = list(range(ids.shape[1]))
    random.shuffle(order)
    shuffled = best(np.ascontiguousarray(ids[:, order]), np.ascontiguousarray(scores[:, order]), k)
    for found, expected in zip(shuffled, best(ids, scores, k), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_thousand_of_a_hundred_thousand():
    scores = np.random.default_rng(0).integers(0, 5000, (2, 100_000)).astype(np.float32)
    ids = np.tile(np.arange(100_000, dtype=np.int32), (2, 1))
    top_ids, _ = best(ids, scores, 1000)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :1000]
    np.testing.assert_array_equal(top_ids, expected)


@pytest.mark.parametrize(("ids", "scores"), [((2, 3), (3, 2)), ((3,), (3,)), ((1, 1, 1),) * 2])
def test_ids_and_scores_must_have_one_shape(ids, scores):
    with pytest.raises(ValueError, match="one 2-d shape"):
        best(np.zeros(ids, np.int32), np.zeros(scores, np.float32), 1)
