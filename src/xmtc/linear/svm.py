"""Trains many linear classifiers on the same texts: one label against all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Array, Csr, Floats, Ints, Longs, kernel_arrays
from xmtc.core.config import group, setting
from xmtc.core.errors import require
from xmtc.core.progress import track
from xmtc.core.threads import blocks, in_threads
from xmtc.kernels import dual_descent
from xmtc.kernels.dual_descent import SIBLINGS, Rows, Start

SEEDS = 1_000_003  # between the seeds of two trainings: each solver has one of its own


@dataclass(frozen=True)
class PublishedSvm:
    """What exists for the code of a paper."""

    loss: Literal["squared_hinge", "logistic"] = setting(
        "squared_hinge", "loss function; logistic is that of PLT: better probabilities"
    )


@dataclass(frozen=True)
class SvmConfig:
    """The linear classifier that separates a label from the others (LIBLINEAR, dual)."""

    cost: float = setting(1.0, "penalty C: higher fits the training texts more closely")
    positive_cost: float = setting(1.0, "factor of C for positive texts; higher favours recall")
    tolerance: float = setting(0.5, "stopping tolerance of the projected gradient")
    max_iterations: int = setting(20, "passes over the texts at most")
    prune: float = setting(0.05, "weights below this are dropped: smaller and faster models")
    max_weights: int | None = setting(None, "weights per label at most, the largest (None: all)")
    published: PublishedSvm = group(PublishedSvm)

    def __post_init__(self) -> None:
        for name in ("cost", "positive_cost"):
            value = getattr(self, name)
            require(1e-9 <= value <= 1e9, name, value, "must lie between 1e-9 and 1e9")
        require(self.tolerance > 0, "tolerance", self.tolerance, "must be above 0")
        count = self.max_iterations
        require(count >= 1, "max_iterations", count, "must be at least 1")
        require(
            self.max_weights is None or self.max_weights >= 1,
            "max_weights",
            self.max_weights,
            "must be at least 1, or none for no limit",
        )
        require(self.prune >= 0, "prune", self.prune, "must be 0 (keep all) or more")


def train_one_vs_all(
    features: Csr, relevant: Csr, config: SvmConfig, seed: int = 0
) -> tuple[Csr, Floats]:
    """Weights (features, labels) and biases (labels,): one classifier per label over all texts.

    Most rows are negative for most labels, and alike for all of them: that part is solved once,
    and every block of labels starts from it.
    """
    rows = solver_rows(features)
    seed *= SEEDS
    start = _all_negative(rows, features.shape[1], config, seed)
    carriers = relevant.tocsc()
    carriers.sort_indices()
    order = np.argsort(-np.diff(carriers.indptr), kind="stable")  # alike in frequency, so in work
    cuts = blocks(len(order), SIBLINGS)
    with track("training classifiers", len(order)) as advance:

        def work(cut: tuple[int, int]) -> tuple[Ints, Ints, Floats, Floats]:
            labels = order[cut[0] : cut[1]]
            solved = solve(rows, _positives(carriers, labels), start, config, seed + cut[0])
            advance(len(labels))
            return _pruned(solved, labels, config)

        solved = in_threads(work, cuts)
    return _assembled(solved, order, (features.shape[1], relevant.shape[1]))


def refusing(biases: Floats, texts: Array) -> Floats:
    """Who has no text has learned to refuse all that came by, maybe none: a clear no in any case.

    texts: how many each label has.
    """
    clear: Floats = np.where(texts == 0, np.minimum(biases, np.float32(-1)), biases)
    return clear


def solver_rows(features: Csr) -> Rows:
    """The texts as the solver reads them."""
    squares = np.asarray(features.multiply(features).sum(axis=1)).ravel()
    return Rows(*kernel_arrays(features), squares.astype(np.float32))


def _all_negative(rows: Rows, features: int, config: SvmConfig, seed: int) -> Start:
    """The classifier that says no to every text."""
    nothing = Start(np.zeros(features, np.float32), 0.0, np.zeros(len(rows.indptr) - 1, np.float32))
    nobody = (np.zeros(2, np.int64), np.empty(0, np.int32))
    weights, biases, alphas = solve(rows, nobody, nothing, config, seed, share=0.1)
    return Start(weights[0, :, 0].copy(), float(biases[0]), alphas[:, 0].copy())


def solve(
    rows: Rows,
    positives: tuple[Longs, Ints],
    start: Start,
    config: SvmConfig,
    seed: int,
    share: float = 1,
    relevance: Floats | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Classifiers over the same rows. seed: their own; share: of the tolerance."""
    costs = (config.cost * config.positive_cost, config.cost)
    tolerance = config.tolerance * share
    logistic = config.published.loss == "logistic"
    return dual_descent.solve(
        rows,
        positives,
        start,
        costs,
        tolerance,
        config.max_iterations,
        seed & 0xFFFFFFFF,
        logistic,
        relevance,
    )


def pruned(weights: Floats, labels: int, config: SvmConfig) -> tuple[Ints, Longs, Ints, Floats]:
    """The weights worth keeping: features, where the entries of each begin, labels, values."""
    return dual_descent.large_weights(weights, labels, config.prune, config.max_weights)


def _positives(carriers: sp.csc_array, labels: Longs) -> tuple[Longs, Ints]:
    rows = [carriers.indices[carriers.indptr[j] : carriers.indptr[j + 1]] for j in labels]
    starts = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(some) for some in rows], out=starts[1:])
    return starts, np.concatenate(rows).astype(np.int32)


def _pruned(
    solved: tuple[Floats, Floats, Floats], labels: Longs, config: SvmConfig
) -> tuple[Ints, Ints, Floats, Floats]:
    weights, biases, _ = solved
    rows, starts, siblings, values = pruned(weights, len(labels), config)
    features = np.repeat(rows, np.diff(starts))
    return features, labels[siblings].astype(np.int32), values, biases


def _assembled(
    solved: list[tuple[Ints, Ints, Floats, Floats]], order: Longs, shape: tuple[int, int]
) -> tuple[Csr, Floats]:
    features, labels, values, biases = (np.concatenate(part) for part in zip(*solved, strict=True))
    by_label = np.empty(shape[1], np.float32)
    by_label[order] = biases
    weights = sp.coo_array((values, (features, labels)), shape=shape).tocsr()
    weights.sort_indices()
    return weights, by_label
