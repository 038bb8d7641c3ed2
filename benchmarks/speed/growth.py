"""linear_tree on planted Zipf data of 16 times as many texts and labels: how costs grow."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.kit import Claim, Measurement, Options, say, timed
from benchmarks.peers.at_work import latency
from benchmarks.process import alone, forget_peak, peak, resident
from benchmarks.speed.clustering import zipf

SETTINGS: dict[str, Any] = {
    "data": "planted: labels show themselves by words of their own, among noise",
    "sizes": [62_500, 250_000, 1_000_000],  # texts, and as many labels
    "labels_per_text": 3,
    "words_per_label": 6,  # of which a text that carries the label shows 4
    "noise_words": 13,
    "asked": 1000,
    "remarks": [
        "a text's first label goes round all labels, the others and the noise words are drawn by "
        "Zipf's law; 125 times as many words as the square root of labels, as vocabularies grow "
        "(Heaps' law; records before 16 November 2026, 10:30: half as many words as labels, which "
        "no language has); weights are drawn, rows have unit length; about 23 words a text",
        "linear_tree's defaults, features given; each size in a process of its own, once",
        "peak_mb: highest resident memory while training, above that before the data was made",
        "rank_ms: one unseen text at a time, median, one thread",
        "--subset N: sizes N, 4 N and 16 N, for a quick try",
    ],
}
SLACK = 1.15  # of measuring; a ratio of ratios above it is growth


def run(options: Options) -> list[Measurement]:
    """One row per size."""
    small = options.subset
    sizes = [small, 4 * small, 16 * small] if small else SETTINGS["sizes"]
    rows = []
    for size in sizes:
        rows.append(alone(_measure, size, options.threads, options.seed))
        say(f"{size:,} texts and labels: {rows[-1]['fit_seconds']} s")
    return rows


def check(measurements: list[Measurement]) -> list[Claim]:
    """Each size beside the one before."""
    claims = []
    for before, after in pairwise(measurements):
        step = f"{before['texts']:,} to {after['texts']:,} texts and labels"
        more = after["nonzeros"] / before["nonzeros"]
        deeper = math.log(after["labels"]) / math.log(before["labels"])
        for what, figure, allowed in (
            ("training time, beside non-zeros", "fit_seconds", more),
            ("peak memory, beside non-zeros", "peak_mb", more),
            ("ranking a text, beside the logarithm of labels", "rank_ms", deeper),
        ):
            growth = after[figure] / before[figure] / allowed
            claims.append(Claim(f"{step}: {what} (times as much)", growth <= SLACK, growth))
    return claims


def _measure(size: int, threads: int, seed: int) -> Measurement:
    import xmtc
    from xmtc.models import linear_tree

    xmtc.set_threads(threads)
    few = _planted(300, 300, seed)
    for sample in (100, 300):  # compiles the ways of clustering that large and small nodes take
        _train(*few[:2], tree={"published": {"sample": sample}}).rank(few[2], 5)
    before = resident()
    features, relevant, asked = _planted(size, size, seed)
    forget_peak()
    model, fit = timed(lambda: _train(features, relevant))
    memory = peak() - before
    xmtc.set_threads(1)
    single = latency(
        lambda text: model.rank(text, 5), [asked[row : row + 1] for row in range(asked.shape[0])]
    )
    assert isinstance(model, linear_tree.LinearTree)
    return {
        "texts": size,
        "labels": size,
        "features": features.shape[1],
        "nonzeros": int(features.nnz + relevant.nnz),
        "threads": threads,
        "fit_seconds": round(fit.seconds, 2),
        "fit_cpu_seconds": round(fit.cpu_seconds, 2),
        "peak_mb": round(memory, 1),
        "rank_ms": round(single["single_p50_ms"], 4),
        "rank_p99_ms": round(single["single_p99_ms"], 4),
    }


def _train(features: Any, relevant: Any, **settings: Any) -> Any:
    import xmtc

    names = tuple(map(str, range(relevant.shape[1])))
    given = xmtc.Dataset((), relevant, xmtc.LabelSpace(names), features)
    return xmtc.train("linear_tree", given, settings)


def _planted(texts: int, labels: int, seed: int) -> tuple[Any, Any, Any]:
    """(features, relevant, features of texts to ask for)."""
    rng = np.random.default_rng(seed)
    words = max(50, round(125 * math.sqrt(labels)))
    signs = rng.integers(0, words, (labels, SETTINGS["words_per_label"]), dtype=np.int32)
    carried = zipf(rng, labels, (texts, SETTINGS["labels_per_text"]))
    carried[:, 0] = np.arange(texts) % labels
    unseen = zipf(rng, labels, (SETTINGS["asked"], SETTINGS["labels_per_text"]))
    relevant = _rows(carried, np.ones(carried.size, np.float32), labels)
    relevant.data[:] = 1
    return _features(rng, signs, carried, words), relevant, _features(rng, signs, unseen, words)


def _features(rng: np.random.Generator, signs: Any, carried: Any, words: int) -> Any:
    """Unit rows: four words of each label, and noise."""
    from xmtc.core.arrays import unit_rows

    shown = rng.integers(0, signs.shape[1], (*carried.shape, 4))
    own = signs[carried[:, :, None], shown].reshape(len(carried), -1)
    columns = np.concatenate([own, zipf(rng, words, (len(carried), SETTINGS["noise_words"]))], 1)
    weights = rng.random(columns.size, dtype=np.float32) + np.float32(0.1)
    return unit_rows(_rows(columns, weights, words))


def _rows(columns: Any, values: Any, width: int) -> Any:
    """Equally long rows of column numbers as CSR; repeats are added up."""
    from xmtc.core.arrays import as_csr, csr

    starts = np.arange(0, columns.size + 1, columns.shape[1])
    return as_csr(csr(values, columns.ravel(), starts, width))
