"""lightxml: one encoder, a generator over label clusters, a discriminator over their labels.

Both are trained together: as the generator improves, the clusters whose labels the discriminator
must rank get harder (dynamic negatives). Small label sets have one layer over all labels instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Floats, Inputs, label_counts
from xmtc.core.config import check_bounds, group, setting
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.interfaces import model_repr
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts, from_untrusted
from xmtc.core.ranking import Ranking
from xmtc.core.run import NO_RUN, Run
from xmtc.core.tree import LabelTree
from xmtc.core.walk import walk
from xmtc.labels.label_features import pifa
from xmtc.labels.trees import PublishedTree, TreeConfig, balanced_tree
from xmtc.models.holdout import require_texts
from xmtc.models.neural_recipe import begin
from xmtc.neural.extra import require_neural
from xmtc.neural.heads.dense_scorer import DenseScorer, load_discriminator, load_generator
from xmtc.neural.settings import (
    MAX_FLAT_LABELS,
    MAX_LEAF,
    STANDARDIZE,
    VECTOR_DROPOUT,
    EncoderConfig,
    Pretrained,
    TrainingConfig,
    untrained,
)
from xmtc.text import tfidf

if TYPE_CHECKING:
    from xmtc.neural.encoders.text_encoder import TextEncoder
    from xmtc.neural.heads.chunked import Chunked
    from xmtc.neural.heads.flat import Flat
    from xmtc.neural.heads.two_level import TwoLevel

KIND = "lightxml"


@dataclass(frozen=True)
class PublishedFlat:
    """What exists for a paper's code."""

    loss: Literal["sum", "mean"] = setting(
        "sum", "binary cross-entropy, summed over labels; mean, as published, learns more slowly"
    )
    bias_from_frequency: bool = setting(True, "initialize biases with the labels' log-odds")
    standardize: bool = setting(True, STANDARDIZE)


@dataclass(frozen=True)
class PublishedLightXML(PublishedFlat):
    """What exists for the paper's code or its ablations."""

    bottleneck_activation: Literal["none", "sigmoid"] = setting(
        "none", "activation behind the projection to label_dim; sigmoid: the paper's text"
    )
    overflow_positives: Literal["extend", "overwrite"] = setting(
        "extend", "clusters of true labels beyond the beam; overwrite: the authors' code"
    )
    pad_candidates: Literal["masked", "repeat"] = setting(
        "masked", "how shorter candidate lists are padded; repeat: the authors' code"
    )


@dataclass(frozen=True)
class FlatConfig:
    """An encoder and one output layer over all labels."""

    encoder: EncoderConfig = group(Pretrained, "what reads the texts")
    training: TrainingConfig = group(TrainingConfig)
    dropout: float = setting(0.2, VECTOR_DROPOUT, low=0, below=1)
    published: PublishedFlat = group(PublishedFlat)

    def __post_init__(self) -> None:
        check_bounds(self)

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Settings of an encoder that is not trained."""
        return untrained(self)


@dataclass(frozen=True)
class Config(FlatConfig):
    """A fine-tuned pretrained encoder; clusters where labels are many. Minutes to hours."""

    max_flat_labels: int | None = setting(32_000, MAX_FLAT_LABELS, low=0)
    max_leaf: int = setting(100, MAX_LEAF, low=2)
    beam: int = setting(
        32, "clusters whose labels are candidates, in training and ranking", low=1, high=1 << 20
    )
    label_dim: int = setting(256, "dimension of label vectors below clusters", low=1, high=1 << 16)
    published: PublishedLightXML = group(PublishedLightXML)


@dataclass(frozen=True, repr=False)
class LightXML:
    """A finished encoder and its output layers."""

    config: FlatConfig
    encoder: TextEncoder
    tree: LabelTree
    scorers: tuple[DenseScorer, ...]
    labels: LabelSpace
    trained_on: TrainedOn
    kind: str = KIND

    __repr__ = model_repr

    def encode(self, inputs: Inputs) -> Floats:
        """(texts, dim) what the scorers read."""
        require_texts(inputs, self.kind)
        return self.encoder.encode(inputs)

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels: those of the best clusters, by the product of both probabilities."""
        encoded = self.encode(inputs)
        beam = self.config.beam if isinstance(self.config, Config) else 1
        return walk(self.tree, self.scorers, encoded, k, beam=beam, allowed=allowed)

    def to_parts(self) -> Parts:
        """Everything needed to make this model again, the encoder and its tokenizer included."""
        from xmtc.neural.encoders.serialize import encoder_arrays

        arrays = encoder_arrays(self.encoder, "encoder")
        for level, scorer in enumerate(self.scorers):
            arrays |= scorer.to_arrays(f"level{level}")
        if self.tree.depth > 1:
            arrays["clusters"] = self.tree.parents[-1]
        return Parts(settings.to_dict(self.config), self.labels, self.trained_on, arrays)

    @staticmethod
    def from_parts(parts: Parts) -> LightXML:
        """The model as it was saved, checked."""
        return LightXML(**saved_fields(parts, parts.config(Config)))


def train(dataset: Dataset, config: FlatConfig, run: Run = NO_RUN) -> LightXML:
    """Cluster the labels where there are many, then train encoder and output layers together."""
    with begin(KIND, dataset, config, run) as training:
        from xmtc.neural.training.prepared import fine_tune

        relevant = training.dataset.relevant
        tree = label_tree(training.dataset, config)
        prepared = training.prepare(config.published.standardize)
        encoder = prepared.encoder
        with training.rng.turn():
            head = output_layers(training.dataset, tree, encoder.dim, config)

        def model() -> LightXML:
            scorers = tuple(scorer.of_raw(prepared.standard) for scorer in head.scorers())
            return LightXML(config, encoder, tree, scorers, dataset.labels, dataset.trained_on())

        measure = training.measure([encoder], model)
        fine_tune(prepared, prepared.task(head, relevant, config.dropout, measure))
        trained = model()
    encoder.finish()
    return trained


def output_layers(
    dataset: Dataset, tree: LabelTree, dim: int, config: FlatConfig
) -> Flat | Chunked | TwoLevel:
    """One layer over all labels, or generator and discriminator; untrained."""
    from xmtc.neural.heads.chunked import CHUNK, Chunked
    from xmtc.neural.heads.flat import Flat
    from xmtc.neural.heads.two_level import TwoLevel

    mean = config.published.loss == "mean"
    head: Flat | Chunked | TwoLevel
    if tree.depth == 1 or not isinstance(config, Config):
        head = (Flat if tree.label_count <= CHUNK else Chunked)(dim, tree.label_count, mean)
    else:
        head = TwoLevel(
            dim,
            tree,
            config.label_dim,
            config.beam,
            mean,
            config.published.bottleneck_activation == "sigmoid",
            config.published.overflow_positives,
            config.published.pad_candidates,
        )
    if config.published.bias_from_frequency:
        counts = label_counts(tree.relevant_at(0, dataset.relevant))
        head.start_at_frequency(counts, len(dataset))
    if config.training.published.shard_labels:
        head.shard()
    return head


def label_tree(dataset: Dataset, config: FlatConfig) -> LabelTree:
    """Clusters of labels whose texts share words, or no clusters."""
    labels = len(dataset.labels)
    most = config.max_flat_labels if isinstance(config, Config) else labels
    if most is None or labels <= most or not isinstance(config, Config):
        return LabelTree.flat(labels)
    _, features = tfidf.learn(dataset.texts, tfidf.TfidfConfig())
    published = PublishedTree(stop="gain")
    flat = TreeConfig(arity=1 << 20, max_leaf=config.max_leaf, published=published)
    return balanced_tree(pifa(features, dataset.relevant), flat, config.training.seed)


def saved_fields(parts: Parts, config: FlatConfig) -> dict[str, Any]:
    """The fields of a saved model, without its kind."""
    require_neural(KIND)
    from xmtc.neural.encoders.serialize import encoder_from

    labels = len(parts.labels)
    tree = LabelTree.flat(labels)
    if isinstance(config, Config) and "clusters" in parts.arrays:
        clusters = parts.ids("clusters", max(1, labels), labels)
        top = np.zeros(int(clusters.max(initial=0)) + 1, np.int32)
        tree = from_untrusted(lambda: LabelTree((top, clusters)))
    encoder = encoder_from(parts, "encoder", config.encoder)
    dim = encoder.dim
    scorers = [load_generator(parts, "level0", len(tree.parents[0]), dim)]
    if isinstance(config, Config) and tree.depth > 1:
        sigmoid = config.published.bottleneck_activation == "sigmoid"
        scorers.append(load_discriminator(parts, "level1", labels, dim, sigmoid))
    return {
        "config": config,
        "encoder": encoder,
        "tree": tree,
        "scorers": tuple(scorers),
        "labels": parts.labels,
        "trained_on": parts.trained_on,
    }
