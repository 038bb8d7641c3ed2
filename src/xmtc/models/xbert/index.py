"""Semantic label indexing: labels that mean alike in one cluster. X-BERT's first stage."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from xmtc.core.arrays import Csr
from xmtc.core.dataset import Dataset
from xmtc.core.errors import require
from xmtc.core.tree import LabelTree
from xmtc.labels import label_features
from xmtc.labels.trees import (
    PublishedTree,
    TreeConfig,
    balanced_tree,
    published_halvings,
)
from xmtc.neural.settings import Pretrained
from xmtc.text.tfidf import Tfidf

if TYPE_CHECKING:
    from xmtc.neural.encoders.text_encoder import TextEncoder

LabelVectors = Literal["pifa", "pifa_neural", "text"]


@dataclass(frozen=True)
class IndexConfig:
    """How labels are described and grouped."""

    vectors: LabelVectors = "pifa"  # of labels, by their texts' words or meaning, or their own text
    weigh_texts: bool = True  # pifa: a text of n labels counts 1/√n; False: 1, as the paper says
    terms: int | None = 64  # of pifa, the strongest: faster, as good; none keeps all
    encoder: Pretrained = field(default_factory=lambda: Pretrained(max_tokens=64))  # as it is
    centres: Literal["unit", "mean"] = "unit"  # spherical 2-means; mean: Euclidean, of any lengths
    stop: Literal["still", "change", "gain"] = "still"  # of 2-means; change: X-BERT's own code
    max_cluster: int = 100  # labels in a cluster, about; fewer: more clusters, harder to match
    depth: int = 0  # 2 to this power clusters; 0: by max_cluster, as published
    seed: int = 0  # other clusters, e.g. for an ensemble

    def __post_init__(self) -> None:
        require(
            self.terms is None or self.terms >= 1,
            "terms",
            self.terms,
            "must be at least 1, or none for all",
        )
        require(self.max_cluster >= 1, "max_cluster", self.max_cluster, "must be at least 1")
        require(0 <= self.depth <= 30, "depth", self.depth, "must lie between 0 and 30")
        require(self.seed >= 0, "seed", self.seed, "must be 0 or more")
        PublishedTree(self.stop, self.centres)


def index(dataset: Dataset, words: Tfidf, features: Csr, config: IndexConfig) -> LabelTree:
    """Halves of halves: 2, 4, ... clusters, then the labels. features: the texts in `words`.

    Chance and ties go by the labels' names, so that how they are numbered changes nothing.
    """
    count = len(dataset.labels)
    depth = published_halvings(count, config.max_cluster)
    depth = min(config.depth, int(math.log2(max(1, count)))) if config.depth else depth
    if depth == 0:
        return LabelTree.of([[0], [0] * count])
    # `depth` alone says how far
    halves = TreeConfig(arity=2, max_leaf=1, published=PublishedTree(config.stop, config.centres))
    order = np.array(sorted(range(count), key=dataset.labels.names.__getitem__))
    described = label_vectors(dataset, words, features, config)[order]
    found = balanced_tree(described, halves, config.seed, depth)
    clusters = np.empty(count, np.int32)
    clusters[order] = found.parents[-1]
    return LabelTree((*found.parents[:-1], clusters))


def clusters_of(tree: LabelTree) -> LabelTree:
    """The tree without what is above its clusters: all of them below the root, then the labels."""
    return LabelTree((np.zeros(len(tree.parents[-2]), np.int32), tree.parents[-1]))


def label_vectors(dataset: Dataset, words: Tfidf, features: Csr, config: IndexConfig) -> Csr:
    """(labels, features or dim). A label without texts is placed by what it says itself."""
    said = label_features.cleaned(dataset.labels)
    relevant = dataset.relevant
    if config.vectors == "pifa":
        found = label_features.pifa(features, relevant, config.weigh_texts, config.terms)
        return _filled(found, lambda: label_features.from_text(said, words))
    reader = _reader(dataset, config.encoder)
    if config.vectors == "text":
        return label_features.from_text(said, reader, unit=config.centres == "unit")
    read = reader.encode(dataset.texts)
    found = label_features.pifa_of_vectors(read, relevant, config.weigh_texts)
    return _filled(found, lambda: label_features.from_text(said, reader))


def _filled(found: Csr, others: Callable[[], Csr]) -> Csr:
    return label_features.filled(found, others()) if (np.diff(found.indptr) == 0).any() else found


def _reader(dataset: Dataset, config: Pretrained) -> TextEncoder:
    from xmtc.neural.encoders.make import make_encoder

    return make_encoder(dataset.texts, config).eval()
