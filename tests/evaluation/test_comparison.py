"""Comparison: nothing differs from itself, swapping flips signs, counts are those of loops."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmtc.core.arrays import csr_of_rows
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.labels import LabelSpace
from xmtc.core.ranking import Ranking
from xmtc.evaluation.bootstrap import Difference
from xmtc.evaluation.comparison import compare_rankings
from xmtc.evaluation.html_report import html_report, verdict

LABELS = 9
K = 3
METRICS = ["P@1", "P@3", "nDCG@3", "PSP@3", "R@3"]
HOSTILE = ["<script>alert(1)</script>", '" onload="x', "a & b", "nul \0", "\u202e flip", "'</td>"]


def answers(rng, texts):
    labels = np.array([rng.permutation(LABELS)[:K] for _ in range(texts)], np.int32)
    return Ranking(labels.reshape(texts, K), np.ones((texts, K), np.float32))


def case(seed=0, texts=40, names=None):
    """Two random rankings, a truth with texts and names, training counts of every band."""
    rng = np.random.default_rng(seed)
    rows = [np.flatnonzero(rng.random(LABELS) < 0.3).tolist() for _ in range(texts)]
    space = LabelSpace(tuple(names or (f"label {label}" for label in range(LABELS))))
    truth = Dataset([f"text {row}" for row in range(texts)], csr_of_rows(rows, LABELS), space)
    counts = np.array([0, 1, 3, 5, 6, 20, 50, 51, 400], np.int64)
    rankings = {"old": answers(rng, texts), "new": answers(rng, texts)}
    return rankings, truth, TrainedOn(500, counts)


def compared(rankings, truth, trained_on, **options):
    return compare_rankings(
        rankings, truth, trained_on, **{"ks": (1, K), "resamples": 60, **options}
    )


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_model_does_not_differ_from_itself(seed):
    rankings, truth, seen = case(seed)
    found = compared({"old": rankings["old"], "same": rankings["old"]}, truth, seen)
    versus = found.versus["same"]
    for each in [*versus.metrics.values(), *versus.bands.values()]:
        assert (each.estimate, each.low, each.high, each.p) == (0, 0, 0, 1)
    assert len(versus.won) == len(versus.lost) == versus.gained.sum() == versus.missed.sum() == 0
    assert versus.both_right + versus.neither_right == len(truth)
    assert found.labels("same", 5) == found.examples("same", 5) == ([], [])


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_swapping_two_models_flips_the_signs(seed):
    rankings, truth, seen = case(seed)
    there = compared(rankings, truth, seen).versus["new"]
    back = compared(dict(reversed(rankings.items())), truth, seen).versus["old"]
    for name, each in {**there.metrics, **there.bands}.items():
        other = {**back.metrics, **back.bands}[name]
        assert (-other.estimate, -other.high, -other.low) == pytest.approx(
            (each.estimate, each.low, each.high), abs=1e-9
        )
        assert other.p == pytest.approx(each.p)
    assert (there.won.tolist(), there.lost.tolist()) == (back.lost.tolist(), back.won.tolist())
    assert (there.gained == back.missed).all()


def test_intervals_and_p_values_are_those_of_a_naive_bootstrap():
    rankings, truth, seen = case(3)
    relevant = truth.relevant.toarray()
    right = [
        np.take_along_axis(relevant, ranking.labels, axis=1).sum(axis=1).astype(int)
        for ranking in rankings.values()
    ]
    gain = right[1] - right[0]
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(60):
        rows = rng.integers(0, len(truth), len(truth))
        draws.append(sum(gain[row] for row in rows))
    percent = 100 / K / len(truth)
    total = gain.sum()
    low, high = np.quantile(draws, [0.025, 0.975]) * percent
    p = (sum(abs(draw - total) >= abs(total) for draw in draws) + 1) / 61  # whole numbers: ties
    found = compared(rankings, truth, seen).versus["new"].metrics[f"P@{K}"]
    assert (found.estimate, found.low, found.high, found.p) == pytest.approx(
        (total * percent, low, high, p)
    )


def test_bands_are_recalls_of_the_labels_that_training_saw_so_often():
    rankings, truth, seen = case(4)
    found = compared(rankings, truth, seen)
    ends = {"head": (51, 1e9), "torso": (6, 50), "tail": (1, 5), "unseen": (0, 0)}
    for place, (band, (fewest, most)) in enumerate(ends.items()):
        recalls = []
        for name, ranking in rankings.items():
            inside = [
                (row, label)
                for row, labels in enumerate(truth.relevant.tolil().rows)
                for label in labels
                if fewest <= seen.label_counts[label] <= most
            ]
            hits = [label in ranking.labels[row] for row, label in inside]
            recalls.append(100 * np.mean(hits))
            assert found.bands[name][place].recall[f"R@{K}"] == pytest.approx(recalls[-1])
        assert found.versus["new"].bands[band].estimate == pytest.approx(recalls[1] - recalls[0])


def test_labels_and_texts_are_counted_as_loops_count_them():
    rankings, truth, seen = case(5)
    versus = compared(rankings, truth, seen).versus["new"]
    rows = truth.relevant.tolil().rows
    old = rankings["old"].labels
    new = rankings["new"].labels
    gained = [
        sum(
            label in rows[row] and label in new[row] and label not in old[row]
            for row in range(len(truth))
        )
        for label in range(LABELS)
    ]
    assert versus.gained.tolist() == gained
    won = {r for r in range(len(truth)) if new[r, 0] in rows[r] and old[r, 0] not in rows[r]}
    assert set(versus.won.tolist()) == won
    lead = [
        len(set(new[row]) & set(rows[row])) - len(set(old[row]) & set(rows[row]))
        for row in versus.won
    ]
    assert lead == sorted(lead, reverse=True)


def test_enough_resamples_tell_a_true_gain_from_none():
    rankings, truth, seen = case(6, texts=300)
    better = rankings["old"].labels.copy()
    for row, labels in enumerate(truth.relevant.tolil().rows):
        better[row, 0] = next(iter(labels), better[row, 0])
    many = {
        "old": rankings["old"],
        "better": Ranking(better, rankings["old"].scores),
        "other": rankings["new"],
    }
    found = compared(many, truth, seen, resamples=200)
    assert list(found.versus) == ["better", "other"]
    assert found.versus["better"].metrics["P@1"].p == pytest.approx(1 / 201)
    assert found.versus["other"].metrics["P@1"].p > 0.05
    assert verdict("P@1", found.versus["better"].metrics["P@1"]).startswith("P@1: better, +")


@given(st.floats(-5, 5), st.floats(0, 5))
def test_a_verdict_is_clear_only_where_the_interval_leaves_out_zero(middle, reach):
    words = verdict("P@1", Difference(middle, middle - reach, middle + reach, 0.5, 0.5))
    assert ("no clear change" in words) == (middle - reach <= 0 <= middle + reach)


class Tags(HTMLParser):
    """Collects what a browser would see."""

    def __init__(self):
        super().__init__()
        self.tags = set()
        self.attributes = set()
        self.words = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.words.append(data)


def test_names_and_texts_in_the_page_are_words_and_never_markup():
    names = [*HOSTILE, "seven", "eight", "nine"]
    rankings, truth, seen = case(7, texts=60, names=names)
    truth = Dataset([f"{name} text" for name in HOSTILE * 10], truth.relevant, truth.labels)
    found = compared({"<b>old</b>": rankings["old"], '"><img src=x>': rankings["new"]}, truth, seen)
    page = html_report(found, METRICS, 20)
    seen_tags = Tags()
    seen_tags.feed(page)
    assert not seen_tags.tags & {"script", "img", "iframe", "link", "object"}
    assert not seen_tags.attributes & {"onload", "onclick", "src", "href"}
    words = " ".join(seen_tags.words)
    assert "<script>alert(1)</script>" in words
    assert '"><img src=x>' in words
    assert "\0" not in page
    assert "\u202e" not in page


def test_a_page_without_examples_has_no_empty_sections():
    found = compared(*case(8))
    assert "<h3>Texts</h3>" in html_report(found, METRICS, 1)
    assert "<h3>Texts</h3>" not in html_report(found, METRICS, 0)


def test_the_page_asks_the_network_for_nothing():
    page = html_report(compared(*case(8)), METRICS)
    assert "://" not in page
    assert "default-src 'none'" in page
    assert page.count("<svg") == page.count("</svg>") >= 4
    assert "nan" not in page.lower().replace("finance", "")


def test_plain_values_say_the_same():
    found = compared(*case(9))
    plain = found.to_dict(2)
    assert plain["models"] == ["old", "new"]
    versus = plain["versus"]["new"]
    assert sum(versus["first_label_right"].values()) == plain["texts"] == 40
    assert versus["metrics"]["P@1"]["estimate"] == pytest.approx(
        plain["metrics"]["new"]["P@1"] - plain["metrics"]["old"]["P@1"]
    )
    assert len(versus["texts_won"]) <= 2
    for label in versus["labels_gained"]:
        assert label["gained"] > label["lost"]
