"""Settings of xbert's three stages: index the labels, match clusters, rank the labels inside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from xmtc.core.config import changed, check_bounds, group, setting
from xmtc.labels.trees import PublishedTree
from xmtc.linear.forest import WeightType
from xmtc.linear.nodes import Negatives
from xmtc.linear.svm import SvmConfig
from xmtc.neural.settings import (
    MAX_LEAF,
    METRIC,
    STANDARDIZE,
    VECTOR_DROPOUT,
    EncoderConfig,
    LabelLoss,
    Pretrained,
    TrainingConfig,
    untrained,
)
from xmtc.text.tfidf import TfidfConfig

ClusterMetric = Literal["P@1", "P@3", "P@5", "P@1-10"]
CLUSTER_METRICS: tuple[str, ...] = get_args(ClusterMetric)
MEAN_PRECISION: ClusterMetric = "P@1-10"  # the mean of P@1 to P@10 of clusters


@dataclass(frozen=True)
class PublishedIndex:
    """What exists for the paper's code, or to measure it."""

    weigh_texts: bool = setting(
        True, "PIFA: a text with n labels counts 1/√n, as in the code; False: 1, as in the paper"
    )
    max_terms: int | None = setting(
        64, "maximum terms per PIFA vector, by weight (None: all)", low=1
    )
    centres: Literal["unit", "mean"] = setting("unit", "2-means: spherical, or Euclidean (mean)")
    stop: Literal["still", "change", "gain"] = setting(
        "still", "2-means stops when nothing moves (PECOS), gains (Parabel) or changes (X-BERT)"
    )
    depth: int | None = setting(
        None, "log2 of the number of clusters (None: by max_leaf)", low=1, high=30
    )
    seed: int = setting(0, "random seed of the clusters, for members of an ensemble", low=0)

    def __post_init__(self) -> None:
        check_bounds(self)
        PublishedTree(self.stop, self.centres)


@dataclass(frozen=True)
class LabelIndex:
    """Balanced clusters of labels, by halves of halves."""

    TYPE: ClassVar[str] = ""
    max_leaf: int = setting(100, MAX_LEAF, low=1)
    published: PublishedIndex = group(PublishedIndex)

    def __post_init__(self) -> None:
        check_bounds(self)

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Settings of PIFA, where labels have other vectors."""
        if self.TYPE != "pifa" and self.published.max_terms is not None:
            for name in changed(self, "published.max_terms"):
                yield name, f"index={self.TYPE} has no terms"
        if self.TYPE == "text":
            for name in changed(self, "published.weigh_texts"):
                yield name, "index=text is not PIFA"


@dataclass(frozen=True)
class PifaIndex(LabelIndex):
    """Labels are described by the average TF-IDF row of their texts."""

    TYPE: ClassVar[str] = "pifa"


@dataclass(frozen=True)
class PifaNeuralIndex(LabelIndex):
    """Labels are described by the average encoder vector of their texts."""

    TYPE: ClassVar[str] = "pifa_neural"
    encoder: Pretrained = group(lambda: Pretrained(max_tokens=64))


@dataclass(frozen=True)
class TextIndex(LabelIndex):
    """Labels are described by the encoder vector of their label text."""

    TYPE: ClassVar[str] = "text"
    encoder: Pretrained = group(lambda: Pretrained(max_tokens=64))


@dataclass(frozen=True)
class PublishedXBert:
    """What exists for the code of the papers, or to measure it."""

    loss: LabelLoss = setting("squared_hinge", "loss function of the matcher")
    bias_from_frequency: bool = setting(True, "initialize biases with the clusters' log-odds")
    standardize: bool = setting(True, STANDARDIZE)
    unit_length: bool = setting(
        False, "scale concatenated rows to unit length, as X-Transformer does"
    )
    score: Literal["path", "label"] = setting(
        "path", "the label's score times its cluster's, or the label's alone"
    )


@dataclass(frozen=True)
class MatcherTraining(TrainingConfig):
    """How the matcher is trained, validated on clusters."""

    metric: ClusterMetric = setting(  # type: ignore[assignment]
        MEAN_PRECISION, f"{METRIC}, of clusters; P@1-10: the mean"
    )


@dataclass(frozen=True)
class Config:
    """An encoder finds the clusters, words decide inside them. Minutes to hours."""

    index: PifaIndex | PifaNeuralIndex | TextIndex = group(PifaIndex, "label vectors to cluster")
    encoder: EncoderConfig | None = group(
        Pretrained, "encoder of the matcher (None: a linear matcher, a tree of classifiers)"
    )
    training: MatcherTraining = group(MatcherTraining)
    dropout: float = setting(0.1, VECTOR_DROPOUT, low=0, below=1)
    beam: int = setting(10, "beam width: clusters whose labels are ranked", low=1, high=1 << 20)
    text: TfidfConfig = group(TfidfConfig)
    max_terms: int | None = setting(96, "maximum terms per text, by weight (None: all)", low=1)
    vector_weight: float | None = setting(
        1.0,
        "length of the matcher's vector in the ranker; words have 1 (None: words only)",
        above=0,
        high=1000,
    )
    svm: SvmConfig = group(SvmConfig)
    negatives: Negatives = setting(
        "both", "negative texts: teacher forcing (tfn), matcher aware (man), or both"
    )
    path_exponent: float = setting(0.5, "exponent of the cluster's score in a path", low=0, high=1)
    weight_type: WeightType = setting("int8", "type of the weights; int8 is a third of the size")
    published: PublishedXBert = group(PublishedXBert)

    def __post_init__(self) -> None:
        check_bounds(self)

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Settings of what this combination does not have."""
        if self.encoder is None:
            names = ("loss", "bias_from_frequency", "standardize", "unit_length")
            of_matcher = (f"published.{name}" for name in names)
            for name in changed(self, "training", "dropout", "vector_weight", *of_matcher):
                yield name, "encoder=none: the matcher is linear"
        else:
            yield from untrained(self)
            if self.vector_weight is None and self.published.unit_length:
                yield "published.unit_length", "vector_weight=none: rows are not concatenated"
        if self.published.score == "label":
            for name in changed(self, "path_exponent"):
                yield name, "published.score=label leaves the path out"

    @property
    def concatenates(self) -> bool:
        """Whether the ranker reads vectors next to words."""
        return self.vector_weight is not None and self.encoder is not None

    @property
    def stores_vectors(self) -> bool:
        """Whether the ranker needs the matcher's vectors of the training texts."""
        return self.concatenates or (self.encoder is not None and self.negatives != "tfn")

    @property
    def needs_neural(self) -> bool:
        """Whether torch is needed."""
        return self.encoder is not None or not isinstance(self.index, PifaIndex)
