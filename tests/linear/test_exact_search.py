"""The exact search finds the best labels of all, whatever the tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.linear.forests import DenseLevel, random_forest, random_texts

import xmtc
from xmtc.data.planted import planted
from xmtc.models import linear_tree

SCORES = st.sampled_from(["path", "path2", "probability"])


def every_score(forest, texts, score, exponent):
    """(texts, labels): the product along each label's path, in float32, which can underflow."""
    scores = np.ones((texts.shape[0], 1), np.float32)
    for level, parents in enumerate(forest.tree.parents):
        every = np.tile(np.arange(len(parents)), (texts.shape[0], 1))
        scores = (
            DenseLevel(forest, level, score).score(texts, every) * scores[:, parents] ** exponent
        )
    return scores


@given(st.integers(0, 5000), SCORES, st.sampled_from([0.2, 0.5, 1.0]), st.integers(1, 45))
def test_it_finds_what_brute_force_finds(seed, score, exponent, k):
    forest = random_forest(seed)
    texts = random_texts(seed)
    forest = forest.as_int8() if seed % 2 else forest
    allowed = np.random.default_rng(seed).random(40) < 0.6
    for choice in (None, allowed):
        scores = every_score(forest, texts, score, exponent)
        scores[:, np.zeros(40, bool) if choice is None else ~choice] = -np.inf
        found = forest.rank(
            texts, k, score=score, allowed=choice, path_exponent=exponent, search="exact"
        )
        expected = np.full((17, k), -np.inf)
        expected[:, : min(k, 40)] = -np.sort(-scores)[:, :k]
        assert np.allclose(found.scores, expected, atol=1e-4)
        assert ((found.labels >= 0) == np.isfinite(expected)).all()


@given(st.integers(0, 5000), SCORES, st.integers(1, 45))
def test_it_ranks_to_the_last_bit_like_a_beam_without_end(seed, score, k):
    forest = random_forest(seed)
    texts = random_texts(seed)
    texts.data[:] = np.round(texts.data)  # texts without features: scores tie
    wide = forest.rank(texts, k, 1000, score)
    exact = forest.rank(texts, k, 1, score, search="exact")
    assert (wide.labels == exact.labels).all()
    assert (wide.scores == exact.scores).all()


def test_equal_scores_rank_by_label_also_below_different_nodes():
    forest = random_forest(7)
    forest.biases[:] = 5  # all certain: every label scores 1 for a text without words
    nothing = random_texts(7)[:1] * 0
    found = forest.rank(nothing, 40, score="path", search="exact")
    assert found.labels[0].tolist() == list(range(40))


def test_a_model_searches_as_it_is_set():
    dataset = planted(texts=300, labels=150)
    settings = {"tree": {"max_leaf": 8}, "path_exponent": 1, "beam": 1}
    by_search = {"published": {"search": "exact"}}
    narrow = xmtc.train("linear_tree", dataset, settings)
    exact = xmtc.train("linear_tree", dataset, settings, **by_search)
    wide = xmtc.train("linear_tree", dataset, settings, beam=1000, negatives="tfn")
    assert (exact.rank(dataset.texts, 5).scores >= narrow.rank(dataset.texts, 5).scores).all()
    exact = xmtc.train("linear_tree", dataset, settings, **by_search, negatives="tfn")
    assert (exact.rank(dataset.texts, 5).labels == wide.rank(dataset.texts, 5).labels).all()


@pytest.mark.parametrize(("exponent", "score"), [(0.0, "path"), (0.7, "label")])
def test_scores_that_no_path_bounds_are_refused(exponent, score):
    exact = linear_tree.PublishedLinearTree(search="exact", score=score)
    with pytest.raises(xmtc.ConfigError, match="bounds"):
        linear_tree.Config(path_exponent=exponent, published=exact)
