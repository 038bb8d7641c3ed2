"""XR-Transformer's multi-resolution fine-tuning: one level of a label tree after the other.

From coarse to fine. Each level's output layer begins as linear classifiers of the encoder's current
vectors, and a text's candidates are the children of the nodes that rank high for it so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Csr, Floats, Ints, as_csr, csr
from xmtc.core.ranking import NO_LABEL, Ranking
from xmtc.core.tree import LabelTree
from xmtc.evaluation.report import evaluate_ranking
from xmtc.kernels.children import expand
from xmtc.kernels.topk import best
from xmtc.labels.trees import TreeConfig, balanced_tree
from xmtc.linear.nodes import ForestConfig, train_forest
from xmtc.linear.svm import SvmConfig
from xmtc.models.xr_transformer.xr_settings import Config
from xmtc.neural.settings import METRICS
from xmtc.text.concat import concat

if TYPE_CHECKING:
    from xmtc.neural.heads.sampled import Active
    from xmtc.neural.training.prepared import Prepared

# The classifiers that an output layer begins with. They read vectors of about length 1; at the
# authors' cost of 100 they would overfit the texts.
BOOTSTRAP = SvmConfig(cost=1.0, tolerance=0.1, prune=0.0)


class LabelledTexts(NamedTuple):
    """Texts, their TF-IDF rows and their labels."""

    texts: Sequence[str]
    words: Csr
    relevant: Csr


@dataclass(frozen=True)
class LevelCandidates:
    """(texts, beam) nodes of a level that rank high, of the training and the held-out texts."""

    train: Ints
    held_out: Ints | None


@dataclass(frozen=True)
class LevelTraining:
    """The encoder, the label tree and the texts of a fine-tuning level by level."""

    prepared: Prepared
    tree: LabelTree
    train: LabelledTexts
    held_out: LabelledTexts | None
    config: Config

    def fine_tune(self) -> Floats:
        """Train all levels. Returns (texts, dim): the training texts' vectors afterwards."""
        assert self.prepared.vectors is not None
        vectors = self.prepared.vectors
        candidates = None
        config = self.config
        sizes = map(len, self.tree.parents)
        levels = sum(size <= config.levels.max_nodes for size in sizes) or 1
        epochs = epochs_by_level(config.training.epochs, config.levels.epoch_shares, levels)
        for level, epochs_here in enumerate(epochs):
            tree = LabelTree(self.tree.parents[: level + 1])
            if epochs_here:
                vectors = self.train_level(tree, vectors, candidates, epochs_here)
            if level + 1 < levels and any(epochs[level + 1 :]):
                candidates = self.rank_level(tree, vectors)
        return vectors

    def train_level(
        self, tree: LabelTree, vectors: Floats, candidates: LevelCandidates | None, epochs: int
    ) -> Floats:
        """The vectors after fine-tuning on the last level of this tree."""
        from xmtc.neural.encoders.vectors import text_vectors
        from xmtc.neural.training.loop import fit

        prepared = self.prepared
        level = tree.depth - 1
        counts = self.tree.summed_at(level, self.train.relevant)
        head = self.initial_head(tree, vectors)
        active = active_nodes(tree, counts, None if candidates is None else candidates.train)

        def measure() -> dict[str, float]:
            return self.metrics(tree, head, candidates)

        task = prepared.task(head, active, self.config.dropout, measure)
        training = replace(prepared.training, epochs=epochs)
        fit(task, training, prepared.key, prepared.run.below(f"level{level}"), prepared.rng)
        return text_vectors(prepared.source, prepared.run.cache)

    def initial_head(self, tree: LabelTree, vectors: Floats) -> Active:
        """An output layer that begins as linear classifiers of the vectors."""
        from xmtc.neural.heads.sampled import Active

        standard = self.prepared.standard
        scale = np.float32(vectors.shape[1] ** -0.5)
        assert standard is not None
        rows = as_csr((vectors - standard.center) / np.float32(standard.spread) * scale)
        relevant = self.tree.relevant_at(tree.depth - 1, self.train.relevant)
        weights, biases = train_forest(rows, relevant, tree, ForestConfig(BOOTSTRAP)).last_level()
        with self.prepared.rng.turn():
            return Active(weights * scale, biases)

    def rank_level(self, tree: LabelTree, vectors: Floats) -> LevelCandidates:
        """The best nodes of the tree's last level, by classifiers over words and vectors."""
        weight = self.config.vector_weight
        beam = self.config.levels.beam
        rows = concat(self.train.words, vectors, whole=False, weight=weight)
        relevant = self.tree.relevant_at(tree.depth - 1, self.train.relevant)
        how = ForestConfig(self.config.tree_ranker.svm, seed=self.config.any_ranker.seed)
        forest = train_forest(rows, relevant, tree, how)
        held_out = None
        if self.held_out is not None:
            current = self.prepared.encoder.eval().encode(self.held_out.texts)
            unseen = concat(self.held_out.words, current, whole=False, weight=weight)
            held_out = forest.rank(unseen, beam, beam).labels
        return LevelCandidates(forest.rank(rows, beam, beam).labels, held_out)

    def metrics(
        self, tree: LabelTree, head: Active, candidates: LevelCandidates | None
    ) -> dict[str, float]:
        """Of the output layer's ranking of its level's nodes, on the held-out texts."""
        if self.held_out is None:
            return {}
        vectors = self.prepared.encoder.eval().encode(self.held_out.texts)
        parents = np.zeros((len(vectors), 1), np.int32)
        if candidates is not None:
            assert candidates.held_out is not None
            parents = candidates.held_out
        children = tree.children[-1]
        nodes, _ = expand(
            children.start, children.nodes, parents, np.zeros(parents.shape, np.float32)
        )
        scores = head.scorer().of_raw(self.prepared.standard).score(vectors, nodes)
        truth = self.tree.relevant_at(tree.depth - 1, self.held_out.relevant)
        metrics = evaluate_ranking(Ranking(*best(nodes, scores, 5)), truth).metrics
        return {name: metrics[name] for name in METRICS}


def level_tree(label_vectors: Csr, config: Config) -> LabelTree:
    """The balanced tree on whose levels the encoder is fine-tuned."""
    how = TreeConfig(arity=config.levels.arity, max_leaf=config.levels.max_leaf)
    return balanced_tree(label_vectors, how, config.any_ranker.seed)


def epochs_by_level(epochs: int, shares: Sequence[float], levels: int) -> list[int]:
    """Whole epochs of each level, `epochs` in all: by the largest remainder, finer levels first."""
    extended = np.array([*shares, *[shares[-1]] * levels][:levels])
    extended = extended if extended.sum() else np.arange(levels) == levels - 1
    exact = extended / extended.sum() * epochs
    whole = np.floor(exact + 1e-9).astype(int)
    order = sorted(range(levels), key=lambda level: (whole[level] - exact[level], -level))
    whole[order[: epochs - int(whole.sum())]] += 1
    return [int(each) for each in whole]


def active_nodes(tree: LabelTree, counts: Csr, candidates: Ints | None) -> Csr:
    """(texts, nodes of the last level) the nodes in each text's loss: all, or the children of its
    relevant nodes and of its candidates on the level above.

    counts: (texts, nodes) how many of its labels a text has below each. The entries are these, with
    zeros that are stored for irrelevant nodes.
    """
    if candidates is None:
        opened = as_csr(np.ones(counts.shape, np.float32))
    else:
        parents = tree.parents[-1]
        above = [counts.shape[0], len(tree.parents[-2])]
        rows, places = np.nonzero(candidates != NO_LABEL)
        likely = sp.coo_array(
            (np.ones(len(rows), np.float32), (rows, candidates[rows, places])), shape=above
        )
        relevant = as_csr(csr(counts.data, parents[counts.indices], counts.indptr, above[1]))
        nodes = np.arange(len(parents), dtype=np.int32)
        ones = np.ones(len(parents), np.float32)
        below = sp.csr_array((ones, (parents, nodes)), shape=(above[1], len(parents)))
        opened = as_csr((likely + relevant) @ below)
    opened = csr(np.ones_like(opened.data), opened.indices, opened.indptr, counts.shape[1])
    both = as_csr(opened + counts)  # all relevant nodes are opened too
    return csr(both.data - 1, both.indices, both.indptr, counts.shape[1])
