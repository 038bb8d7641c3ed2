"""The demo, on a small data set and with a tiny encoder."""

from __future__ import annotations

import json

import pytest

import xmtc
from quick import quick_settings
from xmtc.cli import demo
from xmtc.cli.app import run
from xmtc.core.errors import MissingExtra
from xmtc.data.planted import planted


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(xmtc.datasets, "debian", lambda: (planted(), planted(texts=50, seed=1)))
    monkeypatch.setattr(demo, "EXAMPLES", ("sign3a sign3b",))
    monkeypatch.setattr(demo, "BLOCK", 20)
    monkeypatch.setattr("xmtc.neural.encoders.locate.find", lambda name: name)
    yield
    xmtc.show_progress(None)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(demo, "SETTINGS", {"lightxml": quick_settings("lightxml")})


def test_the_demo_shows_the_models_and_the_average_of_two_side_by_side(capfd, tiny):
    assert run(["demo", "--json"]) == 0
    rows = json.loads(capfd.readouterr().out)
    assert list(rows) == [*demo.KINDS, "linear_tree + lightxml"]
    assert set(rows["lightxml"]) == {*demo.SHOWN, "train s", "ms/text", "MB"}
    average = rows["linear_tree + lightxml"]
    members = [rows[kind] for kind in demo.AVERAGED]
    assert average["P@1"] > 95
    assert average["train s"] == pytest.approx(sum(row["train s"] for row in members), abs=0.11)
    assert average["ms/text"] >= sum(row["ms/text"] for row in members) - 0.01
    assert average["MB"] == pytest.approx(sum(row["MB"] for row in members), abs=0.2)


def test_the_average_is_what_the_ensemble_itself_would_rank(tiny):
    train, test = xmtc.datasets.debian()
    members = [demo._tried(kind, train, test) for kind in demo.AVERAGED]
    average = demo._average(members)
    expected = average.model.rank(test.texts, 5)
    assert (average.ranking.labels == expected.labels).all()
    assert average.ranking.scores == pytest.approx(expected.scores, abs=1e-5)


def test_without_the_neural_extra_the_demo_says_how_to_get_it(capfd, monkeypatch):
    def missing(what):
        raise MissingExtra(f"{what} needs PyTorch.")

    monkeypatch.setattr("xmtc.neural.extra.require_neural", missing)
    assert run(["demo"]) == 0
    output, errors = capfd.readouterr()
    assert "pip install 'xmtc[neural]'" in output
    assert "linear_tree + lightxml" not in output
    assert "one_vs_all" in output
    assert "label 0003" in output
    assert "Traceback" not in errors


def test_only_the_kinds_asked_for_are_shown(capfd):
    assert run(["demo", "--kind", "one_vs_all"]) == 0
    output, _ = capfd.readouterr()
    assert "one_vs_all suggests" in output
    assert "most_frequent" not in output
    assert "xmtc[neural]" not in output
