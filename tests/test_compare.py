"""compare: by name whatever their ids, and errors that say what to do."""

from __future__ import annotations

import numpy as np
import pytest

import xmtc
from xmtc.core.arrays import csr_of_rows
from xmtc.core.dataset import Dataset
from xmtc.core.errors import ConfigError, DataError
from xmtc.data.planted import planted

QUICK = {"resamples": 50}


@pytest.fixture(scope="module")
def models():
    data = planted()
    return {"floor": xmtc.train("most_frequent", data), "good": xmtc.train("one_vs_all", data)}


def test_a_good_model_is_clearly_better_than_the_floor(models):
    found = xmtc.compare(models, planted(seed=1), **QUICK)
    assert found.versus["good"].metrics["P@1"].low > 0
    assert found.metrics["good"] == pytest.approx(
        xmtc.evaluate(models["good"], planted(seed=1)).metrics
    )


def test_labels_are_compared_by_name(models):
    data = planted()
    order = np.random.default_rng(0).permutation(len(data.labels))
    names = tuple(data.labels.names[label] for label in order)
    other = Dataset.of(data.texts, [[]] * len(data)).named_in(type(data.labels)(names))
    moved = Dataset(data.texts, data.named_in(other.labels).relevant, other.labels)
    same = {"good": models["good"], "renumbered": xmtc.train("one_vs_all", moved)}
    versus = xmtc.compare(same, planted(seed=1), **QUICK).versus["renumbered"]
    assert versus.metrics["P@5"].estimate == 0
    assert versus.gained.sum() == 0


def test_different_labels_are_an_error_that_says_how_to_go_on(models):
    fewer = xmtc.train("most_frequent", planted(labels=9))
    both = {"floor": models["floor"], "fewer": fewer}
    with pytest.raises(DataError, match=r"3 only the first, 0 only the second, e.g. 'label 0009'"):
        xmtc.compare(both, planted(seed=1))
    found = xmtc.compare(both, planted(seed=1), different_labels=True, **QUICK)
    assert len(found.trained_on.label_counts) == 12


def test_errors_say_what_is_missing(models):
    with pytest.raises(ConfigError, match="expected two or more models to compare, got 1"):
        xmtc.compare({"good": models["good"]}, planted())
    with pytest.raises(DataError, match="no text of the test set has a label"):
        xmtc.compare(models, Dataset.of(["a", "b"], [[], []]))
    with pytest.raises(
        DataError, match=r"none of the 2 labels of the test set, e.g. '17', is one of the"
    ):
        xmtc.compare(models, Dataset.of(["a", "b"], [["17"], ["18"]]))


def test_rows_of_features_are_compared_too():
    rows = csr_of_rows([[0], [1]] * 10, 2)
    data = Dataset((), rows, planted(labels=2).labels, rows)
    models = {
        name: xmtc.train("one_vs_all", data, svm={"cost": cost})
        for name, cost in (("a", 1.0), ("b", 2.0))
    }
    assert xmtc.compare(models, data, **QUICK).versus["b"].both_right == 20
