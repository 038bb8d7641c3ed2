"""aplc: one encoder, and an output layer that spends its work on frequent labels (APLC-XLNet).

Labels are sorted by frequency. The first are scored for every text, the others lie in tails behind
gates; in training and in ranking only the tails that matter for a text are opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Csr, Floats, Inputs, Ints, as_csr, csr, label_counts
from xmtc.core.config import changed, check_bounds, group, setting
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.errors import require
from xmtc.core.interfaces import model_repr
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts, from_untrusted
from xmtc.core.ranking import Ranking
from xmtc.core.run import NO_RUN, Run
from xmtc.models.holdout import require_texts
from xmtc.models.neural_recipe import begin
from xmtc.neural.extra import require_neural
from xmtc.neural.heads.adaptive_scorer import AdaptiveScorer, Shape, cluster_sizes, load_scorer
from xmtc.neural.settings import (
    STANDARDIZE,
    VECTOR_DROPOUT,
    EncoderConfig,
    Pretrained,
    TrainingConfig,
    refuse_shards,
    untrained,
)

if TYPE_CHECKING:
    from xmtc.neural.encoders.text_encoder import TextEncoder
    from xmtc.neural.heads.adaptive import AdaptiveLabelClusters, Hidden

KIND = "aplc"


@dataclass(frozen=True)
class HiddenLayer:
    """A layer with tanh before the output layer."""

    dim: int = setting(768, "dimension of the hidden layer", low=1, high=1 << 16)
    lr: float = setting(1e-4, "learning rate of the hidden layer", above=0)

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class PublishedAplc:
    """What exists for the paper, for its code or for an ablation."""

    cuts: tuple[int, ...] = setting((), "ranks where tails begin, instead of fractions")
    norm_relu: bool = setting(
        True, "LayerNorm and ReLU behind the projection of a tail; the paper has neither"
    )
    loss: Literal["document", "global", "sum"] = setting(
        "sum", "binary cross-entropy: mean per text, over all (the paper), or summed"
    )
    gate_loss: bool = setting(True, "train gates that a text does not need to stay shut")
    bias_from_frequency: bool = setting(True, "initialize biases with the labels' log-odds")
    standardize: bool = setting(True, STANDARDIZE)

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in pairwise((0, *self.cuts)))
        expected = "must be at most 63 increasing ranks, the first above 0"
        require(len(self.cuts) < 64 and rising, "cuts", self.cuts, expected)


@dataclass(frozen=True)
class Config:
    """A fine-tuned pretrained encoder; rare labels wait behind gates. Minutes to hours."""

    encoder: EncoderConfig = group(Pretrained, "what reads the texts")
    training: TrainingConfig = group(TrainingConfig)
    clusters: tuple[float, ...] = setting(
        (0.5, 0.5), "fractions of the labels, by frequency: in the head, then in each tail"
    )
    narrowing: float = setting(
        2.0, "factor by which each tail narrows the vector", low=1, high=1000
    )
    hidden: HiddenLayer | None = group(None, "layer with tanh before the output layer (None: none)")
    dropout: float = setting(0.2, VECTOR_DROPOUT, low=0, below=1)
    published: PublishedAplc = group(PublishedAplc)

    def __post_init__(self) -> None:
        check_bounds(self)
        sizes = self.clusters
        sound = 1 <= len(sizes) <= 64 and min(sizes) > 0 and abs(sum(sizes) - 1) < 1e-3
        require(sound, "clusters", sizes, "must be 1 to 64 fractions above 0 that add up to 1")
        refuse_shards(KIND, self.training)

    @property
    def hidden_dim(self) -> int:
        """Dimension of the hidden layer; 0: there is none."""
        return 0 if self.hidden is None else self.hidden.dim

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Fractions that ranks replace, and settings of an encoder that is not trained."""
        if self.published.cuts:
            yield from ((name, "published.cuts is set") for name in changed(self, "clusters"))
        yield from untrained(self)

    def sizes(self, labels: int) -> tuple[int, ...]:
        """Labels in the head and in each tail."""
        return cluster_sizes(labels, self.clusters, self.published.cuts)


@dataclass(frozen=True, repr=False)
class Aplc:
    """A finished encoder and its output layer."""

    config: Config
    encoder: TextEncoder
    scorer: AdaptiveScorer
    labels: LabelSpace
    trained_on: TrainedOn
    kind: str = KIND

    __repr__ = model_repr

    def encode(self, inputs: Inputs) -> Floats:
        """(texts, dim) what the scorer reads."""
        require_texts(inputs, KIND)
        return self.encoder.encode(inputs)

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels of all; tails that cannot change the answer are not opened."""
        return self.scorer.rank(self.encode(inputs), k, allowed)

    def tails_skipped(self, inputs: Inputs, k: int) -> float:
        """Fraction of all tails of all texts that ranking k labels did not open."""
        opened = self.scorer.rank_and_count(self.encode(inputs), k)[1]
        return 1 - float(opened.mean()) if opened.size else 0.0

    def to_parts(self) -> Parts:
        """Everything needed to make this model again, the encoder and its tokenizer included."""
        from xmtc.neural.encoders.serialize import encoder_arrays

        arrays = encoder_arrays(self.encoder, "encoder") | self.scorer.to_arrays()
        return Parts(settings.to_dict(self.config), self.labels, self.trained_on, arrays)

    @staticmethod
    def from_parts(parts: Parts) -> Aplc:
        """The model as it was saved, checked."""
        require_neural(KIND)
        from xmtc.neural.encoders.serialize import encoder_from

        config = parts.config(Config)
        encoder = encoder_from(parts, "encoder", config.encoder)
        shape = from_untrusted(
            lambda: Shape(
                encoder.dim,
                config.sizes(len(parts.labels)),
                config.narrowing,
                config.published.norm_relu,
                config.hidden_dim,
                bias=config.published.bias_from_frequency,
                standardized=config.published.standardize,
            )
        )
        scorer = from_untrusted(lambda: load_scorer(parts, shape))
        return Aplc(config, encoder, scorer, parts.labels, parts.trained_on)


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> Aplc:
    """Sort the labels by frequency, then train encoder and output layer together."""
    with begin(KIND, dataset, config, run) as training:
        from xmtc.neural.training.prepared import fine_tune

        prepared = training.prepare(config.published.standardize)
        encoder = prepared.encoder
        order = by_frequency(training.dataset.relevant)
        relevant = _by_rank(training.dataset.relevant, order)
        with training.rng.turn():
            head = _head(relevant, encoder.dim, config)

        def model() -> Aplc:
            scorer = replace(head.scorer(), order=order, standard=prepared.standard)
            return Aplc(config, encoder, scorer, dataset.labels, dataset.trained_on())

        dropout = config.dropout if config.hidden is None else 0.0  # else inside the head
        measure = training.measure([encoder], model)
        fine_tune(prepared, prepared.task(head, relevant, dropout, measure))
        trained = model()
    encoder.finish()
    return trained


def by_frequency(relevant: Csr) -> Ints:
    """(labels,) the most frequent first; of equals, the smaller number."""
    counts = label_counts(relevant)
    return np.argsort(-counts, kind="stable").astype(np.int32)


def _by_rank(relevant: Csr, order: Ints) -> Csr:
    """(texts, labels) -> (texts, ranks)"""
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return as_csr(csr(relevant.data, ranks[relevant.indices], relevant.indptr, len(order)))


def _head(relevant: Csr, dim: int, config: Config) -> AdaptiveLabelClusters | Hidden:
    from xmtc.neural.heads.adaptive import AdaptiveLabelClusters, Hidden

    layer = AdaptiveLabelClusters(
        config.hidden_dim or dim,
        config.sizes(relevant.shape[1]),
        config.narrowing,
        norm_relu=config.published.norm_relu,
        loss=config.published.loss,
        gate_loss=config.published.gate_loss,
        bias=config.published.bias_from_frequency,
    )
    if config.published.bias_from_frequency:
        layer.start_at_frequency(relevant)
    if config.hidden is not None:
        return Hidden(dim, layer, config.dropout, config.hidden.lr)
    return layer
