"""How the costs of a linear kind grow with the size of planted data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.data import given
from benchmarks.experiment import Options, Row, System
from benchmarks.limits import alone, peak, reset_peak, resident, timed
from benchmarks.peers.runner import latency

FIRST = 62_500  # texts and labels of the smallest size; the others have 4 and 16 times as many
LABELS_PER_TEXT = 3
WORDS_PER_LABEL = 6
SHOWN_WORDS = 4  # of these, in a text that carries the label
NOISE_WORDS = 13
ASKED = 1000


@dataclass(frozen=True)
class Growth(System):
    """A row per size, each measured in a process of its own."""

    kind: str

    def measure(self, data: str, options: Options) -> list[Row]:
        first = options.subset or FIRST
        rows = [
            alone(measured, self.kind, size, options) for size in (first, 4 * first, 16 * first)
        ]
        for before, after in pairwise(rows):
            entries = after["nonzeros"] / before["nonzeros"]
            depth = math.log(after["labels"]) / math.log(before["labels"])
            after["fit_growth"] = after["fit_seconds"] / before["fit_seconds"] / entries
            after["memory_growth"] = after["peak_mb"] / before["peak_mb"] / entries
            after["rank_growth"] = after["rank_ms"] / before["rank_ms"] / depth
        return rows

    def limit(self, options: Options) -> float:
        return 3 * options.limit_minutes


def measured(kind: str, size: int, options: Options) -> Row:
    """Training on so many texts and labels, and ranking one text."""
    import xmtc

    xmtc.set_threads(options.threads)
    small = planted(300, options.seed)
    for sample in (100, 300):  # compiles the ways of clustering large and small nodes
        tree = {"tree": {"published": {"sample": sample}}} if kind == "linear_tree" else {}
        xmtc.train(kind, given(*small[:2]), tree).rank(small[2], 5)
    before = resident()
    features, relevant, asked = planted(size, options.seed)
    reset_peak()
    model, fit = timed(lambda: xmtc.train(kind, given(features, relevant)))
    memory = peak() - before
    xmtc.set_threads(1)
    rows = [asked[row : row + 1] for row in range(asked.shape[0])]
    single = latency(lambda text: model.rank(text, 5), rows)
    return {
        "texts": size,
        "labels": size,
        "features": features.shape[1],
        "nonzeros": int(features.nnz + relevant.nnz),
        "fit_seconds": fit.seconds,
        "fit_cpu_seconds": fit.cpu_seconds,
        "peak_mb": memory,
        "rank_ms": single["single_p50_ms"],
        "rank_p99_ms": single["single_p99_ms"],
    }


def planted(size: int, seed: int) -> tuple[Any, Any, Any]:
    """(features, relevant, features of texts to rank) of so many texts and labels."""
    rng = np.random.default_rng(seed)
    words = max(50, round(125 * math.sqrt(size)))
    words_of = rng.integers(0, words, (size, WORDS_PER_LABEL), dtype=np.int32)
    labels = zipf(rng, size, (size, LABELS_PER_TEXT))
    labels[:, 0] = np.arange(size)  # so that no label is without a text
    asked = zipf(rng, size, (ASKED, LABELS_PER_TEXT))
    relevant = as_rows(labels, np.ones(labels.size, np.float32), size)
    relevant.data[:] = 1
    features = features_of(rng, words_of, labels, words)
    return features, relevant, features_of(rng, words_of, asked, words)


def features_of(rng: np.random.Generator, words_of: Any, labels: Any, words: int) -> Any:
    """Unit rows: some words of each label of a text, and noise."""
    from xmtc.core.arrays import unit_rows

    shown = rng.integers(0, words_of.shape[1], (*labels.shape, SHOWN_WORDS))
    own = words_of[labels[:, :, None], shown].reshape(len(labels), -1)
    columns = np.concatenate([own, zipf(rng, words, (len(labels), NOISE_WORDS))], 1)
    weights = rng.random(columns.size, dtype=np.float32) + np.float32(0.1)
    return unit_rows(as_rows(columns, weights, words))


def as_rows(columns: Any, values: Any, width: int) -> Any:
    """Equally long rows of column numbers as CSR; repeats are added up."""
    from xmtc.core.arrays import as_csr, csr

    starts = np.arange(0, columns.size + 1, columns.shape[1])
    return as_csr(csr(values, columns.ravel(), starts, width))


def zipf(rng: np.random.Generator, size: int, shape: tuple[int, ...]) -> Any:
    """Numbers below `size`; the n-th is drawn in proportion to 1 / n, nearly."""
    return (np.exp(rng.random(shape, dtype=np.float32) * np.log(size + 1)) - 1).astype(np.int32)
