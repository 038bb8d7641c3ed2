"""What training will cost, from the data at hand and a few classifiers trained on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from xmtc.core.arrays import Array, Csr, Ints
from xmtc.core.dataset import Dataset
from xmtc.core.ranking import NO_LABEL
from xmtc.core.threads import in_threads, thread_count
from xmtc.core.tree import LabelTree
from xmtc.kernels.svm import SIBLINGS
from xmtc.linear.forest import Forest
from xmtc.linear.nodes import train_forest
from xmtc.linear.svm import SvmConfig, train_one_vs_all
from xmtc.models import linear_tree, one_vs_all
from xmtc.text.encoder import learn_encoder

T = TypeVar("T")

CHARACTERS = 200_000_000  # more text than this is judged by a sample of it
LABELS = 2_000  # whose descriptions are made
TEXTS = 4_000  # that the upper levels of a tree are tried on
LEAVES, SHARE = 6, 0.05  # leaves tried: at least so many, and this share of all
BLOCKS = 4  # of one_vs_all's labels tried, of SIBLINGS each

# Bytes that training holds per entry, by the arrays alive at once (measured with malloc's slack).
LEARNING, PER_TERM = 34, 80  # of TF-IDF, per non-zero and per term
ENCODED, DESCRIBING = 16, 23  # TF-IDF kept, label vectors in the making, per non-zero
REACHED = 24  # per text and node of the beam
THREADS = 12_000_000  # of threads and their small allocations, whatever the data
SLACK = 1.15  # of malloc, while classifiers are trained
ASSEMBLING = 40  # of one_vs_all's weights


class Spent(NamedTuple):
    """Time by the clock and by all processors."""

    seconds: float = 0.0
    cpu: float = 0.0

    def times(self, factor: float) -> Spent:
        """As much work again, `factor` times."""
        return Spent(self.seconds * factor, self.cpu * factor)


@dataclass(frozen=True)
class Estimate:
    """What one training will take, beyond the data set itself."""

    spent: Spent
    growth: int  # bytes of memory at the peak
    model_bytes: int


@dataclass(frozen=True)
class Ground:
    """What is the same whatever the classifiers: texts encoded, labels described and clustered."""

    features: Csr
    relevant: Csr
    tree: LabelTree
    described: float  # non-zeros of the label vectors
    encoder_bytes: int
    reading: Spent
    clustering: Spent
    scale: float  # texts in all per text looked at


def linear_tree_costs(dataset: Dataset) -> Callable[[Any], Estimate]:
    """Settings -> estimate. What does not depend on the classifiers is found out once."""
    ground = lru_cache(maxsize=2)(lambda config: _ground(dataset, config))

    def estimate(config: linear_tree.Config) -> Estimate:
        same = replace(config, svm=SvmConfig(), negatives="tfn", beam=1, trust=0.5, trees=1)
        return _tree_estimate(ground(same), config, len(dataset.labels))

    return estimate


def one_vs_all_costs(dataset: Dataset) -> Callable[[Any], Estimate]:
    """Settings -> estimate, from a few blocks of labels."""
    some, scale = _sample(dataset)

    def estimate(config: one_vs_all.Config) -> Estimate:
        (encoder, features), reading = _timed(lambda: learn_encoder(some, config.text))
        first, last = (_some_blocks(some.relevant, count) for count in (1, 1 + BLOCKS))
        _, start = _timed(lambda: train_one_vs_all(features, first, config.svm))
        (weights, _), more = _timed(lambda: train_one_vs_all(features, last, config.svm))
        blocks = -(-len(dataset.labels) // SIBLINGS)
        cpu = start.cpu + max(more.cpu - start.cpu, 0) / BLOCKS * (blocks - 1)
        entries = weights.nnz / last.shape[1] * len(dataset.labels)
        solving = Spent(cpu / thread_count(), cpu).times(scale)
        rows, nnz = len(dataset), features.nnz * scale
        state = SIBLINGS * 4 * (features.shape[1] + 2 * rows) * thread_count()
        growth = max(
            LEARNING * nnz + PER_TERM * features.shape[1],
            ENCODED * nnz + SLACK * (state + ASSEMBLING * entries),
        )
        size = _bytes(encoder.to_arrays("")) + 8 * entries
        return Estimate(_sum(reading.times(scale), solving), THREADS + int(growth), int(size))

    return estimate


def _sample(dataset: Dataset) -> tuple[Dataset, float]:
    """The data set, or a random part with as much text as we look at."""
    characters = sum(map(len, dataset.texts))
    if characters <= CHARACTERS:
        return dataset, 1.0
    count = max(1, int(len(dataset) * CHARACTERS / characters))
    rows = np.random.default_rng(0).choice(len(dataset), count, replace=False)
    return dataset.take(np.sort(rows)), len(dataset) / count


def _ground(dataset: Dataset, config: linear_tree.Config) -> Ground:
    some, scale = _sample(dataset)
    (encoder, features), reading = _timed(lambda: learn_encoder(some, config.text))
    tree, clustering = _timed(lambda: next(linear_tree.trees_of(some, features, encoder, config)))
    return Ground(
        features, some.relevant, tree, _described(some, features), _bytes(encoder.to_arrays("")),
        reading, clustering, scale,
    )  # fmt: skip


def _described(dataset: Dataset, features: Csr) -> float:
    """Non-zeros of the label vectors, from some labels."""
    labels = np.random.default_rng(0).permutation(len(dataset.labels))[:LABELS]
    vectors = dataset.relevant[:, np.sort(labels)].T @ features
    return float(vectors.nnz / max(1, len(labels)) * len(dataset.labels))


def _tree_estimate(ground: Ground, config: linear_tree.Config, labels: int) -> Estimate:
    upper = _upper(ground, config)
    leaves = _leaves(ground, config, upper.reached)
    forest = upper.forest_bytes + leaves.forest_bytes
    solving = _sum(ground.clustering, upper.spent, leaves.spent).times(config.trees)
    nnz, described = ground.features.nnz * ground.scale, ground.described * ground.scale
    texts = ground.features.shape[0] * ground.scale
    learning = LEARNING * nnz + PER_TERM * ground.features.shape[1]
    describing = ENCODED * nnz + DESCRIBING * described
    held = 8 * (nnz + described) + (config.trees + 1) * forest
    passing = 8 * nnz + REACHED * texts * config.beam * (config.negatives != "tfn")
    return Estimate(
        _sum(ground.reading, solving).times(ground.scale),
        THREADS + int(max(learning, describing, SLACK * (held + passing))),
        int(ground.encoder_bytes + config.trees * (upper.saved_bytes + leaves.saved_bytes)),
    )


@dataclass(frozen=True)
class Part:
    """A part of a tree, extrapolated from what was tried of it."""

    spent: Spent
    forest_bytes: float
    saved_bytes: float
    reached: Array  # (leaves,) texts that the tree leads to each


def _upper(ground: Ground, config: linear_tree.Config) -> Part:
    """All levels but the last, and the search through them, tried on some texts."""
    tree, texts = ground.tree, ground.features.shape[0]
    leaves = len(tree.parents[-2]) if tree.depth > 1 else 1
    if tree.depth == 1:
        return Part(Spent(), 0, 0, np.full(1, texts))
    matcher = LabelTree(tree.parents[:-1])
    relevant = tree.relevant_at(tree.depth - 2, ground.relevant)
    sizes = [max(1, min(TEXTS, texts) // 2), min(TEXTS, texts)]
    tried = []
    for size in sizes:
        rows = np.sort(np.random.default_rng(0).choice(texts, size, replace=False))
        some = ground.features[rows]
        tried.append(_timed(lambda: train_forest(some, relevant[rows], matcher, config.svm)))  # noqa: B023
    (small, _), (forest, spent) = tried
    more = texts / sizes[-1]
    growth = max(_bytes(forest), 1) / max(_bytes(small), 1)  # when the texts double
    heavier = more ** np.clip(np.log2(growth), 0, 1)
    reached = np.full(leaves, 0.0)
    if config.negatives != "tfn":
        ranking, searching = _timed(lambda: forest.rank(some, config.beam, config.beam))
        spent = _sum(spent, searching)
        reached = np.bincount(ranking.labels[ranking.labels != NO_LABEL], minlength=leaves) * more
    saved = _bytes(forest.to_arrays(""))
    return Part(spent.times(more), _bytes(forest) * heavier, saved * heavier, reached)


def _leaves(ground: Ground, config: linear_tree.Config, reached: Array) -> Part:
    """The last level, tried at some leaves."""
    tree = ground.tree
    children = tree.children[-1]
    count = len(children.start) - 1
    above = tree.relevant_at(tree.depth - 2, ground.relevant).tocsc() if count > 1 else None
    own = np.diff(above.indptr) if above is not None else reached
    texts = np.maximum(own, reached)
    sizes = np.diff(children.start)
    work = texts * -(-sizes // SIBLINGS)
    wanted = min(count, max(LEAVES, round(SHARE * count)))
    chosen = np.random.default_rng(0).choice(count, wanted, replace=False)

    def problem(leaf: int) -> tuple[Csr, Csr, LabelTree]:
        labels = children.nodes[children.start[leaf] : children.start[leaf + 1]]
        rows = _rows_at(ground, above, leaf, int(texts[leaf]))
        return ground.features[rows], ground.relevant[rows][:, labels], LabelTree.flat(len(labels))

    problems = [problem(leaf) for leaf in chosen]
    forests, spent = _timed(
        lambda: in_threads(lambda some: train_forest(*some, config.svm), problems)
    )
    more = work.sum() / max(1, work[chosen].sum())
    wider = sizes.sum() / max(1, sizes[chosen].sum())
    heavy = sum(map(_bytes, forests)) * wider
    saved = sum(_bytes(forest.to_arrays("")) for forest in forests) * wider
    cpu = spent.cpu * more
    return Part(Spent(cpu / thread_count(), cpu), heavy, saved, reached)


def _rows_at(ground: Ground, above: Any, leaf: int, count: int) -> Ints:
    """The texts of a leaf, and those most like them until there are `count`."""
    if above is None:
        return np.arange(ground.features.shape[0], dtype=np.int32)
    own = above.indices[above.indptr[leaf] : above.indptr[leaf + 1]]
    middle = np.asarray(ground.features[own].sum(axis=0)).ravel()
    likeness = ground.features @ middle
    likeness[own] = np.inf
    return np.sort(np.argpartition(-likeness, min(count, len(likeness)) - 1)[:count])


def _some_blocks(relevant: Csr, count: int) -> Csr:
    """(texts, some labels): `count` blocks of labels that are alike in frequency, evenly spread."""
    frequencies = np.bincount(relevant.indices, minlength=relevant.shape[1])
    order = np.argsort(-frequencies, kind="stable")
    blocks = -(-len(order) // SIBLINGS)
    firsts = np.unique(np.linspace(0, blocks - 1, count + 2)[1:-1].astype(int)) * SIBLINGS
    return relevant[:, np.sort(np.concatenate([order[f : f + SIBLINGS] for f in firsts]))]


def _bytes(part: Any) -> int:
    """Of the arrays in a dict or a forest."""
    if isinstance(part, Forest):
        part = {field.name: getattr(part, field.name) for field in fields(part)}
    return sum(array.nbytes for array in part.values() if isinstance(array, np.ndarray))


def _timed(work: Callable[[], T]) -> tuple[T, Spent]:
    cpu, start = time.process_time(), time.perf_counter()
    result = work()
    return result, Spent(time.perf_counter() - start, time.process_time() - cpu)


def _sum(*parts: Spent) -> Spent:
    return Spent(sum(part.seconds for part in parts), sum(part.cpu for part in parts))
