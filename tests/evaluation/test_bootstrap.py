"""Bootstrap: intervals hold the estimate, shrink with more texts and depend on the seed only."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmtc.core.arrays import csr_of_rows
from xmtc.core.ranking import Ranking
from xmtc.evaluation.bootstrap import differences
from xmtc.evaluation.measures import Measures
from xmtc.evaluation.report import evaluate_ranking
from xmtc.evaluation.sums import add_up, contributions, percentages


def paired_difference(first, second, relevant, trained_on=None, **settings):
    """What the first ranking has more than the second, on the same draws."""
    measures = Measures(**settings)
    sides = [contributions(side, relevant, measures, trained_on) for side in (second, first)]
    return differences(sides, measures)[0]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_an_interval_holds_its_estimate(make_case, seed):
    case = make_case(seed)
    report = evaluate_ranking(
        case.ranking, case.relevant, case.trained_on, threshold=0.5, resamples=50
    )
    for name, (low, high) in report.intervals.items():
        assert 0 <= low <= report.metrics[name] <= high <= 100 + 1e-9


def test_four_times_the_texts_halve_the_interval(make_case):
    def width(texts):
        case = make_case(3, texts=texts)
        report = evaluate_ranking(case.ranking, case.relevant, case.trained_on, resamples=300)
        return {name: high - low for name, (low, high) in report.intervals.items()}

    few = width(200)
    many = width(3200)
    for name in ("P@1", "R@5", "nDCG@5", "PSP@3", "PSnDCG@5", "RP@3"):
        assert few[name] / many[name] == pytest.approx(4, rel=0.4)


def test_an_interval_of_p_at_1_has_the_width_statistics_predicts(make_case):
    case = make_case(1, texts=2000)
    report = evaluate_ranking(case.ranking, case.relevant, ks=(1,), resamples=1000)
    share = report.metrics["P@1"] / 100
    expected = 2 * 1.96 * 100 * np.sqrt(share * (1 - share) / 2000)
    low, high = report.intervals["P@1"]
    assert high - low == pytest.approx(expected, rel=0.1)


def test_a_draw_that_repeats_texts_equals_evaluating_the_repeated_texts(make_case):
    case = make_case(5)
    measures = Measures(threshold=0.3)
    rows = np.array([0, 0, 3, 7, 7, 7, 11])
    weights = np.bincount(rows, minlength=12)[None].astype(np.float64)
    found = contributions(case.ranking, case.relevant, measures, case.trained_on)
    drawn = percentages(add_up(found, weights), measures)
    repeated = evaluate_ranking(
        Ranking(case.ranking.labels[rows], case.ranking.scores[rows]),
        case.relevant[rows],
        case.trained_on,
        threshold=0.3,
    )
    assert {name: value[0] for name, value in drawn.items()} == pytest.approx(repeated.metrics)


def test_the_same_seed_gives_the_same_interval(make_case):
    case = make_case(2)

    def run(seed):
        return evaluate_ranking(case.ranking, case.relevant, resamples=30, seed=seed).intervals

    assert run(1) == run(1)
    assert run(1) != run(2)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_ranking_does_not_differ_from_itself(make_case, seed):
    case = make_case(seed)
    same = paired_difference(
        case.ranking, case.ranking, case.relevant, case.trained_on, threshold=0.5, resamples=50
    )
    for difference in same.values():
        assert (difference.estimate, difference.low, difference.high) == (0, 0, 0)
        assert (difference.better, difference.p) == (0.5, 1)


def first_labels(won, lost, even):
    """P@1 of two rankings: the first is right alone `won` times, wrong alone `lost` times."""
    ours = np.array([0] * won + [1] * lost + [0] * even, np.int32)[:, None]
    theirs = np.array([1] * won + [0] * lost + [0] * even, np.int32)[:, None]
    scores = np.ones((len(ours), 1), np.float32)
    relevant = csr_of_rows([[0]] * len(ours), 2)
    sides = Ranking(ours, scores), Ranking(theirs, scores)
    return (
        paired_difference(*sides, relevant, ks=(1,), resamples=100)["P@1"],
        paired_difference(*reversed(sides), relevant, ks=(1,), resamples=100)["P@1"],
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 20), st.integers(0, 20))
def test_as_many_texts_won_as_lost_are_no_difference(each, even):
    for found in first_labels(each, each, even):
        assert (found.estimate, found.p) == (0, 1)
        assert found.low <= 0 <= found.high


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 20), st.integers(0, 20))
def test_where_no_text_is_lost_the_interval_does_not_go_below_zero(won, even):
    gain, loss = first_labels(won, 0, even)
    assert 0 <= gain.low <= gain.estimate
    assert loss.estimate <= loss.high <= 0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 20))
def test_the_other_way_round_a_difference_is_the_same_with_its_signs_changed(won, lost, even):
    there, back = first_labels(won, lost, even)
    assert (back.estimate, back.low, back.high) == pytest.approx(
        (-there.estimate, -there.high, -there.low)
    )
    assert (back.p, back.better) == (there.p, pytest.approx(1 - there.better))


def test_p_is_about_that_of_mcnemars_test():
    assert first_labels(5, 3, 92)[0].p == pytest.approx(0.48, abs=0.12)
    assert first_labels(20, 4, 76)[0].p < 0.02  # 0.001


def test_a_clearly_better_ranking_is_recognised(make_case):
    case = make_case(6, texts=300)
    worse = Ranking(case.ranking.labels[:, ::-1], case.ranking.scores)
    better_labels = case.ranking.labels.copy()
    for row, truth in zip(better_labels, case.truth, strict=True):
        row[0] = min(truth, default=-1)
    better = Ranking(better_labels, case.ranking.scores)
    gain = paired_difference(better, worse, case.relevant, ks=(1,), resamples=200)["P@1"]
    loss = paired_difference(worse, better, case.relevant, ks=(1,), resamples=200)["P@1"]
    assert 0 < gain.low <= gain.estimate <= gain.high
    assert gain.better == 1
    assert (loss.estimate, loss.better) == (-gain.estimate, 0)


def test_no_texts_give_intervals_without_information(make_case):
    case = make_case(0, texts=0)
    report = evaluate_ranking(case.ranking, case.relevant, resamples=5)
    assert report.metrics["P@1"] == 0
    assert report.intervals["P@1"] == (0, 0)
