"""one_vs_all scores every label by its own classifier, whatever the type of the weights."""

from __future__ import annotations

import numpy as np
import pytest

import xmtc
from xmtc.core.errors import StoreError
from xmtc.core.store import size_on_disk
from xmtc.data.planted import planted

DATA = planted(texts=300, labels=60)


@pytest.fixture(scope="module", params=["int8", "float32"])
def model(request):
    return xmtc.train("one_vs_all", DATA, weight_type=request.param)


def test_scores_are_the_dense_product(model):
    texts = planted(seed=1, labels=60).texts[:20]
    weights, biases = model.forest.last_level()
    margins = model.encoder.encode(texts) @ weights.T + biases
    ranking = model.rank(texts, 5)
    expected = 1 / (1 + np.exp(-margins))
    assert np.allclose(ranking.scores, -np.sort(-expected)[:, :5], atol=1e-5)
    assert np.allclose(np.take_along_axis(expected, ranking.labels, 1), ranking.scores, atol=1e-5)


def test_small_weights_find_the_same_labels_in_a_smaller_folder(tmp_path):
    exact, small = (
        xmtc.train("one_vs_all", DATA, weight_type=kind) for kind in ("float32", "int8")
    )
    for name, each in (("exact", exact), ("small", small)):
        xmtc.save(each, tmp_path / name)
    first, second = (each.rank(DATA.texts, 1) for each in (exact, small))
    assert (first.labels == second.labels).mean() > 0.95
    assert np.allclose(first.scores, second.scores, atol=0.01)
    assert size_on_disk(tmp_path / "small") < 0.8 * size_on_disk(tmp_path / "exact")


def test_only_allowed_labels_are_ranked(model):
    allowed = np.arange(60) < 4
    ranking = model.rank(DATA.texts[:9], 6, allowed)
    assert (ranking.labels[:, :4] < 4).all()
    assert (ranking.labels[:, 4:] == -1).all()


def test_a_model_without_its_weights_is_refused(model):
    parts = model.to_parts()
    del parts.arrays["forest.entry_value"]
    with pytest.raises(StoreError, match="entry_value"):
        type(model).from_parts(parts)
