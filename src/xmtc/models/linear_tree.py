"""linear_tree: cluster the labels, then one sparse linear classifier per node of the tree.

Parabel, Bonsai, XR-Linear and PLT are presets of this one model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Array, Csr, Inputs, as_csr, label_counts
from xmtc.core.config import changed, check_bounds, group, setting
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.errors import require
from xmtc.core.interfaces import model_repr
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts, from_untrusted
from xmtc.core.ranking import Ranking
from xmtc.core.run import NO_RUN, Run
from xmtc.core.tree import LabelTree
from xmtc.data.hierarchy import read_parents
from xmtc.kernels.merge_rankings import mean_scores
from xmtc.labels import label_features
from xmtc.labels.trees import TreeConfig, build_tree, given_tree
from xmtc.linear.explain import Evidence, of_path
from xmtc.linear.forest import Forest, Score, SearchMethod, WeightType
from xmtc.linear.forest_store import forest_arrays, read_forest
from xmtc.linear.nodes import ForestConfig, Negatives, Relevance, train_forest
from xmtc.linear.svm import SvmConfig
from xmtc.planning.cost import Estimate
from xmtc.planning.tree_cost import linear_tree_costs
from xmtc.text.encoder import GivenFeatures, learn_encoder, load_encoder
from xmtc.text.tfidf import Tfidf, TfidfConfig
from xmtc.text.top_terms import top_terms

KIND = "linear_tree"
LONG = 3  # terms of a long text, relative to a usual one,
MIN_TERMS = 32  # and at least
WIDE = 2  # each tree of several ranks this many times k labels, so that few are missed by some


@dataclass(frozen=True)
class PublishedLinearTree:
    """What exists for the code of a paper, or to measure it."""

    vectors: Literal["pifa", "pifa_weighted", "cooccurrence", "joint", "text"] = setting(
        "pifa", "label vectors: PIFA, PIFA by 1/√labels, co-occurrence, PIFA with it, label text"
    )
    vector_max_terms: int | None = setting(
        64, "maximum terms per PIFA vector, by weight (None: all)", low=1
    )
    relevance: Relevance = setting("equal", "weight of a positive text: equal, or PECOS's induced")
    score: Score = setting(
        "path", "path: exp(-loss³), path2: squared (Parabel), probability, label"
    )
    search: SearchMethod = setting("beam", "beam search, or exact: the best labels of all")

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class Config:
    """Fast to train and to ask, for any number of labels: what to try first."""

    text: TfidfConfig = group(TfidfConfig)
    max_terms: int | None = setting(96, "maximum terms per text, by weight (None: all)", low=1)
    tree: TreeConfig = group(lambda: TreeConfig(max_leaf=100))
    parents: str | None = setting(None, "file with the parent of each label, used as the tree")
    svm: SvmConfig = group(lambda: SvmConfig(cost=0.5, positive_cost=2.0, max_iterations=8))
    negatives: Negatives = setting(
        "both", "negative texts: teacher forcing (tfn), matcher aware (man), or both"
    )
    path_exponent: float = setting(0.7, "exponent of the parent's score in a path", low=0, high=1)
    beam: int = setting(14, "beam width: nodes of a level that are opened", low=1, high=1 << 20)
    trees: int = setting(1, "trees whose scores are averaged", low=1, high=100)
    weight_type: WeightType = setting(
        "int8", "type of the weights; int8 is less than half the size, as accurate"
    )
    seed: int = setting(0, "random seed of the trees and of the solver", low=0)
    published: PublishedLinearTree = group(PublishedLinearTree)

    def __post_init__(self) -> None:
        check_bounds(self)
        published = self.published
        exponent = self.path_exponent
        require(
            published.search == "beam" or (published.score != "label" and exponent > 0),
            "published.search",
            published.search,
            "needs scores that the path bounds: a score other than 'label' and a path_exponent "
            f"above 0 (here they are '{published.score}' and {exponent:g}); or use beam",
        )

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Settings that do nothing in this combination, and why."""
        published = self.published
        unused = {}
        if self.parents:
            unused["tree"] = "the tree is that of parents"
        if published.vectors not in ("pifa", "pifa_weighted"):
            unused["published.vector_max_terms"] = f"vectors={published.vectors} is not PIFA"
        if self.parents or self.tree.method in ("random", "frequency"):
            for name in ("published.vectors", "published.vector_max_terms"):
                unused[name] = "this tree is made without label vectors"
        if published.score == "label":
            unused["path_exponent"] = "score=label leaves the path out"
        if published.search == "exact" and self.negatives == "tfn":
            unused["beam"] = "neither search=exact nor negatives=tfn has one"
        yield from ((name, unused[name]) for name in changed(self, *unused))


@dataclass(frozen=True, repr=False)
class LinearTree:
    """One or several trees over the same labels and features."""

    config: Config
    encoder: Tfidf | GivenFeatures
    forests: tuple[Forest, ...]
    labels: LabelSpace
    trained_on: TrainedOn
    max_terms: int | None  # of a text, the heaviest; at most as many as in training
    kind: str = KIND

    __repr__ = model_repr

    def encode(self, inputs: Inputs) -> Csr:
        """(texts, features) what the trees read."""
        return top_terms(self.encoder.encode(inputs), self.max_terms)

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels found by walking down each tree."""
        return ranked(self.forests, self.encode(inputs), k, self.config, allowed)

    def explain(self, text: str, label: int) -> list[Evidence]:
        """The evidence of each classifier on the path to a label, in the first tree."""
        path = of_path(self.forests[0], self.encode([text]), label, self.encoder.term)
        trees = len(self.forests)
        return [replace(step, by=f"tree 1 of {trees}") for step in path] if trees > 1 else path

    def to_parts(self) -> Parts:
        """Everything needed to make this model again."""
        arrays = self.encoder.to_arrays("encoder") | arrays_of(self.forests)
        if self.max_terms is not None:
            arrays["max_terms"] = np.array([self.max_terms], np.int32)
        return Parts(settings.to_dict(self.config), self.labels, self.trained_on, arrays)

    @staticmethod
    def from_parts(parts: Parts) -> LinearTree:
        """The model as it was saved, checked."""
        config = parts.config(Config)
        encoder = from_untrusted(lambda: load_encoder(parts, "encoder", config.text))
        forests = forests_from(parts, config, encoder.feature_count)
        max_terms = config.max_terms
        if max_terms is not None:
            max_terms = max(1, int(parts.ids("max_terms", max_terms + 1, 1)[0]))
        return LinearTree(config, encoder, forests, parts.labels, parts.trained_on, max_terms)


def train(
    dataset: Dataset,
    config: Config,
    run: Run = NO_RUN,
    encoded: tuple[Tfidf | GivenFeatures, Csr] | None = None,
) -> LinearTree:
    """Describe the labels by their texts, cluster them, train the classifiers of each tree.

    encoded: what `learn_encoder` returns for these texts and settings, where it is there already.
    """
    encoder, features = encoded or learn_encoder(dataset, config.text)
    features = top_terms(features, config.max_terms)
    vectors = label_vectors(dataset, features, encoder, config)
    forests = train_forests(features, dataset, trees_of(dataset, vectors, config), config)
    max_terms = config.max_terms
    if max_terms is not None and features.shape[0]:
        # Of a text much longer than usual not all terms are read that training would have read: it
        # does not take much longer than others, and is ranked as well (docs/models).
        usual = float(np.median(np.diff(features.indptr)))
        max_terms = min(max_terms, max(MIN_TERMS, round(LONG * usual)))
    seen = dataset.trained_on()
    return LinearTree(config, encoder, forests, dataset.labels, seen, max_terms)


def costs(dataset: Dataset) -> Callable[[Config], Estimate]:
    """Settings -> what training with them costs."""

    def first_tree(texts: Dataset, features: Csr, encoder: Any, config: Config) -> LabelTree:
        return next(trees_of(texts, label_vectors(texts, features, encoder, config), config))

    return linear_tree_costs(dataset, first_tree)


def trees_of(dataset: Dataset, vectors: Csr, config: Config) -> Iterator[LabelTree]:
    """One tree after the other over labels with these vectors; they differ by their seeds."""
    if config.parents:
        require(config.trees == 1, "trees", config.trees, "must be 1 when the tree is given")
        yield given_tree(dataset.labels, read_parents(config.parents))
        return
    counts = label_counts(dataset.relevant)
    for place in range(config.trees):
        yield build_tree(vectors, counts, config.tree, config.seed + place)


def label_vectors(
    dataset: Dataset, features: Csr, encoder: Tfidf | GivenFeatures, config: Config
) -> Csr:
    """(labels, features) what is clustered; empty where the tree is given."""
    if config.parents:
        return as_csr(np.empty((len(dataset.labels), 0)))
    kind = config.published.vectors
    if kind == "text":
        return label_features.from_text(dataset.labels, encoder)
    if kind == "cooccurrence":
        return label_features.cooccurrence(dataset.relevant)
    if kind == "joint":
        return label_features.joint(features, dataset.relevant)
    max_terms = config.published.vector_max_terms
    return label_features.pifa(features, dataset.relevant, kind == "pifa_weighted", max_terms)


def train_forests(
    features: Csr, dataset: Dataset, trees: Iterable[LabelTree], config: Config
) -> tuple[Forest, ...]:
    """The classifiers of each tree."""
    how = forest_config(config)
    return tuple(train_forest(features, dataset.relevant, tree, how) for tree in trees)


def forest_config(config: Config) -> ForestConfig:
    """How the classifiers of a tree are trained."""
    return ForestConfig(
        config.svm,
        config.negatives,
        config.beam,
        config.published.relevance,
        config.weight_type,
        config.seed,
    )


def ranked(
    forests: Sequence[Forest], encoded: Csr, k: int, config: Config, allowed: Allowed = None
) -> Ranking:
    """The k best labels found by walking down each tree, by the mean of their scores.

    A label that a tree did not return counts 0 there.
    """
    published = config.published
    how = (config.beam, published.score, allowed, config.path_exponent, published.search)
    if len(forests) == 1:
        return forests[0].rank(encoded, k, *how)
    wide = min(forests[0].tree.label_count, max(WIDE * k, config.beam))
    rankings = [forest.rank(encoded, wide, *how) for forest in forests]
    labels = np.concatenate([ranking.labels for ranking in rankings], axis=1)
    scores = np.concatenate([ranking.scores for ranking in rankings], axis=1)
    return Ranking(*mean_scores(labels, scores, len(rankings), k))


def arrays_of(forests: Sequence[Forest]) -> dict[str, Array]:
    """What must be saved of the trees."""
    arrays = {"depths": np.array([forest.tree.depth for forest in forests], np.int32)}
    for place, forest in enumerate(forests):
        arrays |= forest_arrays(forest, f"tree{place}")
    return arrays


def forests_from(parts: Parts, config: Config, features: int) -> tuple[Forest, ...]:
    """The trees as they were saved, checked."""
    depths = parts.ids("depths", 65, config.trees).tolist()
    return tuple(
        read_forest(parts, f"tree{place}", depth, features, len(parts.labels))
        for place, depth in enumerate(depths)
    )
