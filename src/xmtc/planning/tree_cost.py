"""What training a linear_tree will cost: its tree is made, a part of its classifiers is tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Array, Csr, Ints, Longs
from xmtc.core.dataset import Dataset
from xmtc.core.ranking import NO_LABEL, Ranking
from xmtc.core.threads import in_threads, thread_count
from xmtc.core.tree import LabelTree
from xmtc.kernels.dual_descent import SIBLINGS
from xmtc.kernels.sparse_rows import sorted_union
from xmtc.linear.forest import Forest
from xmtc.linear.forest_store import forest_arrays
from xmtc.linear.nodes import matched, texts_at, train_forest
from xmtc.linear.svm import SvmConfig
from xmtc.models import linear_tree
from xmtc.planning.cost import (
    ENCODED,
    LEARNING,
    PER_TERM,
    THREADS,
    Estimate,
    Spent,
    bytes_of,
    sample,
    timed,
    total,
)
from xmtc.text.encoder import learn_encoder
from xmtc.text.top_terms import top_terms

LABELS = 500  # whose descriptions are made
TEXTS = 4_000  # that the upper levels are tried on
# leaves tried: at least so many, and this share of all
LEAVES = 6
SHARE = 0.05

# Bytes per non-zero of label vectors in the making, per place in the texts' beams, and per leaf
# that a text is led to.
DESCRIBING = 23
SEARCHED = 8
REACHED = 16
CHUNKS = 1.5  # bytes of a forest's chunks, per byte of it in float32
SLACK = 1.15  # of malloc, while classifiers are trained


@dataclass(frozen=True)
class Ground:
    """What is the same whatever the classifiers: texts encoded, labels described and clustered."""

    features: Csr
    read: int  # non-zeros before weak terms were left out
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
        same = replace(config, svm=SvmConfig(), negatives="tfn", beam=1, path_exponent=0.5, trees=1)
        return _estimate(ground(same), config)

    return estimate


def _first_tree(
    dataset: Dataset, features: Csr, encoder: Any, config: linear_tree.Config
) -> LabelTree:
    described = linear_tree.label_vectors(dataset, features, encoder, config)
    return next(linear_tree.trees_of(dataset, described, config))


def _ground(dataset: Dataset, config: linear_tree.Config) -> Ground:
    some, scale = sample(dataset)
    (encoder, every), reading = timed(lambda: learn_encoder(some, config.text))
    features = top_terms(every, config.max_terms)
    tree, clustering = timed(lambda: _first_tree(some, features, encoder, config))
    return Ground(
        features,
        every.nnz,
        some.relevant,
        tree,
        _described(some, features, config),
        bytes_of(encoder.to_arrays("")),
        reading,
        clustering,
        scale,
    )


def _described(dataset: Dataset, features: Csr, config: linear_tree.Config) -> float:
    """Non-zeros of the label vectors, from some labels."""
    labels = np.random.default_rng(0).permutation(len(dataset.labels))[:LABELS]
    vectors = dataset.relevant[:, np.sort(labels)].T @ features
    terms = np.diff(vectors.tocsr().indptr)
    most = config.published.vector_max_terms
    if most is not None:
        terms = np.minimum(terms, most)
    return float(terms.sum() / max(1, len(labels)) * len(dataset.labels))


def _estimate(ground: Ground, config: linear_tree.Config) -> Estimate:
    upper = _upper(ground, config)
    leaves = _leaves(ground, config, upper)
    heavier = ground.scale**upper.growth
    forest = (upper.forest_bytes + leaves.forest_bytes) * heavier
    saved = (upper.saved_bytes + leaves.saved_bytes) * heavier
    solving = total(ground.clustering, upper.spent, leaves.spent).times(config.trees)
    return Estimate(
        total(ground.reading, solving).times(ground.scale),
        THREADS + int(_peak(ground, config, forest, upper.reached)),
        int(ground.encoder_bytes + config.trees * saved),
    )


def _peak(ground: Ground, config: linear_tree.Config, forest: float, reached: Array) -> float:
    """Bytes at once: while words are learned, labels described, or the last tree is trained."""
    nnz = ground.features.nnz * ground.scale
    described = ground.described * ground.scale
    texts = ground.features.shape[0] * ground.scale
    learning = LEARNING * ground.read * ground.scale + PER_TERM * ground.features.shape[1]
    describing = ENCODED * nnz + DESCRIBING * described
    held = 8 * (nnz + described) + (config.trees - 1) * forest
    searched = texts * config.beam * (config.negatives != "tfn")
    led = float(reached.sum()) * ground.scale
    solved = CHUNKS * forest + 8 * nnz + SEARCHED * searched + REACHED * led
    put_together = 2 * forest
    return float(max(learning, describing, SLACK * (held + max(solved, put_together))))


@dataclass(frozen=True)
class Part:
    """A part of a tree, extrapolated from what was tried of it."""

    spent: Spent
    forest_bytes: float
    saved_bytes: float


@dataclass(frozen=True)
class Upper(Part):
    """All levels but the last."""

    led: list[Ints]  # texts that what was tried leads to each leaf
    reached: Array  # (leaves,) how many the tree will lead there, taught by all texts
    growth: float  # of the weights: they are as many as texts ** growth


def _upper(ground: Ground, config: linear_tree.Config) -> Upper:
    """All levels but the last tried on some texts, and the search through them by all."""
    tree = ground.tree
    texts = ground.features.shape[0]
    if tree.depth == 1:
        return Upper(Spent(), 0, 0, [np.empty(0, np.int32)], np.zeros(1), 0.5)
    size = min(TEXTS, texts)
    small, few, _ = _try_upper(ground, config.svm, max(1, size // 2))
    forest, rows, training = _try_upper(ground, config.svm, size)
    growth = float(np.clip(np.log2(max(1, bytes_of(forest)) / max(1, bytes_of(small))), 0, 1))
    heavier = (texts / size) ** growth
    leaves = len(tree.parents[-2])
    spent = training.times(texts / size)
    led = [np.empty(0, np.int32)] * leaves
    reached = np.zeros(leaves)
    if config.negatives != "tfn":
        matcher, making = timed(lambda: _matcher(forest, ground.features, config))
        found, searching = timed(lambda: matched(matcher, ground.features, config.beam))
        led = texts_at(found, leaves)
        # Texts that taught it are led to fewer leaves than others, so they alone are counted.
        taught = Ranking(found.labels[rows], found.scores[rows])
        fewer = matched(small, ground.features[few], config.beam)
        # What was taught by more texts leads a text to more leaves, or to as many.
        more = max(1.0, _found_per_text(taught) / _found_per_text(fewer))
        counts = np.array([len(at_leaf) for at_leaf in texts_at(taught, leaves)])
        times = texts / size * more ** np.log2(texts / size)
        reached = np.minimum(counts * times, texts)
        spent = total(spent, making.times(heavier), searching)
    saved = _saved_bytes(forest, config)
    return Upper(spent, bytes_of(forest) * heavier, saved * heavier, led, reached, growth)


def _matcher(forest: Forest, features: Csr, config: linear_tree.Config) -> Forest:
    """The forest with the weights that lead texts, ready: it has ranked a text."""
    (kept,) = linear_tree.in_weight_type(config, [forest])
    matched(kept, features[:1], config.beam)
    return kept


def _found_per_text(found: Ranking) -> float:
    return max(1, int((found.labels != NO_LABEL).sum())) / len(found)


def _try_upper(ground: Ground, config: SvmConfig, size: int) -> tuple[Forest, Longs, Spent]:
    """The upper levels trained on `size` random texts, which texts, and what it took."""
    tree = ground.tree
    rows = np.random.default_rng(0).permutation(ground.features.shape[0])[:size]
    relevant = tree.relevant_at(tree.depth - 2, ground.relevant)[rows]
    features = ground.features[rows]
    upper = LabelTree(tree.parents[:-1])
    forest, spent = timed(lambda: train_forest(features, relevant, upper, config))
    return forest, rows, spent


def _leaves(ground: Ground, config: linear_tree.Config, upper: Upper) -> Part:
    """The last level, tried at some leaves with their texts and those that are led there."""
    tree = ground.tree
    children = tree.children[-1]
    sizes = np.diff(children.start)
    above = _texts_above(ground)
    texts = np.maximum(np.diff(above.indptr), upper.reached)
    wanted = min(len(sizes), max(LEAVES, round(SHARE * len(sizes))))
    chosen = np.random.default_rng(0).choice(len(sizes), wanted, replace=False)

    def problem(leaf: int) -> tuple[Csr, Csr, LabelTree]:
        labels = children.nodes[children.start[leaf] : children.start[leaf + 1]]
        own = above.indices[above.indptr[leaf] : above.indptr[leaf + 1]].astype(np.int32)
        rows = sorted_union(own, upper.led[leaf])
        return ground.features[rows], ground.relevant[rows][:, labels], LabelTree.flat(len(labels))

    problems = [problem(leaf) for leaf in chosen]
    forests, spent = timed(
        lambda: in_threads(lambda some: train_forest(*some, config.svm), problems)
    )
    blocks = -(-sizes // SIBLINGS)
    tried = np.array([features.shape[0] for features, _, _ in problems]) * blocks[chosen]
    cpu = spent.cpu * (texts * blocks).sum() / max(1, tried.sum())
    wider = sizes.sum() / max(1, sizes[chosen].sum())
    saved = sum(_saved_bytes(forest, config) for forest in forests)
    heavy = sum(map(bytes_of, forests))
    return Part(Spent(cpu / thread_count(), cpu), heavy * wider, saved * wider)


def _saved_bytes(forest: Forest, config: linear_tree.Config) -> int:
    return sum(
        bytes_of(forest_arrays(kept, "")) for kept in linear_tree.in_weight_type(config, [forest])
    )


def _texts_above(ground: Ground) -> sp.csc_array:
    """(texts, leaves), 1 where a text carries a label of the leaf; the root leaf has all texts."""
    if ground.tree.depth > 1:
        return ground.tree.relevant_at(ground.tree.depth - 2, ground.relevant).tocsc()
    return sp.csc_array(np.ones((ground.features.shape[0], 1), np.float32))
