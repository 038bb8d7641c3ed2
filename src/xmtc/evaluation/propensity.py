"""Propensity (Jain et al. 2016): the probability that a relevant label was annotated.

Rare labels are missed by annotators more often, so a hit on one counts 1/p times.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np

from xmtc.core.arrays import Doubles
from xmtc.core.dataset import TrainedOn
from xmtc.core.errors import require

Family: TypeAlias = Literal["default", "wikipedia", "amazon"]

# (A, B) as the Extreme Classification Repository lists them. AmazonCat-13K and Wiki10-31K have the
# default ones (maintainers' correction, pyxclib issue 7).
PRESETS: dict[Family, tuple[float, float]] = {
    "default": (0.55, 1.5),
    "wikipedia": (0.5, 0.4),
    "amazon": (0.6, 2.6),
}


def inverse_propensity(
    trained_on: TrainedOn, a: float = 0.55, b: float = 1.5, labels: int | None = None
) -> Doubles:
    """1/p per label, at least 1; the rarest labels weigh most.

    labels: number of weights; ids beyond the trained ones have 0 training texts.
    """
    require(a > 0, "a", a, "must be positive; most data sets use 0.55")
    require(b > 0, "b", b, "must be positive; most data sets use 1.5")
    counts = counts_of(trained_on, labels)
    # Below e = 2.7 training texts the formula's constant is negative; such a set says nothing
    # about rarity, so every label weighs 1.
    constant = max(0.0, math.log(max(1, trained_on.texts)) - 1) * (b + 1) ** a
    return np.asarray(1 + constant * (counts + b) ** -a, np.float64)


def counts_of(trained_on: TrainedOn, labels: int | None = None) -> Doubles:
    """Training texts per label as floats, 0 for ids beyond the trained ones."""
    known = trained_on.label_counts
    counts = np.zeros(max(len(known), labels or 0))
    counts[: len(known)] = known
    return counts
