"""The course of an xr_transformer's encoder: it learns one level of a label tree after the other.

From coarse to fine. Each level's output layer begins as linear classifiers of what the encoder can
tell so far, and a text is taught only against nodes that are hard to tell apart for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from xmtc.core.arrays import Csr, Floats, Ints, as_csr, csr
from xmtc.core.dataset import Dataset
from xmtc.core.ranking import NO_LABEL, Ranking
from xmtc.core.tree import LabelTree
from xmtc.evaluation.report import evaluate_ranking
from xmtc.kernels.children import expand
from xmtc.kernels.topk import best
from xmtc.labels.label_features import pifa
from xmtc.labels.trees import balanced_tree
from xmtc.linear.nodes import ForestConfig, train_forest
from xmtc.linear.svm import SvmConfig
from xmtc.models.holdout import METRICS
from xmtc.text import tfidf
from xmtc.text.concat import concat
from xmtc.text.tfidf import Tfidf
from xmtc.text.top_terms import top_terms

if TYPE_CHECKING:
    from xmtc.models.xr_transformer.model import Config
    from xmtc.neural.heads.sampled import Active
    from xmtc.neural.training.prepared import Prepared

# The classifiers that an output layer begins with. They read vectors of about length 1; at the
# authors' cost of 100 they would learn the texts by heart.
BOOTSTRAP = SvmConfig(cost=1.0, tolerance=0.1, prune=0.0)


def words_of(dataset: Dataset, config: Config) -> tuple[Tfidf, Csr]:
    """The vocabulary of the texts, and their words as features."""
    words, features = tfidf.learn(dataset.texts, config.linear.text)
    return words, top_terms(features, config.linear.max_terms)


def beside(words: Csr, vectors: Floats, config: Config) -> Csr:
    """Words, and what the encoder made of the texts, as the linear classifiers read them."""
    return concat(words, vectors, whole=False, weight=config.vector_weight)


@dataclass(frozen=True)
class Guess:
    """(texts, beam) nodes of a level that look best, of the texts that are taught and held out."""

    taught: Ints
    held_out: Ints | None


class Course:
    """The lessons of an encoder: one level of the tree after the other, from coarse to fine."""

    def __init__(
        self, dataset: Dataset, held_out: Dataset | None, config: Config, lesson: Prepared
    ) -> None:
        self.dataset = dataset
        self.held_out = held_out
        self.config = config
        self.lesson = lesson
        self.words, self.features = words_of(dataset, config)
        most = config.linear.published.vector_max_terms
        described = pifa(self.features, dataset.relevant, True, most)
        self.tree = balanced_tree(described, config.levels, config.linear.seed)

    def taught(self) -> Floats:
        """(texts, dim) what the encoder makes of the texts when all levels are learned."""
        assert self.lesson.vectors is not None
        vectors = self.lesson.vectors
        guessed = None
        sizes = map(len, self.tree.parents)
        levels = sum(size <= self.config.most_nodes for size in sizes) or 1
        epochs = epochs_by_level(self.config.training.epochs, self.config.shares, levels)
        for level, many in enumerate(epochs):
            tree = LabelTree(self.tree.parents[: level + 1])
            if many:
                vectors = self._learned(tree, vectors, guessed, many)
            if level + 1 < levels and any(epochs[level + 1 :]):
                guessed = self._guess(tree, vectors)
        return vectors

    def _learned(
        self, tree: LabelTree, vectors: Floats, guessed: Guess | None, epochs: int
    ) -> Floats:
        """The vectors after the encoder learned the last level of this tree."""
        from xmtc.neural.encoders.vectors import text_vectors
        from xmtc.neural.training.loop import fit

        lesson = self.lesson
        level = tree.depth - 1
        counts = self.tree.summed_at(level, self.dataset.relevant)
        head = self._bootstrapped(tree, vectors)
        active = active_nodes(tree, counts, None if guessed is None else guessed.taught)
        task = lesson.task(
            head, active, self.config.dropout, lambda: self._measured(tree, head, guessed)
        )
        fit(
            task,
            replace(lesson.training, epochs=epochs),
            lesson.key,
            lesson.run.below(f"level{level}"),
            lesson.rng,
        )
        return text_vectors(lesson.source, lesson.run.cache)

    def _bootstrapped(self, tree: LabelTree, vectors: Floats) -> Active:
        """An output layer that begins as the linear classifiers of what the vectors tell now."""
        from xmtc.neural.heads.sampled import Active

        standard = self.lesson.standard
        scale = np.float32(vectors.shape[1] ** -0.5)
        assert standard is not None
        rows = as_csr((vectors - standard.center) / np.float32(standard.spread) * scale)
        relevant = self.tree.relevant_at(tree.depth - 1, self.dataset.relevant)
        weights, biases = train_forest(rows, relevant, tree, ForestConfig(BOOTSTRAP)).last_level()
        with self.lesson.rng.turn():
            return Active(weights * scale, biases)

    def _guess(self, tree: LabelTree, vectors: Floats) -> Guess:
        """Which nodes of the tree's last level classifiers of words and vectors like best."""
        rows = beside(self.features, vectors, self.config)
        beam = self.config.training_beam
        relevant = self.tree.relevant_at(tree.depth - 1, self.dataset.relevant)
        how = ForestConfig(self.config.linear.svm, seed=self.config.linear.seed)
        forest = train_forest(rows, relevant, tree, how)
        others = None
        if self.held_out is not None:
            words = top_terms(self.words.encode(self.held_out.texts), self.config.linear.max_terms)
            read_now = self.lesson.encoder.eval().encode(self.held_out.texts)
            others = forest.rank(beside(words, read_now, self.config), beam, beam).labels
        return Guess(forest.rank(rows, beam, beam).labels, others)

    def _measured(self, tree: LabelTree, head: Active, guessed: Guess | None) -> dict[str, float]:
        """How well the output layer ranks the nodes of its level for the held-out texts."""
        if self.held_out is None:
            return {}
        vectors = self.lesson.encoder.eval().encode(self.held_out.texts)
        opened = np.zeros((len(vectors), 1), np.int32) if guessed is None else guessed.held_out
        assert opened is not None
        children = tree.children[-1]
        found, _ = expand(
            children.start, children.nodes, opened, np.zeros(opened.shape, np.float32)
        )
        scores = head.scorer().of_raw(self.lesson.standard).score(vectors, found)
        ranking = Ranking(*best(found, scores, 5))
        truth = self.tree.relevant_at(tree.depth - 1, self.held_out.relevant)
        metrics = evaluate_ranking(ranking, truth).metrics
        return {name: metrics[name] for name in METRICS}


def epochs_by_level(epochs: int, shares: Sequence[float], levels: int) -> list[int]:
    """Whole epochs of each level, `epochs` in all: by the largest remainder, finer levels first."""
    wide = np.array([*shares, *[shares[-1]] * levels][:levels])
    wide = wide if wide.sum() else np.arange(levels) == levels - 1
    exact = wide / wide.sum() * epochs
    found = np.floor(exact + 1e-9).astype(int)
    order = sorted(range(levels), key=lambda level: (found[level] - exact[level], -level))
    found[order[: epochs - int(found.sum())]] += 1
    return [int(each) for each in found]


def active_nodes(tree: LabelTree, counts: Csr, guessed: Ints | None) -> Csr:
    """(texts, nodes of the last level) the nodes that each text is taught: the children of the
    nodes that it carries and of those that were guessed, or all.

    counts: (texts, nodes) how many of its labels a text has below each. The entries are these, with
    zeros that are stored where the text does not carry the node.
    """
    if guessed is None:
        opened = as_csr(np.ones(counts.shape, np.float32))
    else:
        parents = tree.parents[-1]
        above = [counts.shape[0], len(tree.parents[-2])]
        rows, places = np.nonzero(guessed != NO_LABEL)
        likely = sp.coo_array(
            (np.ones(len(rows), np.float32), (rows, guessed[rows, places])), shape=above
        )
        carried = as_csr(csr(counts.data, parents[counts.indices], counts.indptr, above[1]))
        nodes = np.arange(len(parents), dtype=np.int32)
        ones = np.ones(len(parents), np.float32)
        below = sp.csr_array((ones, (parents, nodes)), shape=(above[1], len(parents)))
        opened = as_csr((likely + carried) @ below)
    opened = csr(np.ones_like(opened.data), opened.indices, opened.indptr, counts.shape[1])
    both = as_csr(opened + counts)  # all that is carried is opened too
    return csr(both.data - 1, both.indices, both.indptr, counts.shape[1])
