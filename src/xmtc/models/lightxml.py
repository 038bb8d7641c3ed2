"""lightxml: one encoder, a generator over label clusters, a discriminator over their labels.

Both learn together, so the clusters that the discriminator must tell apart get harder as the
generator gets better: dynamic negatives. Small label sets have no clusters: one layer, all labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Array, Floats, Inputs, label_counts
from xmtc.core.config import LARGEST, group, setting
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts, from_untrusted
from xmtc.core.ranking import Ranking
from xmtc.core.run import NO_RUN, Run, training_key
from xmtc.core.tree import LabelTree
from xmtc.core.walk import walk
from xmtc.labels.label_features import pifa
from xmtc.labels.trees import PublishedTree, TreeConfig, balanced_tree
from xmtc.models.holdout import metrics_of, require_texts, split_validation
from xmtc.neural.extra import require_neural
from xmtc.neural.heads.dense_scorer import DenseScorer, load_discriminator, load_generator
from xmtc.neural.settings import (
    Encoder,
    Pretrained,
    TrainingConfig,
    frozen_encoder,
    require_between,
    require_share,
)
from xmtc.text import tfidf

if TYPE_CHECKING:
    from xmtc.neural.devices import Rng
    from xmtc.neural.encoders.text_encoder import TextEncoder
    from xmtc.neural.heads.chunked import Chunked
    from xmtc.neural.heads.flat import Flat
    from xmtc.neural.heads.two_level import TwoLevel

KIND = "lightxml"


@dataclass(frozen=True)
class PublishedLightXML:
    """What exists for the paper's code or its ablations."""

    loss: Literal["sum", "mean"] = setting(
        "sum", "binary cross-entropy, summed over labels; mean, as published, learns more slowly"
    )
    bias_from_frequency: bool = setting(True, "initialize biases with the labels' log-odds")
    standardize: bool = setting(True, "output layers read vectors of mean 0 and spread 1")
    bottleneck_activation: Literal["none", "sigmoid"] = setting(
        "none", "activation behind the projection to label_dim; sigmoid: the paper's text"
    )
    negatives: Literal["dynamic", "static", "static_own_encoder"] = setting(
        "dynamic", "negative labels of a frozen generator (static) are the paper's ablation"
    )
    overflow_positives: Literal["extend", "overwrite"] = setting(
        "extend", "clusters of true labels beyond the beam; overwrite: the authors' code"
    )
    pad_candidates: Literal["masked", "repeat"] = setting(
        "masked", "how shorter candidate lists are padded; repeat: the authors' code"
    )


@dataclass(frozen=True)
class Config:
    """A pretrained encoder: knows words that your texts never had. Minutes to hours."""

    encoder: Encoder = group(Pretrained, "what reads the texts")
    training: TrainingConfig = group(TrainingConfig)
    dropout: float = setting(0.2, "dropout on the text vector")
    max_flat_labels: int = setting(32_000, "up to so many labels there are no clusters")
    max_leaf: int = setting(100, "maximum labels in a cluster")
    beam: int = setting(32, "clusters whose labels are candidates, in training and ranking")
    label_dim: int = setting(256, "dimension of label vectors below clusters")
    published: PublishedLightXML = group(PublishedLightXML)

    def __post_init__(self) -> None:
        require_share(self, "dropout")
        require_between(
            self,
            max_flat_labels=(0, LARGEST),
            max_leaf=(2, LARGEST),
            beam=(1, 1 << 20),
            label_dim=(1, 1 << 16),
        )

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Settings of an encoder that is not trained."""
        return frozen_encoder(self.encoder, self.training)


@dataclass(frozen=True, repr=False)
class LightXML:
    """A finished encoder and its output layers. With negatives="static_own_encoder" it has two."""

    config: Config
    encoders: tuple[TextEncoder, ...]
    tree: LabelTree
    scorers: tuple[DenseScorer, ...]
    labels: LabelSpace
    trained_on: TrainedOn
    kind: str = KIND

    def __repr__(self) -> str:
        return f"{self.kind}({len(self.labels):,} labels, {self.trained_on.texts:,} texts)"

    def encode(self, inputs: Inputs) -> Floats:
        """(texts, dim) what the scorers read."""
        require_texts(inputs, self.kind)
        return np.concatenate([encoder.encode(inputs) for encoder in self.encoders], axis=1)

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels: those of the best clusters, by the product of both probabilities."""
        encoded = self.encode(inputs)
        return walk(self.tree, self.scorers, encoded, k, beam=self.config.beam, allowed=allowed)

    def to_parts(self) -> Parts:
        """Everything needed to make this model again, the encoder and its tokenizer included."""
        from xmtc.neural.encoders.serialize import encoder_arrays

        arrays: dict[str, Array] = {}
        for place, encoder in enumerate(self.encoders):
            arrays |= encoder_arrays(encoder, f"encoder{place}")
        for level, scorer in enumerate(self.scorers):
            arrays |= scorer.to_arrays(f"level{level}")
        if self.tree.depth > 1:
            arrays["clusters"] = self.tree.parents[-1]
        return Parts(settings.to_dict(self.config), self.labels, self.trained_on, arrays)

    @staticmethod
    def from_parts(parts: Parts) -> LightXML:
        """The model as it was saved, checked."""
        return restored(parts, parts.config(Config), KIND)


def restored(parts: Parts, config: Config, kind: str) -> LightXML:
    """The model that was saved, also as part of another kind."""
    require_neural(kind)
    from xmtc.neural.encoders.serialize import encoder_from

    tree = from_untrusted(lambda: _saved_tree(parts))
    count = 2 if tree.depth > 1 and config.published.negatives == "static_own_encoder" else 1
    encoders = tuple(
        encoder_from(parts, f"encoder{place}", config.encoder) for place in range(count)
    )
    scorers = _saved_scorers(parts, config, tree, encoders[0].dim, count)
    return LightXML(config, encoders, tree, scorers, parts.labels, parts.trained_on, kind)


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> LightXML:
    """Cluster the labels where there are many, then teach encoder and output layers together."""
    require_neural(KIND)
    require_texts(dataset.inputs, KIND)
    from xmtc.neural.devices import Rng

    learned, held_out = split_validation(dataset, config.training)
    tree = label_tree(learned, config)
    rng = Rng(config.training.seed)
    with run.with_cache() as cached:
        model = _taught(learned, held_out, tree, config, cached, rng)
    for encoder in model.encoders:
        encoder.finish()
    return replace(model, trained_on=dataset.trained_on())


def _taught(
    dataset: Dataset,
    held_out: Dataset | None,
    tree: LabelTree,
    config: Config,
    run: Run,
    rng: Rng,
) -> LightXML:
    from xmtc.neural.heads.two_level import TwoLevel
    from xmtc.neural.training.prepared import fine_tune, prepare
    from xmtc.neural.training.static_negatives import train_with_static_negatives

    key = training_key(settings.to_dict(config), dataset)
    lesson = prepare(
        dataset.texts,
        config.encoder,
        config.training,
        run,
        key,
        rng,
        corpus=dataset.fingerprint,
        standardize=config.published.standardize,
    )
    with rng.turn():
        head = output_layers(dataset, tree, lesson.encoder.dim, config)

    def model(label_encoder: TextEncoder) -> LightXML:
        scorers = [each.of_raw(lesson.standard) for each in head.scorers()]
        encoders: tuple[TextEncoder, ...] = (lesson.encoder,)
        if label_encoder is not lesson.encoder:  # labels read the second half of the vector
            encoders = (lesson.encoder, label_encoder)
            dim = label_encoder.dim
            scorers[-1] = replace(scorers[-1], start=dim, stop=2 * dim)
        seen = dataset.trained_on()
        return LightXML(config, encoders, tree, tuple(scorers), dataset.labels, seen)

    def measure(label_encoder: TextEncoder) -> dict[str, float]:
        finished = model(label_encoder)
        for each in finished.encoders:
            each.eval()
        return metrics_of(finished, held_out)

    if isinstance(head, TwoLevel) and config.published.negatives != "dynamic":
        own = config.published.negatives == "static_own_encoder"
        return model(
            train_with_static_negatives(
                lesson, head, dataset.relevant, config.dropout, measure, own_encoder=own
            )
        )
    dropout = config.dropout
    task = lesson.task(head, dataset.relevant, dropout, lambda: measure(lesson.encoder))
    fine_tune(lesson, task)
    return model(lesson.encoder)


def output_layers(
    dataset: Dataset, tree: LabelTree, dim: int, config: Config
) -> Flat | Chunked | TwoLevel:
    """One layer over all labels, or generator and discriminator; not taught anything yet."""
    from xmtc.neural.heads.chunked import CHUNK, Chunked
    from xmtc.neural.heads.flat import Flat
    from xmtc.neural.heads.two_level import TwoLevel

    mean = config.published.loss == "mean"
    head: Flat | Chunked | TwoLevel
    if tree.depth == 1:
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
        top = tree.relevant_at(0, dataset.relevant)
        counts = label_counts(top)
        head.start_at_frequency(counts, len(dataset))
    if config.training.published.shard_labels:
        head.shard()
    return head


def label_tree(dataset: Dataset, config: Config) -> LabelTree:
    """Clusters of labels whose texts share words, or no clusters."""
    if len(dataset.labels) <= config.max_flat_labels:
        return LabelTree.flat(len(dataset.labels))
    _, features = tfidf.learn(dataset.texts, tfidf.TfidfConfig())
    halves = TreeConfig(
        arity=1 << 20, max_leaf=config.max_leaf, published=PublishedTree(stop="gain")
    )
    return balanced_tree(pifa(features, dataset.relevant), halves, config.training.seed)


def _saved_tree(parts: Parts) -> LabelTree:
    count = len(parts.labels)
    if "clusters" not in parts.arrays:
        return LabelTree.flat(count)
    clusters = parts.ids("clusters", max(1, count), count)
    return LabelTree((np.zeros(int(clusters.max(initial=0)) + 1, np.int32), clusters))


def _saved_scorers(
    parts: Parts, config: Config, tree: LabelTree, dim: int, encoders: int
) -> tuple[DenseScorer, ...]:
    top = load_generator(parts, "level0", len(tree.parents[0]), dim)
    if tree.depth == 1:
        return (top,)
    sigmoid = config.published.bottleneck_activation == "sigmoid"
    own = (dim * (encoders - 1), dim * encoders)
    return top, load_discriminator(parts, "level1", tree.label_count, *own, sigmoid)
