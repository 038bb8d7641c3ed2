"""Partitions: a tree under construction, as one array per level that says where each label is.

`members[label]` is the node of the level that holds the label. Levels go from coarse to fine, and
each refines the one before; leaving levels out is how a binary tree becomes a wide one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from xmtc.core.arrays import Ints, Longs
from xmtc.core.progress import track
from xmtc.core.threads import in_threads
from xmtc.core.tree import MAX_DEPTH, LabelTree

# (labels of a node, its own random generator) -> its parts, or [] to leave it whole
Split = Callable[[Longs, np.random.Generator], Sequence[Longs]]


def tree_of(levels: Sequence[Ints], labels: int) -> LabelTree:
    """The tree whose inner nodes are these partitions; its last level is the labels themselves.

    Inner nodes are numbered so that the children of a node follow each other.
    """
    parents = []
    above = np.zeros(labels, np.int32)
    for members in levels:
        nodes = int(members.max(initial=0)) + 1
        pairs, place = np.unique(above.astype(np.int64) * nodes + members, return_inverse=True)
        parents.append((pairs // nodes).astype(np.int32))
        above = place.astype(np.int32)
    return LabelTree((*parents, above))


def grow(labels: int, split: Split, seed: int, max_depth: int = MAX_DEPTH - 1) -> list[Ints]:
    """Split nodes until `split` leaves all of them whole; a whole node is carried down.

    Every node has a generator of its own, drawn from the seed and its place, so that the number of
    threads cannot change the tree.
    """
    nodes: list[Longs] = [np.arange(labels, dtype=np.int64)]
    levels: list[Ints] = []
    with track("clustering labels") as advance:
        while len(levels) < max_depth:
            jobs = [(node, [seed, len(levels), place]) for place, node in enumerate(nodes)]
            parts = in_threads(lambda job: split(job[0], np.random.default_rng(job[1])), jobs)
            if not any(parts):
                break
            nodes = [
                child
                for node, children in zip(nodes, parts, strict=True)
                for child in children or [node]
            ]
            levels.append(np.empty(labels, np.int32))
            for place, node in enumerate(nodes):
                levels[-1][node] = place
            advance(1)
    return levels


def every_nth(levels: Sequence[Ints], n: int, max_top: int) -> list[Ints]:
    """Every n-th level, counted from the finest, up to a top of at most `max_top` nodes."""
    selected: list[Ints] = []
    for members in levels[::-n]:
        selected.append(members)
        if members.max(initial=0) < max_top:
            break
    return selected[::-1]
