"""The figures of a model on a test part: metrics with intervals, and speed."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import data
from benchmarks.experiment import KS, Options, Row
from benchmarks.limits import timed
from benchmarks.peers.runner import latency

if TYPE_CHECKING:
    from xmtc import Dataset, Model, Ranking
    from xmtc.core.dataset import TrainedOn

METRICS = (*(f"P@{k}" for k in KS), "nDCG@5", *(f"PSP@{k}" for k in KS), "RP@5")
RESAMPLES = 1000
K = 10  # labels that are ranked


def of_folder(place: Path, name: str, options: Options) -> Row:
    """The figures of a saved model."""
    import xmtc

    xmtc.set_threads(options.threads)
    return of_model(xmtc.load(place), name, options)


def of_model(model: Model, name: str, options: Options) -> Row:
    """Quality on the test part, and the speed of many texts and of one, from raw text."""
    import xmtc

    test = data.test(name, options).named_in(model.labels)
    model.rank(list(test.texts[:32]), K)
    ranking, cost = timed(lambda: model.rank(test.texts, K))
    return {
        **of_ranking(ranking, test, model.trained_on),
        "texts_per_second": len(test) / cost.seconds,
        **latency(lambda text: xmtc.predict(model, [text], k=5), test.texts),
    }


def of_ranking(ranking: Ranking, test: Dataset, trained_on: TrainedOn) -> Row:
    """The metrics, their 95 % intervals."""
    from xmtc.evaluation.report import evaluate_ranking

    report = evaluate_ranking(ranking, test.relevant, trained_on, ks=KS, resamples=RESAMPLES)
    return {
        **{name: report.metrics[name] for name in METRICS},
        "intervals": {name: [round(end, 2) for end in report.intervals[name]] for name in METRICS},
    }


def saved_ranking(path: Path, k: int = K) -> Ranking:
    """The k best labels of each text, from the scores that a peer wrote."""
    import xmtc

    with np.load(path) as saved:  # reads an array each time it is named
        starts = saved["indptr"]
        labels = saved["indices"]
        scores = saved["data"]
    ranking = xmtc.Ranking.empty(len(starts) - 1, k)
    for row, (begin, end) in enumerate(pairwise(starts)):
        order = begin + np.argsort(-scores[begin:end], kind="stable")[:k]
        ranking.labels[row, : len(order)] = labels[order]
        ranking.scores[row, : len(order)] = scores[order]
    return ranking
