"""Forest: the linear classifiers of a whole label tree, siblings side by side, ready to walk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xmtc.core.arrays import Array, Csr, Floats, Ints, Longs
from xmtc.core.ranking import Ranking
from xmtc.core.threads import blocks, in_threads, thread_count
from xmtc.core.tree import LabelTree
from xmtc.kernels.beam import CHILD, HINGE, IDENTITY, MULTIPLY, SIGMOID, beam_search

TEXTS_PER_BLOCK = 1024  # ranked together: enough to share a node's chunk, little enough for memory
TRANSFORMS = {"margin": (IDENTITY, 1.0), "sigmoid": (SIGMOID, 1.0), "hinge": (HINGE, 1.0),
              "hinge2": (HINGE, 2.0), "hinge3": (HINGE, 3.0)}  # fmt: skip
COMBINES = {"multiply": MULTIPLY, "child": CHILD}


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
    """All chunks of a tree. Nodes are numbered level by level, children of a node in a row."""

    child_start: Longs  # (inner nodes + 1,) number of each node's first child
    level_starts: Longs  # (levels + 2,) the root's level first
    labels: Ints  # (labels,) label of each node of the last level
    row_start: Longs  # (inner nodes + 1,) where each node's chunk begins
    row_feature: Ints
    entry_start: Longs
    entry_sibling: Ints
    entry_value: Floats
    biases: Floats  # (nodes - 1,) of all nodes but the root
    feature_count: int

    def rank(
        self,
        texts: Csr,
        k: int,
        beam: int = 10,
        transform: str = "hinge3",
        combine: str = "multiply",
    ) -> Ranking:
        """Beam search for every text."""
        rule = (*TRANSFORMS[transform], COMBINES[combine])
        count = texts.shape[0]
        size = max(1, min(TEXTS_PER_BLOCK, -(-count // thread_count())))

        def search(block: tuple[int, int]) -> Ranking:
            rows = _rows(texts, *block)
            return Ranking(
                *beam_search(rows, self._arrays, self.level_starts, self.labels,
                             self.feature_count, (beam, k), rule)
            )  # fmt: skip

        return Ranking.stack(in_threads(search, blocks(count, size)) or [Ranking.empty(0, k)])

    @cached_property
    def _arrays(self) -> tuple[Longs, Longs, Ints, Longs, Ints, Floats, Floats]:
        return (self.child_start, self.row_start, self.row_feature, self.entry_start,
                self.entry_sibling, self.entry_value, self.biases)  # fmt: skip


def forest_of(tree: LabelTree, chunks: Sequence[Chunk], features: int) -> Forest:
    """Chunks in the order of their nodes, level by level from the root, as one forest."""
    sizes = [1, *map(len, tree.parents)]
    level_starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    child_counts = np.concatenate([np.diff(children.start) for children in tree.children])
    entries = [len(chunk.siblings) for chunk in chunks]
    entry_start = _offsets([size for chunk in chunks for size in [np.diff(chunk.entry_start)]])
    assert entry_start[-1] == sum(entries)
    return Forest(
        child_start=np.concatenate([[1], 1 + np.cumsum(child_counts)]).astype(np.int64),
        level_starts=level_starts,
        labels=tree.children[-1].nodes,
        row_start=np.concatenate([[0], np.cumsum([len(c.features) for c in chunks])]).astype(
            np.int64
        ),
        row_feature=np.concatenate([chunk.features for chunk in chunks]),
        entry_start=entry_start,
        entry_sibling=np.concatenate([chunk.siblings for chunk in chunks]),
        entry_value=np.concatenate([chunk.values for chunk in chunks]),
        biases=np.concatenate([chunk.biases for chunk in chunks]),
        feature_count=features,
    )


def _offsets(sizes: list[Array]) -> Longs:
    return np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)


def _rows(texts: Csr, start: int, stop: int) -> tuple[Longs, Ints, Floats]:
    begin, end = int(texts.indptr[start]), int(texts.indptr[stop])
    indptr = texts.indptr[start : stop + 1].astype(np.int64) - begin
    return indptr, texts.indices[begin:end], texts.data[begin:end]
