"""label_attention: each label looks at the words that concern it. (AttentionXML, You et al., 2019)

An encoder gives a state for every word, by default a BiLSTM trained from the texts alone. Each
label attends to them with a vector of its own; layers shared by all labels score the weighted sum.
With many labels there are levels of clusters above, each with an encoder that starts from the
weights of the one above.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Array, Csr, Inputs, Ints, row_of_each_entry
from xmtc.core.config import changed, check_bounds, group, setting
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.errors import require
from xmtc.core.interfaces import model_repr
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts, from_untrusted
from xmtc.core.progress import track
from xmtc.core.ranking import NO_LABEL, Ranking
from xmtc.core.run import NO_RUN, Run
from xmtc.core.tree import LabelTree
from xmtc.core.walk import walk
from xmtc.kernels.merge_rankings import merged
from xmtc.kernels.topk import best
from xmtc.labels.label_features import pifa
from xmtc.labels.trees import PublishedTree, TreeConfig, balanced_tree
from xmtc.models.holdout import require_texts
from xmtc.models.neural_recipe import begin
from xmtc.neural.extra import require_neural
from xmtc.neural.heads.attention_scorer import AttentionScorer, load_attention
from xmtc.neural.settings import (
    MAX_FLAT_LABELS,
    MAX_LEAF,
    AveragedTraining,
    BiLstmEncoder,
    CnnEncoder,
    OptimizerConfig,
    Pretrained,
    refuse_shards,
    untrained,
)
from xmtc.text import tfidf

if TYPE_CHECKING:
    from xmtc.neural.encoders.text_encoder import TextEncoder
    from xmtc.neural.heads.attention_head import AttentionHead

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
    """Each label attends to its own words: good on long texts. Minutes to hours."""

    encoder: BiLstmEncoder | CnnEncoder | Pretrained = group(BiLstmEncoder, "what reads the texts")
    training: AveragedTraining = group(
        lambda: AveragedTraining(
            epochs=10, optimizer=OptimizerConfig(encoder_lr=5e-3, head_lr=5e-3)
        )
    )
    dropout: float = setting(0.5, "dropout on the states of words", low=0, below=1)
    hidden_dims: tuple[int, ...] = setting(
        (256,), "dimensions of the layers between a label's attention and its score"
    )
    max_flat_labels: int | None = setting(1_000, MAX_FLAT_LABELS, low=0)
    levels: int = setting(
        1, "levels of clusters above the labels, each with its own encoder", low=1, high=8
    )
    arity: int = setting(
        8, "children of a cluster of the levels above the last, a power of 2", low=2, high=ONE_LEVEL
    )
    max_leaf: int = setting(32, MAX_LEAF, low=2)
    beam: int = setting(
        10, "clusters of a level whose children are candidates", low=1, high=1 << 20
    )
    published: PublishedAttention = group(PublishedAttention)

    def __post_init__(self) -> None:
        check_bounds(self)
        sizes = self.hidden_dims
        sound = 1 <= len(sizes) <= 8 and all(1 <= size <= 1 << 16 for size in sizes)
        require(sound, "hidden_dims", sizes, "give one to eight sizes, e.g. 512,256")
        power = self.arity & (self.arity - 1) == 0
        require(power, "arity", self.arity, "must be a power of 2")
        chunks = getattr(self.encoder, "max_chunks", None)
        expected = "must be none: labels attend to all words at once; raise encoder.max_tokens"
        require(chunks is None, "encoder.max_chunks", chunks, expected)
        refuse_shards(KIND, self.training)

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Settings of one vector per text, and of levels that are not there."""
        pooled = ("published.pooled_layers",) * isinstance(self.encoder, Pretrained)
        for name in changed(self.encoder, "pooling", *pooled):
            yield f"encoder.{name}", "labels read the states of all words"
        if self.levels == 1:
            yield from ((name, "levels=1") for name in changed(self, "arity"))
        yield from untrained(self)


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

    __repr__ = model_repr

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels: those of the best clusters, by the product of all probabilities."""
        require_texts(inputs, self.kind)
        from xmtc.neural.encoders.read_states import states_of

        ranking = Ranking.empty(len(inputs), k)
        with track("ranking", len(inputs)) as advance:
            for rows, states in states_of(self.encoders, inputs):
                beam = self.config.beam
                part = walk(self.tree, self.scorers, states, k, beam=beam, allowed=allowed)
                ranking.labels[rows] = part.labels
                ranking.scores[rows] = part.scores
                advance(len(rows))
        return ranking

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
    """Cluster the labels where there are many, then train one level after the other, top down."""
    with begin(KIND, dataset, config, run) as training:
        from xmtc.neural.training.attention_loss import AttentionLoss
        from xmtc.neural.training.loop import fit

        train = training.dataset
        tree = _label_tree(train, config)
        prepared = training.prepare()
        model = LabelAttention(config, (), tree, (), dataset.labels, dataset.trained_on())
        head: AttentionHead | None = None
        for level in range(tree.depth):
            relevant = tree.relevant_at(level, train.relevant)
            children = None
            opened = None
            if level:
                children = tree.children[level]
                above = tree.relevant_at(level - 1, train.relevant)
                opened = opened_nodes(model.rank(train.texts, config.beam), above, config.beam)
                prepared = prepared.with_encoder(copy.deepcopy(prepared.encoder))
            with training.rng.turn():
                head = _head(relevant, prepared.encoder, config, head)
            trained = partial(_with_level, model, tree, prepared.encoder, head)
            truth = partial(tree.relevant_at, level)
            measure = training.measure([prepared.encoder], trained, truth)
            task = prepared.task(head, relevant, config.dropout, measure)
            place = training.run.below(f"level{level}") if level else training.run
            task = replace(task, loss_function=AttentionLoss(children, opened))
            fit(task, config.training, prepared.key, place, training.rng)
            prepared.encoder.eval()
            model = trained()
    for encoder in model.encoders:
        encoder.finish()
    return model


def _with_level(
    model: LabelAttention, tree: LabelTree, encoder: TextEncoder, head: AttentionHead
) -> LabelAttention:
    """The model with one more level: it ranks the nodes of that level."""
    level = len(model.scorers)
    return replace(
        model,
        encoders=(*model.encoders, encoder),
        tree=LabelTree(tree.parents[: level + 1]),
        scorers=(*model.scorers, head.scorer(level)),
    )


def _head(
    relevant: Csr, encoder: TextEncoder, config: Config, above: AttentionHead | None
) -> AttentionHead:
    """The output layer of a level. above: that of the level above, where there is one."""
    from xmtc.neural.heads.attention_head import AttentionHead

    mean = config.published.loss == "mean"
    head = AttentionHead(
        encoder.body.width, relevant.shape[1], config.hidden_dims, mean, above is not None
    )
    if above is not None:
        head.begin_like(above)
    elif config.published.bias_from_frequency:
        head.start_at_frequency(relevant)
    return head


def opened_nodes(ranking: Ranking, relevant: Csr, beam: int) -> Ints:
    """(texts, beam) nodes whose children are candidates in training: the true ones, then the best.

    Where there are more true ones than the beam, those with the best scores.
    """
    counts = np.diff(relevant.indptr)
    true = np.full((len(ranking), int(counts.max(initial=0))), NO_LABEL, np.int32)
    places = np.arange(relevant.nnz) - np.repeat(relevant.indptr[:-1], counts)
    true[row_of_each_entry(relevant), places] = relevant.indices
    scores = np.where(ranking.labels == NO_LABEL, 0, ranking.scores).astype(np.float32)
    # Scores are probabilities; a true node gets 1 more, so it comes first.
    labels = np.concatenate([ranking.labels, true], axis=1)
    keys = np.concatenate([scores, (true != NO_LABEL).astype(np.float32)], axis=1)
    return best(*merged(labels, keys), beam)[0]


def _label_tree(dataset: Dataset, config: Config) -> LabelTree:
    """The last `levels` levels of clusters of labels whose texts share words, or no clusters."""
    most = config.max_flat_labels
    if most is None or len(dataset.labels) <= most:
        return LabelTree.flat(len(dataset.labels))
    _, features = tfidf.learn(dataset.texts, tfidf.TfidfConfig())
    arity = config.arity if config.levels > 1 else ONE_LEVEL
    halves = TreeConfig(arity=arity, max_leaf=config.max_leaf, published=PublishedTree(stop="gain"))
    described = pifa(features, dataset.relevant)
    parents = balanced_tree(described, halves, config.training.seed).parents
    top, *rest = parents[-config.levels - 1 :]
    return LabelTree((np.zeros_like(top), *rest))


def _saved_tree(parts: Parts, max_levels: int) -> LabelTree:
    """Level after level from the labels up, as far as there are any."""
    count = len(parts.labels)
    levels = []
    for level in range(max_levels, 0, -1):
        if f"parents{level}" in parts.arrays:
            above = parts.ids(f"parents{level}", max(1, count), count)
            levels.append(above)
            count = int(above.max(initial=0)) + 1
    return LabelTree((np.zeros(count, np.int32), *levels[::-1]))
