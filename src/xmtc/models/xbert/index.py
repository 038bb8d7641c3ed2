"""Semantic label indexing: clusters of labels with similar meaning. X-BERT's first stage."""

from __future__ import annotations

import math

import numpy as np

from xmtc.core.arrays import Csr
from xmtc.core.dataset import Dataset
from xmtc.core.tree import LabelTree
from xmtc.labels import label_features
from xmtc.labels.trees import PublishedTree, TreeConfig, balanced_tree, published_halvings
from xmtc.models.xbert.xbert_settings import PifaIndex, PifaNeuralIndex, TextIndex
from xmtc.text.tfidf import Tfidf


def index_labels(
    dataset: Dataset, words: Tfidf, features: Csr, config: PifaIndex | PifaNeuralIndex | TextIndex
) -> LabelTree:
    """Halves of halves: 2, 4, ... clusters, then the labels. features: the texts in `words`.

    Random draws and ties go by the labels' names, so that their ids do not matter.
    """
    count = len(dataset.labels)
    depth = published_halvings(count, config.max_leaf)
    if config.published.depth is not None:
        depth = min(config.published.depth, int(math.log2(max(1, count))))
    if depth == 0:
        return LabelTree.of([[0], [0] * count])
    # `depth` alone says how far
    published = PublishedTree(config.published.stop, config.published.centres)
    halves = TreeConfig(arity=2, max_leaf=1, published=published)
    order = np.array(sorted(range(count), key=dataset.labels.names.__getitem__))
    vectors = label_vectors(dataset, words, features, config)[order]
    found = balanced_tree(vectors, halves, config.published.seed, depth)
    clusters = np.empty(count, np.int32)
    clusters[order] = found.parents[-1]
    return LabelTree((*found.parents[:-1], clusters))


def clusters_of(tree: LabelTree) -> LabelTree:
    """The tree without its levels above the clusters: all of them below the root, then labels."""
    return LabelTree((np.zeros(len(tree.parents[-2]), np.int32), tree.parents[-1]))


def label_vectors(
    dataset: Dataset, words: Tfidf, features: Csr, config: PifaIndex | PifaNeuralIndex | TextIndex
) -> Csr:
    """(labels, features or dim). A label without texts is described by its label text."""
    labels = label_features.cleaned(dataset.labels)
    published = config.published
    if isinstance(config, PifaIndex):
        how = (published.weigh_texts, published.max_terms)
        found = label_features.pifa(features, dataset.relevant, *how)
        if (np.diff(found.indptr) == 0).any():
            found = label_features.filled(found, label_features.from_text(labels, words))
        return found
    from xmtc.neural.encoders.make import make_encoder

    encoder = make_encoder(dataset.texts, config.encoder).eval()
    if isinstance(config, TextIndex):
        return label_features.from_text(labels, encoder, unit=published.centres == "unit")
    vectors = encoder.encode(dataset.texts)
    found = label_features.pifa_of_vectors(vectors, dataset.relevant, published.weigh_texts)
    if (np.diff(found.indptr) == 0).any():
        found = label_features.filled(found, label_features.from_text(labels, encoder))
    return found
