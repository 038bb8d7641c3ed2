"""Trains the classifiers of a label tree: at each node, its children against each other."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Array, Csr, Floats, Ints, Longs, Matrix, csr, kernel_arrays, starts_of
from xmtc.core.progress import track
from xmtc.core.ranking import NO_LABEL, Ranking
from xmtc.core.threads import blocks, in_threads
from xmtc.core.tree import LabelTree
from xmtc.kernels.dual_descent import SIBLINGS, Positives, Start
from xmtc.kernels.sparse_rows import gather_rows, sorted_union
from xmtc.linear.forest import Chunk, Forest, WeightType, chunk_of, forest_of, side_by_side
from xmtc.linear.svm import SEEDS, SvmConfig, pruned, refusing, solve

# How much a text counts for the nodes above its labels: the same everywhere, or the share of its
# labels that are below the node (PECOS: relevance induced).
Relevance = Literal["equal", "induced"]
# The negative texts of a label: those of the labels in its cluster (tfn, teacher forcing
# negatives), those that the tree itself leads to the cluster (man, matcher aware), or both.
Negatives = Literal["tfn", "man", "both"]
TOGETHER = 8 * SIBLINGS  # children whose weights are dense at once while they are solved
MIN_SHARE = 1 / 300  # of the best cluster's score: a text is no negative of clusters below
_NO_TEXT = np.empty(0, bool)
_EQUAL = np.empty(0, np.float32)  # relevance of texts that count the same


@dataclass(frozen=True)
class ForestConfig:
    """How the classifiers of a tree are trained."""

    svm: SvmConfig = field(default_factory=SvmConfig)
    negatives: Negatives = "tfn"
    beam: int = 10  # of the search that finds matcher aware negatives
    relevance: Relevance = "equal"
    weight_type: WeightType = "float32"
    seed: int = 0


class Node(NamedTuple):
    """One piece of work: the texts that reach a node, and those of each child."""

    place: int  # among all inner nodes, level by level
    rows: Ints  # ascending
    child_start: Longs  # (children + 1,) where each child's own rows begin among the carriers
    carriers: Ints
    relevance: Floats  # of the carriers; empty when they all count the same


def retrain_forest(
    forest: Forest, features: Csr, relevant: Csr, config: ForestConfig, fresh: Array
) -> Forest:
    """The forest, with the nodes trained again that a fresh text (True in `fresh`) reaches."""
    chunks = {node: forest.chunk(node) for node in range(forest.inner_nodes)}
    return train_forest(features, relevant, forest.tree, config, chunks, fresh)


def train_leaves(
    features: Csr, relevant: Csr, tree: LabelTree, config: ForestConfig, entered: Ranking
) -> Forest:
    """Only the classifiers of the labels, for a matcher that says which clusters a text may enter.

    tree: clusters, then labels. entered: the clusters that the matcher chose for each text. What is
    above the labels stays empty: rank with `opened`.
    """
    nodes = nodes_by_level(relevant, tree, "equal")[-1]
    if config.negatives != "tfn":
        nodes = with_negatives(nodes, entered, config.negatives)
    none = np.empty(0, np.int32)
    chunks = {0: chunk_of(none, none, none, np.zeros(len(nodes), np.float32))}
    _train(features, nodes, config, chunks)
    return forest_of(tree, chunks, features.shape[1], config.weight_type)


def matched(matcher: Forest, features: Csr, beam: int) -> Ranking:
    """The clusters of which each text is a negative: where the tree leads it, but for those that it
    finds far worse than the best one, which it hardly ever confuses with it."""
    return matcher.rank(features, beam, beam, min_share=MIN_SHARE)


def nodes_by_level(relevant: Csr, tree: LabelTree, relevance: Relevance) -> list[list[Node]]:
    """The inner nodes of each level, with the texts that carry a label below them."""
    levels: list[list[Node]] = []
    reaching = [np.arange(relevant.shape[0], dtype=np.int32)]
    place = 0
    for level, children in enumerate(tree.children):
        carried = tree.summed_at(level, relevant)
        if relevance == "induced":  # rows sum to 1
            totals = np.repeat(np.asarray(carried.sum(axis=1)), np.diff(carried.indptr))
            shares = carried.data / totals
            carried = csr(shares, carried.indices, carried.indptr, carried.shape[1])
        by_column = sp.csc_array(carried)  # rows ascending in each
        by_parent = by_column[:, children.nodes]
        nodes = []
        for parent, rows in enumerate(reaching):
            starts = by_parent.indptr[children.start[parent] : children.start[parent + 1] + 1]
            own = slice(starts[0], starts[-1])
            counts = by_parent.data[own] if relevance == "induced" else _EQUAL
            carriers = by_parent.indices[own].astype(np.int32)
            nodes.append(Node(place, rows, starts.astype(np.int64) - starts[0], carriers, counts))
            place += 1
        levels.append(nodes)
        if level + 1 < tree.depth:
            reaching = np.split(by_column.indices.astype(np.int32), by_column.indptr[1:-1])
    return levels


def texts_at(ranking: Ranking, nodes: int) -> list[Ints]:
    """Ascending, for each node the texts that have it in their ranking."""
    texts, places = np.nonzero(ranking.labels != NO_LABEL)
    entries = (np.ones(len(texts), np.float32), (texts, ranking.labels[texts, places]))
    by_node = sp.coo_array(entries, shape=(len(ranking), nodes)).tocsc()
    return np.split(by_node.indices.astype(np.int32), by_node.indptr[1:-1])


def with_negatives(nodes: Sequence[Node], found: Ranking, negatives: Negatives) -> list[Node]:
    """The nodes with the texts that `found` leads there, with their own texts or instead."""

    def changed(pair: tuple[Node, Ints]) -> Node:
        node, reached = pair
        if negatives == "both":
            return node._replace(rows=sorted_union(node.rows, reached))
        stays = np.isin(node.carriers, reached)
        starts = starts_of(stays)[node.child_start]
        relevance = node.relevance[stays] if len(node.relevance) else _EQUAL
        return Node(node.place, reached, starts, node.carriers[stays], relevance)

    return in_threads(changed, zip(nodes, texts_at(found, len(nodes)), strict=True))


def train_forest(
    features: Csr,
    relevant: Csr,
    tree: LabelTree,
    config: ForestConfig,
    known: Mapping[int, Chunk] = MappingProxyType({}),
    fresh: Array = _NO_TEXT,
) -> Forest:
    """One classifier per node but the root, trained on texts that reach its parent.

    known: chunks by node that stay unless a fresh text (True in `fresh`) arrives there.
    The matcher has the weights that will rank: what leads a text astray then does so now.
    """
    chunks = dict(known)
    levels = nodes_by_level(relevant, tree, config.relevance)
    width = features.shape[1]
    if config.negatives != "tfn" and tree.depth > 1:
        upper = [node for level in levels[:-1] for node in level]
        _train(features, upper, config, chunks, fresh)
        matcher = forest_of(LabelTree(tree.parents[:-1]), chunks, width, config.weight_type)
        found = matched(matcher, features, config.beam)
        levels = [with_negatives(levels[-1], found, config.negatives)]
    nodes = [node for level in levels for node in level]
    _train(features, nodes, config, chunks, fresh)
    return forest_of(tree, chunks, width, config.weight_type)


def _train(
    features: Csr,
    nodes: Sequence[Node],
    config: ForestConfig,
    chunks: dict[int, Chunk],
    fresh: Array = _NO_TEXT,
) -> None:
    """Fill `chunks` (by node) where there is none yet, or where a fresh text arrives."""
    nodes = [node for node in nodes if node.place not in chunks or fresh[node.rows].any()]
    matrix = kernel_arrays(features)
    scratch = threading.local()
    work = [len(node.rows) * (len(node.child_start) - 1) for node in nodes]
    with track("training classifiers", sum(work)) as advance:

        def train(place: int) -> Chunk:
            if not hasattr(scratch, "place_of"):
                scratch.place_of = np.zeros(features.shape[1], np.int32)
            chunk = _train_node(matrix, nodes[place], config, scratch.place_of)
            advance(work[place])
            return chunk

        order = np.argsort(np.negative(work), kind="stable").tolist()  # threads end together
        trained = in_threads(train, order)
    chunks |= {nodes[place].place: chunk for place, chunk in zip(order, trained, strict=True)}


def _train_node(matrix: Matrix, node: Node, config: ForestConfig, place_of: Ints) -> Chunk:
    rows, features = gather_rows(matrix, node.rows, place_of)
    carriers = np.searchsorted(node.rows, node.carriers).astype(np.int32)
    start = Start(np.zeros(len(features), np.float32), 0.0, np.zeros(len(node.rows), np.float32))
    seed = config.seed * SEEDS + node.place * 101
    parts = []
    for first, last in blocks(len(node.child_start) - 1, TOGETHER) or [(0, 0)]:
        starts = node.child_start[first : last + 1]
        own = slice(starts[0], starts[-1])
        positives = Positives(starts - starts[0], carriers[own], node.relevance[own])
        weights, biases, _ = solve(rows, positives, start, config.svm, seed + first)
        used, entry_start, siblings, values = pruned(weights, last - first, config.svm)
        biases = refusing(biases, np.diff(starts))
        parts.append(Chunk(features[used], entry_start, siblings, values, biases))
    return parts[0] if len(parts) == 1 else side_by_side(parts)
