"""Systems of ours on planted data: what a cell holds, epochs that fit, trained models again."""

from __future__ import annotations

import gzip

import pytest
from benchmarks import data, training
from benchmarks.catalog import SYSTEMS
from benchmarks.experiment import Options
from benchmarks.systems import Ours

from xmtc.api import resolve
from xmtc.data.formats.jsonl import write_jsonl
from xmtc.data.planted import planted


@pytest.fixture
def options(tmp_path, monkeypatch):
    """A data set called `planted`, with training and test part."""
    monkeypatch.setenv("XMTC_DATA", str(tmp_path))
    (tmp_path / "planted").mkdir()
    for part in ("trn", "tst"):
        write_jsonl(planted(texts=120, labels=20), tmp_path / f"{part}.jsonl")
        text = (tmp_path / f"{part}.jsonl").read_bytes()
        (tmp_path / "planted" / f"{part}.jsonl.gz").write_bytes(gzip.compress(text))
    return Options(work=tmp_path / "work", minutes=0.001)


def test_a_cell_has_cost_quality_and_speed(options):
    system = Ours("one tree", "linear_tree", settings={"trees": 2})
    row = system.measure("planted", options)
    assert row["train_texts"] == 120
    assert row["config"] == {"trees": 2}
    assert row["P@1"] > 50
    assert len(row["intervals"]["P@5"]) == 2
    assert min(row[name] for name in ("train_seconds", "peak_mb", "model_mb", "epochs")) >= 0
    assert row["single_p50_ms"] > 0
    again = list(options.work.glob("planted-linear_tree-*"))
    system.measure("planted", options)
    assert list(options.work.glob("planted-linear_tree-*")) == again


def test_a_subset_is_the_first_texts_and_their_labels(options):
    few = data.training("planted", Options(subset=5))
    assert len(few) == 5
    assert few.trained_on().label_counts.min() > 0
    assert len(data.test("planted", Options(subset=5))) == 5
    assert not data.has_dev("planted")


@pytest.mark.parametrize(
    "system",
    [each for each in SYSTEMS.values() if isinstance(each, Ours)],
    ids=lambda each: each.title,
)
def test_the_settings_of_our_systems_are_settings_of_their_kind(system):
    resolve(system.kind, dict(system.settings), system.preset)


@pytest.mark.slow
def test_a_neural_system_trains_as_many_epochs_as_fit(options):
    encoder = {"type": "cnn", "embedding_dim": 16}
    how = {"neural": True, "in_minutes": True, "validation_texts": 20, "checkpoints": 2}
    system = Ours("small", "lightxml", settings={"encoder": encoder}, **how)
    settings = training.planned(system, data.training("planted", options), options)
    assert settings["training"]["epochs"] >= 1
    assert settings["training"]["patience"] == settings["training"]["epochs"]
    assert settings["training"]["validation"] == pytest.approx(20 / 120)
    assert settings["training"]["published"]["validate_every"] >= 1
