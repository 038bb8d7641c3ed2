"""A ranking keeps its order and its padding through everything that is done to it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmtc.core.labels import LabelSpace
from xmtc.core.ranking import NO_LABEL, Ranking
from xmtc.kernels.topk import best

NAMES = LabelSpace(tuple("abcdefghij"))


@st.composite
def rankings(draw, k=None):
    texts = draw(st.integers(0, 4))
    labels = draw(st.integers(0, 10))
    scores = draw(st.lists(st.floats(-4, 4, width=16), min_size=40, max_size=40))
    ids = np.tile(np.arange(labels, dtype=np.int32), (texts, 1))
    table = np.array(scores, np.float32).reshape(4, 10)[:texts, :labels]
    return Ranking(*best(ids, table, draw(st.integers(0, 12)) if k is None else k))


@given(rankings(), st.integers(0, 15))
def test_the_top_is_the_beginning_padded_when_short(ranking, k):
    top = ranking.top(k)
    assert top.labels.shape == top.scores.shape == (len(ranking), k)
    shared = min(k, ranking.k)
    assert (top.labels[:, :shared] == ranking.labels[:, :shared]).all()
    assert (top.scores[:, :shared] == ranking.scores[:, :shared]).all()
    assert (top.labels[:, shared:] == NO_LABEL).all()
    assert (top.scores[:, shared:] == -np.inf).all()
    assert (top.labels.dtype, top.scores.dtype) == (np.int32, np.float32)


@given(rankings(), st.floats(-5, 5, width=32) | st.just(np.inf) | st.just(-np.inf))
def test_a_threshold_keeps_exactly_the_labels_that_reach_it(ranking, threshold):
    above = ranking.above(threshold)
    assert above.labels.shape == ranking.labels.shape
    for before, after in zip(ranking.named(NAMES), above.named(NAMES), strict=True):
        assert after == [(name, score) for name, score in before if score >= threshold]
    assert ((above.labels == NO_LABEL) == (above.scores == -np.inf)).all()
    assert (above.labels.dtype, above.scores.dtype) == (np.int32, np.float32)


@given(rankings())
def test_names_are_given_best_first_without_padding(ranking):
    named = ranking.named(NAMES)
    assert len(named) == len(ranking)
    for row, labels in zip(named, ranking.labels, strict=True):
        assert [NAMES.id_of[name] for name, _ in row] == labels[labels != NO_LABEL].tolist()
        assert all(type(score) is float for _, score in row)
        scores = [score for _, score in row]
        assert scores == sorted(scores, reverse=True)


@given(st.lists(rankings(k=3), min_size=1, max_size=4))
def test_stacking_keeps_all_texts_in_order(parts):
    stacked = Ranking.stack(parts)
    assert len(stacked) == sum(map(len, parts))
    assert stacked.named(NAMES) == [row for part in parts for row in part.named(NAMES)]


@given(st.integers(0, 5), st.integers(0, 5))
def test_an_empty_ranking_names_nothing(texts, k):
    empty = Ranking.empty(texts, k)
    assert (len(empty), empty.k) == (texts, k)
    assert empty.named(NAMES) == [[]] * texts


@pytest.mark.parametrize(("labels", "scores"), [((2, 3), (2, 4)), ((2,), (2,)), ((1, 2, 3),) * 2])
def test_labels_and_scores_must_have_one_shape(labels, scores):
    with pytest.raises(ValueError, match="2-d"):
        Ranking(np.zeros(labels, np.int32), np.zeros(scores, np.float32))


def test_rankings_of_different_width_do_not_stack():
    with pytest.raises(ValueError, match="dimension"):
        Ranking.stack([Ranking.empty(1, 2), Ranking.empty(1, 3)])
