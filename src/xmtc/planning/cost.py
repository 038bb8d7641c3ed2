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
from xmtc.models import one_vs_all
from xmtc.text.encoder import learn_encoder

T = TypeVar("T")

CHARACTERS = 200_000_000  # more text than this is judged by a sample of it
BLOCKS = 16  # of one_vs_all's labels tried, of SIBLINGS each
SHORT = 0.3  # seconds of work: what takes less is tried again, as other programs disturb it

# Bytes that training holds per entry, by the arrays alive at once (measured with malloc's slack).
# of TF-IDF, per non-zero and per term
LEARNING = 34
PER_TERM = 80
ENCODED = 16  # TF-IDF kept, per non-zero
THREADS = 4_000_000  # of threads and their small allocations, whatever the data
ASSEMBLING = 28  # per weight of one_vs_all, when they are put together


class Spent(NamedTuple):
    """Time by the clock and by all processors."""

    seconds: float = 0.0
    cpu: float = 0.0

    def times(self, factor: float) -> Spent:
        """As much work again, `factor` times."""
        return Spent(self.seconds * factor, self.cpu * factor)


@dataclass(frozen=True)
class Estimate:
    """What training will take, above what the process has with the data set."""

    spent: Spent
    growth: int  # bytes of memory at the peak
    model_bytes: int


def one_vs_all_costs(dataset: Dataset) -> Callable[[Any], Estimate]:
    """Settings -> estimate, from a few blocks of labels."""
    some, scale = sample(dataset)

    def estimate(config: one_vs_all.Config) -> Estimate:
        (encoder, features), reading = timed(lambda: learn_encoder(some, config.text))
        rarest, spread = _spread(some.relevant)
        _, start = least(lambda: train_one_vs_all(features, rarest, config.svm))
        (weights, _), solving_some = least(lambda: train_one_vs_all(features, spread, config.svm))
        more = len(dataset.labels) / spread.shape[1]
        cpu = start.cpu + max(solving_some.cpu - start.cpu, 0) * more
        entries = weights.nnz * more
        solving = Spent(cpu / thread_count(), cpu).times(scale)
        rows = len(dataset)
        nnz = features.nnz * scale
        state = SIBLINGS * 4 * (features.shape[1] + 2 * rows) * thread_count()
        growth = max(
            LEARNING * nnz + PER_TERM * features.shape[1],
            ENCODED * nnz + state + ASSEMBLING * entries,
        )
        size = bytes_of(encoder.to_arrays("")) + 8 * entries
        return Estimate(total(reading.times(scale), solving), THREADS + int(growth), int(size))

    return estimate


def sample(dataset: Dataset) -> tuple[Dataset, float]:
    """The data set, or a random part with as much text as we look at."""
    characters = sum(map(len, dataset.texts))
    if characters <= CHARACTERS:
        return dataset, 1.0
    count = max(1, int(len(dataset) * CHARACTERS / characters))
    rows = np.random.default_rng(0).choice(len(dataset), count, replace=False)
    return dataset.take(np.sort(rows)), len(dataset) / count


def _spread(relevant: Csr) -> tuple[Csr, Csr]:
    """(texts, the rarest label), whose training is little but the common start of all, and
    (texts, some labels): BLOCKS blocks of labels that are alike in frequency, evenly spread."""
    order = np.argsort(-label_counts(relevant), kind="stable")
    blocks = -(-len(order) // SIBLINGS)
    firsts = np.unique((np.arange(BLOCKS) + 0.5) / BLOCKS * blocks // 1).astype(int) * SIBLINGS
    chosen = np.concatenate([order[first : first + SIBLINGS] for first in firsts])
    return relevant[:, order[-1:]], relevant[:, chosen]


def bytes_of(part: Any) -> int:
    """Of the arrays in a dict or a forest."""
    if isinstance(part, Forest):
        part = {field.name: getattr(part, field.name) for field in fields(part)}
    return sum(array.nbytes for array in part.values() if isinstance(array, np.ndarray))


def timed(work: Callable[[], T]) -> tuple[T, Spent]:
    """What the work gives, and what it took."""
    cpu = time.process_time()
    start = time.perf_counter()
    result = work()
    return result, Spent(time.perf_counter() - start, time.process_time() - cpu)


def least(work: Callable[[], T]) -> tuple[T, Spent]:
    """What the work gives, and the least that it took in as many tries as SHORT allows."""
    result, spent = timed(work)
    tries = [spent]
    while sum(each.seconds for each in tries) < SHORT:
        tries.append(timed(work)[1])
    return result, min(tries, key=lambda each: each.cpu)


def total(*parts: Spent) -> Spent:
    """One piece of work after the other."""
    return Spent(sum(part.seconds for part in parts), sum(part.cpu for part in parts))
