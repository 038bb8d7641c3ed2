"""Report: bands, batches, comparison with a baseline, and its form as plain values."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmtc.core.arrays import csr_of_rows
from xmtc.core.dataset import TrainedOn
from xmtc.core.errors import ConfigError
from xmtc.core.ranking import Ranking
from xmtc.evaluation.report import evaluate_ranking, relative_improvement, report_of
from xmtc.evaluation.settings import Measures
from xmtc.evaluation.sums import Tally

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
        kept = {label for label, s in zip(row, scores, strict=True) if label >= 0 and s >= 0.5}
        pairs.append((kept, truth))
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
@given(seeds, st.integers(0, 12), st.integers(0, 12))
def test_adding_batches_equals_one_shot(make_case, seed, first, second):
    case = make_case(seed)
    cuts = sorted([0, first, second, 12])
    measures = Measures(ks=(1, 4), threshold=0.4)
    tally = Tally(measures, case.trained_on)
    for start, stop in itertools.pairwise(cuts):
        part = Ranking(case.ranking.labels[start:stop], case.ranking.scores[start:stop])
        tally.add(part, case.relevant[start:stop])
    whole = evaluate_ranking(case.ranking, case.relevant, case.trained_on, ks=(1, 4), threshold=0.4)
    streamed = report_of(tally)
    assert streamed.metrics == pytest.approx(whole.metrics, abs=1e-9)
    assert streamed.to_dict()["bands"] == whole.to_dict()["bands"]
    assert streamed.texts == whole.texts == 12


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


def test_a_tally_of_nothing_reports_nothing():
    assert report_of(Tally()).metrics == {}


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


def test_relative_improvement_is_table_4_of_xbert():
    parabel = {"P@1": 60.91, "P@3": 41.33, "P@5": 31.67}
    xbert = relative_improvement({"P@1": 67.80, "P@3": 46.52, "P@5": 35.73}, parabel)
    assert {name: round(value, 2) for name, value in xbert.items()} == {
        "P@1": 11.31,
        "P@3": 12.56,
        "P@5": 12.82,
    }
    fasttext = relative_improvement({"P@1": 32.58, "P@3": 23.00, "P@5": 18.60}, parabel)
    assert [round(value, 2) for value in fasttext.values()] == [-46.51, -44.35, -41.27]


def test_relative_improvement_skips_what_cannot_be_compared():
    assert relative_improvement({"P@1": 5.0, "R@1": 5.0}, {"P@1": 0.0}) == {}
