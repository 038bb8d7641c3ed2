"""lightxml: one encoder, a generator over label clusters, a discriminator over their labels.

Both learn together, so the clusters that the discriminator must tell apart get harder as the
generator gets better: dynamic negatives. Small label sets have no clusters: one layer, all labels.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Array, Floats, Inputs, label_counts
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.errors import require
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
from xmtc.neural.settings import EncoderConfig, TrainingConfig, cpu_encoder, cpu_training
from xmtc.text import tfidf

if TYPE_CHECKING:
    from xmtc.neural.encoders.text_encoder import TextEncoder
    from xmtc.neural.heads.chunked import Chunked
    from xmtc.neural.heads.flat import Flat
    from xmtc.neural.heads.two_level import TwoLevel

KIND = "lightxml"


@dataclass(frozen=True)
class Config:
    """A pretrained encoder: knows words that your texts never had. Minutes to hours."""

    encoder: EncoderConfig = field(default_factory=cpu_encoder)
    training: TrainingConfig = field(default_factory=cpu_training)
    dropout: float = 0.2  # share of the text vector that is hidden in each training step
    loss: Literal["sum", "mean"] = "sum"  # over labels; mean, as published, learns more slowly
    start_at_frequency: bool = True  # begin with how frequent each label is, not by chance
    standardise: bool = True  # output layers read vectors of mean 0, spread 1: learns much faster
    plain_up_to: int = 32_000  # with more labels than this, clusters are ranked before labels
    max_cluster: int = 100  # labels in a cluster, at most
    cluster_seed: int = 0  # other clusters, e.g. for an ensemble
    beam: int = 32  # clusters whose labels a text is taught and ranked with
    bottleneck: int = 256  # size of a label's vector
    bottleneck_activation: Literal["none", "sigmoid"] = "none"  # sigmoid: the paper's text
    negatives: Literal["dynamic", "static", "static_own_encoder"] = "dynamic"  # static: ablation
    overflow_positives: Literal["extend", "overwrite"] = "extend"  # overwrite: the authors' code
    pad_candidates: Literal["masked", "repeat"] = "masked"  # repeat: the authors' code

    def __post_init__(self) -> None:
        require(0 <= self.dropout < 1, "dropout", self.dropout, "must lie between 0 and 1")
        require(self.plain_up_to >= 0, "plain_up_to", self.plain_up_to, "must not be negative")
        require(self.max_cluster >= 2, "max_cluster", self.max_cluster, "must be at least 2")
        require(1 <= self.beam <= 1 << 20, "beam", self.beam, "must lie between 1 and a million")
        require(
            1 <= self.bottleneck <= 1 << 16,
            "bottleneck",
            self.bottleneck,
            "must lie between 1 and 65536",
        )
        require(self.cluster_seed >= 0, "cluster_seed", self.cluster_seed, "must be 0 or more")


def _published(
    epochs: int,
    average_from: int,
    average_every: int,
    *,
    name: str = "bert-base-uncased",
    tokens: int = 512,
    batch: int = 16,
    accumulate: int = 1,
    validation: float,
    validate_every: int = 0,
    **others: Any,
) -> Config:
    encoder = EncoderConfig(name, max_tokens=tokens, vector="cls", layers=5)
    training = TrainingConfig(
        epochs=epochs,
        batch=batch,
        batch_tokens=batch * tokens,
        accumulate=accumulate,
        encoder_rate=1e-4,
        head_rate=1e-4,
        epsilon=1e-6,
        schedule="constant",
        warmup=0.0,
        clip=0.0,
        average_from=average_from,
        average_every=average_every,
        validation=validation,
        validate_every=validate_every,
        patience=epochs,
        seed=6088,
    )
    return Config(
        encoder,
        training,
        dropout=0.5,
        loss="mean",
        start_at_frequency=False,
        standardise=False,
        **others,
    )


EURLEX_4K = _published(20, 10, 200, validation=200 / 15_449)
AMAZONCAT_13K = _published(5, 2, 10_000, validation=4_000 / 1_186_239, validate_every=20_000)
WIKI10_31K = _published(30, 10, 300, validation=200 / 14_146)
WIKI_500K = _published(
    10,
    4,
    3_000,
    tokens=128,
    batch=32,
    validation=4_000 / 1_779_881,
    validate_every=3_000,
    beam=32,
    bottleneck=500,
)
AMAZON_670K = _published(
    15,
    4,
    3_000,
    tokens=128,
    validation=4_000 / 490_449,
    validate_every=3_000,
    beam=75,
    bottleneck=400,
)

# What the paper's tables report: three models, their scores added. Three encoders where labels are
# few, three clusterings where they are many. Batches that did not fit were halved, two to a step;
# the code counts halves between two averaged moments, we count steps.
_HALVES: dict[str, Any] = {"batch": 8, "accumulate": 2}
EURLEX_4K_TRIO = (
    EURLEX_4K,
    _published(20, 10, 200, name="roberta-base", validation=200 / 15_449),
    _published(20, 10, 200, name="xlnet-base-cased", validation=200 / 15_449, **_HALVES),
)
AMAZONCAT_13K_TRIO = (
    AMAZONCAT_13K,
    _published(
        5, 2, 10_000, name="roberta-base", validation=4_000 / 1_186_239, validate_every=20_000
    ),
    _published(
        5,
        2,
        10_000,
        name="xlnet-base-cased",
        tokens=128,
        batch=32,
        validation=4_000 / 1_186_239,
        validate_every=20_000,
    ),
)
WIKI10_31K_TRIO = (
    WIKI10_31K,
    _published(30, 10, 200, name="roberta-base", validation=200 / 14_146, **_HALVES),
    _published(30, 10, 200, name="xlnet-base-cased", validation=200 / 14_146, **_HALVES),
)
WIKI_500K_TRIO = tuple(replace(WIKI_500K, cluster_seed=seed) for seed in range(3))
AMAZON_670K_TRIO = tuple(replace(AMAZON_670K, cluster_seed=seed) for seed in range(3))


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
        require_neural(KIND)
        from xmtc.neural.encoders.serialize import encoder_from

        config = parts.config(Config)
        tree = from_untrusted(lambda: _saved_tree(parts))
        count = 2 if tree.depth > 1 and config.negatives == "static_own_encoder" else 1
        encoders = tuple(
            encoder_from(parts, f"encoder{place}", config.encoder) for place in range(count)
        )
        scorers = _saved_scorers(parts, config, tree, encoders[0].dim, count)
        return LightXML(config, encoders, tree, scorers, parts.labels, parts.trained_on)


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> LightXML:
    """Cluster the labels where there are many, then teach encoder and output layers together."""
    require_neural(KIND)
    require_texts(dataset.inputs, KIND)
    from xmtc.neural.devices import seeded

    learned, held_out = split_validation(dataset, config.training)
    tree = label_tree(learned, config)
    with seeded(config.training.seed), run.with_cache() as cached:
        model = _taught(learned, held_out, tree, config, cached)
    for encoder in model.encoders:
        encoder.finish()
    return replace(model, trained_on=dataset.trained_on())


def _taught(
    dataset: Dataset, held_out: Dataset | None, tree: LabelTree, config: Config, run: Run
) -> LightXML:
    from xmtc.neural.training.prepared import fine_tune, prepare

    key = training_key(settings.to_dict(config), dataset)
    lesson = prepare(dataset.texts, config.encoder, config.training, run, key, config.standardise)
    head = output_layers(dataset, tree, lesson.encoder.dim, config)
    encoders = [lesson.encoder]

    def model() -> LightXML:
        scorers = tuple(each.of_raw(lesson.standard) for each in head.scorers(len(encoders) - 1))
        labels = dataset.labels
        seen = dataset.trained_on()
        return LightXML(config, tuple(encoders), tree, scorers, labels, seen)

    def measure() -> dict[str, float]:
        for each in encoders:
            each.eval()
        return metrics_of(model(), held_out)

    task = lesson.task(head, dataset.relevant, config.dropout, measure)
    if tree.depth == 1 or config.negatives == "dynamic":
        fine_tune(lesson, task)
        return model()
    # Static negatives, the paper's ablation: first the generator alone, then, with it and its
    # encoder frozen, the discriminator on the same text vector or on an encoder of its own.
    head.teach("generator")
    fine_tune(lesson, replace(task, measure=dict))
    if config.negatives == "static_own_encoder":
        encoders.append(copy.deepcopy(lesson.encoder))
    second = lesson.second(encoders[-1])
    lesson.encoder.requires_grad_(False)
    head.teach("labels")
    labels = second.task(head, dataset.relevant, config.dropout, measure)
    second = replace(second, run=run.below("discriminator"))
    fine_tune(second, replace(labels, chooser=task.source))
    return model()


def output_layers(
    dataset: Dataset, tree: LabelTree, dim: int, config: Config
) -> Flat | Chunked | TwoLevel:
    """One layer over all labels, or generator and discriminator; not taught anything yet."""
    from xmtc.neural.heads.chunked import CHUNK, Chunked
    from xmtc.neural.heads.flat import Flat
    from xmtc.neural.heads.two_level import TwoLevel

    mean = config.loss == "mean"
    head: Flat | Chunked | TwoLevel
    if tree.depth == 1:
        head = (Flat if tree.label_count <= CHUNK else Chunked)(dim, tree.label_count, mean)
    else:
        head = TwoLevel(
            dim,
            tree,
            config.bottleneck,
            config.beam,
            mean,
            config.bottleneck_activation == "sigmoid",
            config.overflow_positives,
            config.pad_candidates,
        )
    if config.start_at_frequency:
        top = tree.relevant_at(0, dataset.relevant)
        counts = label_counts(top)
        head.start_at_frequency(counts, len(dataset))
    if config.training.shard_labels:
        head.shard()
    return head


def label_tree(dataset: Dataset, config: Config) -> LabelTree:
    """Clusters of labels whose texts share words, or no clusters."""
    if len(dataset.labels) <= config.plain_up_to:
        return LabelTree.flat(len(dataset.labels))
    _, features = tfidf.learn(dataset.texts, tfidf.TfidfConfig())
    halves = TreeConfig(
        arity=1 << 20, max_leaf=config.max_cluster, published=PublishedTree(stop="gain")
    )
    return balanced_tree(pifa(features, dataset.relevant), halves, config.cluster_seed)


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
    sigmoid = config.bottleneck_activation == "sigmoid"
    own = (dim * (encoders - 1), dim * encoders)
    return top, load_discriminator(parts, "level1", tree.label_count, *own, sigmoid)
