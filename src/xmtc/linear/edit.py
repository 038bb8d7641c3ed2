"""Changes the labels of a forest without training the others again."""

from __future__ import annotations

import numpy as np

from xmtc.core.arrays import Array, Csr, Ints
from xmtc.core.tree import LabelTree
from xmtc.linear.forest import Chunk, Forest, chunk_of, forest_of

YES = 2.0  # a new label's weights are this many times its own vector ...
NO = -1.0  # ... and its bias this: a text just like it scores +1, an unrelated one -1


def without_labels(forest: Forest, kept: Array) -> Forest:
    """The forest with only the labels where `kept` (labels,) is True, in their old order."""
    children = forest.tree.children[-1]
    chunks = [forest.chunk(node) for node in range(forest.inner_nodes)]
    for leaf in range(len(children.start) - 1):
        mine = children.nodes[children.start[leaf] : children.start[leaf + 1]]
        node = forest.first_leaf + leaf
        chunks[node] = _keep_children(chunks[node], kept[mine])
    tree = LabelTree((*forest.tree.parents[:-1], forest.tree.parents[-1][kept]))
    return forest_of(tree, chunks, forest.feature_count)


def with_labels(forest: Forest, vectors: Csr, beam: int) -> Forest:
    """The forest with a label more for each row of `vectors` (new labels, features), after the old.

    Each goes to the leaf that the tree itself leads its vector to, and is recognised by being like
    it.
    """
    leaves = _leaves_for(forest, vectors, beam)
    chunks = [forest.chunk(node) for node in range(forest.inner_nodes)]
    for row, leaf in enumerate(leaves):
        node = forest.first_leaf + leaf
        begin, end = vectors.indptr[row : row + 2]
        chunks[node] = _with_child(
            chunks[node], vectors.indices[begin:end], vectors.data[begin:end]
        )
    parents = np.concatenate([forest.tree.parents[-1], leaves]).astype(np.int32)
    return forest_of(LabelTree((*forest.tree.parents[:-1], parents)), chunks, forest.feature_count)


def with_old_labels(forest: Forest, old: Forest, kept: Array) -> Forest:
    """The forest with the classifiers that `old` has for the labels where `kept` is True."""
    children = forest.tree.children[-1]
    chunks = [forest.chunk(node) for node in range(forest.inner_nodes)]
    for leaf in np.unique(forest.tree.parents[-1][kept]):
        mine = children.nodes[children.start[leaf] : children.start[leaf + 1]]
        node = forest.first_leaf + leaf
        chunks[node] = _mixed(chunks[node], old.chunk(node), kept[mine])
    return forest_of(forest.tree, chunks, forest.feature_count)


def _mixed(chunk: Chunk, old: Chunk, from_old: Array) -> Chunk:
    parts = []
    for some, wanted in ((chunk, ~from_old), (old, from_old)):
        stays = wanted[some.siblings]
        rows = np.repeat(some.features, np.diff(some.entry_start))[stays]
        parts.append((rows, some.siblings[stays], some.values[stays]))
    rows, siblings, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    return chunk_of(rows, siblings, values, np.where(from_old, old.biases, chunk.biases))


def _leaves_for(forest: Forest, vectors: Csr, beam: int) -> Ints:
    if forest.tree.depth == 1:
        return np.zeros(vectors.shape[0], np.int32)
    upper = LabelTree(forest.tree.parents[:-1])
    matcher = forest_of(
        upper, [forest.chunk(n) for n in range(forest.first_leaf)], forest.feature_count
    )
    return matcher.rank(vectors, 1, beam).labels[:, 0]


def _keep_children(chunk: Chunk, kept: Array) -> Chunk:
    new_place = np.cumsum(kept) - 1
    stays = kept[chunk.siblings]
    rows = np.repeat(np.arange(len(chunk.features)), np.diff(chunk.entry_start))[stays]
    return chunk_of(
        chunk.features[rows], new_place[chunk.siblings[stays]], chunk.values[stays],
        chunk.biases[kept],
    )  # fmt: skip


def _with_child(chunk: Chunk, features: Ints, values: Array) -> Chunk:
    rows = np.repeat(chunk.features, np.diff(chunk.entry_start))
    place = np.full(len(features), len(chunk.biases))
    return chunk_of(
        np.concatenate([rows, features]),
        np.concatenate([chunk.siblings, place]),
        np.concatenate([chunk.values, YES * values]),
        np.append(chunk.biases, np.float32(NO)),
    )
