"""Label trees: labels that are alike end up under one node."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from xmtc.core.arrays import Csr, Longs, kernel_arrays
from xmtc.core.config import changed, check_bounds, group, setting
from xmtc.core.errors import DataError, require
from xmtc.core.labels import LabelSpace
from xmtc.core.tree import MAX_DEPTH, LabelTree
from xmtc.kernels.balanced_kmeans import nearest_centres, split_in_half, split_like
from xmtc.labels.partition import Split, every_nth, grow, tree_of

ITERATIONS = 2  # of 2-means over all labels of a node, after those of a sample


@dataclass(frozen=True)
class PublishedTree:
    """What exists for the code of a paper, or to measure it."""

    stop: Literal["still", "gain", "change"] = setting(
        "still", "2-means stops when nothing moves (PECOS), gains (Parabel) or changes (X-BERT)"
    )
    centres: Literal["unit", "mean"] = setting("unit", "2-means: spherical, or Euclidean (mean)")
    sample: int = setting(1 << 14, "labels that find the halves of a node that has more", low=2)

    def __post_init__(self) -> None:
        check_bounds(self)
        require(
            self.stop != "gain" or self.centres == "unit",
            "stop",
            self.stop,
            "is a gain of cosines, which Euclidean centres do not aim for: take still or change, "
            "or centres=unit",
        )


@dataclass(frozen=True)
class TreeConfig:
    """How labels are clustered into a tree."""

    method: Literal["balanced", "kmeans", "random", "frequency"] = setting(
        "balanced", "balanced 2-means, k-means, at random, or by equal label frequency"
    )
    arity: int = setting(16, "children of a node; a power of 2 for balanced trees", low=2)
    max_leaf: int = setting(16, "maximum labels in a cluster", low=1)
    max_depth: int = setting(20, "maximum levels above the labels", low=1, high=MAX_DEPTH - 1)
    published: PublishedTree = group(PublishedTree)

    def __post_init__(self) -> None:
        check_bounds(self)
        binary = self.method == "balanced"
        power = self.arity >= 2 and self.arity & (self.arity - 1) == 0
        require(
            power or (not binary and self.arity >= 2),
            "arity",
            self.arity,
            "must be a power of 2 for balanced trees, at least 2 for others",
        )

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Settings that do nothing in this combination, and why."""
        if self.method != "balanced":
            for name in changed(self, "published.stop", "published.centres", "published.sample"):
                yield name, f"method={self.method} has no 2-means"


def build_tree(vectors: Csr, counts: Longs, config: TreeConfig, seed: int = 0) -> LabelTree:
    """The tree over labels described by `vectors` (labels, features), seen `counts` times."""
    if config.method == "balanced":
        return balanced_tree(vectors, config, seed)
    if config.method == "kmeans":
        split = k_means(vectors, config)
    else:
        split = at_random(config) if config.method == "random" else by_frequency(counts, config)
    labels = vectors.shape[0]
    return tree_of(grow(labels, split, seed, config.max_depth), labels)


def balanced_tree(
    vectors: Csr, config: TreeConfig, seed: int = 0, halvings: int | None = None
) -> LabelTree:
    """Halves of halves, `log2(arity)` of them to a level.

    halvings: how often every label's node is halved; None: by `max_leaf` and `max_depth`.
    """
    labels = vectors.shape[0]
    per_level = int(math.log2(config.arity))
    if halvings is None:
        wanted = halvings_for(labels, config.max_leaf)
        halvings = min(wanted, config.max_depth * per_level, MAX_DEPTH - 1)
    levels = grow(labels, two_means(vectors, config), seed, halvings)
    return tree_of(every_nth(levels, per_level, config.arity), labels)


def halvings_for(labels: int, max_leaf: int) -> int:
    """How often the labels are halved until at most `max_leaf` are left: ceil(log2(L / leaf))."""
    return max(0, math.ceil(math.log2(max(1, labels) / max_leaf)))


def published_halvings(labels: int, max_leaf: int = 100) -> int:
    """X-Transformer's depth, floor(log2(L // 100 + 1)) + 1, which gives X-BERT's 6, 9, 8 and 13.

    No more than leave a label in every cluster.
    """
    wanted = int(math.log2(labels // max_leaf + 1)) + 1
    return min(wanted, int(math.log2(max(1, labels))))


def given_tree(labels: LabelSpace, parent_of: Mapping[str, str]) -> LabelTree:
    """The tree that `parent_of` describes: name -> name of its parent, labels or not.

    A label that is itself a parent becomes a leaf below itself. Labels without a parent hang from
    the root.
    """
    inner = set(parent_of.values())
    paths = [_path(name, parent_of, name in inner) for name in labels.names]
    depth = max(map(len, paths), default=0)
    if depth == 0 and len(labels):
        example = f", e.g. {next(iter(parent_of))!r}" if parent_of else " (it is empty)"
        raise DataError(
            f"the given tree has none of the {len(labels):,} labels, e.g. {labels.names[0]!r}, but "
            f"other names{example}. A label must be called the same in both."
        )
    if depth >= MAX_DEPTH:
        raise DataError(f"expected a tree of at most {MAX_DEPTH - 1} levels, got {depth}.")
    levels = []
    for level in range(1, depth + 1):
        heads = [
            tuple(path[:level]) or (name,) for path, name in zip(paths, labels.names, strict=True)
        ]
        places = {head: place for place, head in enumerate(dict.fromkeys(heads))}
        levels.append(np.array([places[head] for head in heads], np.int32))
    return tree_of(levels, len(labels))


def _path(name: str, parent_of: Mapping[str, str], is_inner: bool) -> list[str]:
    """The nodes above a label, from the top down."""
    path = [name] if is_inner else []
    seen = {name}
    above = parent_of.get(name)
    while above is not None:
        if above in seen:
            raise DataError(f"the given tree has a cycle: {name!r} is above itself.")
        seen.add(above)
        path.append(above)
        above = parent_of.get(above)
    return path[::-1]


def two_means(vectors: Csr, config: TreeConfig) -> Split:
    """Balanced 2-means: halves whose sizes differ by one at most."""
    how = config.published
    matrix = kernel_arrays(vectors)
    scratch = threading.local()
    iterations = 100 if how.stop == "gain" else 20
    min_gain = 1e-4 if how.stop == "gain" else -1.0
    min_change = 0.01 if how.stop == "change" else -1.0
    means = how.centres == "mean"

    def split(labels: Longs, rng: np.random.Generator) -> Sequence[Longs]:
        if len(labels) < 2 or (how.stop == "gain" and len(labels) <= config.max_leaf):
            return []
        if not hasattr(scratch, "place_of"):
            scratch.place_of = np.zeros(vectors.shape[1], np.int32)
        sample = labels
        if len(labels) > how.sample:
            sample = np.sort(rng.choice(labels, how.sample, replace=False))
        pair = tuple(rng.choice(sample, 2, replace=False))
        left, right, _ = split_in_half(
            matrix, scratch.place_of, sample, pair, min_gain, iterations, min_change, means
        )
        if len(sample) == len(labels):
            return [left, right]
        return split_like(matrix, vectors.shape[1], labels, (left, right), ITERATIONS, means)

    return split


def k_means(vectors: Csr, config: TreeConfig) -> Split:
    """Spherical k-means (Bonsai): clusters of any size, none empty, none with one label."""
    matrix = kernel_arrays(vectors)
    features = vectors.shape[1]

    def split(labels: Longs, rng: np.random.Generator) -> Sequence[Longs]:
        if len(labels) <= max(config.arity, config.max_leaf):
            return []
        centres = np.sort(rng.choice(labels, config.arity, replace=False))
        nearest = nearest_centres(matrix, features, labels, centres, 1e-4, 100)
        parts = [labels[nearest == cluster] for cluster in np.unique(nearest)]
        return parts if len(parts) > 1 else []

    return split


def at_random(config: TreeConfig) -> Split:
    """Parts of equal size, drawn at random."""

    def split(labels: Longs, rng: np.random.Generator) -> Sequence[Longs]:
        if len(labels) <= config.max_leaf:
            return []
        parts = min(config.arity, math.ceil(len(labels) / config.max_leaf))
        return [np.sort(part) for part in np.array_split(rng.permutation(labels), parts)]

    return split


def by_frequency(counts: Longs, config: TreeConfig) -> Split:
    """Children of about equal total frequency: frequent labels end up near the root."""

    def split(labels: Longs, rng: np.random.Generator) -> Sequence[Longs]:
        if len(labels) <= config.max_leaf:
            return []
        order = labels[np.argsort(-counts[labels], kind="stable")]
        mass = np.cumsum(counts[order] + 1)
        child = (mass - counts[order] - 1) * config.arity // mass[-1]  # where its share begins
        return [np.sort(order[child == place]) for place in np.unique(child)]

    return split
