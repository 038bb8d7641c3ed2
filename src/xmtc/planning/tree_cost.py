"""What training a linear_tree will cost: its tree is made, a part of its classifiers is trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Array, Csr, Ints
from xmtc.core.dataset import Dataset
from xmtc.core.ranking import NO_LABEL, Ranking
from xmtc.core.threads import in_threads, thread_count
from xmtc.core.tree import LabelTree
from xmtc.kernels.dual_descent import SIBLINGS
from xmtc.kernels.sparse_rows import sorted_union
from xmtc.linear.forest import Forest
from xmtc.linear.forest_store import forest_arrays
from xmtc.linear.nodes import ForestConfig, matched, texts_at, train_forest
from xmtc.linear.svm import SvmConfig
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

LABELS = 500  # whose vectors are made, to count their terms
TEXTS = 4_000  # on which the upper levels are trained
MIN_LEAVES = 6  # whose classifiers are trained
LEAF_SHARE = 0.05  # of all leaves, if those are more

# Bytes per non-zero of label vectors in the making, per place in the texts' beams, and per leaf
# that the search finds for a text.
DESCRIBING = 23
SEARCHED = 8
REACHED = 16
CHUNKS = 1.5  # bytes of a forest's chunks, per byte of it in float32
SLACK = 1.15  # of malloc, while classifiers are trained

# (texts, their features, their encoder, settings) -> the first tree over the labels
MakeTree: TypeAlias = Callable[[Dataset, Csr, Any, Any], LabelTree]


@dataclass(frozen=True)
class TreeData:
    """What does not depend on the classifiers: texts encoded, labels clustered."""

    features: Csr
    read: int  # non-zeros before light terms were left out
    relevant: Csr
    tree: LabelTree
    vector_entries: float  # of all label vectors
    encoder_bytes: int
    reading: Spent
    clustering: Spent
    scale: float  # texts in all per text of the sample


@dataclass(frozen=True)
class PartCost:
    """A part of a tree, extrapolated from what was trained of it."""

    spent: Spent
    forest_bytes: float
    saved_bytes: float


@dataclass(frozen=True)
class UpperCost(PartCost):
    """All levels but the last."""

    found: list[Ints]  # texts for which the trained part finds each leaf
    reached: Array  # (leaves,) for how many the tree will, trained on all texts
    growth: float  # of the weights: they are as many as texts ** growth


def linear_tree_costs(dataset: Dataset, make_tree: MakeTree) -> Callable[[Any], Estimate]:
    """Settings of linear_tree -> estimate. What does not depend on classifiers is made once."""
    prepared = lru_cache(maxsize=2)(lambda config: _prepare(dataset, config, make_tree))

    def estimate(config: Any) -> Estimate:
        usual = SvmConfig()
        data = prepared(
            replace(config, svm=usual, negatives="tfn", beam=1, path_exponent=0.5, trees=1)
        )
        upper = _upper_levels(data, config)
        leaves = _leaves(data, config, upper)
        heavier = data.scale**upper.growth
        forest = (upper.forest_bytes + leaves.forest_bytes) * heavier
        saved = (upper.saved_bytes + leaves.saved_bytes) * heavier
        training = total(data.clustering, upper.spent, leaves.spent).times(config.trees)
        return Estimate(
            total(data.reading, training).times(data.scale),
            THREADS + int(_peak(data, config, forest, upper.reached)),
            int(data.encoder_bytes + config.trees * saved),
        )

    return estimate


def _prepare(dataset: Dataset, config: Any, make_tree: MakeTree) -> TreeData:
    texts, scale = sample(dataset)
    (encoder, encoded), reading = timed(lambda: learn_encoder(texts, config.text))
    features = top_terms(encoded, config.max_terms)
    tree, clustering = timed(lambda: make_tree(texts, features, encoder, config))
    count = len(dataset.labels)
    labels = np.random.default_rng(0).permutation(count)[:LABELS]
    terms = np.diff((texts.relevant[:, np.sort(labels)].T @ features).tocsr().indptr)
    max_terms = config.published.vector_max_terms
    terms = terms if max_terms is None else np.minimum(terms, max_terms)
    return TreeData(
        features,
        encoded.nnz,
        texts.relevant,
        tree,
        float(terms.sum() / max(1, len(labels)) * count),
        bytes_of(encoder.to_arrays("")),
        reading,
        clustering,
        scale,
    )


def _peak(data: TreeData, config: Any, forest: float, reached: Array) -> float:
    """Bytes at once: while texts are read, labels described, or the last tree is trained."""
    nnz = data.features.nnz * data.scale
    vectors = data.vector_entries * data.scale
    texts = data.features.shape[0] * data.scale
    reading = LEARNING * data.read * data.scale + PER_TERM * data.features.shape[1]
    describing = ENCODED * nnz + DESCRIBING * vectors
    held = 8 * (nnz + vectors) + (config.trees - 1) * forest
    searched = texts * config.beam * (config.negatives != "tfn")
    found = float(reached.sum()) * data.scale
    solving = CHUNKS * forest + 8 * nnz + SEARCHED * searched + REACHED * found
    assembling = 2 * forest
    return float(max(reading, describing, SLACK * (held + max(solving, assembling))))


def _upper_levels(data: TreeData, config: Any) -> UpperCost:
    """All levels but the last trained on some texts, and the search through them by all."""
    tree = data.tree
    texts = data.features.shape[0]
    if tree.depth == 1:
        return UpperCost(Spent(), 0, 0, [np.empty(0, np.int32)], np.zeros(1), 0.5)
    size = min(TEXTS, texts)
    rows = np.random.default_rng(0).permutation(texts)[:size]
    fewer_rows = rows[: max(1, size // 2)]
    fewer, _ = timed(lambda: _train_upper(data, config.svm, fewer_rows))
    forest, training = timed(lambda: _train_upper(data, config.svm, rows))
    growth = float(np.clip(np.log2(max(1, bytes_of(forest)) / max(1, bytes_of(fewer))), 0, 1))
    heavier = (texts / size) ** growth
    leaves = len(tree.parents[-2])
    spent = training.times(texts / size)
    found = [np.empty(0, np.int32)] * leaves
    reached = np.zeros(leaves)
    if config.negatives != "tfn":
        matcher, converting = timed(lambda: _in_type(config, forest))
        # When it ranks first, it makes what its kernels read.
        _, making = timed(lambda: matched(matcher, data.features[:1], config.beam))
        ranking, searching = timed(lambda: matched(matcher, data.features, config.beam))
        found = texts_at(ranking, leaves)
        # The search finds fewer leaves for training texts than for others: only those are counted.
        own = Ranking(ranking.labels[rows], ranking.scores[rows])
        of_fewer = matched(fewer, data.features[fewer_rows], config.beam)
        # A forest trained on more texts finds as many leaves for a text, or more.
        more = max(1.0, _leaves_per_text(own) / _leaves_per_text(of_fewer))
        counts = np.array([len(at_leaf) for at_leaf in texts_at(own, leaves)])
        reached = np.minimum(counts * texts / size * more ** np.log2(texts / size), texts)
        spent = total(spent, converting.times(heavier), making.times(heavier), searching)
    saved = bytes_of(forest_arrays(_in_type(config, forest), "")) * heavier
    return UpperCost(spent, bytes_of(forest) * heavier, saved, found, reached, growth)


def _train_upper(data: TreeData, config: SvmConfig, rows: Array) -> Forest:
    """All levels but the last, trained on these texts."""
    tree = data.tree
    relevant = tree.relevant_at(tree.depth - 2, data.relevant)[rows]
    return train_forest(
        data.features[rows], relevant, LabelTree(tree.parents[:-1]), ForestConfig(config)
    )


def _leaves_per_text(ranking: Ranking) -> float:
    return max(1, int((ranking.labels != NO_LABEL).sum())) / len(ranking)


def _in_type(config: Any, forest: Forest) -> Forest:
    return forest.as_int8() if config.weight_type == "int8" else forest


def _leaves(data: TreeData, config: Any, upper: UpperCost) -> PartCost:
    """The last level, trained at some leaves on their texts and those for which they are found."""
    tree = data.tree
    children = tree.children[-1]
    sizes = np.diff(children.start)
    if tree.depth > 1:
        carriers = tree.relevant_at(tree.depth - 2, data.relevant).tocsc()
    else:  # the only leaf is the root, which has all texts
        carriers = sp.csc_array(np.ones((data.features.shape[0], 1), np.float32))
    texts = np.maximum(np.diff(carriers.indptr), upper.reached)
    wanted = min(len(sizes), max(MIN_LEAVES, round(LEAF_SHARE * len(sizes))))
    drawn = np.random.default_rng(0).choice(len(sizes), wanted, replace=False)

    def problem(leaf: int) -> tuple[Csr, Csr, LabelTree]:
        labels = children.nodes[children.start[leaf] : children.start[leaf + 1]]
        own = carriers.indices[carriers.indptr[leaf] : carriers.indptr[leaf + 1]].astype(np.int32)
        rows = sorted_union(own, upper.found[leaf])
        return data.features[rows], data.relevant[rows][:, labels], LabelTree.flat(len(labels))

    problems = [problem(leaf) for leaf in drawn]
    how = ForestConfig(config.svm)
    forests, spent = timed(lambda: in_threads(lambda each: train_forest(*each, how), problems))
    blocks = -(-sizes // SIBLINGS)
    trained = np.array([features.shape[0] for features, _, _ in problems]) * blocks[drawn]
    cpu = spent.cpu * (texts * blocks).sum() / max(1, trained.sum())
    wider = sizes.sum() / max(1, sizes[drawn].sum())
    saved = sum(bytes_of(forest_arrays(_in_type(config, forest), "")) for forest in forests)
    return PartCost(
        Spent(cpu / thread_count(), cpu), sum(map(bytes_of, forests)) * wider, saved * wider
    )
