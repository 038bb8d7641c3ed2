"""Comparison: where rankings of the same texts differ, and whether a difference is significant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from xmtc.core.arrays import Array, Bools, Csr, Longs
from xmtc.core.config import from_dict
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.ranking import NO_LABEL, Ranking
from xmtc.evaluation.bootstrap import PAIRED_RESAMPLES, Difference, differences
from xmtc.evaluation.frequency_bands import BANDS, Band, band_ranges, bands_of
from xmtc.evaluation.hits import hits_of
from xmtc.evaluation.measures import Measures
from xmtc.evaluation.metrics import Fraction
from xmtc.evaluation.propensity import counts_of
from xmtc.evaluation.sums import RELEVANT, Contributions, add_up, contributions, hit_at, percentages

EXCERPT = 200  # letters of a text that are shown


@dataclass(frozen=True)
class Versus:
    """One ranking minus the first. k is the largest cut-off."""

    metrics: dict[str, Difference]
    bands: dict[str, Difference]  # of recall@k of head, torso, tail and unseen labels
    both_right: int  # texts whose first label is relevant in both rankings
    neither_right: int
    won: Longs  # texts whose first label only this ranking has right, largest lead first
    lost: Longs  # the same for the first ranking
    gained: Longs  # (labels,) texts for which only this ranking has the label among its first k
    missed: Longs  # (labels,) the same for the first ranking


@dataclass(frozen=True)
class Label:
    """A label that one ranking finds more often than the other."""

    name: str
    trained: int  # training texts that carry it
    relevant: int  # test texts that carry it
    gained: int
    lost: int


@dataclass(frozen=True)
class Example:
    """A text that one ranking gets right and the other wrong."""

    place: int  # in the data set, from 0
    text: str
    relevant: tuple[str, ...]
    answers: dict[str, tuple[str, ...]]  # the first k labels, by model


@dataclass(frozen=True, repr=False)
class Comparison:
    """Several rankings of the same texts; the others are compared with the first."""

    rankings: dict[str, Ranking]  # by name of the model
    truth: Dataset
    trained_on: TrainedOn
    measures: Measures
    metrics: dict[str, dict[str, float]]  # percent, by model and metric
    bands: dict[str, tuple[Band, ...]]
    versus: dict[str, Versus]  # by model, except the first

    @property
    def models(self) -> tuple[str, ...]:
        """Names in the order given."""
        return tuple(self.rankings)

    @property
    def k(self) -> int:
        """The largest cut-off."""
        return max(self.measures.ks)

    def labels(self, model: str, limit: int) -> tuple[list[Label], list[Label]]:
        """The labels that the model gains most on, and those that it loses most on."""
        change = self.versus[model].gained - self.versus[model].missed
        order = np.argsort(-change, kind="stable").tolist()
        gained = [self._label(model, label) for label in order[:limit] if change[label] > 0]
        lost = [self._label(model, label) for label in order[::-1][:limit] if change[label] < 0]
        return gained, lost

    def examples(self, model: str, limit: int) -> tuple[list[Example], list[Example]]:
        """Texts that only the model gets right, and texts that only the first gets right."""
        versus = self.versus[model]
        won = [self._example(model, row) for row in versus.won[:limit].tolist()]
        lost = [self._example(model, row) for row in versus.lost[:limit].tolist()]
        return won, lost

    def to_dict(self, limit: int = 10) -> dict[str, Any]:
        """Plain values for JSON, with at most `limit` labels and texts of each kind."""
        return {
            "texts": len(self.truth),
            "models": list(self.models),
            "metrics": self.metrics,
            "bands": {name: [asdict(band) for band in bands] for name, bands in self.bands.items()},
            "versus": {name: self._versus_dict(name, limit) for name in self.versus},
            "resamples": self.measures.resamples,
            "confidence": self.measures.confidence,
        }

    def _versus_dict(self, model: str, limit: int) -> dict[str, Any]:
        versus = self.versus[model]
        gained, lost = self.labels(model, limit)
        texts_won, texts_lost = self.examples(model, limit)
        return {
            "baseline": self.models[0],
            "metrics": {name: asdict(each) for name, each in versus.metrics.items()},
            "bands": {name: asdict(each) for name, each in versus.bands.items()},
            "first_label_right": {
                "both": versus.both_right,
                "only_this": len(versus.won),
                "only_baseline": len(versus.lost),
                "neither": versus.neither_right,
            },
            "labels_gained": [asdict(label) for label in gained],
            "labels_lost": [asdict(label) for label in lost],
            "texts_won": [asdict(example) for example in texts_won],
            "texts_lost": [asdict(example) for example in texts_lost],
        }

    def _label(self, model: str, label: int) -> Label:
        versus = self.versus[model]
        counts = self.trained_on.label_counts
        return Label(
            self.truth.labels.names[label],
            int(counts[label]) if label < len(counts) else 0,
            int((self.truth.relevant.indices == label).sum()),
            int(versus.gained[label]),
            int(versus.missed[label]),
        )

    def _example(self, model: str, row: int) -> Example:
        names = self.truth.labels.names
        relevant = self.truth.relevant
        ids = relevant.indices[relevant.indptr[row] : relevant.indptr[row + 1]]
        text = self.truth.texts[row] if self.truth.texts else f"text {row + 1}"
        short = text if len(text) <= EXCERPT else f"{text[:EXCERPT]} ..."
        answers = {
            name: tuple(
                names[label]
                for label in self.rankings[name].labels[row, : self.k]
                if label != NO_LABEL
            )
            for name in (self.models[0], model)
        }
        return Example(row, short, tuple(names[label] for label in ids), answers)


def compare_rankings(
    rankings: Mapping[str, Ranking], truth: Dataset, trained_on: TrainedOn, **settings: object
) -> Comparison:
    """Compare each ranking with the first, on the same draws of texts.

    truth: the texts, with the labels numbered as in the rankings; labels that no model knows come
    after theirs. settings: those of `Measures`; 1000 resamples when not given.
    """
    measures = from_dict(Measures, {"resamples": PAIRED_RESAMPLES, **settings})
    parts = {
        name: contributions(ranking, truth.relevant, measures, trained_on)
        for name, ranking in rankings.items()
    }
    sums = {name: add_up(each) for name, each in parts.items()}
    metrics = {
        name: {metric: float(value[0]) for metric, value in percentages(each, measures).items()}
        for name, each in sums.items()
    }
    bands = {name: bands_of(each, trained_on, measures) for name, each in sums.items()}

    first, *others = rankings
    relevant = parts[first].labels[RELEVANT]
    right = {name: hits_of(ranking, relevant, k=1).hit[:, 0] for name, ranking in rankings.items()}
    hits = {name: each.labels[hit_at(max(measures.ks))] for name, each in parts.items()}
    with_bands = [_with_bands(each, trained_on, measures) for each in parts.values()]
    versus = {
        name: _versus(change, right[first], right[name], hits[name] - hits[first])
        for name, change in zip(others, differences(with_bands, measures), strict=True)
    }
    return Comparison(dict(rankings), truth, trained_on, measures, metrics, bands, versus)


def _versus(change: dict[str, Difference], before: Bools, after: Bools, moved: Csr) -> Versus:
    """What changed from the first ranking to this one.

    before, after: (texts,) whether the first label is right.
    moved: (texts, labels) 1 where only this ranking has the label, -1 where only the first.
    """
    lead = np.asarray(moved.sum(axis=1)).ravel()
    labels = moved.shape[1]
    return Versus(
        {name: each for name, each in change.items() if name not in BANDS},
        {name: change[name] for name in BANDS},
        both_right=int((before & after).sum()),
        neither_right=int((~before & ~after).sum()),
        won=_by_lead(after & ~before, lead),
        lost=_by_lead(before & ~after, -lead),
        gained=np.bincount(moved.indices[moved.data == 1], minlength=labels),
        missed=np.bincount(moved.indices[moved.data == -1], minlength=labels),
    )


def _with_bands(parts: Contributions, trained_on: TrainedOn, measures: Measures) -> Contributions:
    """Recall@k of each band as one more metric, so that the bootstrap draws it too."""
    relevant = parts.labels[RELEVANT]
    hit = parts.labels[hit_at(max(measures.ks))]
    counts = counts_of(trained_on, relevant.shape[1])[: relevant.shape[1]]
    fractions = dict(parts.fractions)
    for band in band_ranges(measures):
        inside = band.holds(counts).astype(np.float64)
        fractions[band.name] = Fraction(hit @ inside, relevant @ inside)
    return Contributions(parts.texts, fractions, parts.labels)


def _by_lead(rows: Bools, lead: Array) -> Longs:
    """The texts where `rows` holds, largest lead first."""
    places = np.flatnonzero(rows)
    return np.asarray(places[np.argsort(-lead[places], kind="stable")], np.int64)
