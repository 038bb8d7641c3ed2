"""LabelTree: the labels, grouped level by level; the last level's nodes are the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xmtc.core.arrays import Allowed, Array, Csr, Ints, Longs, as_csr, csr, starts_of
from xmtc.core.errors import DataError

MAX_DEPTH = 64  # far above any useful tree; a bound for untrusted files


@dataclass(frozen=True)
class Children:
    """The children of every node of a level, ids ascending: node n has
    `nodes[start[n] : start[n + 1]]`."""

    start: Longs  # (parents + 1,)
    nodes: Ints  # (children,)


@dataclass(frozen=True)
class LabelTree:
    """`parents[level][node]` is the node's parent one level up; level 0 hangs from one root."""

    parents: tuple[Ints, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.parents) <= MAX_DEPTH:
            raise DataError(
                f"a label tree has 1 to {MAX_DEPTH} levels, this one {len(self.parents)}"
            )
        above = 1
        for level, parents in enumerate(self.parents):
            if parents.ndim != 1 or (
                len(parents) and not 0 <= parents.min() <= parents.max() < above
            ):
                raise DataError(
                    f"level {level} of the label tree: parents must lie between 0 and {above - 1}"
                )
            above = len(parents)

    @staticmethod
    def flat(labels: int) -> LabelTree:
        """Every label right below the root: one-vs-all."""
        return LabelTree((np.zeros(labels, np.int32),))

    @staticmethod
    def of(parents: Sequence[Sequence[int] | Ints]) -> LabelTree:
        """From one list of parents per level."""
        return LabelTree(tuple(np.asarray(level, np.int32) for level in parents))

    @property
    def depth(self) -> int:
        """How many levels lie below the root."""
        return len(self.parents)

    @property
    def label_count(self) -> int:
        """How many labels the tree holds."""
        return len(self.parents[-1])

    @cached_property
    def children(self) -> tuple[Children, ...]:
        """`children[level]`: which nodes of `level` each node of the level above has."""
        above = [1, *map(len, self.parents)]
        return tuple(
            Children(
                starts_of(np.bincount(parents, minlength=count)),
                np.argsort(parents, kind="stable").astype(np.int32),
            )
            for parents, count in zip(self.parents, above, strict=False)
        )

    def children_among(self, allowed: Allowed) -> tuple[Children, ...]:
        """`children`, without the nodes that have no allowed label below them."""
        if allowed is None:
            return self.children
        found = []
        for children, is_open in zip(self.children, self.open_nodes(allowed), strict=True):
            remains = is_open[children.nodes]
            start = starts_of(remains)[children.start]
            found.append(Children(start, children.nodes[remains]))
        return tuple(found)

    def open_nodes(self, allowed: Array) -> list[Array]:
        """For each level, which nodes lead to an allowed label."""
        levels = [allowed]
        for parents, above in zip(self.parents[:0:-1], self.parents[-2::-1], strict=True):
            found = np.bincount(parents[levels[-1]], minlength=len(above))
            levels.append(found > 0)
        return levels[::-1]

    def relevant_at(self, level: int, relevant: Csr) -> Csr:
        """(texts, labels) -> (texts, nodes of `level`): 1 where some relevant label is below."""
        if level == self.depth - 1:
            return relevant
        lifted = self.summed_at(level, relevant)
        return csr(np.ones_like(lifted.data), lifted.indices, lifted.indptr, lifted.shape[1])

    def summed_at(self, level: int, relevant: Csr) -> Csr:
        """(texts, labels) -> (texts, nodes of `level`): sums over the labels below."""
        for below in range(self.depth - 1, level, -1):
            parents = self.parents[below]
            above = len(self.parents[below - 1])
            relevant = as_csr(csr(relevant.data, parents[relevant.indices], relevant.indptr, above))
        return relevant
