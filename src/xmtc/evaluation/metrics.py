"""The metrics of the field, each as what one text adds to a numerator and a denominator.

For a plain average the denominator counts texts; for PSP, PSnDCG and micro F1 it is what the best
possible ranking would get. A bootstrap sample only adds up other texts. A text without relevant
labels adds 0 to the numerator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from xmtc.core.arrays import Array, Doubles
from xmtc.evaluation.hits import Hits

Convention: TypeAlias = Literal["pyxclib", "attentionxml"]


@dataclass(frozen=True)
class Fraction:
    """What each text adds to a metric."""

    numerator: Doubles  # (texts,)
    denominator: Doubles  # (texts,)

    @property
    def value(self) -> float:
        """The metric, 0 to 1."""
        return float(ratio(self.numerator.sum(), self.denominator.sum()))


def precision(hits: Hits, k: int) -> Fraction:
    """P@k: relevant labels among the first k, over k even where fewer were returned."""
    return _average(hits.found(k) / k)


def recall(hits: Hits, k: int) -> Fraction:
    """R@k: share of a text's relevant labels among the first k."""
    return _average(ratio(hits.found(k), hits.relevant_counts))


def r_precision(hits: Hits, k: int) -> Fraction:
    """RP@k: relevant labels among the first k, over as many as there can be (Chalkidis et al.)."""
    return _average(ratio(hits.found(k), np.minimum(k, hits.relevant_counts)))


def ndcg(hits: Hits, k: int) -> Fraction:
    """nDCG@k: hits discounted by log2(place + 1), over the same of a perfect ranking."""
    gained = hits.hit[:, :k] @ discounts(hits.k)[:k]
    return _average(ratio(gained, _full_discount(hits, k)))


def psp(gains: Gains, k: int) -> Fraction:
    """PSP@k: inverse propensities of the hits, over those of the best possible k labels."""
    return Fraction(gains.got[:, :k].sum(axis=1) / k, gains.best[:, :k].sum(axis=1) / k)


def psndcg(gains: Gains, hits: Hits, k: int, convention: Convention = "pyxclib") -> Fraction:
    """PSnDCG@k. pyxclib divides each text by its full discount first, AttentionXML does not."""
    discount = discounts(hits.k)[:k]
    got = gains.got[:, :k] @ discount
    best = gains.best[:, :k] @ discount
    if convention == "attentionxml":
        return Fraction(got, best)
    full = _full_discount(hits, k)
    return Fraction(ratio(got, full), ratio(best, full))


def sample_f1(hits: Hits) -> Fraction:
    """F1 of each text's returned labels, averaged; 0 for a text with neither side."""
    total = hits.returned_counts + hits.relevant_counts
    return _average(ratio(2 * hits.found(hits.k), total))


def micro_f1(hits: Hits) -> Fraction:
    """F1 of all (text, label) pairs together."""
    total = hits.returned_counts + hits.relevant_counts
    return Fraction((2 * hits.found(hits.k)).astype(np.float64), total.astype(np.float64))


def macro_f1(found: Array, returned: Array, relevant: Array) -> Array:
    """F1 per label, averaged over the labels that were relevant or returned at least once.

    (..., labels) counts of texts -> (...,).
    """
    total = returned + relevant
    return ratio(ratio(2 * found, total).sum(axis=-1), (total > 0).sum(axis=-1))


def coverage(found: Array, relevant: Array) -> Array:
    """Share of the distinct relevant labels with at least one hit. (..., labels) -> (...,)."""
    return ratio((found > 0).sum(axis=-1), (relevant > 0).sum(axis=-1))


@dataclass(frozen=True)
class Gains:
    """Inverse propensities in place of hits, and in the best possible order."""

    got: Doubles  # (texts, k) 0 where the place is no hit
    best: Doubles  # (texts, k) of the relevant labels, heaviest first


def gains_of(hits: Hits, weights: Doubles) -> Gains:
    """weights: (labels,) 1/p of every label the truth names."""
    got = np.zeros(hits.hit.shape)
    got[hits.hit] = weights[hits.labels[hits.hit]]
    truth = hits.relevant
    rows = np.repeat(np.arange(len(hits)), hits.relevant_counts)
    heavy = weights[truth.indices]
    heaviest_first = heavy[np.lexsort((-heavy, rows))]
    place = np.arange(truth.nnz) - truth.indptr[rows]
    best = np.zeros((len(hits), hits.k))
    within = place < hits.k
    best[rows[within], place[within]] = heaviest_first[within]
    return Gains(got, best)


def discounts(k: int) -> Doubles:
    """1 / log2(place + 1) for the places 1 to k."""
    return np.asarray(1 / np.log2(np.arange(2, k + 2)), np.float64)


def ratio(numerator: Array | float, denominator: Array | float) -> Array:
    """numerator / denominator, and 0 where the denominator is 0."""
    above = np.asarray(numerator, np.float64)
    below = np.asarray(denominator, np.float64)
    return np.divide(above, below, out=np.zeros(above.shape), where=below > 0)


def _full_discount(hits: Hits, k: int) -> Doubles:
    """(texts,) the DCG of a perfect ranking: min(k, relevant) hits in a row."""
    running = np.append(0.0, np.cumsum(discounts(k)))
    return np.asarray(running[np.minimum(k, hits.relevant_counts)], np.float64)


def _average(values: Array) -> Fraction:
    return Fraction(np.asarray(values, np.float64), np.ones(len(values)))
