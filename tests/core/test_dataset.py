"""A data set says what its lists say, and nothing changes it afterwards."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import xmtc
from xmtc.core.arrays import as_csr, csr_of_rows
from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.core.labels import LabelSpace
from xmtc.data.planted import planted

TEXTS = ["olive oil", "fish", ""]
LABELS = [["food", "trade"], ["food"], []]


def named(data):
    """[(text, its label names), ...]: what a data set says, without its ids."""
    pieces = np.split(data.relevant.indices, data.relevant.indptr[1:-1])
    names = [[data.labels.names[label] for label in piece] for piece in pieces][: len(data)]
    return list(zip(data.texts, names, strict=True))


def datasets():
    row = st.tuples(st.text(max_size=5), st.lists(st.sampled_from(["a", "b", "ü", "", "\n"])))
    return st.lists(row, max_size=8)


@given(datasets())
def test_a_data_set_says_what_its_lists_say(rows):
    data = Dataset.of([text for text, _ in rows], [labels for _, labels in rows])
    assert named(data) == [(text, sorted(set(labels))) for text, labels in rows]
    assert data.labels.names == tuple(sorted({name for _, labels in rows for name in labels}))
    assert (data.relevant.data == 1).all()
    counts = [sum(name in labels for _, labels in rows) for name in data.labels.names]
    assert data.trained_on().label_counts.tolist() == counts
    assert data.trained_on().texts == len(data) == len(rows)


@given(datasets(), st.data())
def test_taking_rows_takes_their_texts_and_labels(rows, draw):
    data = Dataset.of([text for text, _ in rows], [labels for _, labels in rows])
    chosen = draw.draw(st.lists(st.integers(0, len(rows) - 1)) if rows else st.just([]))
    part = data.take(chosen)
    assert named(part) == [named(data)[row] for row in chosen]
    assert part.labels == data.labels
    assert part.relevant.shape == (len(chosen), len(data.labels))


@given(st.integers(2, 30), st.floats(0.01, 0.99), st.integers(0, 9))
def test_a_split_parts_the_texts_without_loss(size, share, seed):
    data = Dataset.of([str(i) for i in range(size)], [[str(i % 3)] for i in range(size)])
    rest, held_out = data.split(share, seed)
    assert len(rest) >= 1
    assert len(held_out) >= 1
    assert abs(len(held_out) - share * size) <= 1
    assert sorted(named(rest) + named(held_out)) == sorted(named(data))
    assert named(data.split(share, seed)[1]) == named(held_out)


@pytest.mark.parametrize("share", [0, 1, -0.5, 1.5, float("nan")])
def test_a_split_needs_a_share_between_nothing_and_all(share):
    with pytest.raises(DataError, match="share"):
        planted(10, 3).split(share)


@pytest.mark.parametrize("texts", [[], ["one"]])
def test_a_split_needs_two_texts(texts):
    with pytest.raises(DataError, match="at least 2"):
        Dataset.of(texts, [["a"] for _ in texts]).split(0.5)


@given(datasets(), st.lists(st.sampled_from(["a", "b", "x", "y"]), unique=True))
def test_renaming_into_other_ids_tells_the_same_truth(rows, names):
    data = Dataset.of([text for text, _ in rows], [labels for _, labels in rows])
    other = data.named_in(LabelSpace(tuple(names)))
    assert other.labels.names[: len(names)] == tuple(names)
    assert [(text, sorted(labels)) for text, labels in named(other)] == named(data)
    assert other.relevant.has_canonical_format


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a"], [["x"], ["y"]], "1 texts but labels for 2"),
        ([None], [["x"]], "row 0: 'text' is 'None', not a string"),
        (["a", 1.5], [["x"], []], "row 1: 'text' is '1.5'"),
        ([b"a"], [["x"]], "row 0: 'text' is"),
        ("a", [["x"]], "list of texts"),
        (["a"], None, "got a list and no labels"),
        (["a", "b"], [["x"], [None]], "row 1: the label 'None' is neither"),
        (["a"], [[["x"]]], "row 0: the label"),
        (["a"], [[1.5]], "row 0: the label '1.5'"),
        (["a"], [[True]], "row 0: the label 'True'"),
        (["a"], [1.5], "row 0: the label"),
        (["a"], [b"xy"], "row 0: the label"),
        (["a"], [[float("nan")]], "row 0: the label 'nan'"),
    ],
)
def test_what_cannot_be_a_data_set_is_named(texts, labels, message):
    with pytest.raises(DataError, match=message):
        Dataset.of(texts, labels)


def test_sizes_must_agree():
    names = LabelSpace(("a", "b"))
    relevant = csr_of_rows([[0], [1]], 2)
    for texts, columns, features in (
        (["x"], names, None),
        ([], names, None),
        (["x", "y"], LabelSpace(("a",)), None),
        ([], names, sp.csr_array((3, 4))),
    ):
        with pytest.raises(DataError):
            Dataset(texts, relevant, columns, features)


def test_a_mask_is_not_mistaken_for_positions():
    with pytest.raises(DataError, match="flatnonzero"):
        planted(4, 2).take(np.array([True, False, True, False]))


def test_a_set_of_features_is_read_by_its_features():
    features = sp.csr_array(np.eye(3, 5, dtype=np.float32))
    data = Dataset((), csr_of_rows([[0], [1], [0]], 2), LabelSpace(("a", "b")), features)
    assert data.inputs is features
    part = data.take([2, 0])
    np.testing.assert_array_equal(part.features.toarray(), features.toarray()[[2, 0]])
    assert part.relevant.toarray().tolist() == [[1, 0], [1, 0]]
    assert Dataset.of(TEXTS, LABELS).inputs == TEXTS


def test_label_texts_go_to_their_labels():
    data = Dataset.of(TEXTS, LABELS, label_texts={"trade": "buying", "unknown": "?"})
    assert data.labels.texts == ("", "buying")


def test_changing_the_lists_afterwards_changes_nothing():
    texts = list(TEXTS)
    labels = [list(row) for row in LABELS]
    data = Dataset.of(texts, labels)
    texts[0] = "changed"
    labels[1] = ["changed"]
    labels[0].clear()
    assert named(data) == named(Dataset.of(TEXTS, LABELS))


@pytest.mark.parametrize("kind", ["most_frequent", "one_vs_all"])
def test_training_and_ranking_leave_the_data_untouched(kind):
    data = planted(30, 4)
    bare = Dataset((), data.relevant, data.labels, as_csr(data.relevant @ data.relevant.T))
    for given_data in (data, bare):
        arrays = [
            a
            for m in (given_data.relevant, given_data.features)
            if m is not None
            for a in (m.data, m.indices, m.indptr)
        ]
        before = [array.copy() for array in arrays]
        texts = list(given_data.texts)
        xmtc.train(kind, given_data).rank(given_data.inputs, 3)
        for array, copy in zip(arrays, before, strict=True):
            np.testing.assert_array_equal(array, copy)
        assert list(given_data.texts) == texts
