"""Benchmarks of aplc: same settings for both layers, claims, tables, plots."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks import aplc_tables, plots
from benchmarks.kit import Options
from benchmarks.memory import aplc_rust
from benchmarks.quality import aplc, aplc_ablation
from benchmarks.speed import adaptive
from tests.benchmarks.test_neural import row
from tests.benchmarks.test_tables import claim, record

from xmtc.core.config import from_dict
from xmtc.models import lightxml
from xmtc.models.aplc import Config


def test_the_plain_layer_is_taught_as_aplc_is():
    job = aplc._in_epochs(aplc.jobs("eurlex4k-proxy", Options())["plain"], 2)
    theirs = from_dict(lightxml.Config, job.settings)
    ours = Config()
    assert theirs.encoder == replace(ours.encoder, max_tokens=64)
    assert (theirs.dropout, theirs.standardise, theirs.loss) == (0.2, True, "sum")
    for what in ("encoder_rate", "head_rate", "head_epochs", "head_first_rate", "batch", "warmup"):
        assert getattr(theirs.training, what) == getattr(ours.training, what)
    assert theirs.training.epochs == 2
    assert theirs.plain_up_to > 1_000_000


def test_aplc_may_be_a_point_behind_and_take_half_an_hour():
    rows = [row(aplc.APLC, tails_skipped=0.25, **{"P@5": 48.9}), row(aplc.PLAIN)]
    claims = aplc.check(rows)
    assert claim(claims, "plain").figure == pytest.approx(-1.1)
    assert [found.holds for found in claims] == [False, True]
    text = aplc_tables.beside_others([record(*rows)])
    assert "50.0/50.0/48.9" in text
    assert "25% of all tails stay shut" in text
    assert aplc.check([row(aplc.TREE)]) == []


def ablation(**points):
    few = {"train_texts": 10, "labels": 5, "seeds": 2, "spread": 0.5, "tails_skipped": 0.1}
    return [
        row(
            name,
            "eurlex-ci",
            **few,
            longest_seconds=400.0,
            runs=[{"P@1": p}, {"P@1": p + 1}],
            **{"P@1": p},
        )
        for name, p in points.items()
    ]


def test_trends_are_those_of_the_paper_or_not():
    rows = ablation(**{"2": 70.0, "6": 69.0, "3": 69.5, "0.7 0.2 0.1": 69.4, "0.1 0.2 0.7": 68.0})
    claims = aplc_ablation.check(rows)
    assert [(found.holds, round(found.figure, 2)) for found in claims] == [
        (True, 1.0),
        (False, -0.1),
        (False, 6.67),
    ]
    assert "| 6, even | 69.0/50.0/50.0 |" in aplc_tables.partitions([record(*rows)], "p.svg")
    assert aplc_ablation.check([]) == []


def layers(seconds):
    both = ((adaptive.OURS, seconds, 90_300_000), (adaptive.LINEAR, 1.0, 192_000_000))
    return [
        {
            "labels": 500_000,
            "layer": name,
            "seconds": s,
            "cpu_seconds": s,
            "memory_mb": 9.0,
            "parameters": p,
        }
        for name, s, p in both
    ]


def test_the_layer_must_take_half_the_time_and_the_foretold_weights():
    claims = adaptive.check(layers(0.6))
    assert [found.holds for found in claims] == [False, False, True]
    assert all(found.holds for found in adaptive.check(layers(0.4)))
    assert adaptive.equation_9() == pytest.approx(2.1333, abs=1e-4)
    said = record(*layers(0.4), claims=[found._asdict() for found in claims])
    assert "| 500,000 | 0.4 / 1 |" in aplc_tables.layer([said], "l.svg")
    assert adaptive.check([]) == []


def test_both_layers_of_the_benchmark_learn_from_zipf_labels():
    rows = adaptive.batches(1000, seed=0)
    assert [part.shape for part in rows] == [(32, 1000)] * 3
    head = sum(float((part.indices < 250).mean()) for part in rows) / 3
    assert 0.7 < head < 0.95
    for name in (adaptive.OURS, adaptive.LINEAR):
        work, parameters = adaptive.passes(name, 100, seed=0)
        assert work().seconds > 0
        assert parameters > 100


def test_many_labels_have_limits():
    rows = [
        {
            "what": "training",
            "peak_mb": 8100.0,
            "train_texts": 9,
            "labels": 7,
            "train_seconds": 60.0,
            "model_mb": 3.0,
        },
        {"what": "all texts", "tails_skipped": 0.5},
        {"what": "label side", "single_p50_ms": 2.0},
        {"what": "all tails", "single_p50_ms": 4.0},
    ]
    claims = aplc_rust.check(rows)
    assert [found.holds for found in claims] == [False, True]
    said = record(*rows, claims=[found._asdict() for found in claims])
    assert "50% stay shut" in aplc_tables.many_labels([said])


def test_without_records_there_is_a_sentence():
    none = [
        aplc_tables.beside_others([]),
        aplc_tables.partitions([], ""),
        aplc_tables.layer([], ""),
        aplc_tables.many_labels([]),
    ]
    assert all("Not measured yet" in text for text in none)


def test_plots_are_the_same_for_the_same_records(tmp_path):
    rows = ablation(**dict.fromkeys(aplc_ablation.PARTITIONS, 60.0))
    made = record(*rows)
    cells = list(aplc_tables.ablation_cells([made]).values())
    for name in ("a", "b"):
        plots.draw_partitions(cells, tmp_path / f"{name}.svg")
        plots.draw_adaptive(record(*layers(0.4)), tmp_path / f"{name}2.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a2.svg").read_bytes() == (tmp_path / "b2.svg").read_bytes()
