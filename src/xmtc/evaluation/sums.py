"""Tally: adds up the evidence of one batch of texts after another into metrics."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from xmtc.core.arrays import Array, Csr, Doubles
from xmtc.core.dataset import TrainedOn
from xmtc.core.ranking import Ranking
from xmtc.evaluation import metrics
from xmtc.evaluation.hits import hits_of, marks
from xmtc.evaluation.metrics import Share
from xmtc.evaluation.propensity import inverse_propensity
from xmtc.evaluation.settings import Measures

RELEVANT = "relevant"
RETURNED = "returned"
RIGHT = "right"


@dataclass(frozen=True)
class Evidence:
    """What each text adds: all metrics are functions of sums of these over texts."""

    texts: int
    shares: dict[str, Share]  # by metric
    labels: dict[str, Csr]  # (texts, labels): "relevant", "hit@5", ...; summed they count texts


@dataclass(frozen=True)
class Sums:
    """Evidence added up, once per draw: a plain evaluation has one, a bootstrap many."""

    texts: float
    shares: dict[str, tuple[Doubles, Doubles]]  # (draws,) above and below
    labels: dict[str, Doubles]  # (draws, labels)


@dataclass
class Tally:
    """`tally.add(ranking, relevant)` per batch, then `metrics()`; equal to doing all at once."""

    measures: Measures = field(default_factory=Measures)
    trained_on: TrainedOn | None = None
    sums: Sums | None = None

    def add(self, ranking: Ranking, relevant: Csr) -> Tally:
        """Count some more texts. `relevant` keeps the same label ids in every batch."""
        found = add_up(evidence(ranking, relevant, self.measures, self.trained_on))
        self.sums = found if self.sums is None else _both(self.sums, found)
        return self

    def metrics(self) -> dict[str, float]:
        """Every metric so far, in percent; empty before the first batch."""
        values = {} if self.sums is None else finish(self.sums, self.measures)
        return {name: float(value[0]) for name, value in values.items()}


def evidence(
    ranking: Ranking, relevant: Csr, measures: Measures, trained_on: TrainedOn | None = None
) -> Evidence:
    """One pass over a ranking: everything that the metrics are made of."""
    hits = hits_of(ranking, relevant, k=max(measures.ks))
    columns = relevant.shape[1]
    by_k = {"P": metrics.precision, "R": metrics.recall, "nDCG": metrics.ndcg}
    shares = {f"{name}@{k}": share(hits, k) for name, share in by_k.items() for k in measures.ks}
    if trained_on is not None:
        weights = inverse_propensity(trained_on, measures.a, measures.b, columns)
        gains = metrics.gains_of(hits, weights)
        shares |= {f"PSP@{k}": metrics.psp(gains, k) for k in measures.ks}
        for k in measures.ks:
            shares[f"PSnDCG@{k}"] = metrics.psndcg(gains, hits, k, measures.psndcg)
    shares |= {f"RP@{k}": metrics.r_precision(hits, k) for k in measures.ks}
    labels = {hit_at(k): marks(hits.labels[:, :k], hits.hit[:, :k], columns) for k in measures.ks}
    labels[RELEVANT] = hits.relevant
    found = Evidence(len(hits), shares, labels)
    return found if measures.threshold is None else _with_f1(found, ranking, measures.threshold)


def add_up(found: Evidence, weights: Doubles | None = None) -> Sums:
    """weights: (draws, texts) how often each text counts; once when not given."""
    if weights is None:
        weights = np.ones((1, found.texts))
    shares = {
        name: (weights @ share.above, weights @ share.below) for name, share in found.shares.items()
    }
    labels = {name: np.asarray((each.T @ weights.T).T) for name, each in found.labels.items()}
    return Sums(float(weights[0].sum()), shares, labels)


def finish(sums: Sums, measures: Measures) -> dict[str, Doubles]:
    """(draws,) percent per metric."""
    values = {name: metrics.ratio(*both) for name, both in sums.shares.items()}
    relevant = sums.labels[RELEVANT]
    for k in measures.ks:
        values[f"coverage@{k}"] = metrics.coverage(sums.labels[hit_at(k)], relevant)
    if RIGHT in sums.labels:
        counts = _same_width([sums.labels[RIGHT], sums.labels[RETURNED], relevant])
        values["macro F1"] = metrics.macro_f1(*counts)
    return {name: 100 * value for name, value in values.items()}


def hit_at(k: int) -> str:
    """The name under which the hits among the first k are counted per label."""
    return f"hit@{k}"


def _with_f1(found: Evidence, ranking: Ranking, threshold: float) -> Evidence:
    hits = hits_of(ranking.above(threshold), found.labels[RELEVANT])
    columns = hits.relevant.shape[1]
    shares = {"micro F1": metrics.micro_f1(hits), "sample F1": metrics.sample_f1(hits)}
    labels = {
        RIGHT: marks(hits.labels, hits.hit, columns),
        RETURNED: marks(hits.labels, hits.labels >= 0, columns),
    }
    return Evidence(found.texts, found.shares | shares, found.labels | labels)


def _both(first: Sums, second: Sums) -> Sums:
    shares = {
        name: (above + second.shares[name][0], below + second.shares[name][1])
        for name, (above, below) in first.shares.items()
    }
    labels = {}
    for name, counts in first.labels.items():
        one, other = _same_width([counts, second.labels[name]])
        labels[name] = one + other
    return Sums(first.texts + second.texts, shares, labels)


def _same_width(counts: list[Doubles]) -> list[Array]:
    """(draws, labels) arrays with zeros for the ids that only a wider one knows."""
    width = max(each.shape[1] for each in counts)
    return [np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in counts]
