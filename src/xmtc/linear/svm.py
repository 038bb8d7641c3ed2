"""Trains many linear classifiers on the same texts: one label against all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Array, Csr, Floats, Ints, Longs, kernel_arrays
from xmtc.core.config import check_bounds, group, setting
from xmtc.core.progress import track
from xmtc.core.threads import blocks, in_threads
from xmtc.kernels import dual_descent
from xmtc.kernels.dual_descent import SIBLINGS, Positives, Problem, Start
from xmtc.kernels.sparse_rows import TrainingRows

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

    cost: float = setting(
        1.0, "penalty C: higher fits the training texts more closely", low=1e-9, high=1e9
    )
    positive_cost: float = setting(
        1.0, "factor of C for positive texts; higher favours recall", low=1e-9, high=1e9
    )
    tolerance: float = setting(0.5, "stopping tolerance of the projected gradient", above=0)
    max_iterations: int = setting(20, "maximum iterations over the texts", low=1)
    prune: float = setting(0.05, "weights below this are dropped: smaller and faster models", low=0)
    max_weights: int | None = setting(None, "maximum weights per label (None: all)", low=1)
    published: PublishedSvm = group(PublishedSvm)

    def __post_init__(self) -> None:
        check_bounds(self)


def train_one_vs_all(
    features: Csr, relevant: Csr, config: SvmConfig, seed: int = 0
) -> tuple[Csr, Floats]:
    """Weights (features, labels) and biases (labels,): one classifier per label over all texts.

    Most rows are negative for most labels, and alike for all of them: that part is solved once,
    and every block of labels starts from it.
    """
    rows = solver_rows(features)
    width = features.shape[1]
    start = Start(np.zeros(width, np.float32), 0.0, np.zeros(features.shape[0], np.float32))
    none = Positives(np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    weights, biases, alphas = solve(rows, none, start, config, seed * SEEDS, tolerance_share=0.1)
    start = Start(weights[0, :, 0].copy(), float(biases[0]), alphas[:, 0].copy())
    by_label = relevant.tocsc()
    order = np.argsort(-np.diff(by_label.indptr), kind="stable")  # alike in frequency, so in work
    with track("training classifiers", len(order)) as advance:

        def train(cut: tuple[int, int]) -> tuple[Ints, Ints, Floats, Floats]:
            labels = order[cut[0] : cut[1]]
            own = by_label[:, labels]
            own.sort_indices()
            positives = Positives(
                own.indptr.astype(np.int64), own.indices.astype(np.int32), np.empty(0, np.float32)
            )
            weights, biases, _ = solve(rows, positives, start, config, seed * SEEDS + cut[0])
            used, starts, siblings, values = pruned(weights, len(labels), config)
            advance(len(labels))
            columns = labels[siblings].astype(np.int32)
            return np.repeat(used, np.diff(starts)), columns, values, biases

        solved = in_threads(train, blocks(len(order), SIBLINGS))
    entry_features, columns, values, biases = map(np.concatenate, zip(*solved, strict=True))
    in_order = np.empty(len(order), np.float32)
    in_order[order] = biases
    shape = (width, len(order))
    matrix = sp.coo_array((values, (entry_features, columns)), shape=shape).tocsr()
    matrix.sort_indices()
    return matrix, in_order


def refusing(biases: Floats, texts: Array) -> Floats:
    """The biases, clearly negative for labels without texts, which may lack negatives too.

    texts: how many each label has.
    """
    refused: Floats = np.where(texts == 0, np.minimum(biases, np.float32(-1)), biases)
    return refused


def solver_rows(features: Csr) -> TrainingRows:
    """The texts as the solver reads them."""
    squares = np.asarray(features.multiply(features).sum(axis=1)).ravel()
    return TrainingRows(*kernel_arrays(features), squares.astype(np.float32))


def solve(
    rows: TrainingRows,
    positives: Positives,
    start: Start,
    config: SvmConfig,
    seed: int,
    tolerance_share: float = 1,
) -> tuple[Floats, Floats, Floats]:
    """Weights, biases and alphas of classifiers over the same rows, as the kernel gives them.

    seed: of these classifiers alone, so that it does not matter which thread works on them.
    """
    problem = Problem(
        float(config.cost * config.positive_cost),
        float(config.cost),
        float(config.tolerance * tolerance_share),
        config.max_iterations,
        config.published.loss == "logistic",
    )
    return dual_descent.solve(rows, positives, start, problem, seed & 0xFFFFFFFF)


def pruned(weights: Floats, labels: int, config: SvmConfig) -> tuple[Ints, Longs, Ints, Floats]:
    """The weights to keep: features, where the entries of each begin, labels, values."""
    most = weights.shape[1] if config.max_weights is None else config.max_weights
    return dual_descent.large_weights(weights, labels, float(config.prune), most)
