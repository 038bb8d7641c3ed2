"""Trains the classifiers of a label tree: at each node, its children against each other."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Array, Csr, Floats, Ints, Longs, csr, kernel_arrays
from xmtc.core.progress import track
from xmtc.core.ranking import NO_LABEL, Ranking
from xmtc.core.threads import blocks, in_threads
from xmtc.core.tree import LabelTree
from xmtc.kernels.dual_descent import SIBLINGS, Rows, Start
from xmtc.kernels.sparse_rows import gather_rows, sorted_union
from xmtc.linear.forest import Chunk, Forest, WeightType, chunk_of, forest_of, side_by_side
from xmtc.linear.svm import SEEDS, SvmConfig, pruned, refusing, solve

# What a text that carries a node's labels counts there: the same everywhere, or the share of its
# labels that are below the node (PECOS: relevance induced).
Relevance = Literal["equal", "induced"]
# Which texts a label learns from, besides its own: those of the labels in its cluster (tfn, teacher
# forcing negatives), those that the tree itself leads to the cluster (man, matcher aware), or both.
Negatives = Literal["tfn", "man", "both"]
TOGETHER = 8 * SIBLINGS  # children whose weights are dense at once while they are solved
FAR = 1 / 300  # of the best cluster's score: those below do not learn from a text
_EQUAL = np.empty(0, np.float32)  # relevance of texts that count the same


@dataclass(frozen=True)
class Node:
    """One piece of work: the texts that reach a node, and those of each child."""

    place: int  # among all inner nodes, level by level
    rows: Ints  # ascending
    child_start: Longs  # (children + 1,) where each child's own rows begin among the carriers
    carriers: Ints
    relevance: Floats  # of the carriers; empty when they all count the same
    seed: int  # of its solver

    @property
    def children(self) -> int:
        """How many."""
        return len(self.child_start) - 1

    @property
    def work(self) -> int:
        """About how much there is to do."""
        return len(self.rows) * self.children


def train_forest(
    features: Csr,
    relevant: Csr,
    tree: LabelTree,
    config: SvmConfig,
    negatives: Negatives = "tfn",
    beam: int = 10,
    relevance: Relevance = "equal",
    weights: WeightType = "float32",
    seed: int = 0,
) -> Forest:
    """One classifier per node but the root, trained on texts that reach its parent."""
    every = np.ones(relevant.shape[0], bool)
    levels = _levels(relevant, tree, relevance, seed)
    return _train_levels(features, levels, tree, {}, every, config, negatives, beam, weights)


def train_leaves(
    features: Csr,
    relevant: Csr,
    tree: LabelTree,
    config: SvmConfig,
    negatives: Negatives,
    entered: Ranking,
    weights: WeightType = "float32",
    seed: int = 0,
) -> Forest:
    """Only the classifiers of the labels, for a matcher that says which clusters a text may enter.

    tree: clusters, then labels. entered: the clusters that the matcher chose for each text. What is
    above the labels stays empty: rank with `opened`.
    """
    level = _levels(relevant, tree, "equal", seed)[-1]
    nodes = level if negatives == "tfn" else _reached(level, entered, negatives)
    nothing = np.empty(0, np.int32)
    above = chunk_of(nothing, nothing, nothing, np.zeros(len(nodes), np.float32))
    chunks = [above, *_train(features, nodes, config)]
    return forest_of(tree, chunks, features.shape[1], weights)


def matched(matcher: Forest, features: Csr, beam: int) -> Ranking:
    """The clusters that must learn to refuse a text: where the tree leads it, but for those that it
    finds far worse than the best one, which it hardly ever confuses with it."""
    return matcher.rank(features, beam, beam, far=FAR)


def retrain_forest(
    forest: Forest,
    features: Csr,
    relevant: Csr,
    fresh: Array,
    config: SvmConfig,
    negatives: Negatives = "tfn",
    beam: int = 10,
    relevance: Relevance = "equal",
    weights: WeightType = "float32",
    seed: int = 0,
) -> Forest:
    """The forest, with the nodes trained again that a fresh text (True in `fresh`) reaches."""
    old = {node: forest.chunk(node) for node in range(forest.inner_nodes)}
    levels = _levels(relevant, forest.tree, relevance, seed)
    return _train_levels(
        features, levels, forest.tree, old, fresh, config, negatives, beam, weights
    )


def _train_levels(
    features: Csr,
    levels: list[list[Node]],
    tree: LabelTree,
    chunks: dict[int, Chunk],
    fresh: Array,
    config: SvmConfig,
    negatives: Negatives,
    beam: int,
    weights: WeightType,
) -> Forest:
    """Fill `chunks` (by node) where there is none yet, or where a fresh text arrives.

    The matcher has the weights that will rank: what leads a text astray then does so now.
    """

    def train(nodes: Sequence[Node]) -> None:
        todo = [node for node in nodes if node.place not in chunks or fresh[node.rows].any()]
        for node, chunk in zip(todo, _train(features, todo, config), strict=True):
            chunks[node.place] = chunk

    by_matcher = negatives != "tfn" and tree.depth > 1
    train([node for level in (levels[:-1] if by_matcher else levels) for node in level])
    if by_matcher:
        matcher = _forest(LabelTree(tree.parents[:-1]), chunks, features, weights)
        train(_reached(levels[-1], matched(matcher, features, beam), negatives))
    return _forest(tree, chunks, features, weights)


def _reached(nodes: Sequence[Node], ranking: Ranking, negatives: Negatives) -> list[Node]:
    rows = texts_at(ranking, len(nodes))
    pairs = zip(nodes, rows, strict=True)
    return in_threads(lambda pair: _with_rows(*pair, negatives), pairs)


def _forest(
    tree: LabelTree, chunks: dict[int, Chunk], features: Csr, weights: WeightType
) -> Forest:
    """The tree with its own chunks; those of deeper levels are left out."""
    inner = 1 + sum(map(len, tree.parents[:-1]))
    return forest_of(tree, [chunks[node] for node in range(inner)], features.shape[1], weights)


def _levels(
    relevant: Csr, tree: LabelTree, relevance: Relevance, seed: int = 0
) -> list[list[Node]]:
    """The inner nodes of each level, with the texts that carry a label below them."""
    levels: list[list[Node]] = []
    above = [np.arange(relevant.shape[0], dtype=np.int32)]
    place = 0
    for level, children in enumerate(tree.children):
        carried = tree.summed_at(level, relevant)
        columns = _columns(_share_rows(carried) if relevance == "induced" else carried)
        by_parent = columns[:, children.nodes]
        nodes = []
        for parent, rows in enumerate(above):
            starts = by_parent.indptr[children.start[parent] : children.start[parent + 1] + 1]
            mine = slice(starts[0], starts[-1])
            weights = by_parent.data[mine] if relevance == "induced" else _EQUAL
            carriers = by_parent.indices[mine].astype(np.int32)
            child_start = starts.astype(np.int64) - starts[0]
            solver_seed = seed * SEEDS + place * 101
            nodes.append(Node(place, rows, child_start, carriers, weights, solver_seed))
            place += 1
        levels.append(nodes)
        if level + 1 < tree.depth:
            above = _rows_of(columns)
    return levels


def texts_at(ranking: Ranking, nodes: int) -> list[Ints]:
    """Ascending, for each node the texts that have it in their ranking."""
    texts, places = np.nonzero(ranking.labels != NO_LABEL)
    entries = (np.ones(len(texts), np.float32), (texts, ranking.labels[texts, places]))
    return _rows_of(_columns(sp.coo_array(entries, shape=(len(ranking), nodes))))


def _columns(matrix: sp.sparray) -> sp.csc_array:
    """The same by columns, rows ascending in each."""
    by_column = sp.csc_array(matrix)
    by_column.sort_indices()
    return by_column


def _rows_of(columns: sp.csc_array) -> list[Ints]:
    """For each column the rows with an entry."""
    return np.split(columns.indices.astype(np.int32), columns.indptr[1:-1])


def _share_rows(counts: Csr) -> Csr:
    """Rows that sum to 1."""
    totals = np.repeat(np.asarray(counts.sum(axis=1)), np.diff(counts.indptr))
    return csr(counts.data / totals, counts.indices, counts.indptr, counts.shape[1])


def _with_rows(node: Node, reached: Ints, negatives: Negatives) -> Node:
    """The node with the texts that the tree leads there, instead of its own or besides them."""
    if negatives == "both":
        return replace(node, rows=sorted_union(node.rows, reached))
    kept = np.isin(node.carriers, reached)
    starts = np.concatenate([[0], np.cumsum(kept)])[node.child_start]
    relevance = node.relevance[kept] if len(node.relevance) else _EQUAL
    return replace(
        node,
        rows=reached,
        child_start=starts,
        carriers=node.carriers[kept],
        relevance=relevance,
    )


def _train(features: Csr, nodes: Sequence[Node], config: SvmConfig) -> list[Chunk]:
    """The chunk of each node, in their order."""
    texts = kernel_arrays(features)
    scratch = threading.local()
    with track("training classifiers", sum(node.work for node in nodes)) as advance:

        def train(place: int) -> Chunk:
            if not hasattr(scratch, "place_of"):
                scratch.place_of = np.zeros(features.shape[1], np.int32)
            chunk = _train_node(texts, nodes[place], config, scratch.place_of)
            advance(nodes[place].work)
            return chunk

        order = np.argsort([-node.work for node in nodes], kind="stable")  # threads end together
        trained = dict(zip(order.tolist(), in_threads(train, order.tolist()), strict=True))
    return [trained[place] for place in range(len(nodes))]


def _train_node(
    texts: tuple[Longs, Ints, Floats], node: Node, config: SvmConfig, place_of: Ints
) -> Chunk:
    indptr, columns, values, kept, squares = gather_rows(*texts, node.rows, place_of)
    rows = Rows(indptr, columns, values, squares)
    carriers = np.searchsorted(node.rows, node.carriers).astype(np.int32)
    parts = [
        _solved(rows, node, carriers, cut, kept, config)
        for cut in blocks(node.children, TOGETHER) or [(0, 0)]
    ]
    return parts[0] if len(parts) == 1 else side_by_side(parts)


def _solved(
    rows: Rows, node: Node, carriers: Ints, children: tuple[int, int], kept: Ints, config: SvmConfig
) -> Chunk:
    """The chunk of some children, of all features of the node's texts (`kept`)."""
    first, last = children
    starts = node.child_start[first : last + 1]
    mine = slice(starts[0], starts[-1])
    start = Start(np.zeros(len(kept), np.float32), 0.0, np.zeros(len(node.rows), np.float32))
    weights, biases, _ = solve(
        rows,
        (starts - starts[0], carriers[mine]),
        start,
        config,
        node.seed + first,
        relevance=node.relevance[mine] if len(node.relevance) else None,
    )
    features, entry_start, siblings, values = pruned(weights, last - first, config)
    return Chunk(kept[features], entry_start, siblings, values, refusing(biases, np.diff(starts)))
