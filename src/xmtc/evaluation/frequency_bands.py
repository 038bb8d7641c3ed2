"""Bands: how well frequent and rare labels are found, by how often training saw them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xmtc.core.arrays import Array, Bools
from xmtc.core.dataset import TrainedOn
from xmtc.evaluation.metrics import ratio
from xmtc.evaluation.propensity import counts_of
from xmtc.evaluation.settings import Measures
from xmtc.evaluation.sums import RELEVANT, Sums, hit_at

BANDS = ("head", "torso", "tail", "unseen")


@dataclass(frozen=True)
class Band:
    """Labels that training saw from `at_least` to `at_most` times, and how they fared."""

    name: str
    at_least: int
    at_most: int | None  # None: no upper end
    labels: int  # how many labels are in the band
    positives: int  # how many relevant (text, label) pairs of the evaluated texts are
    recall: dict[str, float]  # "R@5": percent of those pairs among the first 5
    precision: dict[str, float]  # "P@5": the band's part of P@5; the bands add up to it


def band_ends(measures: Measures) -> list[tuple[str, int, int | None]]:
    """(name, fewest, most training texts), most frequent first."""
    tail = measures.tail_up_to
    torso = measures.torso_up_to
    ends = [(torso + 1, None), (tail + 1, torso), (1, tail), (0, 0)]
    return [(name, *fewest_most) for name, fewest_most in zip(BANDS, ends, strict=True)]


def bands_of(sums: Sums, trained_on: TrainedOn, measures: Measures) -> tuple[Band, ...]:
    """Head, torso, tail and unseen labels of an evaluation."""
    counts = counts_of(trained_on, sums.labels[RELEVANT].shape[1])
    return tuple(
        _band(name, fewest, most, counts, sums, measures)
        for name, fewest, most in band_ends(measures)
    )


def _band(
    name: str, fewest: int, most: int | None, counts: Array, sums: Sums, measures: Measures
) -> Band:
    inside = in_band(counts, fewest, most)
    positives = _inside(sums.labels[RELEVANT], inside)
    found = {k: _inside(sums.labels[hit_at(k)], inside) for k in measures.ks}
    return Band(
        name,
        fewest,
        most,
        int(inside.sum()),
        round(positives),
        recall={f"R@{k}": 100 * float(ratio(found[k], positives)) for k in measures.ks},
        precision={f"P@{k}": 100 * float(ratio(found[k], sums.texts * k)) for k in measures.ks},
    )


def in_band(counts: Array, fewest: int, most: int | None) -> Bools:
    """(labels,) which of them training saw so often."""
    inside: Bools = (counts >= fewest) & (counts <= (np.inf if most is None else most))
    return inside


def _inside(counts: Array, inside: Array) -> float:
    return float(counts[0, inside[: counts.shape[1]]].sum())
