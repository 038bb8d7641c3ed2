"""linear_tree: cluster the labels, then one sparse linear classifier per node of the tree.

Parabel, Bonsai, XR-Linear and PLT are presets of this one model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Array, Csr, Inputs, as_csr
from xmtc.core.config import group, setting
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.errors import require
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
from xmtc.linear.forest import Forest, Score, Search, WeightType
from xmtc.linear.forest_store import forest_arrays, read_forest
from xmtc.linear.nodes import Negatives, Relevance, train_forest
from xmtc.linear.svm import SvmConfig
from xmtc.text.encoder import GivenFeatures, learn_encoder, load_encoder
from xmtc.text.tfidf import Tfidf, TfidfConfig
from xmtc.text.top_terms import top_terms

KIND = "linear_tree"
# a text is long with so many times the terms of a usual one, and so many
LONG = 3
LEAST_TERMS = 32
WIDE = 2  # each tree of several ranks this many times k labels, so that few are missed by some


@dataclass(frozen=True)
class PublishedLinearTree:
    """What exists for the code of a paper, or to measure it."""

    vectors: Literal["pifa", "pifa_weighted", "cooccurrence", "joint", "text"] = setting(
        "pifa", "label vectors: PIFA, PIFA by 1/√labels, co-occurrence, PIFA with it, label text"
    )
    vector_max_terms: int | None = setting(64, "terms of a PIFA vector at most (None: all)")
    relevance: Relevance = setting("equal", "weight of a positive text: equal, or PECOS's induced")
    score: Score = setting(
        "path", "path: exp(-loss³), path2: squared (Parabel), probability, label"
    )
    search: Search = setting("beam", "beam search, or exact: the best labels of all")

    def __post_init__(self) -> None:
        _check_terms("vector_max_terms", self.vector_max_terms)


@dataclass(frozen=True)
class Config:
    """Fast to train and to ask, for any number of labels: what to try first."""

    text: TfidfConfig = group(TfidfConfig)
    max_terms: int | None = setting(96, "terms of a text at most, the heaviest (None: all)")
    tree: TreeConfig = group(lambda: TreeConfig(max_leaf=100))
    parents: str | None = setting(None, "file with the parent of each label, used as the tree")
    svm: SvmConfig = group(lambda: SvmConfig(cost=0.5, positive_cost=2.0, max_iterations=8))
    negatives: Negatives = setting(
        "both", "negative texts: teacher forcing (tfn), matcher aware (man), or both"
    )
    path_exponent: float = setting(0.7, "exponent of the parent's score in a path")
    beam: int = setting(14, "beam width: nodes of a level that are opened")
    trees: int = setting(1, "trees whose scores are averaged")
    weight_type: WeightType = setting("int8", "type of the weights; int8 is a third of the size")
    seed: int = setting(0, "random seed of the trees and of the solver")
    published: PublishedLinearTree = group(PublishedLinearTree)

    def __post_init__(self) -> None:
        require(1 <= self.beam <= 1 << 20, "beam", self.beam, "must lie between 1 and a million")
        _check_terms("max_terms", self.max_terms)
        exponent = self.path_exponent
        require(0 <= exponent <= 1, "path_exponent", exponent, "must lie between 0 and 1")
        require(1 <= self.trees <= 100, "trees", self.trees, "must lie between 1 and 100")
        require(self.seed >= 0, "seed", self.seed, "must be 0 or more")
        score, search = self.published.score, self.published.search
        require(
            search == "beam" or (score != "label" and exponent > 0),
            "published.search",
            search,
            "needs scores that the path bounds: a score other than 'label' and a path_exponent "
            f"above 0 (here they are '{score}' and {exponent:g}); or use beam",
        )

    def without_effect(self) -> Iterator[tuple[str, str]]:
        """Settings that do nothing in this combination, and why."""
        usual = Config()
        how = self.published
        if self.parents:
            if self.tree != usual.tree:
                yield "tree", "the tree is that of parents"
            if (how.vectors, how.vector_max_terms) != ("pifa", usual.published.vector_max_terms):
                yield "published.vectors", "the tree is that of parents"
        elif how.vectors not in ("pifa", "pifa_weighted"):
            if how.vector_max_terms not in (None, usual.published.vector_max_terms):
                yield "published.vector_max_terms", f"vectors={how.vectors} is not PIFA"
        elif self.tree.method in ("random", "frequency") and how.vectors != "pifa":
            yield "published.vectors", f"tree.method={self.tree.method} reads no label vectors"
        if how.score == "label" and self.path_exponent != usual.path_exponent:
            yield "path_exponent", "score=label leaves the path out"
        if how.search == "exact" and self.negatives == "tfn" and self.beam != usual.beam:
            yield "beam", "search=exact has none, and negatives=tfn needs none"


def _check_terms(name: str, terms: int | None) -> None:
    require(terms is None or terms >= 1, name, terms, "must be at least 1, or none for all")


@dataclass(frozen=True, repr=False)
class LinearTree:
    """One or several trees over the same labels and features."""

    config: Config
    encoder: Tfidf | GivenFeatures
    forests: tuple[Forest, ...]
    labels: LabelSpace
    trained_on: TrainedOn
    terms: int | None  # of a text, the strongest are read; at most as many as were learned from
    kind: str = KIND

    def __repr__(self) -> str:
        return f"{self.kind}({len(self.labels):,} labels, {self.trained_on.texts:,} texts)"

    def encode(self, inputs: Inputs) -> Csr:
        """(texts, features) what the trees read."""
        return top_terms(self.encoder.encode(inputs), self.terms)

    def encode_to_learn(self, inputs: Inputs) -> Csr:
        """(texts, features) what the trees learn from: more terms than they read afterwards."""
        return top_terms(self.encoder.encode(inputs), self.config.max_terms)

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels found by walking down each tree."""
        return ranked(self.forests, self.encode(inputs), k, self.config, allowed)

    def explain(self, text: str, label: int) -> list[Evidence]:
        """What spoke for and against a label, from the root down; the first tree's view."""
        found = of_path(self.forests[0], self.encode([text]), label, self.encoder.term)
        trees = len(self.forests)
        return [replace(each, by=f"tree 1 of {trees}") for each in found] if trees > 1 else found

    def to_parts(self) -> Parts:
        """Everything needed to make this model again."""
        arrays = self.encoder.to_arrays("encoder") | arrays_of(self.forests)
        if self.terms is not None:
            arrays["terms"] = np.array([self.terms], np.int32)
        return Parts(settings.to_dict(self.config), self.labels, self.trained_on, arrays)

    @staticmethod
    def from_parts(parts: Parts) -> LinearTree:
        """The model as it was saved, checked."""
        config = parts.config(Config)
        encoder = from_untrusted(lambda: load_encoder(parts, "encoder", config.text))
        forests = forests_from(parts, config, encoder.feature_count)
        terms = config.max_terms
        if terms is not None and "terms" in parts.arrays:  # before, as many as were learned from
            terms = max(1, int(parts.ids("terms", terms + 1, 1)[0]))
        return LinearTree(config, encoder, forests, parts.labels, parts.trained_on, terms)


def train(
    dataset: Dataset,
    config: Config,
    run: Run = NO_RUN,
    encoded: tuple[Tfidf | GivenFeatures, Csr] | None = None,
) -> LinearTree:
    """Describe the labels by their texts, cluster them, learn the classifiers of each tree.

    encoded: what `learn_encoder` returns for these texts and settings, where it is there already.
    """
    encoder, features = encoded or learn_encoder(dataset, config.text)
    features = top_terms(features, config.max_terms)
    trees = trees_of(dataset, label_vectors(dataset, features, encoder, config), config)
    forests = grown(features, dataset, trees, config)
    seen = dataset.trained_on()
    return LinearTree(config, encoder, forests, dataset.labels, seen, _terms(features, config))


def _terms(features: Csr, config: Config) -> int | None:
    """How many terms of a text are read: of one much longer than usual, not all that others have.

    So it does not take much longer than they do, and is ranked as well (docs/models).
    """
    if config.max_terms is None or not features.shape[0]:
        return config.max_terms
    usual = float(np.median(np.diff(features.indptr)))
    return min(config.max_terms, max(LEAST_TERMS, round(LONG * usual)))


def grown(
    features: Csr, dataset: Dataset, trees: Iterable[LabelTree], config: Config
) -> tuple[Forest, ...]:
    """The classifiers of each tree."""
    return tuple(
        train_forest(
            features,
            dataset.relevant,
            tree,
            config.svm,
            config.negatives,
            config.beam,
            config.published.relevance,
            config.weight_type,
            config.seed,
        )
        for tree in trees
    )


def ranked(
    forests: Sequence[Forest], encoded: Csr, k: int, config: Config, allowed: Allowed = None
) -> Ranking:
    """The k best labels found by walking down each tree."""
    published = config.published
    how = (config.beam, published.score, allowed, config.path_exponent, published.search)
    if len(forests) == 1:
        return forests[0].rank(encoded, k, *how)
    wide = min(forests[0].tree.label_count, max(WIDE * k, config.beam))
    return _average([forest.rank(encoded, wide, *how) for forest in forests], k)


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


def kept_as(config: Config, forests: Iterable[Forest]) -> tuple[Forest, ...]:
    """The forests with their weights in the type that is set."""
    return tuple(forest.as_int8() if config.weight_type == "int8" else forest for forest in forests)


def trees_of(dataset: Dataset, described: Csr, config: Config) -> Iterator[LabelTree]:
    """One tree after the other over labels described by vectors; they differ by their seeds."""
    if config.parents:
        require(config.trees == 1, "trees", config.trees, "must be 1 when the tree is given")
        yield given_tree(dataset.labels, read_parents(config.parents))
        return
    counts = dataset.trained_on().label_counts
    for place in range(config.trees):
        yield build_tree(described, counts, config.tree, config.seed + place)


def label_vectors(
    dataset: Dataset, features: Csr, encoder: Tfidf | GivenFeatures, config: Config
) -> Csr:
    """(labels, features) by which labels are grouped; nothing is made where the tree is given."""
    if config.parents:
        return as_csr(np.empty((len(dataset.labels), 0)))
    kind = config.published.vectors
    if kind == "text":
        return label_features.from_text(dataset.labels, encoder)
    if kind == "cooccurrence":
        return label_features.cooccurrence(dataset.relevant)
    if kind == "joint":
        return label_features.joint(features, dataset.relevant)
    most = config.published.vector_max_terms
    return label_features.pifa(features, dataset.relevant, kind == "pifa_weighted", most)


def _average(rankings: list[Ranking], k: int) -> Ranking:
    """The mean of the scores; a label that a tree did not return counts 0 there."""
    labels = np.concatenate([ranking.labels for ranking in rankings], axis=1)
    scores = np.concatenate([ranking.scores for ranking in rankings], axis=1)
    return Ranking(*mean_scores(labels, scores, len(rankings), k))
