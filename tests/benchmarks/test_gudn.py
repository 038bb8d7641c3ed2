"""Benchmarks of gudn: claims, curves from a log, tables, the plot; labels that are hidden."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import gudn_tables, plots
from benchmarks.kit import with_texts
from benchmarks.quality import _cells, gudn, new_labels
from benchmarks.speed import gudn as speed
from tests.benchmarks.test_tables import claim, record

from xmtc.data.planted import planted


def row(system, points=50.0, data="eurlex4k-proxy", **figures):
    curve = [{"epoch": 0.5, "loss": 2.0}, {"epoch": 1.0, "loss": 0.5}]
    return {
        "data": data,
        "system": system,
        "seeds": 2,
        "epochs": 3,
        "train_seconds": 600.0,
        "longest_seconds": 660.0,
        "step_ms": 9.0,
        "feature_curve": curve,
        **{f"P@{k}": points for k in (1, 3, 5)},
        **{f"spread P@{k}": 0.25 for k in (1, 3, 5)},
        **figures,
    }


ROWS = [row(gudn.ENCODER), row(gudn.FEATURE, 51.0), row(gudn.BOTH, 50.5), row(gudn.ONE_HOT, 51.5)]


def test_guides_are_held_against_the_encoder_and_label_texts_against_one_hot():
    claims = gudn.check(ROWS)
    assert claim(claims, "both guides above").figure == pytest.approx(0.5)
    assert not claim(claims, "one-hot").holds
    assert claim(claims, "minutes").figure == pytest.approx(11 / 20)


def test_the_table_says_how_far_each_is_from_the_encoder_alone():
    text = gudn_tables.guides([record(*ROWS)], "loss.svg")
    assert "+1.00/+1.00/+1.00" in text
    assert "0.25/0.25/0.25" in text
    assert "](loss.svg)" in text
    assert "](loss.svg)" not in gudn_tables.guides([record(ROWS[0])], "loss.svg")


def test_without_records_there_is_a_sentence():
    for text in (gudn_tables.guides([], ""), gudn_tables.unseen([]), gudn_tables.costs([])):
        assert "Not measured yet" in text


def test_the_curve_of_the_feature_loss_is_drawn(tmp_path):
    cells = gudn_tables.curves_of([record(*ROWS)])
    assert [cell[0]["system"] for cell in cells] == [gudn.FEATURE, gudn.ONE_HOT]
    plots.draw_feature_loss(cells, tmp_path / "loss.svg")
    assert plots.is_fresh(tmp_path / "loss.svg", record(*ROWS))


def test_a_log_gives_points_within_epochs():
    steps = [
        {"epoch": epoch, "feature_loss": float(8 * epoch + step)}
        for epoch in (0, 1)
        for step in range(8)
    ]
    curve = gudn.feature_curve(steps, points=4)
    assert [point["epoch"] for point in curve] == [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0]
    assert [point["loss"] for point in curve][:2] == [0.5, 2.5]
    assert gudn.feature_curve([{"epoch": 0, "loss": 1.0}], points=4) == []


def test_every_run_has_the_guides_of_its_name_and_the_epochs_of_its_data():
    job = gudn.job_of("wordnet-isa", "encoder", 1)
    assert job.settings["guides"] == {"say": "both", "feature_weight": 0.0, "link_weight": 0.0}
    assert job.settings["training"]["epochs"] == gudn.SETTINGS["data"]["wordnet-isa"]["epochs"]
    assert job.settings["training"]["seed"] == 1
    assert job.settings["plain_up_to"] == 0


def test_hidden_labels_are_taken_away_and_their_texts_stay():
    train = planted()
    gone = _cells.hidden_labels(train, 3)
    rest = _cells.without_labels(train, gone)
    assert gone.sum() == 3
    assert (train.trained_on().label_counts[gone] >= 5).all()
    assert len(rest) == len(train)
    assert len(rest.labels) == 9
    kept = [text for text, lost in zip(train.labels.texts, gone, strict=True) if not lost]
    assert rest.labels.texts == tuple(kept)


def test_a_subset_keeps_what_its_labels_say():
    few = with_texts(planted().take(range(2)))
    assert len(few.labels) < 12
    assert all(few.labels.texts)


def test_new_labels_are_judged_alone_among_all_and_by_what_they_do_to_others():
    from xmtc.core.ranking import Ranking

    class Model:
        def __init__(self, labels, answer):
            self.labels = labels
            self.answer = answer

        def rank(self, texts, k, allowed=None):
            order = [label for label in self.answer if allowed is None or allowed[label]][:k]
            labels = np.full((len(texts), k), -1, np.int32)
            labels[:, : len(order)] = order
            return Ranking(labels, np.where(labels < 0, -np.inf, 0.5).astype(np.float32))

    data = planted(texts=30)
    known = data.labels.only(np.arange(12) < 10)
    before = Model(known, range(10))
    after = Model(data.labels, [0, 1, 2, 3, 4, 11, 10, 5])
    found = new_labels.figures(before, after, data)
    carry = data.relevant[:, 10:].toarray()
    some = carry.sum(1) > 0
    assert found["test_texts"] == some.sum()
    assert found["new R@5"] == pytest.approx(100)
    assert found["new P@1"] == pytest.approx(100 * carry[some, 1].mean())
    assert found["among_all R@5"] == 0
    assert found["elsewhere P@1"] == found["elsewhere after P@1"]


def test_ranking_and_parameters_must_be_equal_and_steps_may_cost_more():
    rows = [
        {"system": system, "step_ms": 10.0, "rank_ms": 5.0, "parameters": 7}
        for system in gudn.SYSTEMS.values()
    ]
    rows[3] |= {"step_ms": 15.0, "parameters": 8, "rank_ms": 6.0}
    claims = speed.check(rows)
    assert claim(claims, f"{gudn.BOTH}: a step").figure == pytest.approx(1.5)
    assert not claim(claims, f"{gudn.BOTH}: as many").holds
    assert not claim(claims, f"{gudn.BOTH}: ranking").holds
    assert claim(claims, f"{gudn.LINK}: ranking").holds
    told = record(*rows, claims=[c._asdict() for c in claims])
    assert "1.50 holds" in gudn_tables.costs([told])


def test_the_table_of_new_labels_shows_both_sides():
    figures = {
        "added": 100,
        "test_texts": 80,
        "new P@1": 30.0,
        "new R@5": 50.0,
        "by_chance": 5.0,
        "among_all R@5": 9.0,
    }
    figures |= {
        f"{when} P@{k}": 60.0 for when in ("elsewhere", "elsewhere after") for k in (1, 3, 5)
    }
    ours = {"data": "eurlex-ci", "system": new_labels.GUIDED, **figures}
    rows = [ours, {**ours, "system": new_labels.UNGUIDED, "new R@5": 45.0}]
    assert claim(new_labels.check(rows), "encoder only").figure == pytest.approx(5)
    assert claim(new_labels.check(rows), "times chance").figure == pytest.approx(10)
    assert "30.0, 50.0" in gudn_tables.unseen([record(*rows)])
