"""Forest: the linear classifiers of a whole label tree, siblings side by side, ready to search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from xmtc.core.arrays import Allowed, Array, Csr, Floats, Ints, Longs, kernel_arrays, starts_of
from xmtc.core.ranking import Ranking
from xmtc.core.threads import blocks, in_threads, thread_count
from xmtc.core.tree import LabelTree
from xmtc.kernels.beam_search import Limits, SearchTree, beam_search
from xmtc.kernels.best_first import best_first_search
from xmtc.kernels.chunks import Chunks, Rule, pack_chunks
from xmtc.kernels.int8 import to_int8

TEXTS_PER_BLOCK = 16384  # ranked together: the more, the more share a chunk while it is cached
NODES_PER_BLOCK = 256  # put together by one thread

# How a label is scored, v being w·x + b: by the product of exp(-max(0, 1 - v)³) along its path
# (PECOS), the same squared (Parabel), the product of logistic functions (PLT: a probability), or by
# the logistic function of its own v alone, the path only leading to it.
Score = Literal["path", "path2", "probability", "label"]
# Keep the best nodes of each level, or open nodes until the best labels of all are found.
SearchMethod = Literal["beam", "exact"]
WeightType = Literal["float32", "int8"]
_RULES = {
    "path": (3.0, True),
    "path2": (2.0, True),
    "probability": (0.0, True),
    "label": (0.0, False),
}
_FROM_THE_ROOT = (np.empty((0, 0), np.int32), np.empty((0, 0), np.float32))


@dataclass(frozen=True)
class Chunk:
    """The classifiers of one node's children: weights by feature, then by child."""

    features: Ints  # (rows,) ascending
    entry_start: Longs  # (rows + 1,)
    siblings: Ints  # (entries,) which child
    values: Floats  # (entries,)
    biases: Floats  # (children,)

    @property
    def entry_features(self) -> Ints:
        """(entries,) the feature of each weight."""
        return np.repeat(self.features, np.diff(self.entry_start))


@dataclass(frozen=True)
class Forest:
    """All chunks of a tree. Nodes are numbered level by level, the children of a node in a row."""

    tree: LabelTree
    feature_count: int
    row_start: Longs  # (inner nodes + 1,) where each node's chunk begins
    row_feature: Ints  # (rows,)
    entry_start: Longs  # (rows + 1,)
    entry_sibling: Array  # (entries,) in the smallest unsigned type
    entry_value: Array  # (entries,) float32, or int8: weights are these times the child's scale
    scales: Floats  # (nodes - 1,) of all nodes but the root; 1 for float32
    biases: Floats  # (nodes - 1,)

    def rank(
        self,
        texts: Csr,
        k: int,
        beam: int = 10,
        score: Score = "path",
        allowed: Allowed = None,
        path_exponent: float = 1.0,
        search: SearchMethod = "beam",
        opened: Ranking | None = None,
        min_share: float = 0.0,
    ) -> Ranking:
        """The best labels of every text: `walk` over this tree, fused into one kernel.

        path_exponent: of the parent's score, where scores are multiplied.
        search: an exact one has no beam; it is for scores that are products.
        opened: of every text, the leaf clusters whose labels are ranked, with their scores, which
        are combined as if the search had found them. None: the search finds them.
        min_share: a beam search drops nodes, and labels, below this share of the best one's score.
        """
        tree, dead_ends = self.searched
        closed = dead_ends if allowed is None else self._closed(allowed)
        rule = Rule(*_RULES[score], float(path_exponent))
        limits = Limits(min(beam, max(map(len, self.tree.parents))), k, float(min_share))
        count = texts.shape[0]

        def ranked(block: tuple[int, int]) -> Ranking:
            start, stop = block
            rows = kernel_arrays(texts[start:stop] if stop - start < count else texts)
            if search == "exact":
                return Ranking(*best_first_search(rows, tree, k, rule, closed))
            begun = _FROM_THE_ROOT
            if opened is not None:
                begun = (
                    np.ascontiguousarray(opened.labels[start:stop]),
                    np.ascontiguousarray(opened.scores[start:stop]),
                )
            return Ranking(*beam_search(rows, tree, limits, rule, closed, *begun))

        if count == 1:
            return ranked((0, 1))
        size = max(1, min(TEXTS_PER_BLOCK, -(-count // thread_count())))
        return Ranking.stack(in_threads(ranked, blocks(count, size)) or [Ranking.empty(0, k)])

    def as_int8(self) -> Forest:
        """The forest with its weights rounded to whole numbers of a scale per child."""
        chunks = [self.chunk(node) for node in range(self.inner_nodes)]
        return forest_of(self.tree, chunks, self.feature_count, "int8")

    @property
    def weight_type(self) -> WeightType:
        """The type of the stored weights."""
        return "int8" if self.entry_value.dtype == np.int8 else "float32"

    @cached_property
    def child_start(self) -> Longs:
        """(inner nodes + 1,) the number of each node's first child."""
        counts = np.concatenate([np.diff(children.start) for children in self.tree.children])
        return starts_of(counts) + 1

    @cached_property
    def searched(self) -> tuple[SearchTree, Array]:
        """What the kernels read, made once, so that ranking a single text needs no set-up.

        And (nodes,) 1 for clusters without labels; empty where there are none.
        """
        level_start = starts_of([1, *map(len, self.tree.parents)])
        chunks = Chunks(*(getattr(self, name) for name in Chunks._fields))
        cell = self.entry_value.dtype
        if cell.kind == "i":  # as wide as a sibling's number needs
            cell = np.dtype(f"i{self.entry_sibling.dtype.itemsize}")
        weights = pack_chunks(chunks, self.feature_count, np.empty(0, cell))
        sizes = np.diff(self.child_start)
        labels = self.tree.children[-1].nodes.astype(np.int64)
        tree = SearchTree(weights, level_start, labels, int(sizes.max(initial=1)))
        if sizes.all():
            return tree, np.empty(0, np.uint8)
        return tree, self._closed(np.ones(self.tree.label_count, bool))

    def chunk(self, node: int) -> Chunk:
        """The classifiers of one node's children."""
        first, last = self.row_start[node : node + 2]
        begin = self.entry_start[first]
        end = self.entry_start[last]
        children = slice(self.child_start[node] - 1, self.child_start[node + 1] - 1)
        siblings = self.entry_sibling[begin:end].astype(np.int32)
        return Chunk(
            self.row_feature[first:last],
            self.entry_start[first : last + 1] - begin,
            siblings,
            self.entry_value[begin:end] * self.scales[children][siblings],
            self.biases[children],
        )

    def last_level(self) -> tuple[Floats, Floats]:
        """(labels, features) weights and (labels,) biases of the last level, dense."""
        children = self.tree.children[-1]
        weights = np.zeros((self.tree.label_count, self.feature_count), np.float32)
        biases = np.zeros(self.tree.label_count, np.float32)
        for leaf, node in enumerate(range(self.first_leaf, self.inner_nodes)):
            chunk = self.chunk(node)
            labels = children.nodes[children.start[leaf] : children.start[leaf + 1]]
            weights[labels[chunk.siblings], chunk.entry_features] = chunk.values
            biases[labels] = chunk.biases
        return weights, biases

    @property
    def inner_nodes(self) -> int:
        """How many nodes have children."""
        return len(self.row_start) - 1

    @property
    def first_leaf(self) -> int:
        """The first of the nodes whose children are labels."""
        return self.inner_nodes - (len(self.tree.children[-1].start) - 1)

    def _closed(self, allowed: Array) -> Array:
        """(nodes,) 1 for those that lead to no allowed label."""
        *inner, last = self.tree.open_nodes(allowed)
        open_nodes = [np.ones(1, bool), *inner, last[self.tree.children[-1].nodes]]
        return (~np.concatenate(open_nodes)).astype(np.uint8)


def chunk_of(features: Array, siblings: Array, values: Array, biases: Array) -> Chunk:
    """A chunk from one (feature, sibling, value) per entry, in any order."""
    order = np.lexsort([siblings, features])
    rows, counts = np.unique(features, return_counts=True)
    return Chunk(
        rows.astype(np.int32),
        starts_of(counts),
        siblings[order].astype(np.int32),
        values[order].astype(np.float32),
        biases.astype(np.float32),
    )


def side_by_side(chunks: Sequence[Chunk]) -> Chunk:
    """The children of several chunks, one after the other, as one."""
    starts = starts_of([len(chunk.biases) for chunk in chunks]).astype(np.int32)
    siblings = [chunk.siblings + first for chunk, first in zip(chunks, starts, strict=False)]
    return chunk_of(
        np.concatenate([chunk.entry_features for chunk in chunks]),
        np.concatenate(siblings),
        np.concatenate([chunk.values for chunk in chunks]),
        np.concatenate([chunk.biases for chunk in chunks]),
    )


def flat_forest(weights: Csr, biases: Floats, weight_type: WeightType = "float32") -> Forest:
    """A classifier for each label, and no tree above them. weights: (features, labels), sorted."""
    used = np.flatnonzero(np.diff(weights.indptr)).astype(np.int32)
    starts = np.append(weights.indptr[used], weights.indptr[-1]).astype(np.int64)
    root = Chunk(used, starts, weights.indices.astype(np.int32), weights.data, biases)
    return forest_of(LabelTree.flat(len(biases)), [root], weights.shape[0], weight_type)


def forest_of(
    tree: LabelTree,
    chunks: Sequence[Chunk] | Mapping[int, Chunk],
    features: int,
    weight_type: WeightType = "float32",
) -> Forest:
    """The chunks of the tree's inner nodes, level by level from the root, as one forest."""
    nodes = [chunks[node] for node in range(1 + sum(map(len, tree.parents[:-1])))]
    sizes = [len(chunk.biases) for chunk in nodes]
    children = starts_of(sizes)
    rows = starts_of([len(chunk.features) for chunk in nodes])
    entries = starts_of([len(chunk.siblings) for chunk in nodes])
    forest = Forest(
        tree,
        features,
        row_start=rows,
        row_feature=np.empty(rows[-1], np.int32),
        entry_start=np.append(np.empty(rows[-1], np.int64), entries[-1]),
        entry_sibling=np.empty(entries[-1], np.min_scalar_type(max(1, *sizes) - 1)),
        entry_value=np.empty(entries[-1], weight_type),
        scales=np.ones(children[-1], np.float32),
        biases=np.concatenate([chunk.biases for chunk in nodes]),
    )

    def fill(block: tuple[int, int]) -> None:
        for node in range(*block):
            chunk = nodes[node]
            row = slice(rows[node], rows[node + 1])
            entry = slice(entries[node], entries[node + 1])
            values: Array = chunk.values
            if weight_type == "int8":
                values, scales = to_int8(chunk.siblings, chunk.values, sizes[node])
                forest.scales[children[node] : children[node + 1]] = scales
            forest.row_feature[row] = chunk.features
            forest.entry_start[row] = chunk.entry_start[:-1] + entries[node]
            forest.entry_sibling[entry] = chunk.siblings
            forest.entry_value[entry] = values

    in_threads(fill, blocks(len(nodes), NODES_PER_BLOCK))
    return forest
