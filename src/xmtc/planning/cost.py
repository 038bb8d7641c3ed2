"""What training will cost, from the data at hand and a few classifiers trained on this machine.

What estimates share, and that of one_vs_all; `tree_cost` has that of linear_tree.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeVar

import numpy as np

from xmtc.core.arrays import Csr, label_counts
from xmtc.core.dataset import Dataset
from xmtc.core.threads import thread_count
from xmtc.kernels.dual_descent import SIBLINGS
from xmtc.linear.forest import Forest
from xmtc.linear.svm import train_one_vs_all
from xmtc.text.encoder import learn_encoder

T = TypeVar("T")

CHARACTERS = 200_000_000  # of more text than this a sample is read
BLOCKS = 16  # of one_vs_all's labels trained, of SIBLINGS each
SHORT = 0.3  # seconds of work: what takes less is repeated, as other programs disturb it

# Bytes that training holds per entry, by the arrays alive at once (measured with malloc's slack).
LEARNING = 34  # of TF-IDF, per non-zero
PER_TERM = 80  # of the vocabulary
ENCODED = 16  # of finished TF-IDF, per non-zero
THREADS = 4_000_000  # of threads and their small allocations, whatever the data
WEIGHT = {"int8": 3, "float32": 6}  # a saved weight of one_vs_all: its label's number and itself
ASSEMBLING = 28  # per weight of one_vs_all, when they are put together


class Spent(NamedTuple):
    """Time by the clock and by all processors."""

    seconds: float = 0.0
    cpu: float = 0.0

    def times(self, factor: float) -> Spent:
        """`factor` times as much work."""
        return Spent(self.seconds * factor, self.cpu * factor)


@dataclass(frozen=True)
class Estimate:
    """What training will take, above what the process has with the data set."""

    spent: Spent
    growth: int  # bytes of memory at the peak
    model_bytes: int


def one_vs_all_costs(
    dataset: Dataset, encoded: tuple[Any, Csr] | None = None
) -> Callable[[Any], Estimate]:
    """Settings of one_vs_all -> estimate, from a few blocks of labels.

    encoded: what `learn_encoder` returns for these texts, where training will not make it again.
    """
    texts, scale = sample(dataset)

    def estimate(config: Any) -> Estimate:
        given = encoded if texts is dataset else None
        found, reading = timed(lambda: given or learn_encoder(texts, config.text))
        encoder, features = found
        # Labels alike in frequency share a block; the rarest alone costs little but the start that
        # all blocks share.
        order = np.argsort(-label_counts(texts.relevant), kind="stable")
        blocks = -(-len(order) // SIBLINGS)
        firsts = np.unique((np.arange(BLOCKS) + 0.5) / BLOCKS * blocks // 1).astype(int) * SIBLINGS
        spread = np.concatenate([order[first : first + SIBLINGS] for first in firsts])
        relevant = texts.relevant
        _, start = least(lambda: train_one_vs_all(features, relevant[:, order[-1:]], config.svm))
        (weights, _), solving = least(
            lambda: train_one_vs_all(features, relevant[:, spread], config.svm)
        )
        more = len(dataset.labels) / len(spread)
        cpu = start.cpu + max(solving.cpu - start.cpu, 0) * more
        entries = weights.nnz * more
        nnz = features.nnz * scale
        state = SIBLINGS * 4 * (features.shape[1] + 2 * len(dataset)) * thread_count()
        growth = max(
            LEARNING * nnz + PER_TERM * features.shape[1],
            ENCODED * nnz + state + ASSEMBLING * entries,
        )
        return Estimate(
            total(reading, Spent(cpu / thread_count(), cpu)).times(scale),
            THREADS + int(growth),
            int(bytes_of(encoder.to_arrays("")) + WEIGHT[config.weight_type] * entries),
        )

    return estimate


def sample(dataset: Dataset) -> tuple[Dataset, float]:
    """The data set, or a random part with CHARACTERS of text, and how many times larger it is."""
    characters = sum(map(len, dataset.texts))
    if characters <= CHARACTERS:
        return dataset, 1.0
    count = max(1, int(len(dataset) * CHARACTERS / characters))
    rows = np.random.default_rng(0).choice(len(dataset), count, replace=False)
    return dataset.take(np.sort(rows)), len(dataset) / count


def bytes_of(arrays: dict[str, Any] | Forest) -> int:
    """Of the arrays in a dict or a forest."""
    if isinstance(arrays, Forest):
        arrays = {field.name: getattr(arrays, field.name) for field in fields(arrays)}
    return sum(array.nbytes for array in arrays.values() if isinstance(array, np.ndarray))


def timed(work: Callable[[], T]) -> tuple[T, Spent]:
    """The result of the work, and what it took."""
    cpu = time.process_time()
    start = time.perf_counter()
    result = work()
    return result, Spent(time.perf_counter() - start, time.process_time() - cpu)


def least(work: Callable[[], T]) -> tuple[T, Spent]:
    """The result of the work, and the least that it took in as many runs as SHORT allows."""
    result, spent = timed(work)
    runs = [spent]
    while sum(each.seconds for each in runs) < SHORT:
        runs.append(timed(work)[1])
    return result, min(runs, key=lambda each: each.cpu)


def total(*parts: Spent) -> Spent:
    """One piece of work after the other."""
    return Spent(sum(part.seconds for part in parts), sum(part.cpu for part in parts))
