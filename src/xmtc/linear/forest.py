"""Forest: the linear classifiers of a whole label tree, siblings side by side, ready to walk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from xmtc.core.arrays import Allowed, Array, Csr, Floats, Ints, Longs
from xmtc.core.errors import DataError
from xmtc.core.parts import Parts
from xmtc.core.ranking import Ranking
from xmtc.core.threads import blocks, in_threads, thread_count
from xmtc.core.tree import LabelTree
from xmtc.kernels.beam import CHILD, HINGE, MULTIPLY, SIGMOID, Weights, beam_search

TEXTS_PER_BLOCK = 1024  # ranked together: enough to share a node's chunk, little enough for memory
MAX_WEIGHT = 1e15  # products with text weights stay finite

# How a label is scored, v being w·x + b: by the product of exp(-max(0, 1 - v)³) along its path
# (PECOS), the same squared (Parabel), the product of logistic functions (PLT: a probability), or by
# the logistic function of its own v alone, the path only leading to it.
Score = Literal["path", "path2", "probability", "label"]
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


@dataclass(frozen=True)
class Forest:
    """All chunks of a tree. Nodes are numbered level by level, the children of a node in a row."""

    tree: LabelTree
    feature_count: int
    row_start: Longs  # (inner nodes + 1,) where each node's chunk begins
    row_feature: Ints  # (rows,)
    entry_start: Longs  # (rows + 1,)
    entry_sibling: Ints  # (entries,)
    entry_value: Floats  # (entries,)
    biases: Floats  # (nodes - 1,) of all nodes but the root

    def rank(
        self,
        texts: Csr,
        k: int,
        beam: int = 10,
        score: Score = "path",
        allowed: Allowed = None,
        trust: float = 1.0,
    ) -> Ranking:
        """Beam search for every text: `walk` over this tree, fused into one kernel."""
        closed, rule = self._closed(allowed), (*_RULES[score], trust)
        beam = min(beam, max(map(len, self.tree.parents)))
        count = texts.shape[0]
        size = max(1, min(TEXTS_PER_BLOCK, -(-count // thread_count())))

        def search(block: tuple[int, int]) -> Ranking:
            rows = _rows(texts, *block)
            return Ranking(*beam_search(rows, *self._arrays, (beam, k), rule, closed))

        return Ranking.stack(in_threads(search, blocks(count, size)) or [Ranking.empty(0, k)])

    @cached_property
    def child_start(self) -> Longs:
        """(inner nodes + 1,) the number of each node's first child."""
        counts = np.concatenate([np.diff(children.start) for children in self.tree.children])
        return np.concatenate([[1], 1 + np.cumsum(counts)]).astype(np.int64)

    @cached_property
    def _arrays(self) -> tuple[Weights, Longs, Longs, tuple[int, int]]:
        """What the kernel reads, made once, so that ranking a single text needs no set-up."""
        level_starts = np.cumsum([0, 1, *map(len, self.tree.parents)]).astype(np.int64)
        names = np.concatenate([[level_starts[-2] - 1], self.tree.children[-1].nodes])
        sizes = (self.feature_count, int(np.diff(self.child_start).max(initial=1)))
        weights = (self.child_start, self.row_start, self.row_feature, self.entry_start,
                   self.entry_sibling, self.entry_value, self.biases)  # fmt: skip
        return weights, level_starts, names.astype(np.int64), sizes

    def chunk(self, node: int) -> Chunk:
        """The classifiers of one node's children."""
        first, last = self.row_start[node : node + 2]
        begin, end = self.entry_start[first], self.entry_start[last]
        children = slice(self.child_start[node] - 1, self.child_start[node + 1] - 1)
        return Chunk(
            self.row_feature[first:last],
            self.entry_start[first : last + 1] - begin,
            self.entry_sibling[begin:end],
            self.entry_value[begin:end],
            self.biases[children],
        )

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
            return np.empty(0, np.uint8)
        *inner, last = self.tree.open_nodes(allowed)
        open_nodes = [np.ones(1, bool), *inner, last[self.tree.children[-1].nodes]]
        return (~np.concatenate(open_nodes)).astype(np.uint8)

    def to_arrays(self, prefix: str) -> dict[str, Array]:
        """What must be saved; small counts and sibling numbers take as few bytes as they need."""
        widest = int(np.diff(self.child_start).max(initial=0))
        return {
            **{f"{prefix}.parents{level}": p for level, p in enumerate(self.tree.parents)},
            f"{prefix}.row_counts": np.diff(self.row_start).astype(np.int32),
            f"{prefix}.row_feature": self.row_feature,
            f"{prefix}.entry_counts": np.diff(self.entry_start).astype(_smallest(widest + 1)),
            f"{prefix}.entry_sibling": self.entry_sibling.astype(_smallest(widest)),
            f"{prefix}.entry_value": self.entry_value,
            f"{prefix}.biases": self.biases,
        }

    @staticmethod
    def from_parts(parts: Parts, prefix: str, depth: int, features: int, labels: int) -> Forest:
        """The forest as it was saved, checked."""
        levels = [
            parts.array(f"{prefix}.parents{level}", np.int32, (None,)) for level in range(depth)
        ]
        tree = LabelTree(tuple(levels))
        inner = 1 + sum(len(level) for level in levels[:-1])
        if tree.label_count != labels or any((np.diff(level) < 0).any() for level in levels[:-1]):
            raise DataError(f"the label tree does not fit its {labels} labels")
        row_start = _starts(parts.array(f"{prefix}.row_counts", np.int32, (inner,)))
        rows = int(row_start[-1])
        entry_start = _starts(_any_of(parts, f"{prefix}.entry_counts", rows))
        forest = Forest(
            tree, features, row_start,
            parts.ids(f"{prefix}.row_feature", features, rows),
            entry_start,
            _any_of(parts, f"{prefix}.entry_sibling", int(entry_start[-1])).astype(np.int32),
            parts.array(f"{prefix}.entry_value", np.float32, (int(entry_start[-1]),)),
            parts.array(f"{prefix}.biases", np.float32, (inner - 1 + labels,)),
        )  # fmt: skip
        forest._check()
        return forest

    def _check(self) -> None:
        """What a kernel takes for granted."""
        children = np.repeat(np.diff(self.child_start), np.diff(self.row_start))
        per_entry = np.repeat(children, np.diff(self.entry_start))
        if (self.entry_sibling >= per_entry).any():
            raise DataError("a weight belongs to a child that its node does not have")
        starts = self.row_start[1:-1]
        climbs = np.diff(self.row_feature) > 0
        climbs[starts[(starts > 0) & (starts < len(self.row_feature))] - 1] = True
        if not climbs.all():
            raise DataError("the features of a node must climb")
        for array in (self.entry_value, self.biases):
            if len(array) and np.abs(array).max() > MAX_WEIGHT:
                raise DataError(f"a weight is larger than {MAX_WEIGHT:g}")


def chunk_of(features: Array, siblings: Array, values: Array, biases: Array) -> Chunk:
    """A chunk from one (feature, sibling, value) per entry, in any order."""
    order = np.lexsort([siblings, features])
    rows, counts = np.unique(features, return_counts=True)
    return Chunk(
        rows.astype(np.int32),
        _starts(counts),
        siblings[order].astype(np.int32),
        values[order].astype(np.float32),
        biases.astype(np.float32),
    )


def forest_of(tree: LabelTree, chunks: Sequence[Chunk], features: int) -> Forest:
    """Chunks in the order of their nodes, level by level from the root, as one forest."""
    return Forest(
        tree,
        features,
        row_start=_starts([len(chunk.features) for chunk in chunks]),
        row_feature=np.concatenate([chunk.features for chunk in chunks]),
        entry_start=_starts(np.concatenate([np.diff(chunk.entry_start) for chunk in chunks])),
        entry_sibling=np.concatenate([chunk.siblings for chunk in chunks]),
        entry_value=np.concatenate([chunk.values for chunk in chunks]),
        biases=np.concatenate([chunk.biases for chunk in chunks]),
    )


def _starts(counts: Sequence[int] | Array) -> Longs:
    counts = np.asarray(counts)
    if len(counts) and counts.min() < 0:
        raise DataError("a negative count")
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _smallest(limit: int) -> type[np.unsignedinteger]:
    """The smallest type that holds numbers below the limit."""
    return np.uint8 if limit <= 1 << 8 else np.uint16 if limit <= 1 << 16 else np.uint32


def _any_of(parts: Parts, name: str, length: int) -> Array:
    """An array of small unsigned numbers, in whichever width it was saved."""
    width = parts.arrays[name].dtype if name in parts.arrays else np.dtype(np.uint8)
    return parts.array(
        name, width if width.kind == "u" and width.itemsize <= 4 else np.uint8, (length,)
    )


def _rows(texts: Csr, start: int, stop: int) -> tuple[Longs, Ints, Floats]:
    begin, end = int(texts.indptr[start]), int(texts.indptr[stop])
    indptr = texts.indptr[start : stop + 1].astype(np.int64) - begin
    return indptr, texts.indices[begin:end], texts.data[begin:end]
