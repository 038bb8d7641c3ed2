"""Sums: what every text contributes to the metrics, added up over texts or bootstrap samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xmtc.core.arrays import Csr, Doubles
from xmtc.core.dataset import TrainedOn
from xmtc.core.ranking import Ranking
from xmtc.evaluation import metrics
from xmtc.evaluation.hits import hits_of, marks
from xmtc.evaluation.measures import Measures
from xmtc.evaluation.metrics import Fraction
from xmtc.evaluation.propensity import inverse_propensity

RELEVANT = "relevant"
RETURNED = "returned"
RIGHT = "right"


@dataclass(frozen=True)
class Contributions:
    """What each text adds: all metrics are functions of sums of these over texts."""

    texts: int
    fractions: dict[str, Fraction]  # by metric
    labels: dict[str, Csr]  # (texts, labels): "relevant", "hit@5", ...; summed they count texts


@dataclass(frozen=True)
class Sums:
    """Contributions added up, once per draw: a plain evaluation has one, a bootstrap many."""

    texts: float
    fractions: dict[str, tuple[Doubles, Doubles]]  # (draws,) numerators and denominators
    labels: dict[str, Doubles]  # (draws, labels)


def contributions(
    ranking: Ranking, relevant: Csr, measures: Measures, trained_on: TrainedOn | None = None
) -> Contributions:
    """One pass over a ranking: everything that the metrics are made of."""
    hits = hits_of(ranking, relevant, k=max(measures.ks))
    columns = relevant.shape[1]
    by_k = {"P": metrics.precision, "R": metrics.recall, "nDCG": metrics.ndcg}
    fractions = {
        f"{name}@{k}": metric(hits, k) for name, metric in by_k.items() for k in measures.ks
    }
    if trained_on is not None:
        weights = inverse_propensity(trained_on, measures.a, measures.b, columns)
        gains = metrics.gains_of(hits, weights)
        fractions |= {f"PSP@{k}": metrics.psp(gains, k) for k in measures.ks}
        for k in measures.ks:
            fractions[f"PSnDCG@{k}"] = metrics.psndcg(gains, hits, k, measures.psndcg)
    fractions |= {f"RP@{k}": metrics.r_precision(hits, k) for k in measures.ks}
    labels = {hit_at(k): marks(hits.labels[:, :k], hits.hit[:, :k], columns) for k in measures.ks}
    labels[RELEVANT] = hits.relevant
    if measures.threshold is not None:
        above = hits_of(ranking.above(measures.threshold), hits.relevant)
        fractions["micro F1"] = metrics.micro_f1(above)
        fractions["sample F1"] = metrics.sample_f1(above)
        columns = hits.relevant.shape[1]
        labels[RIGHT] = marks(above.labels, above.hit, columns)
        labels[RETURNED] = marks(above.labels, above.labels >= 0, columns)
    return Contributions(len(hits), fractions, labels)


def add_up(parts: Contributions, weights: Doubles | None = None) -> Sums:
    """weights: (draws, texts) how often each text counts; once when not given."""
    if weights is None:
        weights = np.ones((1, parts.texts))
    fractions = {
        name: (weights @ each.numerator, weights @ each.denominator)
        for name, each in parts.fractions.items()
    }
    labels = {name: np.asarray((each.T @ weights.T).T) for name, each in parts.labels.items()}
    return Sums(float(weights[0].sum()), fractions, labels)


def percentages(sums: Sums, measures: Measures) -> dict[str, Doubles]:
    """(draws,) percent per metric."""
    values = {name: metrics.ratio(*both) for name, both in sums.fractions.items()}
    relevant = sums.labels[RELEVANT]
    for k in measures.ks:
        values[f"coverage@{k}"] = metrics.coverage(sums.labels[hit_at(k)], relevant)
    if RIGHT in sums.labels:
        counts = [sums.labels[RIGHT], sums.labels[RETURNED], relevant]
        width = max(each.shape[1] for each in counts)  # a returned id may be beyond the truth
        padded = [np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in counts]
        values["macro F1"] = metrics.macro_f1(*padded)
    return {name: 100 * value for name, value in values.items()}


def hit_at(k: int) -> str:
    """The name under which the hits among the first k are counted per label."""
    return f"hit@{k}"
