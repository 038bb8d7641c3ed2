"""Changes the labels of a forest without training the others again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Array, Csr, as_csr, unit_rows
from xmtc.core.tree import LabelTree
from xmtc.linear.forest import Chunk, Forest, chunk_of, forest_of, side_by_side
from xmtc.linear.nodes import ForestConfig, train_forest
from xmtc.linear.svm import SvmConfig

# A new label has few negative texts, so its margins are too high. With this much off them the old
# labels keep their accuracy to 0.1 points (docs/how-to/update-a-model.md).
MARGIN_OFF = 0.6
# One that is trained on its label text alone has lower margins: other texts share few of its words.
# They are stretched, and less is taken off (same page).
STRETCH_BY_TEXT = 2.0
MARGIN_OFF_BY_TEXT = 0.3
OTHERS = 500  # labels from other leaves that are negatives of new labels


def without_labels(forest: Forest, stays: Array) -> Forest:
    """The forest with only the labels where `stays` (labels,) is True, in their old order."""

    def remaining(leaf: int, chunk: Chunk) -> Chunk:
        own = stays[_labels(forest, leaf)]
        places = np.cumsum(own) - 1
        used = own[chunk.siblings]
        return chunk_of(
            chunk.entry_features[used],
            places[chunk.siblings[used]],
            chunk.values[used],
            chunk.biases[own],
        )

    leaves = np.arange(len(forest.tree.children[-1].start) - 1)
    return _changed(forest, leaves, remaining, forest.tree.parents[-1][stays])


def with_labels(
    forest: Forest, texts: Csr, relevant: Csr, by_text: Array, config: SvmConfig, beam: int
) -> Forest:
    """The forest with more labels, after the old: each trained on its `texts`, at its leaf.

    texts: (examples, features). relevant: (examples, new labels). by_text: (new labels,) True where
    the only example is the label text. A label goes to the leaf that the tree itself leads its
    examples to; its negatives are the other examples, its siblings and some OTHERS.
    """
    samples = []
    count = 0
    for leaf in np.random.default_rng(0).permutation(forest.inner_nodes - forest.first_leaf):
        if count < OTHERS:
            chunk = forest.chunk(forest.first_leaf + leaf)
            samples.append(_typical_texts(chunk, forest.feature_count))
            count += len(chunk.biases)
    others = as_csr(sp.vstack(samples))
    parents = _leaves_for(forest, texts, relevant, beam)

    def extended(leaf: int, chunk: Chunk) -> Chunk:
        new = parents == leaf
        trained = _trained(
            chunk, texts, relevant[:, np.flatnonzero(new)], by_text[new], others, config
        )
        return side_by_side([chunk, trained])

    return _changed(forest, parents, extended, np.append(forest.tree.parents[-1], parents))


def with_places(forest: Forest, texts: Csr, relevant: Csr, beam: int) -> Forest:
    """As `with_labels`, but the new labels are not trained yet and refuse every text."""
    none = np.empty(0, np.int32)
    parents = _leaves_for(forest, texts, relevant, beam)

    def extended(leaf: int, chunk: Chunk) -> Chunk:
        biases = np.full((parents == leaf).sum(), -1, np.float32)
        return side_by_side([chunk, chunk_of(none, none, none, biases)])

    return _changed(forest, parents, extended, np.append(forest.tree.parents[-1], parents))


def with_old_labels(forest: Forest, old: Forest, from_old: Array) -> Forest:
    """The forest with the classifiers that `old` has for the labels where `from_old` is True."""

    def mixed(leaf: int, chunk: Chunk) -> Chunk:
        own = from_old[_labels(forest, leaf)]
        before = old.chunk(forest.first_leaf + leaf)
        parts = []
        for each, wanted in ((chunk, ~own), (before, own)):
            used = wanted[each.siblings]
            parts.append((each.entry_features[used], each.siblings[used], each.values[used]))
        features, places, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        return chunk_of(features, places, values, np.where(own, before.biases, chunk.biases))

    leaves = forest.tree.parents[-1][from_old]
    return _changed(forest, leaves, mixed, forest.tree.parents[-1])


def _labels(forest: Forest, leaf: int) -> Array:
    children = forest.tree.children[-1]
    return children.nodes[children.start[leaf] : children.start[leaf + 1]]


def _changed(
    forest: Forest, leaves: Array, change: Callable[[int, Chunk], Chunk], parents: Array
) -> Forest:
    """The forest with the chunks of these leaves changed. parents: the leaf of each label then."""
    chunks = [forest.chunk(node) for node in range(forest.inner_nodes)]
    for leaf in np.unique(leaves):
        node = forest.first_leaf + leaf
        chunks[node] = change(leaf, chunks[node])
    tree = LabelTree((*forest.tree.parents[:-1], parents.astype(np.int32)))
    return forest_of(tree, chunks, forest.feature_count, forest.weight_type)


def _leaves_for(forest: Forest, texts: Csr, relevant: Csr, beam: int) -> Array:
    """(new labels,) the leaf that the tree leads each label's examples to, added up."""
    vectors = unit_rows(as_csr(relevant.T @ texts))
    if forest.tree.depth == 1:
        return np.zeros(vectors.shape[0], np.int32)
    upper = LabelTree(forest.tree.parents[:-1])
    chunks = [forest.chunk(node) for node in range(forest.first_leaf)]
    return forest_of(upper, chunks, forest.feature_count).rank(vectors, 1, beam).labels[:, 0]


def _trained(
    chunk: Chunk, texts: Csr, relevant: Csr, by_text: Array, others: Csr, config: SvmConfig
) -> Chunk:
    """New children of the chunk's node, in the order of the columns of `relevant`.

    Their negatives are the other examples, typical texts of their siblings, and `others`.
    """
    rows = as_csr(sp.vstack([texts, _typical_texts(chunk, texts.shape[1]), others]))
    none = sp.csr_array((rows.shape[0] - texts.shape[0], relevant.shape[1]), dtype=np.float32)
    tree = LabelTree.flat(relevant.shape[1])
    relevant = as_csr(sp.vstack([relevant, none]))
    new = train_forest(rows, relevant, tree, ForestConfig(config)).chunk(0)
    stretch = np.where(by_text, STRETCH_BY_TEXT, 1.0).astype(np.float32)  # from -1, a clear no, up
    off = np.where(by_text, MARGIN_OFF_BY_TEXT, MARGIN_OFF).astype(np.float32)
    biases = stretch * (new.biases + 1) - 1 - off
    highest = chunk.biases.max(initial=np.float32(-1))  # of a sibling, for a text without words
    biases = np.where(by_text, np.minimum(biases, highest), biases)
    return replace(new, values=new.values * stretch[new.siblings], biases=biases)


def _typical_texts(chunk: Chunk, features: int) -> Csr:
    """(children, features): for each child a text of all words with a positive weight."""
    speaks = chunk.values > 0
    places = (chunk.siblings[speaks], chunk.entry_features[speaks])
    shape = (len(chunk.biases), features)
    return unit_rows(as_csr(sp.coo_array((chunk.values[speaks], places), shape=shape)))
