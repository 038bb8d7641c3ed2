"""The benchmark of xbert: claims, tables and bars from rows; what is shared between its jobs."""

from __future__ import annotations

import pytest
from benchmarks import plots, xbert_tables
from benchmarks.kit import Options
from benchmarks.quality import _cells, xbert
from benchmarks.quality.xbert import XR
from tests.benchmarks.test_tables import claim, record


def row(system, points=50.0, data="eurlex4k-proxy", **figures):
    return {
        "data": data,
        "system": system,
        "train_seconds": 600.0,
        "texts_per_second": 80.0,
        "model_mb": 90.0,
        "epochs": 3,
        "clusters": 64,
        "nDCG@5": 60.0,
        **{f"{name}@{k}": points for name in ("P", "R", "match_P") for k in (1, 3, 5)},
        **figures,
    }


def rows_of(**points):
    return [row(xbert.SYSTEMS[key.replace("_", "-")], value) for key, value in points.items()]


def test_gains_are_those_of_the_papers_table():  # spec 7.1, Wiki-500K
    figures = [(60.91, 41.33, 31.67), (67.80, 46.52, 35.73), (32.58, 23.00, 18.60)]
    parabel, six, fast_text = (
        dict(zip(("P@1", "P@3", "P@5"), each, strict=True)) for each in figures
    )
    assert xbert_tables.gains(six, parabel) == "+11.31/+12.56/+12.82"
    assert xbert_tables.gains(fast_text, parabel) == "-46.51/-44.35/-41.27"
    assert xbert_tables.gains(parabel, parabel) == ""


def test_six_are_claimed_beside_parabel_and_beside_three():
    rows = rows_of(parabel_3=50.0, xbert_6=52.5, xbert_3_text=51.0, xbert_3_pifa=52.7)
    claims = xbert.check(rows)
    assert claim(claims, "P@1 4 %").figure == pytest.approx(5.0)
    assert claim(claims, "P@1 4 %").holds
    assert not claim(claims, "P@5 6 %").holds
    assert claim(claims, "three seeds").figure == pytest.approx(-0.2)
    assert xbert.check(rows[:1]) == []


def test_tables_and_bars_are_made_of_what_was_run():
    points = {
        "xbert_1": 50.0,
        "xbert_1_text": 51.0,
        "xbert_3_text": 51.5,
        "xbert_3_pifa": 50.5,
        "xbert_6": 53.0,
        "parabel_3": 50.0,
    }
    made = record(*rows_of(**points), row(xbert.SYSTEMS["pifa-linear"], 48.0))
    assert "| eurlex4k-proxy | PIFA, linear | 64 | 10.0 (3) | 48.0/48.0/48.0 | 48.0" in (
        xbert_tables.stages([made], "curves.svg")
    )
    assert "+6.00/+6.00/+6.00" in xbert_tables.beside_others([made])
    ((title, gains, _),) = xbert_tables.bars_of([made])
    assert title == "eurlex4k-proxy, X-BERT"
    assert list(gains.values()) == [[0.5] * 3, [-0.5] * 3, [2.0] * 3]
    assert "beats three seeds of one kind" in xbert_tables.ensembles([made], "bars.svg")
    assert xbert_tables.bars_of([record(*rows_of(xbert_1=50.0, xbert_6=52.0))]) == []


def test_without_records_there_is_a_sentence():
    none = [
        xbert_tables.stages([], ""),
        xbert_tables.beside_others([]),
        xbert_tables.ensembles([], ""),
    ]
    assert all("Not measured yet" in text for text in none)


def test_bars_are_the_same_for_the_same_records(tmp_path):
    made = record(
        *rows_of(
            xbert_1=50.0, xbert_1_text=51.0, xbert_3_text=51.5, xbert_3_pifa=50.5, xbert_6=53.0
        )
    )
    for name in ("a", "b"):
        plots.draw_gains(xbert_tables.bars_of([made]), tmp_path / f"{name}.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_another_ranker_goes_on_from_the_same_matcher(tmp_path, monkeypatch):
    jobs = []
    config = {"training": {"epochs": 7}, "index": {"vectors": "pifa"}, "features": "words"}
    cost = {"config": config, "train_seconds": 60.0, "train_cpu_seconds": 90.0}
    monkeypatch.setattr(xbert, "dataset", lambda *_: range(10_000))
    monkeypatch.setattr(xbert, "with_texts", lambda texts: texts)
    monkeypatch.setattr(
        _cells, "trained", lambda job, _: (jobs.append(job), (tmp_path / job.name, cost))[1]
    )
    options = Options(work=tmp_path, minutes=5)
    _, total = xbert._model("xt", "eurlex4k-proxy", options, "pifa", "transformer", 1)
    first, second = jobs
    assert first.settings["index"] == {"vectors": "pifa", "centres": "unit", "seed": 1}
    assert first.settings["training"]["epochs"] == xbert.SETTINGS["epochs"]["transformer"]
    assert second.goes_on_from == first.name
    assert second.settings == {**config, "features": "joined"}
    assert total["train_seconds"] == 120.0


def test_parabel_is_the_preset_with_as_many_trees_as_its_name_says():
    jobs = [xbert.other_job(key, "debian-deps", Options()) for key in xbert.OTHERS]
    assert [job.settings["trees"] for job in jobs[:2]] == [1, 3]
    assert jobs[1].settings["score"] == "path2"
    assert [job.kind for job in jobs] == ["linear_tree", "linear_tree", "one_vs_all", XR, XR]
    assert [job.settings["training"].get("epochs") for job in jobs[3:]] == [0, None]
    assert [job.minutes for job in jobs[3:]] == [0.0, Options().minutes]
