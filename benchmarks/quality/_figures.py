"""What a ranking of the test texts is worth, how sure that is, and by which labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.kit import Measurement

if TYPE_CHECKING:
    from xmtc import Dataset, Ranking
    from xmtc.core.dataset import TrainedOn

KS = (1, 3, 5)
METRICS = (*(f"P@{k}" for k in KS), "nDCG@5", *(f"PSP@{k}" for k in KS))
RESAMPLES = 1000
PARTS = 10


def quality_of(
    ranking: Ranking,
    test: Dataset,
    trained_on: TrainedOn,
    names: Sequence[str] = METRICS,
    keep: Path | None = None,
) -> Measurement:
    """The metrics and R-Precision@5, their 95 % intervals, and P@5 by label frequency.

    keep: a file for the ranking, with which others can be compared text by text.
    """
    from xmtc.evaluation.report import evaluate_ranking

    if keep is not None:
        keep.parent.mkdir(parents=True, exist_ok=True)
        np.save(keep, ranking.labels[:, : max(KS)])
    names = (*names, "RP@5")
    report = evaluate_ranking(ranking, test.relevant, trained_on, ks=KS, resamples=RESAMPLES)
    ends = {name: [round(end, 2) for end in report.intervals[name]] for name in names}
    return {
        **{name: report.metrics[name] for name in names},
        "intervals": ends,
        "deciles": deciles(ranking, test.relevant, trained_on),
    }


def saved_ranking(path: Path, k: int) -> Ranking:
    """The k best labels of each text, from the scores that a peer left."""
    import xmtc

    saved = np.load(path)
    starts = saved["indptr"]
    indices = saved["indices"]
    scores = saved["data"]
    ranking = xmtc.Ranking.empty(len(starts) - 1, k)
    for row, (begin, end) in enumerate(pairwise(starts)):
        order = begin + np.argsort(-scores[begin:end], kind="stable")[:k]
        ranking.labels[row, : len(order)] = indices[order]
        ranking.scores[row, : len(order)] = scores[order]
    return ranking


def deciles(ranking: Ranking, relevant: Any, trained_on: TrainedOn, k: int = 5) -> list[float]:
    """What labels add to P@k, from frequent to rare; the ten parts add up to it.

    Each part of the labels has a tenth of all labels that training texts carry.
    """
    from xmtc.evaluation.measures import Measures
    from xmtc.evaluation.propensity import counts_of
    from xmtc.evaluation.sums import add_up, contributions, hit_at

    sums = add_up(contributions(ranking, relevant, Measures(ks=(k,))))
    hits = sums.labels[hit_at(k)][0]
    counts = counts_of(trained_on, len(hits))[: len(hits)]
    order = np.argsort(-counts, kind="stable")
    middle = np.cumsum(counts[order]) - counts[order] / 2
    part = np.minimum(PARTS - 1, PARTS * middle / max(1, counts.sum())).astype(int)
    found = np.bincount(part, hits[order], PARTS)
    return [round(100 * float(value) / (k * max(1.0, sums.texts)), 3) for value in found]
