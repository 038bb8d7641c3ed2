"""A plan says what training will take, and finds settings that fit; it changes nothing else."""

from __future__ import annotations

import pytest

import xmtc
from xmtc.core import config as settings
from xmtc.data.planted import planted
from xmtc.models import linear_tree
from xmtc.models.catalog import KINDS, module_of
from xmtc.planning import cost
from xmtc.planning import plan as planning

PLANNED = ["linear_tree", "one_vs_all", "ensemble", "most_frequent"]


@pytest.fixture(scope="module")
def data():
    return planted(texts=600, labels=300)


@pytest.fixture
def priced(monkeypatch):
    """An estimator whose figures are known: each setting has its price."""

    def costs(dataset):
        def estimate(config):
            seconds = 60.0 * config.trees * (3 if config.negatives == "both" else 1)
            growth = int(8e9 / config.text.min_df)
            return cost.Estimate(cost.Spent(seconds, 2 * seconds), growth, 10)

        return estimate

    monkeypatch.setattr(linear_tree, "costs", costs)
    monkeypatch.setattr(planning, "resident_bytes", lambda: int(1e9))


@pytest.mark.parametrize("kind", PLANNED)
def test_a_plan_without_limits_keeps_the_settings(kind, data):
    made = xmtc.plan(kind, data)
    assert made.settings == module_of(kind).Config()
    assert made.changes == ()
    assert made.seconds >= 0
    assert made.peak_bytes >= planning.resident_bytes() // 2
    assert made.model_bytes > 0


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(PLANNED)))
def test_what_cannot_be_estimated_is_an_error_that_names_what_can(kind, data):
    with pytest.raises(xmtc.ConfigError, match=rf"no estimate for {kind}\. .* train auto") as error:
        xmtc.plan(kind, data, minutes=5)
    assert all(planned in str(error.value) for planned in PLANNED)


def test_auto_plans_by_itself(data):
    with pytest.raises(xmtc.ConfigError, match="set minutes="):
        xmtc.plan("auto", data)


def test_more_trees_take_longer_and_more_room(data):
    one, four = (xmtc.plan("linear_tree", data, {"trees": trees}) for trees in (1, 4))
    assert four.model_bytes > 2 * one.model_bytes
    assert four.cpu_seconds > one.cpu_seconds


def test_an_ensemble_costs_what_its_members_cost(priced, data):
    made = xmtc.plan("ensemble", data, {"members": ["linear_tree", "linear_tree"]})
    assert made.seconds == 2 * xmtc.plan("linear_tree", data).seconds


@pytest.mark.parametrize("tree", [{}, {"max_leaf": 400}, {"method": "kmeans", "arity": 4}])
@pytest.mark.parametrize("negatives", ["tfn", "man", "both"])
def test_any_tree_can_be_planned(data, tree, negatives):
    made = xmtc.plan("linear_tree", data, {"tree": tree, "negatives": negatives})
    assert 0 < made.cpu_seconds < 60


def test_a_set_of_features_and_a_given_tree_can_be_planned(data, tmp_path):
    features = data.relevant * 0.5
    given = xmtc.Dataset((), data.relevant, data.labels, features)
    (tmp_path / "parents.tsv").write_text(
        "".join(f"{name}\tgroup {place % 7}\n" for place, name in enumerate(data.labels.names))
    )
    assert xmtc.plan("one_vs_all", given).cpu_seconds > 0
    assert xmtc.plan("linear_tree", given).cpu_seconds > 0
    parents = {"parents": str(tmp_path / "parents.tsv")}
    assert xmtc.plan("linear_tree", data, parents).cpu_seconds > 0


def test_the_size_of_the_model_is_estimated(data, tmp_path):
    for kind in ("linear_tree", "one_vs_all"):
        made = xmtc.plan(kind, data)
        xmtc.save(xmtc.train(kind, data), tmp_path / kind)
        size = sum(path.stat().st_size for path in (tmp_path / kind).glob("[al]*"))
        assert 0.5 < made.model_bytes / size < 2


def test_a_sample_of_much_text_gives_about_the_same(data, monkeypatch):
    whole = xmtc.plan("linear_tree", data)
    monkeypatch.setattr(cost, "CHARACTERS", sum(map(len, data.texts)) // 2)
    half = xmtc.plan("linear_tree", data)
    assert 0.3 < half.model_bytes / whole.model_bytes < 3


@pytest.mark.parametrize(
    ("limits", "changes"),
    [
        ({}, ()),
        ({"minutes": 10}, ()),
        ({"minutes": 3.5}, ("negatives=tfn for minutes",)),
        ({"minutes": 1}, ("negatives=tfn for minutes", "trees=1 for minutes")),
        ({"memory": 5e9}, ("text.min_df=2 for memory",)),
        ({"memory": 5e9, "minutes": 3}, ("negatives=tfn for minutes", "text.min_df=2 for memory")),
    ],
)
def test_only_what_helps_is_given_up_and_only_as_far_as_needed(data, priced, limits, changes):
    made = xmtc.plan("linear_tree", data, linear_tree.Config(trees=3), **limits)
    assert made.changes == changes
    assert made.seconds <= 60 * limits.get("minutes", 1e9)
    assert made.peak_bytes <= limits.get("memory", 1e12)


def test_settings_that_are_cheap_already_stay(data, priced):
    given = {"trees": 1, "negatives": "tfn", "text": {"min_df": 3}, "svm": {"prune": 0.5}}
    made = xmtc.plan("linear_tree", data, given, memory=3e9)
    assert made.changes == ("text.min_df=5 for memory",)
    assert settings.to_dict(made.settings)["svm"]["prune"] == 0.5


def test_limits_that_nothing_fits_are_refused_with_the_least(data, priced):
    with pytest.raises(xmtc.ConfigError, match=r"2\.60 GB and 3 minutes, with text\.min_df=5"):
        xmtc.plan("linear_tree", data, memory=1.5e9)
    with pytest.raises(xmtc.ConfigError, match="above 0"):
        xmtc.plan("linear_tree", data, minutes=0)
    with pytest.raises(xmtc.ConfigError, match="no kind of model"):
        xmtc.plan("linear_treee", data)
    with pytest.raises(xmtc.DataError, match="expected a Dataset"):
        xmtc.plan("linear_tree", ["text"])
