"""Clustering 670,000 labels by 100,000 features into the default tree: time and peak memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kit import Claim, Measurement, Options, say, timed
from benchmarks.process import MEGABYTE, alone, forget_peak, peak, resident

SETTINGS: dict[str, Any] = {
    "data": "planted label vectors, as PIFA makes them",
    "labels": 670_000,
    "features": 100_000,
    "nonzeros_per_label": 60,
    "topics": 3000,
    "remarks": [
        "a label draws half of its words from one of the topics, half from all words, both by "
        "Zipf's law; weights fall off, rows have unit length",
        "linear_tree's default tree; kernels are compiled beforehand; in a process of its own",
        "peak_mb: highest resident memory while clustering, above that with the vectors loaded",
        "--subset N: so many labels, for a quick try",
    ],
}
MINUTES = 10
TIMES_VECTORS = 1.0  # dense centres are two rows per thread; the rest is a few numbers per label


def run(options: Options) -> list[Measurement]:
    """One tree."""
    labels = options.subset or SETTINGS["labels"]
    say(f"clustering {labels:,} labels")
    return [alone(_measure, labels, options.threads, options.seed)]


def check(measurements: list[Measurement]) -> list[Claim]:
    """Limits for the full size."""
    (row,) = measurements
    minutes = row["seconds"] / 60
    times = row["peak_mb"] / row["vectors_mb"]
    return [
        Claim(f"clusters within {MINUTES} minutes (min)", minutes < MINUTES, minutes),
        Claim(
            "needs no more memory than the vectors themselves (times)",
            times <= TIMES_VECTORS,
            times,
        ),
    ]


def _measure(labels: int, threads: int, seed: int) -> Measurement:
    import xmtc
    from xmtc.labels.trees import build_tree
    from xmtc.models.linear_tree import Config

    xmtc.set_threads(threads)
    config = Config().tree
    counts = np.ones(labels, np.int64)
    build_tree(_vectors(300, seed), counts[:300], config)
    vectors = _vectors(labels, seed)
    before = resident()
    forget_peak()
    tree, timing = timed(lambda: build_tree(vectors, counts, config))
    return {
        "labels": labels,
        "features": SETTINGS["features"],
        "nonzeros": int(vectors.nnz),
        "threads": threads,
        "seconds": round(timing.seconds, 2),
        "cpu_seconds": round(timing.cpu_seconds, 2),
        "depth": tree.depth,
        "vectors_mb": round((vectors.data.nbytes + vectors.indices.nbytes) / MEGABYTE, 1),
        "peak_mb": round(peak() - before, 1),
    }


def _vectors(labels: int, seed: int) -> Any:
    """(labels, features) unit rows."""
    from xmtc.core.arrays import as_csr, csr, unit_rows

    rng = np.random.default_rng(seed)
    features = SETTINGS["features"]
    words = SETTINGS["nonzeros_per_label"]
    topics = rng.integers(0, features, (SETTINGS["topics"], 200), dtype=np.int32)
    own = rng.integers(0, len(topics), labels)
    half = words // 2
    from_topic = topics[own[:, None], zipf(rng, topics.shape[1], (labels, half))]
    from_all = zipf(rng, features, (labels, words - half))
    columns = np.concatenate([from_topic, from_all], axis=1).ravel()
    weights = (rng.random(columns.size, dtype=np.float32) + 0.05) ** 2
    starts = np.arange(0, columns.size + 1, words)
    return unit_rows(as_csr(csr(weights, columns, starts, features)))


def zipf(rng: np.random.Generator, size: int, shape: tuple[int, ...]) -> Any:
    """Numbers below `size`; the n-th is drawn in proportion to 1 / n, nearly."""
    return (np.exp(rng.random(shape, dtype=np.float32) * np.log(size + 1)) - 1).astype(np.int32)
