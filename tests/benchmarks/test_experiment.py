"""Claims about rows: which figure decides, which rows count, when they hold."""

from __future__ import annotations

import pytest
from benchmarks.catalog import EXPERIMENTS, SYSTEMS
from benchmarks.data import chosen
from benchmarks.experiment import BenchmarkError, Claim, select
from hypothesis import given
from hypothesis import strategies as st

figures = st.floats(0.1, 100)


def row(key="ours", data="laws", **values):
    return {"data": data, "key": key, "P@5": 50.0, "seconds": 10.0, **values}


def claim(how, **changes):
    return Claim(
        **{"sentence": "it is so", "how": how, "figure": "seconds", "of": ("ours",), **changes}
    )


PEERS = [row("slow", seconds=40.0), row("quick", seconds=20.0, **{"P@5": 40.0})]


@pytest.mark.parametrize(
    ("made", "figure"),
    [
        (claim("value"), 10.0),
        (claim("value", scale=60), 10 / 60),
        (claim("ratio", to=("slow", "quick")), 0.5),
        (claim("times", to=("slow", "quick")), 2.0),
        (claim("ratio", to=("slow", "quick"), equal="P@5"), 0.25),
        (claim("ahead", to=("slow", "quick")), -30.0),
        (claim("share", to_figure="P@5"), 0.2),
        (claim("sum", of=("ours", "slow")), 50.0),
        (claim("ratio", to=("quick",), to_figure="P@5"), 0.25),
    ],
)
def test_a_claim_is_decided_by_its_figure(made, figure):
    assert made.decide([row(), *PEERS]) == pytest.approx(figure)


@given(figures, figures)
def test_a_claim_holds_between_its_limits(value, limit):
    rows = [row(seconds=value)]
    (most,) = claim("value", at_most=limit).results(rows)
    (least,) = claim("value", at_least=limit).results(rows)
    assert most.holds == (value <= limit)
    assert least.holds == (value >= limit)


def test_a_claim_is_decided_on_each_data_set():
    rows = [row(), row(data="books", seconds=99.0)]
    first, second = claim("value", at_most=50).results(rows)
    assert first == ("laws: it is so", True, 10.0)
    assert second == ("books: it is so", False, 99.0)


@pytest.mark.parametrize("rows", [[], [row("slow")], [row(failed="OOM")]])
def test_systems_that_failed_or_were_not_run_decide_nothing(rows):
    assert list(claim("ratio", to=("slow",)).results(rows)) == []


def test_of_several_systems_the_one_with_the_best_quality_counts():
    made = claim("ahead", of=("ours", "slow"), to=("quick",), figure="P@5")
    assert made.decide([row(), row("slow", **{"P@5": 60.0}), PEERS[1]]) == pytest.approx(20.0)


def test_a_system_may_have_parts():
    rows = [row(what="training"), row(what="label side", seconds=1.0), row("slow", what="training")]
    assert select(rows, ["ours:label side"]) == [rows[1]]
    assert select(rows, ["ours"]) == rows[:2]
    assert claim("value", of=("ours:label side",)).decide(rows) == 1.0


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda each: each.name)
def test_claims_are_about_systems_of_the_experiment(experiment):
    assert experiment.claims
    assert experiment.data
    for made in experiment.claims:
        names = {name.partition(":")[0] for name in (*made.of, *made.to)}
        assert names <= experiment.systems.keys()
        assert made.at_least is not None or made.at_most is not None
    assert set(experiment.systems_on) <= set(experiment.data)
    assert {key for keys in experiment.systems_on.values() for key in keys} <= {*experiment.systems}


def test_every_system_is_used():
    used = {key for experiment in EXPERIMENTS.values() for key in experiment.systems}
    assert used == set(SYSTEMS)


def test_names_that_are_not_available_are_one_sentence():
    assert chosen(["b", "a"], ["a", "b", "c"], "--data") == ["a", "b"]
    assert chosen([], ["a", "b"], "--data") == ["a", "b"]
    with pytest.raises(BenchmarkError, match="--data d: available: a, b"):
        chosen(["d"], ["a", "b"], "--data")
