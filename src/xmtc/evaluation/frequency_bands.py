"""Frequency bands: how well frequent and rare labels are found, by their training texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xmtc.core.arrays import Array, Bools
from xmtc.core.dataset import TrainedOn
from xmtc.evaluation.measures import Measures
from xmtc.evaluation.metrics import ratio
from xmtc.evaluation.propensity import counts_of
from xmtc.evaluation.sums import RELEVANT, Sums, hit_at

BANDS = ("head", "torso", "tail", "unseen")


@dataclass(frozen=True)
class BandRange:
    """The numbers of training texts that make a label belong to a band."""

    name: str
    at_least: int
    at_most: int | None  # None: no upper end

    def holds(self, counts: Array) -> Bools:
        """(labels,) training texts -> (labels,) whether the label belongs to the band."""
        at_most = np.inf if self.at_most is None else self.at_most
        return np.asarray((counts >= self.at_least) & (counts <= at_most))


@dataclass(frozen=True)
class Band(BandRange):
    """How well the labels of a band are found."""

    labels: int  # in the band
    positives: int  # relevant (text, label) pairs of the evaluated texts
    recall: dict[str, float]  # "R@5": percent of those pairs among the first 5
    precision: dict[str, float]  # "P@5": the band's part of P@5; the bands add up to it


def band_ranges(measures: Measures) -> list[BandRange]:
    """The bands, most frequent first."""
    tail = measures.tail_up_to
    torso = measures.torso_up_to
    ends = [(torso + 1, None), (tail + 1, torso), (1, tail), (0, 0)]
    return [BandRange(name, *end) for name, end in zip(BANDS, ends, strict=True)]


def bands_of(sums: Sums, trained_on: TrainedOn, measures: Measures) -> tuple[Band, ...]:
    """Head, torso, tail and unseen labels of an evaluation."""
    counts = counts_of(trained_on, sums.labels[RELEVANT].shape[1])
    bands = []
    for band in band_ranges(measures):
        inside = band.holds(counts)
        positives = _total(sums.labels[RELEVANT], inside)
        found = {k: _total(sums.labels[hit_at(k)], inside) for k in measures.ks}
        bands.append(
            Band(
                **vars(band),
                labels=int(inside.sum()),
                positives=round(positives),
                recall={f"R@{k}": 100 * float(ratio(found[k], positives)) for k in measures.ks},
                precision={
                    f"P@{k}": 100 * float(ratio(found[k], sums.texts * k)) for k in measures.ks
                },
            )
        )
    return tuple(bands)


def _total(counts: Array, inside: Array) -> float:
    return float(counts[0, inside[: counts.shape[1]]].sum())
