"""Label vectors: the worked examples of the specification, and what holds for any data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xmtc
from xmtc.core.arrays import as_csr
from xmtc.labels import label_features
from xmtc.text import tfidf

FEATURES = as_csr(np.array([[1, 0, 0], [0, 1, 0], [0.6, 0.8, 0], [0, 0, 1]]))
RELEVANT = as_csr(np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]]))


def test_pifa_is_the_unit_sum_of_a_labels_texts():
    expected = [
        [0.70710678, 0.70710678, 0],
        [0.31622777, 0.94868330, 0],
        [0.42426407, 0.56568542, 0.70710678],
    ]
    assert label_features.pifa(FEATURES, RELEVANT).toarray() == pytest.approx(
        np.array(expected), abs=1e-6
    )


@given(st.integers(0, 5000), st.integers(1, 9))
def test_the_heaviest_terms_remain_and_of_equals_the_first(seed, terms):
    rng = np.random.default_rng(seed)
    features = as_csr(rng.integers(0, 4, (12, 7)).astype(np.float32))
    relevant = as_csr((rng.random((12, 9)) < 0.3).astype(np.float32))
    sums = (relevant.T @ features).toarray()
    largest = np.argsort(np.argsort(-sums, axis=1, kind="stable"), axis=1) < terms
    lengths = np.linalg.norm(sums * largest, axis=1, keepdims=True)
    found = label_features.pifa(features, relevant, max_terms=terms).toarray()
    assert found == pytest.approx(sums * largest / np.maximum(lengths, 1e-9), abs=1e-5)


def test_texts_with_many_labels_count_less_when_weighed():
    expected = [
        [0.81649658, 0.57735027, 0],
        [0.31622777, 0.94868330, 0],
        [0.34641016, 0.46188022, 0.81649658],
    ]
    weighed = label_features.pifa(FEATURES, RELEVANT, weigh_texts=True).toarray()
    assert weighed == pytest.approx(np.array(expected), abs=1e-6)


def test_cooccurrence_counts_shared_texts_and_not_the_label_itself():
    expected = np.array([[0, 1, 0], [np.sqrt(0.5), 0, np.sqrt(0.5)], [0, 1, 0]])
    assert label_features.cooccurrence(RELEVANT).toarray() == pytest.approx(expected, abs=1e-6)


def test_joint_gives_both_parts_equal_weight():
    both = label_features.joint(FEATURES, RELEVANT).toarray()
    assert np.linalg.norm(both, axis=1) == pytest.approx(1)
    assert np.linalg.norm(both[:, :3], axis=1) == pytest.approx(np.sqrt(0.5))


def test_label_texts_are_read_like_texts():
    encoder, _ = tfidf.learn(["olive oil", "fish quota"], tfidf.TfidfConfig())
    space = xmtc.LabelSpace(("oil", "x1"), ("", "fish and fish"))
    vectors = label_features.from_text(space, encoder).toarray()
    assert np.argmax(vectors, axis=1).tolist() == [
        np.argmax(encoder.encode([word]).toarray()) for word in ("oil", "fish")
    ]


@given(st.integers(0, 5000))
def test_rows_have_length_one_or_zero(seed):
    rng = np.random.default_rng(seed)
    features = as_csr((rng.random((12, 7)) < 0.3) * rng.random((12, 7)))
    relevant = as_csr((rng.random((12, 9)) < 0.15).astype(np.float32))
    for made in (
        label_features.pifa(features, relevant),
        label_features.pifa(features, relevant, weigh_texts=True),
        label_features.cooccurrence(relevant),
        label_features.joint(features, relevant),
    ):
        lengths = np.linalg.norm(made.toarray(), axis=1)
        assert np.isfinite(lengths).all()
        assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))


def test_zero_rows_are_filled_from_elsewhere():
    first = as_csr(np.array([[1.0, 0], [0, 0]]))
    second = as_csr(np.array([[0, 1.0], [0.6, 0.8]]))
    expected = np.array([[1, 0], [0.6, 0.8]])
    assert label_features.filled(first, second).toarray() == pytest.approx(expected)


@pytest.mark.parametrize("weigh", [False, True])
def test_pifa_of_dense_vectors_is_pifa(weigh):
    dense = label_features.pifa_of_vectors(FEATURES.toarray(), RELEVANT, weigh).toarray()
    assert dense == pytest.approx(
        label_features.pifa(FEATURES, RELEVANT, weigh).toarray(), abs=1e-6
    )


def test_a_label_without_texts_has_a_zero_vector_of_vectors_too():
    relevant = as_csr(np.array([[1, 0], [1, 0], [0, 0], [0, 0]]))
    assert (label_features.pifa_of_vectors(FEATURES.toarray(), relevant).toarray()[1] == 0).all()


def test_label_texts_are_cleaned_to_words():
    names = ("olive_oil", "caf%C3%A9 [Paris]; 'bar'", "...", "plain")
    cleaned = label_features.cleaned(xmtc.LabelSpace(names, ("", "", "", "so, so")))
    assert cleaned.texts == ("olive oil", "café Paris bar", "<unk>", "so so")
    assert cleaned.names == names
