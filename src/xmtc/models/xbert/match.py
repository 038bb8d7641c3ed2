"""Matchers: which clusters of labels a text may belong to. X-BERT's second stage.

A neural one is any encoder with an output layer over the clusters. A linear one is a tree of
classifiers above them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

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
from xmtc.models.xbert.xbert_settings import CLUSTER_METRICS, MEAN_PRECISION, Config
from xmtc.neural.heads.dense_scorer import DenseScorer, load_generator
from xmtc.neural.settings import EncoderConfig, LabelLoss

if TYPE_CHECKING:
    from xmtc.neural.encoders.text_encoder import TextEncoder

METRIC_DEPTH = 10  # clusters that a matcher's metrics look at


class MatcherTexts(NamedTuple):
    """Texts, and (texts, clusters) where their labels are."""

    texts: Sequence[str]
    clusters: Csr


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
        scores = probabilities(found.scores, self.loss)
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


def probabilities(margins: Floats, loss: LabelLoss) -> Floats:
    """exp(-[1 - m]²) of margins trained with a hinge loss, the logistic function with bce."""
    if loss == "bce":
        return expit(margins, dtype=np.float32)  # type: ignore[no-any-return]
    short = np.maximum(0, 1 - margins)
    return np.exp(-short * short).astype(np.float32)  # type: ignore[no-any-return]


def cluster_metrics(matched: Ranking, relevant: Csr) -> dict[str, float]:
    """P@k of clusters, and the mean of P@1 to P@10."""
    ks = tuple(range(1, METRIC_DEPTH + 1))
    found = evaluate_ranking(matched, relevant, ks=ks).metrics
    mean = float(np.mean([found[f"P@{k}"] for k in ks]))
    return {name: mean if name == MEAN_PRECISION else found[name] for name in CLUSTER_METRICS}


def train_linear(words: Csr, relevant: Csr, tree: LabelTree, svm: SvmConfig) -> LinearMatcher:
    """tree: halves of halves, the last level the clusters. relevant: (texts, clusters)."""
    return LinearMatcher(train_forest(words, relevant, tree, ForestConfig(svm)))


def train_neural(
    train_set: MatcherTexts, held_out: MatcherTexts | None, config: Config, run: Run, key: str
) -> tuple[NeuralMatcher, Floats | None]:
    """The matcher, and its (texts, dim) vectors of the training texts if the ranker needs them."""
    from xmtc.neural.devices import Rng
    from xmtc.neural.encoders.vectors import text_vectors
    from xmtc.neural.heads.flat import Flat
    from xmtc.neural.training.prepared import fine_tune, prepare

    assert config.encoder is not None
    published = config.published
    rng = Rng(config.training.seed)
    how = (config.encoder, config.training, run, key, rng)
    prepared = prepare(train_set.texts, *how, standardize=published.standardize)
    texts, clusters = train_set.clusters.shape
    with rng.turn():
        head = Flat(prepared.encoder.dim, clusters, mean=True, loss=published.loss)
        if published.bias_from_frequency:
            head.start_at_frequency(label_counts(train_set.clusters), texts)
        if config.training.published.shard_labels:
            head.shard()

    def matcher() -> NeuralMatcher:
        scorer = head.scorer().of_raw(prepared.standard)
        return NeuralMatcher(prepared.encoder, scorer, published.loss)

    def measure() -> dict[str, float]:
        if held_out is None:
            return {}
        prepared.encoder.eval()
        vectors = matcher().read(held_out.texts)
        matched = matcher().match(held_out.clusters, vectors, METRIC_DEPTH, None)
        return cluster_metrics(matched, held_out.clusters)

    fine_tune(prepared, prepared.task(head, train_set.clusters, config.dropout, measure))
    vectors = text_vectors(prepared.source, run.cache) if config.stores_vectors else None
    return matcher(), vectors


def read_linear_matcher(parts: Parts, name: str, features: int, clusters: int) -> LinearMatcher:
    """The matcher as it was saved, checked."""
    depth = parts.ids(f"{name}.depth", 65, 1)
    return LinearMatcher(read_forest(parts, name, int(depth[0]), features, clusters))


def read_neural_matcher(
    parts: Parts, name: str, clusters: int, encoder: EncoderConfig, loss: LabelLoss
) -> NeuralMatcher:
    """The matcher as it was saved, checked."""
    from xmtc.neural.encoders.serialize import encoder_from

    reader = encoder_from(parts, f"{name}.encoder", encoder)
    return NeuralMatcher(reader, load_generator(parts, name, clusters, reader.dim), loss)
