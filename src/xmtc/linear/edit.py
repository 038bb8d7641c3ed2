"""Changes the labels of a forest without training the others again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Array, Csr, Ints, as_csr, unit_rows
from xmtc.core.tree import LabelTree
from xmtc.linear.forest import Chunk, Forest, chunk_of, forest_of, side_by_side
from xmtc.linear.nodes import train_forest
from xmtc.linear.svm import SvmConfig

# A new label knows few texts it does not belong to, so it says yes too easily. With this much off
# its margin the old labels keep their accuracy to 0.1 points (docs/how-to/update-a-model.md).
CAUTION = 0.6
# One that knows its own text alone: other texts share a few of those words, so they speak for it
# faintly. What they say counts twice, and less caution is left (same page).
STRETCH = 2.0
CAUTION_BY_TEXT = 0.3
OTHERS = 500  # labels from other leaves that new labels are told from


def without_labels(forest: Forest, kept: Array) -> Forest:
    """The forest with only the labels where `kept` (labels,) is True, in their old order."""
    children = forest.tree.children[-1]
    chunks = [forest.chunk(node) for node in range(forest.inner_nodes)]
    for leaf in range(len(children.start) - 1):
        mine = children.nodes[children.start[leaf] : children.start[leaf + 1]]
        node = forest.first_leaf + leaf
        chunks[node] = _keep_children(chunks[node], kept[mine])
    tree = LabelTree((*forest.tree.parents[:-1], forest.tree.parents[-1][kept]))
    return forest_of(tree, chunks, forest.feature_count)


def with_labels(
    forest: Forest, texts: Csr, relevant: Csr, by_text: Array, config: SvmConfig, beam: int
) -> Forest:
    """The forest with more labels, after the old: each learned from its `texts`, at its leaf.

    texts: (examples, features). relevant: (examples, new labels). by_text: (new labels,) True where
    the only example is what the label says itself. A label goes to the leaf that the tree itself
    leads its examples to, and is told from the other examples, its siblings and some OTHERS.
    """
    others = _likenesses(forest)

    def learned(chunk: Chunk, mine: Array) -> Chunk:
        return _learned(
            chunk, texts, relevant[:, np.flatnonzero(mine)], by_text[mine], others, config
        )

    return _inserted(forest, _leaves_for(forest, texts, relevant, beam), learned)


def with_places(forest: Forest, texts: Csr, relevant: Csr, beam: int) -> Forest:
    """As `with_labels`, but the new labels have learned nothing yet and refuse every text."""
    nothing = np.empty(0, np.int32)

    def empty(_: Chunk, mine: Array) -> Chunk:
        return chunk_of(nothing, nothing, nothing, np.full(mine.sum(), -1, np.float32))

    return _inserted(forest, _leaves_for(forest, texts, relevant, beam), empty)


def _inserted(forest: Forest, leaves: Ints, children: Callable[[Chunk, Array], Chunk]) -> Forest:
    """The forest with a new label at each of `leaves`.

    children: a leaf's chunk and which new labels go there -> their chunk.
    """
    chunks = [forest.chunk(node) for node in range(forest.inner_nodes)]
    for leaf in np.unique(leaves):
        node = forest.first_leaf + leaf
        chunks[node] = side_by_side([chunks[node], children(chunks[node], leaves == leaf)])
    parents = np.concatenate([forest.tree.parents[-1], leaves]).astype(np.int32)
    return forest_of(LabelTree((*forest.tree.parents[:-1], parents)), chunks, forest.feature_count)


def with_old_labels(forest: Forest, old: Forest, kept: Array) -> Forest:
    """The forest with the classifiers that `old` has for the labels where `kept` is True."""
    children = forest.tree.children[-1]
    chunks = [forest.chunk(node) for node in range(forest.inner_nodes)]
    for leaf in np.unique(forest.tree.parents[-1][kept]):
        mine = children.nodes[children.start[leaf] : children.start[leaf + 1]]
        node = forest.first_leaf + leaf
        chunks[node] = _mixed(chunks[node], old.chunk(node), kept[mine])
    return forest_of(forest.tree, chunks, forest.feature_count)


def _mixed(chunk: Chunk, old: Chunk, from_old: Array) -> Chunk:
    parts = []
    for some, wanted in ((chunk, ~from_old), (old, from_old)):
        stays = wanted[some.siblings]
        rows = some.entry_features[stays]
        parts.append((rows, some.siblings[stays], some.values[stays]))
    rows, siblings, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    return chunk_of(rows, siblings, values, np.where(from_old, old.biases, chunk.biases))


def _leaves_for(forest: Forest, texts: Csr, relevant: Csr, beam: int) -> Ints:
    """(new labels,) the leaf that the tree leads each label's examples to, added up."""
    vectors = unit_rows(as_csr(relevant.T @ texts))
    if forest.tree.depth == 1:
        return np.zeros(vectors.shape[0], np.int32)
    upper = LabelTree(forest.tree.parents[:-1])
    matcher = forest_of(
        upper, [forest.chunk(n) for n in range(forest.first_leaf)], forest.feature_count
    )
    return matcher.rank(vectors, 1, beam).labels[:, 0]


def _keep_children(chunk: Chunk, kept: Array) -> Chunk:
    new_place = np.cumsum(kept) - 1
    stays = kept[chunk.siblings]
    return chunk_of(
        chunk.entry_features[stays],
        new_place[chunk.siblings[stays]],
        chunk.values[stays],
        chunk.biases[kept],
    )


def _learned(
    chunk: Chunk, texts: Csr, relevant: Csr, by_text: Array, others: Csr, config: SvmConfig
) -> Chunk:
    """New children of the chunk's node, in the order of the columns of `relevant`.

    They are told from the other examples, from their siblings, and from `others`.
    """
    refused = as_csr(sp.vstack([_typical_texts(chunk, texts.shape[1]), others]))
    nobody = sp.csr_array((refused.shape[0], relevant.shape[1]), dtype=np.float32)
    rows, carried = (as_csr(sp.vstack(pair)) for pair in ((texts, refused), (relevant, nobody)))
    new = train_forest(rows, carried, LabelTree.flat(relevant.shape[1]), config).chunk(0)
    stretch = np.where(by_text, STRETCH, 1.0).astype(np.float32)  # upwards of -1, a clear no
    caution = np.where(by_text, CAUTION_BY_TEXT, CAUTION).astype(np.float32)
    biases = stretch * (new.biases + 1) - 1 - caution
    highest = chunk.biases.max(initial=np.float32(-1))  # no sibling says more without a word
    biases = np.where(by_text, np.minimum(biases, highest), biases)
    return replace(new, values=new.values * stretch[new.siblings], biases=biases)


def _likenesses(forest: Forest) -> Csr:
    """Texts that speak for some OTHERS labels from anywhere, always the same ones."""
    found = []
    enough = 0
    for leaf in np.random.default_rng(0).permutation(forest.inner_nodes - forest.first_leaf):
        if enough >= OTHERS:
            break
        chunk = forest.chunk(forest.first_leaf + leaf)
        found.append(_typical_texts(chunk, forest.feature_count))
        enough += len(chunk.biases)
    return as_csr(sp.vstack(found))


def _typical_texts(chunk: Chunk, features: int) -> Csr:
    """(children, features): for each child a text of all that speaks for it."""
    speaks = chunk.values > 0
    places = (chunk.siblings[speaks], chunk.entry_features[speaks])
    shape = (len(chunk.biases), features)
    return unit_rows(as_csr(sp.coo_array((chunk.values[speaks], places), shape=shape)))
