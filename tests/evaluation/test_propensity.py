"""Propensity: the constants of the specification."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmtc.core.dataset import TrainedOn
from xmtc.core.errors import ConfigError
from xmtc.evaluation.propensity import PRESETS, inverse_propensity

TRAINED_ON = TrainedOn(1000, np.array([500, 100, 50, 10, 2, 0], np.int64))


@pytest.mark.parametrize(
    ("family", "constant", "expected"),
    [
        (
            "default",
            9.7788886671,
            [1.31999301, 1.77042999, 2.11891095, 3.55214702, 5.90966746, 8.82418858],
        ),
        (
            "wikipedia",
            6.9901503139,
            [1.31248406, 1.69762118, 1.98462588, 3.16755360, 5.51212263, 12.05239809],
        ),
        (
            "amazon",
            12.7410141313,
            [1.30511988, 1.79161785, 2.18198659, 3.78600358, 6.09975484, 8.18157977],
        ),
    ],
)
def test_each_family_gives_the_specified_weights(family, constant, expected):
    a, b = PRESETS[family]
    weights = inverse_propensity(TRAINED_ON, a, b)
    np.testing.assert_allclose(weights, expected, atol=1e-8, rtol=0)
    assert (weights[-1] - 1) * b**a == pytest.approx(constant, abs=1e-9)
    assert (math.log(1000) - 1) * (b + 1) ** a == pytest.approx(constant, abs=1e-9)


def test_labels_beyond_training_weigh_as_never_seen():
    weights = inverse_propensity(TRAINED_ON, labels=8)
    assert len(weights) == 8
    assert weights[6] == weights[7] == weights[5] == weights.max()


@settings(deadline=None)
@given(st.integers(0, 10), st.lists(st.integers(0, 10), max_size=5))
def test_weights_are_at_least_one_even_for_tiny_sets(texts, counts):
    weights = inverse_propensity(TrainedOn(texts, np.array(counts, np.int64)))
    assert (weights >= 1).all()


def test_impossible_constants_are_refused():
    with pytest.raises(ConfigError, match="b=0"):
        inverse_propensity(TRAINED_ON, b=0)
