"""Matchers: which clusters of labels a text may belong to. X-BERT's second stage.

A neural one is any encoder with an output layer over the clusters. A linear one is a tree of
classifiers above them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import expit

from xmtc.core.arrays import Allowed, Array, Csr, Floats, label_counts
from xmtc.core.parts import Parts
from xmtc.core.ranking import NO_LABEL, NO_SCORE, Ranking
from xmtc.core.run import Run
from xmtc.core.tree import LabelTree
from xmtc.core.walk import walk
from xmtc.evaluation.report import evaluate_ranking
from xmtc.linear.forest import Forest
from xmtc.linear.forest_store import forest_arrays, read_forest
from xmtc.linear.nodes import ForestConfig, train_forest
from xmtc.linear.svm import SvmConfig
from xmtc.neural.heads.dense_scorer import DenseScorer, load_generator
from xmtc.neural.settings import Encoder, LabelLoss, TrainingConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xmtc.neural.devices import Rng
    from xmtc.neural.encoders.text_encoder import TextEncoder
    from xmtc.neural.heads.flat import Flat
    from xmtc.neural.training.prepared import Prepared

DEPTH = 10  # clusters that a matcher is judged by
MEAN: Final = "P@1-10"  # the mean of P@1 to P@10, by which the best moment is chosen
METRICS = ("P@1", "P@3", "P@5", MEAN)


@dataclass(frozen=True)
class NeuralMatcher:
    """An encoder and its output layer over the clusters."""

    encoder: TextEncoder
    scorer: DenseScorer
    loss: LabelLoss

    @property
    def dim(self) -> int:
        """Of its vectors."""
        return int(self.encoder.dim)

    def read(self, texts: Sequence[str]) -> Floats:
        """(texts, dim) what the output layer reads."""
        return self.encoder.encode(texts)

    def match(self, words: Csr, vectors: Floats | None, beam: int, allowed: Allowed) -> Ranking:
        """The best clusters by their margins, each scored from 0 to 1."""
        assert vectors is not None
        clusters = LabelTree.flat(len(self.scorer.weights))
        scorer = replace(self.scorer, margins=True)  # above 1 their scores would all be equal
        found = walk(clusters, [scorer], vectors, beam, combine="child", allowed=allowed)
        scores = chances(found.scores, self.loss)
        return Ranking(found.labels, np.where(found.labels == NO_LABEL, NO_SCORE, scores))

    def to_arrays(self, name: str) -> dict[str, Array]:
        """What must be saved."""
        from xmtc.neural.encoders.serialize import encoder_arrays

        return {**encoder_arrays(self.encoder, f"{name}.encoder"), **self.scorer.to_arrays(name)}


@dataclass(frozen=True)
class LinearMatcher:
    """X-linear: a tree of classifiers over words, its leaves the clusters."""

    forest: Forest
    dim: int = 0  # it has no vectors

    def read(self, texts: Sequence[str]) -> None:
        """It reads words only."""

    def match(self, words: Csr, vectors: Floats | None, beam: int, allowed: Allowed) -> Ranking:
        """The best clusters that the beam meets, scored by the product along their paths."""
        return self.forest.rank(words, beam, beam, "path", allowed)

    def to_arrays(self, name: str) -> dict[str, Array]:
        """What must be saved."""
        depth = np.array([self.forest.tree.depth], np.int32)
        return {**forest_arrays(self.forest, name), f"{name}.depth": depth}


Matcher = NeuralMatcher | LinearMatcher


def chances(margins: Floats, loss: LabelLoss) -> Floats:
    """From 0 to 1: exp(-[1 - m]²) where margins were taught to reach 1, else the logistic one."""
    if loss == "bce":
        return expit(margins, dtype=np.float32)  # type: ignore[no-any-return]
    short = np.maximum(0, 1 - margins)
    return np.exp(-short * short).astype(np.float32)  # type: ignore[no-any-return]


def figures(matched: Ranking, relevant: Csr) -> dict[str, float]:
    """P@k of clusters, and the mean of P@1 to P@10."""
    ks = tuple(range(1, DEPTH + 1))
    found = evaluate_ranking(matched, relevant, ks=ks).metrics
    mean = float(np.mean([found[f"P@{k}"] for k in ks]))
    return {name: mean if name == MEAN else found[name] for name in METRICS}


def linear_matcher(words: Csr, relevant: Csr, tree: LabelTree, svm: SvmConfig) -> LinearMatcher:
    """tree: halves of halves, the last level the clusters. relevant: (texts, clusters)."""
    return LinearMatcher(train_forest(words, relevant, tree, ForestConfig(svm)))


@dataclass(frozen=True)
class Teaching:
    """How a neural matcher learns."""

    encoder: Encoder
    training: TrainingConfig
    loss: LabelLoss
    dropout: float
    standardise: bool
    start_at_frequency: bool


def neural_matcher(
    texts: Sequence[str],
    relevant: Csr,
    held_out: tuple[Sequence[str], Csr] | None,
    how: Teaching,
    run: Run,
    key: str,
    rng: Rng,
) -> tuple[NeuralMatcher, Callable[[], Floats]]:
    """The matcher, taught with (texts, clusters); and a way to its vectors of these very texts,
    which is quicker than to read them again where layers are frozen."""
    from xmtc.neural.encoders.vectors import text_vectors
    from xmtc.neural.training.prepared import fine_tune, prepare

    lesson = prepare(texts, how.encoder, how.training, run, key, rng, standardize=how.standardise)
    with rng.turn():
        head = _head(relevant, lesson.encoder.dim, how)

    def measure() -> dict[str, float]:
        if held_out is None:
            return {}
        lesson.encoder.eval()
        matcher, (asked, truth) = _matcher(lesson, head, how), held_out
        return figures(matcher.match(truth, matcher.read(asked), DEPTH, None), truth)

    fine_tune(lesson, lesson.task(head, relevant, how.dropout, measure))
    return _matcher(lesson, head, how), partial(text_vectors, lesson.source, run.cache)


def _matcher(lesson: Prepared, head: Flat, how: Teaching) -> NeuralMatcher:
    return NeuralMatcher(lesson.encoder, head.scorer().of_raw(lesson.standard), how.loss)


def _head(relevant: Csr, dim: int, how: Teaching) -> Flat:
    from xmtc.neural.heads.flat import Flat

    texts, clusters = relevant.shape
    head = Flat(dim, clusters, mean=True, loss=how.loss)
    if how.start_at_frequency:
        counts = label_counts(relevant)
        head.start_at_frequency(counts, texts)
    if how.training.published.shard_labels:
        head.shard()
    return head


def read_linear_matcher(parts: Parts, name: str, features: int, clusters: int) -> LinearMatcher:
    """The matcher as it was saved, checked."""
    depth = parts.ids(f"{name}.depth", 65, 1)
    return LinearMatcher(read_forest(parts, name, int(depth[0]), features, clusters))


def read_neural_matcher(
    parts: Parts, name: str, clusters: int, encoder: Encoder, loss: LabelLoss
) -> NeuralMatcher:
    """The matcher as it was saved, checked."""
    from xmtc.neural.encoders.serialize import encoder_from

    reader = encoder_from(parts, f"{name}.encoder", encoder)
    return NeuralMatcher(reader, load_generator(parts, name, clusters, reader.dim), loss)
