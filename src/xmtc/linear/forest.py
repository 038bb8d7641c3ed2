"""Forest: the linear classifiers of a whole label tree, siblings side by side, ready to walk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from xmtc.core.arrays import (
    Allowed,
    Array,
    Csr,
    Floats,
    Ints,
    Longs,
    Matrix,
    kernel_arrays,
    starts_of,
)
from xmtc.core.ranking import Ranking
from xmtc.core.threads import blocks, in_threads, thread_count
from xmtc.core.tree import LabelTree
from xmtc.kernels.beam_search import beam_search
from xmtc.kernels.best_first import best_first_search
from xmtc.kernels.chunks import (
    CHILD,
    HINGE,
    MULTIPLY,
    SIGMOID,
    Weights,
    feature_buckets,
    packed_rows,
)
from xmtc.kernels.int8 import largest_by_sibling, rounded_values

TEXTS_PER_BLOCK = 16384  # ranked together: the more, the more share a chunk while it is cached
NODES_PER_BLOCK = 256  # put together by one thread
LARGEST = 127  # of the whole numbers that stand for a child's weights in int8

# How a label is scored, v being w·x + b: by the product of exp(-max(0, 1 - v)³) along its path
# (PECOS), the same squared (Parabel), the product of logistic functions (PLT: a probability), or by
# the logistic function of its own v alone, the path only leading to it.
Score = Literal["path", "path2", "probability", "label"]
# Keep the best nodes of each level, or open nodes until the best labels of all are found.
Search = Literal["beam", "exact"]
WeightType = Literal["float32", "int8"]
_RULES = {
    "path": (HINGE, 3.0, MULTIPLY),
    "path2": (HINGE, 2.0, MULTIPLY),
    "probability": (SIGMOID, 1.0, MULTIPLY),
    "label": (SIGMOID, 1.0, CHILD),
}


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
        trust: float = 1.0,
        search: Search = "beam",
        opened: Ranking | None = None,
        far: float = 0.0,
    ) -> Ranking:
        """The best labels of every text: `walk` over this tree, fused into one kernel.

        An exact search has no beam; it is for scores that are products.
        opened: of every text, the leaf clusters whose labels are ranked, with their scores, which
        are joined as if the search had found them. None: the search finds them.
        far: a beam search drops nodes, and labels, below this share of the best one's score.
        """
        closed = self._closed(allowed)
        rule = (*_RULES[score], trust)
        weights, level_starts, names, widest = self._arrays
        every = kernel_arrays(texts)
        beam = min(beam, max(map(len, self.tree.parents)))

        def ranked(block: tuple[int, int]) -> Ranking:
            rows = _rows(every, *block)
            if search == "exact":
                return Ranking(
                    *best_first_search(rows, weights, level_starts, names, widest, k, rule, closed)
                )
            how = (weights, level_starts, names, widest, (beam, k), rule, closed)
            begun = None if opened is None else _of_rows(opened, *block)
            return Ranking(*beam_search(rows, *how, begun, far))

        count = texts.shape[0]
        if count == 1:
            return ranked((0, 1))
        size = max(1, min(TEXTS_PER_BLOCK, -(-count // thread_count())))
        return Ranking.stack(in_threads(ranked, blocks(count, size)) or [Ranking.empty(0, k)])

    def as_int8(self) -> Forest:
        """The forest with its weights rounded to whole numbers of a scale per child."""
        chunks = (self.chunk(node) for node in range(self.inner_nodes))
        values, scales = _int8(chunks)
        return replace(self, entry_value=np.concatenate(values), scales=scales)

    @cached_property
    def child_start(self) -> Longs:
        """(inner nodes + 1,) the number of each node's first child."""
        counts = np.concatenate([np.diff(children.start) for children in self.tree.children])
        return np.concatenate([[1], 1 + np.cumsum(counts)]).astype(np.int64)

    @cached_property
    def _arrays(self) -> tuple[Weights, Longs, Longs, int]:
        """What the kernels read, made once, so that ranking a single text needs no set-up."""
        level_starts = np.cumsum([0, 1, *map(len, self.tree.parents)]).astype(np.int64)
        names = np.concatenate([[level_starts[-2] - 1], self.tree.children[-1].nodes])
        buckets = feature_buckets(self.row_start, self.row_feature, self.feature_count)
        rows = packed_rows(
            self.child_start,
            self.row_start,
            self.row_feature,
            self.entry_start,
            self.entry_sibling,
            self.entry_value,
        )
        scales = _read_only(self.scales)
        biases = _read_only(self.biases)
        weights = (self.child_start, *buckets, *rows, scales, biases)
        return weights, level_starts, names.astype(np.int64), self.widest

    @cached_property
    def _dead_ends(self) -> Array:
        """(nodes,) 1 for clusters whose labels were all removed; empty where there are none."""
        if all(np.diff(children.start).all() for children in self.tree.children):
            return np.empty(0, np.uint8)
        return self._closed(np.ones(self.tree.label_count, bool))

    @cached_property
    def widest(self) -> int:
        """The most children of a node."""
        return int(np.diff(self.child_start).max(initial=1))

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

    def _closed(self, allowed: Allowed) -> Array:
        """(nodes,) 1 for those that lead to no allowed label; empty when all do."""
        if allowed is None:
            return self._dead_ends
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
    before = starts_of([len(chunk.biases) for chunk in chunks])
    return chunk_of(
        np.concatenate([chunk.entry_features for chunk in chunks]),
        np.concatenate(
            [chunk.siblings + np.int32(first) for chunk, first in zip(chunks, before, strict=False)]
        ),
        np.concatenate([chunk.values for chunk in chunks]),
        np.concatenate([chunk.biases for chunk in chunks]),
    )


def flat_forest(weights: Csr, biases: Floats, kind: WeightType = "float32") -> Forest:
    """A classifier for each label, and no tree above them. weights: (features, labels), sorted."""
    used = np.flatnonzero(np.diff(weights.indptr)).astype(np.int32)
    starts = np.append(weights.indptr[used], weights.indptr[-1]).astype(np.int64)
    root = Chunk(used, starts, weights.indices.astype(np.int32), weights.data, biases)
    return forest_of(LabelTree.flat(len(biases)), [root], weights.shape[0], kind)


def forest_of(
    tree: LabelTree, chunks: Sequence[Chunk], features: int, weights: WeightType = "float32"
) -> Forest:
    """Chunks in the order of their nodes, level by level from the root, as one forest."""
    biases = np.concatenate([chunk.biases for chunk in chunks])
    small = smallest_type(max(len(chunk.biases) for chunk in chunks))
    rows = starts_of([len(chunk.features) for chunk in chunks])
    entries = starts_of([len(chunk.siblings) for chunk in chunks])
    values, scales = _int8(chunks) if weights == "int8" else _float32(chunks)
    entry_start = np.empty(rows[-1] + 1, np.int64)
    entry_start[-1] = entries[-1]
    _fill(entry_start, rows, lambda node: chunks[node].entry_start[:-1] + entries[node])
    return Forest(
        tree,
        features,
        row_start=rows,
        row_feature=_fill(np.empty(rows[-1], np.int32), rows, lambda node: chunks[node].features),
        entry_start=entry_start,
        entry_sibling=_fill(
            np.empty(entries[-1], small), entries, lambda node: chunks[node].siblings
        ),
        entry_value=_fill(np.empty(entries[-1], values[0].dtype), entries, values.__getitem__),
        scales=scales,
        biases=biases,
    )


def _fill(whole: Array, starts: Longs, part: Callable[[int], Array]) -> Array:
    """`whole`, of which part n begins at starts[n]; filled by all threads."""

    def fill(block: tuple[int, int]) -> None:
        for node in range(*block):
            whole[starts[node] : starts[node + 1]] = part(node)

    in_threads(fill, blocks(len(starts) - 1, NODES_PER_BLOCK))
    return whole


def smallest_type(limit: int) -> type[np.unsignedinteger]:
    """The smallest type that holds numbers below the limit."""
    return np.uint8 if limit <= 1 << 8 else np.uint16 if limit <= 1 << 16 else np.uint32


def _float32(chunks: Sequence[Chunk]) -> tuple[Sequence[Array], Floats]:
    values = [chunk.values for chunk in chunks]
    return values, np.ones(sum(len(chunk.biases) for chunk in chunks), np.float32)


def _int8(chunks: Iterable[Chunk]) -> tuple[Sequence[Array], Floats]:
    values, scales = zip(*in_threads(_rounded, chunks), strict=True)
    return values, np.concatenate(scales)


def _rounded(chunk: Chunk) -> tuple[Array, Floats]:
    """The weights as whole numbers of -127 to 127, and each child's scale.

    A scale has 16 significant bits, so that a whole number times its scale is exact, and rounding
    what was rounded changes nothing.
    """
    largest = largest_by_sibling(chunk.siblings, chunk.values, len(chunk.biases))
    mantissa, exponent = np.frexp(largest / LARGEST)
    scales = np.ldexp(np.rint(mantissa * (1 << 16)), exponent - 16).astype(np.float32)
    scales[scales == 0] = 1
    return rounded_values(chunk.siblings, chunk.values, scales), scales


def _read_only(array: Array) -> Array:
    """As arrays from disk are: the kernels are then compiled once for both."""
    view: Array = array.view()
    view.flags.writeable = False
    return view


def _of_rows(ranking: Ranking, start: int, stop: int) -> tuple[Ints, Floats]:
    return ranking.labels[start:stop], ranking.scores[start:stop]


def _rows(texts: Matrix, start: int, stop: int) -> Matrix:
    indptr, columns, values = texts
    begin = indptr[start]
    end = indptr[stop]
    return indptr[start : stop + 1] - begin, columns[begin:end], values[begin:end]
