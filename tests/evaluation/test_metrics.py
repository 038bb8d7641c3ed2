"""Metrics: the worked example of the specification, and naive loops on random data."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmtc.core.arrays import csr_of_rows
from xmtc.core.dataset import TrainedOn
from xmtc.core.errors import DataError
from xmtc.core.ranking import Ranking
from xmtc.evaluation import metrics
from xmtc.evaluation.hits import hits_of
from xmtc.evaluation.propensity import inverse_propensity

TRUTH = [[0, 2], [1], [3, 4, 5]]
PREDICTED = [[2, 1, 0, 3, 4], [0, 1, 2, 3, 4], [0, 3, 1, 4, 2]]
TRAINED_ON = TrainedOn(1000, np.array([500, 100, 50, 10, 2, 0], np.int64))

seeds = st.integers(0, 2**32 - 1)
places = st.integers(1, 9)


def ranking_of(rows):
    labels = np.array(rows, np.int32)
    return Ranking(labels, -np.tile(np.arange(labels.shape[1], dtype=np.float32), (len(rows), 1)))


def example():
    hits = hits_of(ranking_of(PREDICTED), csr_of_rows(TRUTH, 6))
    return hits, metrics.gains_of(hits, inverse_propensity(TRAINED_ON))


@pytest.mark.parametrize(
    ("k", "precision", "recall", "ndcg"),
    [(1, 1 / 3, 1 / 6, 1 / 3), (3, 4 / 9, 7 / 9, 0.6155774846), (5, 1 / 3, 8 / 9, 0.6829466001)],
)
def test_the_worked_example_gives_the_specified_numbers(k, precision, recall, ndcg):
    hits, _ = example()
    assert metrics.precision(hits, k).value == pytest.approx(precision, abs=1e-9)
    assert metrics.recall(hits, k).value == pytest.approx(recall, abs=1e-9)
    assert metrics.ndcg(hits, k).value == pytest.approx(ndcg, abs=1e-9)


@pytest.mark.parametrize(
    ("k", "psp", "pyxclib", "attentionxml"),
    [
        (1, 0.1666658304, 0.1666658304, 0.1666658304),
        (3, 0.3729029709, 0.3758185827, 0.3221393176),
        (5, 0.6244280907, 0.4917278612, 0.4557361776),
    ],
)
def test_the_worked_example_with_propensities(k, psp, pyxclib, attentionxml):
    hits, gains = example()
    assert metrics.psp(gains, k).value == pytest.approx(psp, abs=1e-9)
    assert metrics.psndcg(gains, hits, k).value == pytest.approx(pyxclib, abs=1e-9)
    other = metrics.psndcg(gains, hits, k, "attentionxml")
    assert other.value == pytest.approx(attentionxml, abs=1e-9)


def test_r_precision_of_the_worked_example():
    hits, _ = example()
    assert metrics.r_precision(hits, 1).value == pytest.approx(1 / 3)
    assert metrics.r_precision(hits, 3).value == pytest.approx((1 + 1 + 1 / 3) / 3)
    assert metrics.r_precision(hits, 5).value == pytest.approx((1 + 1 + 2 / 3) / 3)


def distinct(row, k):
    return list(dict.fromkeys(label for label in row if label >= 0))[:k]


def naive_precision(row, truth, k):
    return len(set(distinct(row, k)) & truth) / k


def naive_recall(row, truth, k):
    return len(set(distinct(row, k)) & truth) / max(1, len(truth))


def naive_r_precision(row, truth, k):
    return len(set(distinct(row, k)) & truth) / max(1, min(k, len(truth)))


def dcg(gains):
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


def naive_ndcg(row, truth, k):
    full = dcg([1] * min(k, len(truth)))
    return dcg([label in truth for label in distinct(row, k)]) / full if full else 0


@pytest.mark.parametrize(
    ("metric", "naive"),
    [
        (metrics.precision, naive_precision),
        (metrics.recall, naive_recall),
        (metrics.r_precision, naive_r_precision),
        (metrics.ndcg, naive_ndcg),
    ],
)
@settings(deadline=None)
@given(seed=seeds, k=places)
def test_every_average_equals_a_naive_loop(make_case, metric, naive, seed, k):
    case = make_case(seed)
    rows = zip(case.predicted, case.truth, strict=True)
    expected = [naive(row, truth, k) for row, truth in rows]
    fraction = metric(hits_of(case.ranking, case.relevant, k=9), k)
    np.testing.assert_allclose(fraction.numerator, expected, atol=1e-12)
    assert fraction.value == pytest.approx(np.mean(expected), abs=1e-12)


@settings(deadline=None)
@given(seed=seeds, k=places)
def test_propensity_metrics_equal_naive_loops(make_case, seed, k):
    case = make_case(seed)
    weights = inverse_propensity(case.trained_on, labels=8)
    got = []
    best = []
    full = []
    for row, truth in zip(case.predicted, case.truth, strict=True):
        got.append([weights[label] if label in truth else 0 for label in distinct(row, k)])
        best.append(sorted((weights[label] for label in truth), reverse=True)[:k])
        full.append(dcg([1] * min(k, len(truth))) or 1)
    hits = hits_of(case.ranking, case.relevant, k=9)
    gains = metrics.gains_of(hits, weights)

    def same(share, above, below):
        expected = sum(above) / sum(below) if sum(below) else 0
        assert share.value == pytest.approx(expected, abs=1e-12)

    same(metrics.psp(gains, k), map_list(sum, got), map_list(sum, best))
    plain = map_list(dcg, got), map_list(dcg, best)
    same(metrics.psndcg(gains, hits, k, "attentionxml"), *plain)
    normalised = [[x / f for x, f in zip(side, full, strict=True)] for side in plain]
    same(metrics.psndcg(gains, hits, k), *normalised)


def map_list(work, items):
    return [work(item) for item in items]


@settings(deadline=None)
@given(seed=seeds)
def test_a_perfect_ranking_scores_one(make_case, seed):
    case = make_case(seed)
    weights = inverse_propensity(case.trained_on, labels=8)
    rows = [sorted(truth or {0}, key=lambda label: -weights[label]) for truth in case.truth]
    padded = [(row + [-1] * 8)[:8] for row in rows]
    relevant = csr_of_rows(rows, 8)
    hits = hits_of(ranking_of(padded), relevant)
    gains = metrics.gains_of(hits, weights)
    for k in (1, 3, 8):
        assert metrics.ndcg(hits, k).value == 1
        assert metrics.r_precision(hits, k).value == 1
        assert metrics.psp(gains, k).value == pytest.approx(1, abs=1e-12)
        assert metrics.psndcg(gains, hits, k).value == pytest.approx(1, abs=1e-12)


@settings(deadline=None)
@given(seed=seeds)
def test_f1_equals_naive_counts(make_case, seed):
    case = make_case(seed)
    hits = hits_of(case.ranking.above(0.5), case.relevant)
    returned = [set(distinct(row.tolist(), 99)) for row in case.ranking.above(0.5).labels]
    pairs = list(zip(returned, case.truth, strict=True))
    each = [2 * len(r & t) / (len(r) + len(t)) if r or t else 0 for r, t in pairs]
    assert metrics.sample_f1(hits).value == pytest.approx(np.mean(each))
    right = sum(len(r & t) for r, t in pairs)
    total = sum(len(r) + len(t) for r, t in pairs)
    assert metrics.micro_f1(hits).value == pytest.approx(2 * right / total if total else 0)


def test_repeats_count_once_and_the_next_label_moves_up():
    hits = hits_of(ranking_of([[4, 4, 4, 1, 2]]), csr_of_rows([[1, 2]], 5), k=2)
    assert hits.labels.tolist() == [[4, 1]]
    assert metrics.precision(hits, 2).value == 0.5


def test_padding_and_labels_beyond_the_truth_are_misses_and_a_short_row_is_divided_by_k():
    hits = hits_of(ranking_of([[0, -1, -1], [9, 1, -1]]), csr_of_rows([[0], [1]], 2))
    assert hits.hit.tolist() == [[True, False, False], [False, True, False]]
    assert metrics.precision(hits, 3).value == pytest.approx(1 / 3)


def test_a_text_without_truth_adds_nothing_but_is_counted():
    hits = hits_of(ranking_of([[0, 1], [0, 1]]), csr_of_rows([[0], []], 2))
    for metric in (metrics.precision, metrics.recall, metrics.ndcg, metrics.r_precision):
        assert metric(hits, 1).value == 0.5


def test_stored_zeros_are_not_relevant():
    relevant = csr_of_rows([[0, 1]], 2)
    relevant.data[1] = 0
    hits = hits_of(ranking_of([[1, 0]]), relevant)
    assert hits.hit.tolist() == [[False, True]]
    assert hits.relevant_counts.tolist() == [1]
    assert relevant.nnz == 2


def test_no_texts_and_no_truth_give_zero():
    none = hits_of(Ranking.empty(0, 3), csr_of_rows([], 4))
    assert metrics.precision(none, 3).value == 0
    empty = hits_of(Ranking.empty(2, 3), csr_of_rows([[], []], 0))
    assert metrics.psp(metrics.gains_of(empty, np.ones(0)), 3).value == 0


def test_another_number_of_texts_is_refused():
    with pytest.raises(DataError, match="expected a ranking of 1 texts like the truth, got 2"):
        hits_of(Ranking.empty(2, 3), csr_of_rows([[0]], 1))
