"""Report: bands, macro figures, and its form as plain values."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmtc.core.arrays import csr_of_rows
from xmtc.core.dataset import TrainedOn
from xmtc.core.errors import ConfigError
from xmtc.core.ranking import Ranking
from xmtc.evaluation.report import evaluate_ranking

seeds = st.integers(0, 2**32 - 1)


def naive_macro_f1(pairs):
    values = []
    for label in set().union(*(r | t for r, t in pairs)):
        right = sum(label in r and label in t for r, t in pairs)
        total = sum((label in r) + (label in t) for r, t in pairs)
        values.append(2 * right / total)
    return 100 * np.mean(values) if values else 0


@settings(deadline=None)
@given(seeds)
def test_coverage_and_macro_f1_equal_naive_counts(make_case, seed):
    case = make_case(seed)
    report = evaluate_ranking(case.ranking, case.relevant, ks=(3,), threshold=0.5)
    pairs = []
    for row, scores, truth in zip(case.predicted, case.ranking.scores, case.truth, strict=True):
        above = {label for label, s in zip(row, scores, strict=True) if label >= 0 and s >= 0.5}
        pairs.append((above, truth))
    assert report.metrics["macro F1"] == pytest.approx(naive_macro_f1(pairs))
    first = [list(dict.fromkeys(x for x in row if x >= 0))[:3] for row in case.predicted]
    hit = set().union(*(set(row) & t for row, t in zip(first, case.truth, strict=True)))
    named = set().union(*case.truth)
    assert report.metrics["coverage@3"] == pytest.approx(100 * len(hit) / max(1, len(named)))


@settings(deadline=None)
@given(seeds)
def test_all_figures_are_percentages(make_case, seed):
    case = make_case(seed)
    report = evaluate_ranking(case.ranking, case.relevant, case.trained_on, threshold=0.5)
    parts = [band.recall | band.precision for band in report.bands]
    for figures in [report.metrics, *parts]:
        assert all(0 <= value <= 100 + 1e-9 for value in figures.values())


@settings(deadline=None)
@given(seeds)
def test_the_bands_add_up_to_the_whole(make_case, seed):
    case = make_case(seed)
    report = evaluate_ranking(case.ranking, case.relevant, case.trained_on, ks=(2,))
    assert [band.name for band in report.bands] == ["head", "torso", "tail", "unseen"]
    assert sum(band.labels for band in report.bands) == 8
    assert sum(band.positives for band in report.bands) == case.relevant.nnz
    whole = sum(band.precision["P@2"] for band in report.bands)
    assert whole == pytest.approx(report.metrics["P@2"])


def test_a_label_falls_in_the_band_of_its_training_texts():
    trained_on = TrainedOn(200, np.array([51, 50, 6, 5, 1, 0], np.int64))
    relevant = csr_of_rows([[0, 1, 2, 3, 4, 5, 6]], 7)
    labels = np.array([[0, 3, 2]], np.int32)
    report = evaluate_ranking(Ranking(labels, -labels.astype(np.float32)), relevant, trained_on)
    head, torso, tail, unseen = report.bands
    assert [band.labels for band in report.bands] == [1, 2, 2, 2]
    assert [band.positives for band in report.bands] == [1, 2, 2, 2]
    assert [band.recall["R@3"] for band in (head, torso, tail, unseen)] == [100, 50, 50, 0]
    assert (torso.at_least, torso.at_most, head.at_most) == (6, 50, None)
    assert torso.precision["P@3"] == pytest.approx(100 / 3)


def test_the_report_names_all_metrics_and_survives_json(make_case):
    case = make_case(0)
    report = evaluate_ranking(
        case.ranking, case.relevant, case.trained_on, ks=(1, 5), threshold=0.5, resamples=20
    )
    names = ["P", "R", "nDCG", "PSP", "PSnDCG", "RP", "coverage"]
    assert {f"{name}@{k}" for name in names for k in (1, 5)} <= set(report.metrics)
    assert {"micro F1", "macro F1", "sample F1"} <= set(report.metrics)
    assert set(report.intervals) == set(report.metrics)
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["metrics"] == report.metrics
    assert plain["settings"]["ks"] == [1, 5]


def test_without_training_counts_there_is_no_propensity_and_there_are_no_bands(make_case):
    case = make_case(0)
    report = evaluate_ranking(case.ranking, case.relevant)
    assert report.bands == ()
    assert not any(name.startswith("PS") for name in report.metrics)


def test_truth_columns_beyond_the_model_are_misses():
    ranking = Ranking(np.array([[0]], np.int32), np.ones((1, 1), np.float32))
    report = evaluate_ranking(ranking, csr_of_rows([[0, 3]], 4), TrainedOn(9, np.array([9])))
    assert report.metrics["R@1"] == 50


def test_a_misspelt_setting_is_explained(make_case):
    case = make_case(0)
    with pytest.raises(ConfigError, match="did you mean 'threshold'"):
        evaluate_ranking(case.ranking, case.relevant, treshold=0.5)
    with pytest.raises(ConfigError, match="ks"):
        evaluate_ranking(case.ranking, case.relevant, ks=())
    with pytest.raises(ConfigError, match="torso_up_to"):
        evaluate_ranking(case.ranking, case.relevant, tail_up_to=60)
