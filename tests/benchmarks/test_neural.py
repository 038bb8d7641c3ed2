"""Benchmarks of neural models: time that is planned and counted, claims, tables, plots."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import pytest
from benchmarks import neural_tables, plots
from benchmarks.kit import Options
from benchmarks.memory import lightxml_rust
from benchmarks.quality import _cells, auto, lightxml, negatives, xr_transformer
from benchmarks.speed import neural_training
from tests.benchmarks.test_tables import claim, record

import xmtc

CURVE = [{"minute": m, "step": 9, **{f"P@{k}": m + k for k in (1, 3, 5)}} for m in (1.0, 2.0)]


def row(system, data="eurlex4k-proxy", **figures):
    return {
        "data": data,
        "system": system,
        "train_seconds": 600.0,
        "texts_per_second": 80.0,
        "single_p50_ms": 12.0,
        "single_p99_ms": 20.0,
        "model_mb": 90.0,
        "peak_mb": 900.0,
        "epochs": 3,
        "nDCG@5": 60.0,
        **{f"{name}@{k}": 50.0 for name in ("P", "PSP") for k in (1, 3, 5)},
        **figures,
    }


def test_claims_are_about_the_average_and_the_better_of_the_peers():
    rows = [
        row(lightxml.AVERAGE, **{"P@5": 60.0}),
        row(lightxml.TREE, **{"P@5": 59.1}),
        row(lightxml.PEER, **{"P@5": 58.0}),
        row(lightxml.PEER_PUBLISHED, **{"P@5": 60.5}),
        row(lightxml.NEURAL),
        row(lightxml.INT8, **{"P@1": 49.8}),
    ]
    claims = lightxml.check(rows)
    assert claim(claims, "XR-Transformer").figure == pytest.approx(-0.5)
    assert not claim(claims, "XR-Transformer").holds
    assert claim(claims, "above linear_tree").figure == pytest.approx(0.9)
    assert not claim(claims, "above linear_tree").holds
    assert claim(claims, "int8").holds
    assert claim(claims, "minutes").figure == pytest.approx(10)


def test_what_failed_or_was_not_run_is_claimed_nothing_of():
    failed = {"data": "debian-deps", "system": lightxml.PEER, "failed": "> 1 min"}
    assert lightxml.check([row(lightxml.AVERAGE, "debian-deps"), failed]) == []
    assert negatives.check([]) == []


def test_a_training_that_goes_on_counts_what_was_done_and_not_the_break(tmp_path):
    run = tmp_path / "run"
    begun = tmp_path / "begun.json"
    (run / "level0").mkdir(parents=True)
    assert _cells._begun(tmp_path, run) == 0
    assert not run.exists()  # nobody knows how long it took
    (run / "level0" / "checkpoints").mkdir(parents=True)
    for path in (run, run / "level0"):
        os.utime(path, (1000, 1000))
    os.utime(run / "level0" / "checkpoints", (1060, 1060))
    begun.write_text('{"before": 5.0, "at": 1000.0}')
    assert _cells._begun(tmp_path, run) == 65
    assert json.loads(begun.read_text())["before"] == 65


def test_the_log_gives_a_curve_by_minute():
    lines = [{"step": 1, "loss": 1.0, "time": 100.0}, {"step": 2, "P@1": 5.123, "time": 160.0}]
    assert _cells._curve(lines, 90.0) == [{"minute": 1.5, "step": 2, "P@1": 5.12}]
    assert _cells._curve([], 1.0) == []


def test_validations_are_spread_over_the_epochs():
    settings = {"training": {"validations": 6, "metric": "P@5"}, "dropout": 0.1}
    planned = _cells.in_epochs(settings, epochs=3, texts=3200)
    assert planned == {
        "training": {"metric": "P@5", "epochs": 3, "patience": 3, "validate_every": 50},
        "dropout": 0.1,
    }


def test_the_trial_before_a_training_teaches_all_labels(monkeypatch):
    texts = [f"word{text} word{text % 50}" for text in range(_cells.PROBE + 100)]
    part = xmtc.Dataset.of(texts, [[f"label {text}"] for text in range(len(texts))])
    taught = []

    def learn(kind, dataset, settings):
        taught.append((len(dataset), len(dataset.labels)))
        return SimpleNamespace(rank=lambda texts, k: None)

    monkeypatch.setattr(xmtc, "train", learn)
    _cells._pace(_cells.Job("a", "lightxml", "a", {"training": {"validations": 6}}), part)
    assert taught == [(many, len(texts)) for many in (8, 8, _cells.PROBE, _cells.PROBE, 8)]


def test_a_model_is_trained_once_and_again_when_more_is_asked(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(
        _cells,
        "alone",
        lambda work, job, *_, **__: made.append(job) or {"trained_commit": "abc", "peak_mb": 1.0},
    )
    job = lightxml.tree_job("debian-deps")
    options = Options(work=tmp_path)
    first = _cells.trained(job, options)
    assert _cells.trained(job, options) == first
    assert len(made) == 1
    _cells.trained(job, Options(work=tmp_path, seed=1))
    assert len(made) == 2


@pytest.mark.parametrize("dirty", [True, False])
def test_a_model_of_no_commit_is_trained_again_once_there_is_one(dirty, tmp_path, monkeypatch):
    monkeypatch.setattr(_cells, "source", lambda: {"dirty": dirty, "commit": "abc"})
    figures = {"trained_commit": "abc", "trained_dirty": True, "peak_mb": 1.0}
    made = [
        _cells.kept(tmp_path / "a", {"asked": 1}, lambda n=n: {**figures, "n": n}) for n in range(2)
    ]
    assert made[1]["n"] == (0 if dirty else 1)


def test_tables_show_the_newest_cells_of_clean_code():
    old = record(row(lightxml.NEURAL, **{"P@1": 11.1}), row(lightxml.TREE, **{"P@1": 48.0}))
    dirty = record(row(lightxml.NEURAL, trained_dirty=True, **{"P@1": 99.9}))
    new = record(row(lightxml.NEURAL, curve=CURVE, **{"P@1": 52.3}), commit="f" * 12)
    text = neural_tables.beside_peers([dirty, new, old], "curves.svg")
    assert "52.3/50.0/50.0" in text
    assert "99.9" not in text
    assert "11.1" not in text
    assert "P@1/3/5 +4.3/+0.0/+0.0" in text
    assert "](curves.svg)" in text
    assert "](curves.svg)" not in neural_tables.beside_peers([old], "curves.svg")


def test_without_records_there_is_a_sentence():
    none = [
        neural_tables.training_speed([]),
        neural_tables.many_labels([]),
        neural_tables.beside_peers([], ""),
        neural_tables.static_beside_dynamic([], ""),
    ]
    assert all("Not measured yet" in text for text in none)


def test_dynamic_is_compared_with_the_better_static():
    few = {"train_texts": 10, "labels": 5, "seeds": 2, "longest_seconds": 60.0}
    rows = [
        row(system, **few, **{"P@1": points})
        for system, points in zip(negatives.VARIANTS.values(), (50.0, 49.0, 50.6), strict=True)
    ]
    found, _ = negatives.check(rows)
    assert not found.holds
    assert found.figure == pytest.approx(-0.2)
    assert "static (BS)" in neural_tables.static_beside_dynamic([record(*rows)], "bars.svg")


def test_speed_is_claimed_with_reading_for_the_default_and_without_for_all_layers():
    rows = [
        row(neural_training.ALL, texts_per_second=20.0),
        row(neural_training.DEFAULT, texts_per_second=60.0, with_reading=28.0),
        row(neural_training.TRAINER, texts_per_second=20.0),
    ]
    claims = neural_training.check(rows)
    assert claim(claims, "default").figure == pytest.approx(1.4)
    assert not claim(claims, "default").holds
    assert claim(claims, "all layers").holds
    said = record(*rows, claims=[found._asdict() for found in claims])
    assert "| 60 | 28 |" in neural_tables.training_speed([said])


def test_many_labels_have_limits():
    config = {"encoder": {"max_tokens": 32, "trainable_layers": 1}, "training": {"epochs": 1}}
    rows = [
        {
            "what": "training",
            "peak_mb": 8100.0,
            "train_texts": 9,
            "labels": 7,
            "train_seconds": 60.0,
            "model_mb": 3.0,
            "config": config,
        }
    ]
    rows += [
        {"what": what, "single_p50_ms": 6.0, "single_p99_ms": 9.0}
        for what in ("long texts", "label side")
    ]
    claims = lightxml_rust.check(rows)
    assert [found.holds for found in claims] == [False, True, False]
    said = record(*rows, claims=[found._asdict() for found in claims])
    assert "| label side | 6 | 9 |" in neural_tables.many_labels([said])


def test_plots_are_the_same_for_the_same_records(tmp_path):
    made = record(row(lightxml.NEURAL, curve=CURVE, tree_on_validation=CURVE[0]))
    cells = neural_tables.curves_of([made])
    bars = [(row(system), made) for system in negatives.VARIANTS.values()]
    for name in ("a", "b"):
        plots.draw_curves(cells, tmp_path / f"{name}.svg")
        plots.draw_negatives(bars, tmp_path / f"{name}2.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a2.svg").read_bytes() == (tmp_path / "b2.svg").read_bytes()
    assert plots.is_fresh(tmp_path / "a2.svg", *neural_tables.records_of(bars))
    assert not plots.is_fresh(tmp_path / "a.svg", record(commit="e" * 12))


def test_xr_transformer_is_held_against_the_better_peer_in_points_and_minutes():
    rows = [
        row(xr_transformer.READ, train_seconds=300.0, **{"P@5": 51.0}),
        row(lightxml.TREE),
        row(lightxml.PEER),
        row(lightxml.PEER_PUBLISHED, train_seconds=240.0, **{"P@5": 50.5}),
    ]
    claims = xr_transformer.check(rows)
    assert claim(claims, "above PECOS").figure == pytest.approx(0.5)
    assert claim(claims, "above linear_tree").holds
    assert not claim(claims, "less time").holds
    assert claim(claims, "less time").figure == pytest.approx(-1)
    assert "51.0" in neural_tables.xr_beside_peers([record(*rows)])
    assert "Not measured" in neural_tables.xr_beside_peers([])


TRIED = [
    {
        "name": "linear_tree",
        "minutes": 0.1,
        "figures": {"P@1": 1.0, "P@3": 2.0, "P@5": 50.0},
        "note": "",
    },
    {
        "name": "xr_transformer",
        "minutes": 3.0,
        "figures": {"P@1": 1.0, "P@3": 2.0, "P@5": 51.5},
        "note": "",
    },
    {"name": "lightxml", "minutes": 0.0, "figures": {}, "note": "not tried: needs about 9.0 min"},
]


def test_auto_is_claimed_to_be_a_point_ahead_on_two_sets_and_never_below_on_validation():
    given = {"tried": TRIED, "kept": "xr_transformer", "minutes": 30.0}
    rows = [
        row(auto.AUTO, **given, **{"P@5": 51.0}),
        row(auto.TREE),
        row(auto.AUTO, "wordnet-isa", **given, train_seconds=2400.0),
        row(auto.TREE, "wordnet-isa"),
    ]
    claims = auto.check(rows)
    assert claim(claims, "eurlex4k-proxy: auto is not below").figure == pytest.approx(1.5)
    assert not claim(claims, "of 2 sets").holds
    assert claim(claims, "of 2 sets").figure == 1
    assert claim(claims, "eurlex4k-proxy: auto takes").holds
    assert not claim(claims, "wordnet-isa: auto takes").holds
    cells = {(each["data"], each["system"]): (each, record(each)) for each in rows}
    cells["yso", "linear_tree"] = (row(auto.TREE, "yso"), record())
    text = neural_tables.auto_beside_linear_tree(cells)
    assert "yso" not in text
    assert "| kept |" in text
    assert "not tried: needs about 9.0 min" in text
