"""label_attention: each label looks at the words that concern it. (AttentionXML, You et al., 2019)

An encoder gives a state for every word, by default a BiLSTM learned from your texts alone. A label
weighs them by how well they suit its own vector, and layers shared by all labels judge the sum.
With many labels there are levels of clusters above, each with an encoder of its own that begins
with what the one above has learned.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Array, Csr, Inputs, Ints, row_of_each_entry
from xmtc.core.config import LARGEST, group, setting
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.errors import require
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts, from_untrusted
from xmtc.core.progress import track
from xmtc.core.ranking import NO_LABEL, Ranking
from xmtc.core.run import NO_RUN, Run, training_key
from xmtc.core.tree import LabelTree
from xmtc.core.walk import walk
from xmtc.evaluation.report import evaluate_ranking
from xmtc.kernels.merge_rankings import merged
from xmtc.kernels.topk import best
from xmtc.labels.label_features import pifa
from xmtc.labels.trees import PublishedTree, TreeConfig, balanced_tree
from xmtc.models.holdout import METRICS, require_texts, split_validation
from xmtc.neural.extra import require_neural
from xmtc.neural.heads.attention_scorer import AttentionScorer, load_attention
from xmtc.neural.settings import (
    BiLstmEncoder,
    CnnEncoder,
    HeadConfig,
    OptimizerConfig,
    Pretrained,
    TrainingConfig,
    changed,
    frozen_encoder,
    require_between,
    require_share,
)
from xmtc.text import tfidf

if TYPE_CHECKING:
    from xmtc.neural.devices import Rng
    from xmtc.neural.encoders.text_encoder import TextEncoder
    from xmtc.neural.heads.attention_head import AttentionHead as Head

KIND = "label_attention"
ONE_LEVEL = 1 << 20  # halvings that make one level


@dataclass(frozen=True)
class PublishedAttention:
    """What exists for the paper's code."""

    loss: Literal["sum", "mean"] = setting(
        "sum", "binary cross-entropy, summed over labels; mean, as published, learns more slowly"
    )
    bias_from_frequency: bool = setting(True, "initialize the bias with the mean log-odds")


@dataclass(frozen=True)
class Config:
    """Every label looks at its own words: shows its worth on long texts. Minutes to hours."""

    encoder: BiLstmEncoder | CnnEncoder | Pretrained = group(BiLstmEncoder, "what reads the texts")
    training: TrainingConfig = group(
        lambda: TrainingConfig(
            epochs=10,
            optimizer=OptimizerConfig(encoder_lr=5e-3, head_lr=5e-3),
            head=HeadConfig(warmup_epochs=0),
        )
    )
    dropout: float = setting(0.5, "dropout on the states of words")
    hidden_dims: tuple[int, ...] = setting(
        (256,), "dimensions of the layers between a label's attention and its score"
    )
    max_flat_labels: int = setting(1_000, "up to so many labels there are no clusters")
    levels: int = setting(1, "levels of clusters above the labels, each with its own encoder")
    arity: int = setting(8, "children of a cluster of the levels above the last, a power of 2")
    max_leaf: int = setting(32, "maximum labels in a cluster")
    beam: int = setting(10, "clusters of a level whose children are candidates")
    published: PublishedAttention = group(PublishedAttention)

    def __post_init__(self) -> None:
        require_share(self, "dropout")
        require_between(
            self,
            max_flat_labels=(0, LARGEST),
            levels=(1, 8),
            arity=(2, ONE_LEVEL),
            max_leaf=(2, LARGEST),
            beam=(1, 1 << 20),
        )
        require(
            1 <= len(self.hidden_dims) <= 8
            and all(1 <= size <= 1 << 16 for size in self.hidden_dims),
            "hidden_dims",
            self.hidden_dims,
            "give one to eight sizes, e.g. 512,256",
        )
        require(self.arity & (self.arity - 1) == 0, "arity", self.arity, "must be a power of 2")
        require(
            not isinstance(self.encoder, Pretrained) or self.encoder.max_chunks is None,
            "encoder.max_chunks",
            getattr(self.encoder, "max_chunks", None),
            "must be none: a label looks at all words at once; set encoder.max_tokens instead",
        )
        require(
            self.training.head.warmup_epochs == 0,
            "training.head.warmup_epochs",
            self.training.head.warmup_epochs,
            "must be 0: labels and words learn from each other",
        )
        require(
            not self.training.published.shard_labels,
            "training.published.shard_labels",
            True,
            "does not work with label_attention; leave it off, or train lightxml",
        )

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Settings of one vector per text, and of levels that are not there."""
        for name in changed(self.encoder, "pooling"):
            yield f"encoder.{name}", "labels read the states of all words"
        if self.levels == 1:
            yield from ((name, "levels=1") for name in changed(self, "arity"))
        yield from frozen_encoder(self.encoder, self.training)


@dataclass(frozen=True, repr=False)
class LabelAttention:
    """A finished encoder and output layer for each level of the tree."""

    config: Config
    encoders: tuple[TextEncoder, ...]
    tree: LabelTree
    scorers: tuple[AttentionScorer, ...]
    labels: LabelSpace
    trained_on: TrainedOn
    kind: str = KIND

    def __repr__(self) -> str:
        return f"{self.kind}({len(self.labels):,} labels, {self.trained_on.texts:,} texts)"

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels: those of the best clusters, by the product of all probabilities."""
        require_texts(inputs, self.kind)
        levels = (self.encoders, self.scorers)
        return _ranked(*levels, self.tree, inputs, k, self.config.beam, allowed)

    def to_parts(self) -> Parts:
        """Everything needed to make this model again, its words included."""
        from xmtc.neural.encoders.serialize import encoder_arrays

        arrays: dict[str, Array] = {}
        for level, (encoder, scorer) in enumerate(zip(self.encoders, self.scorers, strict=True)):
            arrays |= encoder_arrays(encoder, f"encoder{level}")
            arrays |= scorer.to_arrays(f"level{level}")
            if level:
                arrays[f"parents{level}"] = self.tree.parents[level]
        return Parts(settings.to_dict(self.config), self.labels, self.trained_on, arrays)

    @staticmethod
    def from_parts(parts: Parts) -> LabelAttention:
        """The model as it was saved, checked."""
        require_neural(KIND)
        from xmtc.neural.encoders.serialize import encoder_from

        config = parts.config(Config)
        tree = from_untrusted(lambda: _saved_tree(parts, config.levels))
        encoders = tuple(
            encoder_from(parts, f"encoder{level}", config.encoder) for level in range(tree.depth)
        )
        scorers = tuple(
            load_attention(parts, level, len(nodes), encoders[level].body.width, config.hidden_dims)
            for level, nodes in enumerate(tree.parents)
        )
        return LabelAttention(config, encoders, tree, scorers, parts.labels, parts.trained_on)


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> LabelAttention:
    """Cluster the labels where there are many, then teach one level after the other, top down."""
    require_neural(KIND)
    require_texts(dataset.inputs, KIND)
    from xmtc.neural.devices import Rng

    learned, held_out = split_validation(dataset, config.training)
    tree = _label_tree(learned, config)
    rng = Rng(config.training.seed)
    with run.with_cache() as cached:
        encoders, scorers = _taught(learned, held_out, tree, config, cached, rng)
    for encoder in encoders:
        encoder.finish()
    return LabelAttention(config, encoders, tree, scorers, dataset.labels, dataset.trained_on())


def _taught(
    dataset: Dataset,
    held_out: Dataset | None,
    tree: LabelTree,
    config: Config,
    run: Run,
    rng: Rng,
) -> tuple[tuple[TextEncoder, ...], tuple[AttentionScorer, ...]]:
    from xmtc.neural.training.attention_loss import AttentionLoss
    from xmtc.neural.training.loop import fit
    from xmtc.neural.training.prepared import prepare

    key = training_key(settings.to_dict(config), dataset)
    corpus = dataset.fingerprint
    lesson = prepare(dataset.texts, config.encoder, config.training, run, key, rng, corpus=corpus)
    encoders: list[TextEncoder] = []
    scorers: list[AttentionScorer] = []
    head: Head | None = None
    for level in range(tree.depth):
        relevant = tree.relevant_at(level, dataset.relevant)
        children = None
        opened = None
        if level:
            children = tree.children[level]
            opened = _opened(encoders, scorers, tree, dataset, config.beam)
            lesson = lesson.with_encoder(copy.deepcopy(encoders[-1]))
        encoders.append(lesson.encoder)
        with rng.turn():
            head = _head(relevant, lesson.encoder, config, head)

        def measure(level: int = level, head: Head = head) -> dict[str, float]:
            encoders[-1].eval()
            return _metrics(encoders, [*scorers, head.scorer(level)], tree, held_out, config.beam)

        task = lesson.task(head, relevant, config.dropout, measure)
        task = replace(task, loss_function=AttentionLoss(children, opened))
        fit(task, config.training, lesson.key, run.below(f"level{level}") if level else run, rng)
        encoders[-1].eval()
        scorers.append(head.scorer(level))
    return tuple(encoders), tuple(scorers)


def _head(relevant: Csr, encoder: TextEncoder, config: Config, above: Head | None) -> Head:
    """The output layer of a level; `above`: that of the level above, where there is one."""
    from xmtc.neural.heads.attention_head import AttentionHead as Head

    mean = config.published.loss == "mean"
    head = Head(encoder.body.width, relevant.shape[1], config.hidden_dims, mean, above is not None)
    if above is not None:
        head.begin_like(above)
    elif config.published.bias_from_frequency:
        head.start_at_frequency(relevant)
    return head


def _opened(
    encoders: Sequence[TextEncoder],
    scorers: Sequence[AttentionScorer],
    tree: LabelTree,
    dataset: Dataset,
    beam: int,
) -> Ints:
    level = len(scorers) - 1
    ranking = _ranked(encoders, scorers, _upper(tree, level), dataset.texts, beam, beam)
    return opened_nodes(ranking, tree.relevant_at(level, dataset.relevant), beam)


def opened_nodes(ranking: Ranking, relevant: Csr, beam: int) -> Ints:
    """(texts, beam) nodes whose children a text is taught with: its true ones, then the likeliest.

    Of more true ones than the beam, those that look likeliest.
    """
    counts = np.diff(relevant.indptr)
    true = np.full((len(ranking), int(counts.max(initial=0))), NO_LABEL, np.int32)
    places = np.arange(relevant.nnz) - np.repeat(relevant.indptr[:-1], counts)
    true[row_of_each_entry(relevant), places] = relevant.indices
    likely = np.where(ranking.labels == NO_LABEL, 0, ranking.scores).astype(np.float32)
    # A true node counts 1 more than it looks likely, so it comes first.
    labels = np.concatenate([ranking.labels, true], axis=1)
    keys = np.concatenate([likely, (true != NO_LABEL).astype(np.float32)], axis=1)
    return best(*merged(labels, keys), beam)[0]


def _ranked(
    encoders: Sequence[TextEncoder],
    scorers: Sequence[AttentionScorer],
    tree: LabelTree,
    texts: Inputs,
    k: int,
    beam: int,
    allowed: Allowed = None,
) -> Ranking:
    """The k best nodes of the tree's last level."""
    from xmtc.neural.encoders.read_states import states_of

    ranking = Ranking.empty(len(texts), k)
    with track("ranking", len(texts)) as advance:
        for rows, states in states_of(encoders, texts):
            part = walk(tree, scorers, states, k, beam=beam, allowed=allowed)
            ranking.labels[rows] = part.labels
            ranking.scores[rows] = part.scores
            advance(len(rows))
    return ranking


def _metrics(
    encoders: Sequence[TextEncoder],
    scorers: Sequence[AttentionScorer],
    tree: LabelTree,
    held_out: Dataset | None,
    beam: int,
) -> dict[str, float]:
    """Of the nodes of the last level that is taught so far."""
    if held_out is None:
        return {}
    level = len(scorers) - 1
    ranking = _ranked(encoders, scorers, _upper(tree, level), held_out.texts, 5, beam)
    found = evaluate_ranking(ranking, tree.relevant_at(level, held_out.relevant)).metrics
    return {name: found[name] for name in METRICS}


def _upper(tree: LabelTree, level: int) -> LabelTree:
    """The tree down to this level."""
    return LabelTree(tree.parents[: level + 1])


def _label_tree(dataset: Dataset, config: Config) -> LabelTree:
    """The last `levels` levels of clusters of labels whose texts share words, or no clusters."""
    if len(dataset.labels) <= config.max_flat_labels:
        return LabelTree.flat(len(dataset.labels))
    _, features = tfidf.learn(dataset.texts, tfidf.TfidfConfig())
    arity = config.arity if config.levels > 1 else ONE_LEVEL
    halves = TreeConfig(arity=arity, max_leaf=config.max_leaf, published=PublishedTree(stop="gain"))
    described = pifa(features, dataset.relevant)
    parents = balanced_tree(described, halves, config.training.seed).parents
    top, *rest = parents[-config.levels - 1 :]
    return LabelTree((np.zeros_like(top), *rest))


def _saved_tree(parts: Parts, most: int) -> LabelTree:
    """Level after level from the labels up, as far as there are any."""
    count = len(parts.labels)
    levels = []
    for level in range(most, 0, -1):
        if f"parents{level}" in parts.arrays:
            above = parts.ids(f"parents{level}", max(1, count), count)
            levels.append(above)
            count = int(above.max(initial=0)) + 1
    return LabelTree((np.zeros(count, np.int32), *levels[::-1]))
