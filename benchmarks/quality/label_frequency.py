"""How frequent the labels of each data set are, by rank: the plot of docs/results.md."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kit import Claim, Measurement, Options, chosen, dataset, with_texts
from benchmarks.quality._standing import DATA

SETTINGS: dict[str, Any] = {
    "data": list(DATA),
    "ranks": 40,  # points of the curve, evenly on a logarithmic axis
    "remarks": [
        "training part only; counts: texts that carry the label of each rank, the most "
        "frequent label first"
    ],
}


def run(options: Options) -> list[Measurement]:
    """One row per data set."""
    return [_row(name, options) for name in chosen(options.only, SETTINGS["data"], "--only")]


def check(measurements: list[Measurement]) -> list[Claim]:
    """Nothing is claimed."""
    return []


def _row(name: str, options: Options) -> Measurement:
    train = with_texts(dataset(options, name))
    counts = np.sort(train.trained_on().label_counts)[::-1]
    ranks = ranks_of(len(counts))
    return {
        "data": name,
        "texts": len(train),
        "labels": len(counts),
        "labels_per_text": round(float(counts.sum()) / len(train), 2),
        "seen_once": int((counts == 1).sum()),
        "ranks": ranks.tolist(),
        "counts": counts[ranks - 1].tolist(),
    }


def ranks_of(labels: int) -> Any:
    """From 1 to the last, each once."""
    return np.unique(np.geomspace(1, labels, SETTINGS["ranks"]).round().astype(int))
