"""Trains the classifiers of a label tree: at each node, its children against each other."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Csr, Floats, Ints, Longs
from xmtc.core.progress import step
from xmtc.core.threads import blocks, in_threads
from xmtc.core.tree import LabelTree
from xmtc.kernels.rows import gather_rows
from xmtc.kernels.svm import SIBLINGS, Rows, Start, large_weights, solve_block
from xmtc.linear.forest import Chunk, Forest, forest_of
from xmtc.linear.svm import SvmConfig


@dataclass(frozen=True)
class Node:
    """One piece of work: the texts that reach a node, and those of each child."""

    place: int
    rows: Ints  # texts that carry a label below the node
    children: list[Ints]  # texts of each child


def train_forest(features: Csr, relevant: Csr, tree: LabelTree, config: SvmConfig) -> Forest:
    """One classifier per node but the root, trained on the texts that reach its parent."""
    nodes = _nodes(relevant, tree)
    texts = (features.indptr.astype(np.int64), features.indices, features.data)
    scratch = threading.local()
    with step("training classifiers", sum(len(node.rows) for node in nodes)) as advance:

        def train(node: Node) -> Chunk:
            if not hasattr(scratch, "place_of"):
                scratch.place_of = np.zeros(features.shape[1], np.int32)
            chunk = _train_node(texts, node, config, scratch.place_of)
            advance(len(node.rows))
            return chunk

        order = sorted(
            nodes, key=lambda node: -len(node.rows)
        )  # large ones first: threads end together
        chunks = dict(zip((node.place for node in order), in_threads(train, order), strict=True))
    return forest_of(tree, [chunks[place] for place in range(len(nodes))], features.shape[1])


def _nodes(relevant: Csr, tree: LabelTree) -> list[Node]:
    """All inner nodes, level by level."""
    nodes: list[Node] = []
    above = [np.arange(relevant.shape[0], dtype=np.int32)]
    for level, children in enumerate(tree.children):
        carriers = sp.csc_array(tree.relevant_at(level, relevant))
        carriers.sort_indices()
        own = np.split(carriers.indices.astype(np.int32), carriers.indptr[1:-1])
        for parent, rows in enumerate(above):
            mine = children.nodes[children.start[parent] : children.start[parent + 1]]
            nodes.append(Node(len(nodes), rows, [own[child] for child in mine]))
        above = own
    return nodes


def _train_node(
    texts: tuple[Longs, Ints, Floats], node: Node, config: SvmConfig, place_of: Ints
) -> Chunk:
    indptr, columns, values, kept, squares = gather_rows(*texts, node.rows, place_of)
    rows = Rows(indptr, columns, values, squares)
    start = Start(np.zeros(len(kept), np.float32), 0.0, np.zeros(len(node.rows), np.float32))
    parts = []
    for first, last in blocks(len(node.children), SIBLINGS):
        positives = _positives(node.rows, node.children[first:last])
        seed = (config.seed * 1_000_003 + node.place * 101 + first) & 0xFFFFFFFF
        costs = (config.cost * config.positive_cost, config.cost)
        weights, biases, _ = solve_block(
            rows, positives, start, costs, config.tolerance, config.max_passes, seed
        )
        large = large_weights(weights, last - first, config.prune)
        parts.append((large[0], large[1] + np.int32(first), large[2], biases[: last - first]))
    return _chunk(parts, kept)


def _positives(rows: Ints, children: list[Ints]) -> tuple[Longs, Ints]:
    starts = np.zeros(len(children) + 1, np.int64)
    np.cumsum([len(child) for child in children], out=starts[1:])
    if not starts[-1]:
        return starts, np.empty(0, np.int32)
    return starts, np.searchsorted(rows, np.concatenate(children)).astype(np.int32)


def _chunk(parts: list[tuple[Ints, Ints, Floats, Floats]], kept: Ints) -> Chunk:
    if not parts:
        nothing = np.empty(0, np.int32)
        return Chunk(nothing, np.zeros(1, np.int64), nothing, *[np.empty(0, np.float32)] * 2)
    features, siblings, values, biases = (np.concatenate(some) for some in zip(*parts, strict=True))
    order = np.argsort(features, kind="stable")
    rows, counts = np.unique(features, return_counts=True)
    entry_start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Chunk(kept[rows], entry_start, siblings[order].astype(np.int32), values[order], biases)
