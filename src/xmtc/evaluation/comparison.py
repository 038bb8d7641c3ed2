"""Comparison: where rankings of the same texts differ, and whether that could be chance."""

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
from xmtc.evaluation.frequency_bands import BANDS, Band, band_ends, bands_of, in_band
from xmtc.evaluation.hits import hits_of
from xmtc.evaluation.metrics import Share
from xmtc.evaluation.propensity import counts_of
from xmtc.evaluation.settings import Measures
from xmtc.evaluation.sums import RELEVANT, Evidence, add_up, evidence, finish, hit_at

EXCERPT = 200  # letters of a text that are shown


@dataclass(frozen=True)
class Versus:
    """One ranking beside the first: what it has more. `k` is the last of the cut-offs."""

    metrics: dict[str, Difference]
    bands: dict[str, Difference]  # of recall@k of head, torso, tail and unseen labels
    both_right: int  # texts whose first label is relevant in both rankings
    neither_right: int
    won: Longs  # texts of which only this ranking has the first label right, clearest first
    lost: Longs  # only the first ranking
    gained: Longs  # (labels,) in how many texts only this ranking has the label among its k
    missed: Longs  # (labels,) only the first ranking


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
    """Several rankings of the same texts; the first is what the others are compared with."""

    rankings: dict[str, Ranking]  # by name of the model
    truth: Dataset
    trained_on: TrainedOn
    measures: Measures
    metrics: dict[str, dict[str, float]]  # percent, by model and metric
    bands: dict[str, tuple[Band, ...]]
    versus: dict[str, Versus]  # by model, all but the first

    @property
    def models(self) -> tuple[str, ...]:
        """Their names, in the order given."""
        return tuple(self.rankings)

    @property
    def k(self) -> int:
        """How many labels of each text are looked at."""
        return max(self.measures.ks)

    def labels(self, model: str, most: int) -> tuple[list[Label], list[Label]]:
        """The labels that the model gains most on, and those that it loses most on."""
        change = self.versus[model].gained - self.versus[model].missed
        order = np.argsort(-change, kind="stable")
        gained = [label for label in order[:most].tolist() if change[label] > 0]
        lost = [label for label in order[::-1][:most].tolist() if change[label] < 0]
        return [self._label(model, label) for label in gained], [
            self._label(model, label) for label in lost
        ]

    def examples(self, model: str, most: int) -> tuple[list[Example], list[Example]]:
        """Texts that only the model gets right, and texts that only the first gets right."""
        versus = self.versus[model]
        won, lost = (rows[:most].tolist() for rows in (versus.won, versus.lost))
        return [self._example(model, row) for row in won], [
            self._example(model, row) for row in lost
        ]

    def to_dict(self, most: int = 10) -> dict[str, Any]:
        """Plain values for JSON, with `most` labels and texts of each kind."""
        return {
            "texts": len(self.truth),
            "models": list(self.models),
            "metrics": self.metrics,
            "bands": {name: [asdict(band) for band in bands] for name, bands in self.bands.items()},
            "versus": {name: self._plain(name, most) for name in self.versus},
            "resamples": self.measures.resamples,
            "confidence": self.measures.confidence,
        }

    def _plain(self, model: str, most: int) -> dict[str, Any]:
        versus = self.versus[model]
        labels = self.labels(model, most)
        examples = self.examples(model, most)
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
            "labels_gained": [asdict(label) for label in labels[0]],
            "labels_lost": [asdict(label) for label in labels[1]],
            "texts_won": [asdict(example) for example in examples[0]],
            "texts_lost": [asdict(example) for example in examples[1]],
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
    found = {
        name: evidence(ranking, truth.relevant, measures, trained_on)
        for name, ranking in rankings.items()
    }
    sums = {name: add_up(each) for name, each in found.items()}
    return Comparison(
        dict(rankings),
        truth,
        trained_on,
        measures,
        {
            name: {metric: float(value[0]) for metric, value in finish(each, measures).items()}
            for name, each in sums.items()
        },
        {name: bands_of(each, trained_on, measures) for name, each in sums.items()},
        _all_versus(rankings, found, trained_on, measures),
    )


def _all_versus(
    rankings: Mapping[str, Ranking],
    found: Mapping[str, Evidence],
    trained_on: TrainedOn,
    measures: Measures,
) -> dict[str, Versus]:
    first, *others = rankings
    relevant = found[first].labels[RELEVANT]
    right = {name: hits_of(ranking, relevant, k=1).hit[:, 0] for name, ranking in rankings.items()}
    hits = {name: each.labels[hit_at(max(measures.ks))] for name, each in found.items()}
    banded = [_with_bands(each, trained_on, measures) for each in found.values()]
    changes = zip(others, differences(banded, measures), strict=True)
    return {
        name: _versus(change, (right[first], right[name]), hits[name] - hits[first])
        for name, change in changes
    }


def _versus(change: dict[str, Difference], right: tuple[Bools, Bools], moved: Csr) -> Versus:
    """right: (texts,) whether the first label is, of the first ranking and of this one.
    moved: (texts, labels) 1 where only this ranking has the label, -1 where only the first.
    """
    before, after = right
    lead = np.asarray(moved.sum(axis=1)).ravel()
    return Versus(
        {name: each for name, each in change.items() if name not in BANDS},
        {name: change[name] for name in BANDS},
        int((before & after).sum()),
        int((~before & ~after).sum()),
        _clearest(after & ~before, lead),
        _clearest(before & ~after, -lead),
        _count(moved, 1),
        _count(moved, -1),
    )


def _with_bands(found: Evidence, trained_on: TrainedOn, measures: Measures) -> Evidence:
    """Recall@k of each band as what every text adds to it, so that the bootstrap can draw it."""
    relevant = found.labels[RELEVANT]
    hit = found.labels[hit_at(max(measures.ks))]
    counts = counts_of(trained_on, relevant.shape[1])[: relevant.shape[1]]
    bands = {}
    for band, fewest, most in band_ends(measures):
        inside = in_band(counts, fewest, most).astype(np.float64)
        bands[band] = Share(hit @ inside, relevant @ inside)
    return Evidence(found.texts, found.shares | bands, found.labels)


def _clearest(rows: Bools, lead: Array) -> Longs:
    """The texts where `rows` holds, largest lead first."""
    places = np.flatnonzero(rows)
    return np.asarray(places[np.argsort(-lead[places], kind="stable")], np.int64)


def _count(moved: Csr, value: int) -> Longs:
    """(labels,) in how many texts each label moved this way."""
    return np.bincount(moved.indices[moved.data == value], minlength=moved.shape[1])
