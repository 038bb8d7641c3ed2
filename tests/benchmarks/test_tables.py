"""Tables from records: the newest fitting figures, what became of failures, claims with figures."""

from __future__ import annotations

import json
import math

import pytest
from benchmarks import plots, tables
from benchmarks.kit import Claim
from benchmarks.quality._tree_claims import RAW, check
from benchmarks.record import records
from hypothesis import given
from hypothesis import strategies as st

MACHINE = {"cores": 2, "cpu": "Abacus", "ram_gb": 8}


def row(system="xmtc", data="debian-deps", trees=1, **figures):
    return {
        "data": data,
        "system": system,
        "trees": trees,
        "version": "it 1.2",
        "fit_seconds": 10.0,
        "fit_cpu_seconds": 20.0,
        "rank_seconds": 1.0,
        "single_p50_ms": 0.5,
        "single_p99_ms": 0.9,
        "model_mb": 12.0,
        "peak_mb": 300.0,
        "nDCG@5": 40.0,
        **{f"{name}@{k}": 50.0 for name in ("P", "PSP") for k in (1, 3, 5)},
        **figures,
    }


def record(*rows, **changes):
    return {
        "measurements": list(rows),
        "machine": MACHINE,
        "command": "python run.py",
        "seed": 0,
        "commit": "0123456789ab",
        "date": "2026-01-02T03:04:05+00:00",
        "dirty": False,
        "options": {"subset": None},
        "claims": [],
        **changes,
    }


def test_the_newest_record_of_a_cell_is_shown():
    old = record(row(fit_seconds=77.7), row("napkinXC PLT", fit_seconds=55.5), commit="old" * 4)
    text = tables.peers([record(row(fit_seconds=33.3)), old])
    assert "33.3" in text
    assert "55.5" in text
    assert "77.7" not in text
    assert "commit 012345678," in text
    assert "commit oldoldold," in text


def test_records_of_subsets_and_of_changed_code_are_not_shown(tmp_path):
    lines = [record(row()), record(row(), dirty=True), record(row(), options={"subset": 500})]
    (tmp_path / "quality_x.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert records("quality_x", tmp_path) == lines[:1]
    assert records("quality_y", tmp_path) == []


def test_what_was_not_measured_is_not_invented():
    assert "Not measured yet" in tables.peers([])
    assert "Three trees" not in tables.peers([record(row())])
    assert (
        "omikuji" not in tables.peers([record(row(), row("PECOS XR-Linear"))]).split("aim for")[0]
    )


def test_a_system_that_failed_says_how():
    failed = {
        "data": "debian-deps",
        "system": "scikit-learn one-vs-rest",
        "trees": 0,
        "failed": "> 10 min",
    }
    text = tables.peers([record(row(), row("PECOS XR-Linear"), failed)])
    assert "| scikit-learn one-vs-rest | > 10 min |" in text


def claim(claims, words):
    [found] = [claim for claim in claims if words in claim.sentence]
    return found


def test_claims_are_about_the_best_peer_in_each():
    peers = [
        row("PECOS XR-Linear", fit_seconds=30.0, model_mb=12.0, **{"P@5": 49.9}),
        row("omikuji Parabel", fit_seconds=60.0, peak_mb=100.0, model_mb=99.0, **{"P@5": 50.3}),
    ]
    claims = check([row(fit_seconds=12.0), *peers])
    assert claim(claims, "half").holds
    assert claim(claims, "half").figure == pytest.approx(0.4)
    assert not claim(claims, "P@5 at most").holds
    assert claim(claims, "P@1 at most").holds
    assert claim(claims, "memory").figure == pytest.approx(3.0)
    assert claim(claims, "smallest peer at any").figure == pytest.approx(1.0)
    assert claim(claims, "equal or better P@5").figure == pytest.approx(12 / 99)


def test_half_of_the_time_counts_only_at_equal_accuracy():
    fastest = row("PECOS XR-Linear", fit_seconds=100.0, **{"P@5": 50.1})
    assert not claim(check([row(), fastest]), "half").holds


def test_systems_that_failed_or_were_not_run_are_left_out_of_claims():
    failed = {"data": "debian-deps", "system": "omikuji Bonsai", "trees": 1, "failed": "> 1 min"}
    assert check([row(), failed]) == []
    assert check([row("PECOS XR-Linear"), failed]) == []


def test_three_trees_are_compared_on_the_average_over_sets():
    sets = ("debian-deps", "eurlex57k")
    ours = [row(data=name, trees=3, **{"P@1": 50.0}) for name in sets]
    better = [
        row("PECOS XR-Linear", name, 3, **{"P@1": points})
        for name, points in zip(sets, (51.0, 48.0), strict=True)
    ]
    found = claim(check([*ours, *better]), "P@1 of three trees")
    assert found.holds
    assert found.figure == pytest.approx(0.5)


def test_raw_text_has_a_limit_in_milliseconds():
    raw = {"data": "eurlex57k", "system": RAW, "trees": 1, "single_p50_ms": 1.2}
    assert not claim(check([raw]), "raw text").holds


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.booleans()),
        unique_by=lambda item: item[:2],
        min_size=1,
    )
)
def test_the_table_of_claims_says_of_each_whether_it_holds(items):
    text = tables.claims_table([Claim(f"{s}: {aim}", holds, 1.5) for s, aim, holds in items])
    assert text.count("1.50 holds") == sum(holds for *_, holds in items)
    assert text.count("1.50 **fails**") == sum(not holds for *_, holds in items)
    assert len({line.count("|") for line in text.splitlines()}) == 1


@given(st.floats(1e-3, 1e7))
def test_short_numbers_keep_their_value(value):
    assert math.isclose(float(tables.short(value).replace(",", "")), value, rel_tol=0.006)


def growth_record(**changes):
    rows = [
        {
            "texts": n,
            "labels": n,
            "nonzeros": 20 * n,
            "fit_seconds": n / 99,
            "rank_ms": 0.1,
            "fit_cpu_seconds": n / 50,
            "peak_mb": n / 7,
        }
        for n in (1000, 4000)
    ]
    return record(*rows, **changes)


def test_a_plot_is_the_same_for_the_same_record_and_stale_for_another(tmp_path):
    for name in ("a.svg", "b.svg"):
        plots.draw_growth(growth_record(), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert plots.is_fresh(tmp_path / "a.svg", growth_record())
    assert not plots.is_fresh(tmp_path / "a.svg", growth_record(commit="fedcba987654"))
    assert not plots.is_fresh(tmp_path / "c.svg", growth_record())
    assert "4,000" in tables.growth([growth_record()], "a.svg")
