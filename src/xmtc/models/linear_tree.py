"""linear_tree: cluster the labels, then one sparse linear classifier per node of the tree.

Parabel, Bonsai, XR-Linear and PLT are settings of this one model; see the presets below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Array, Csr, Inputs, as_csr
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.errors import require
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts, from_untrusted
from xmtc.core.ranking import Ranking
from xmtc.core.run import NO_RUN, Run
from xmtc.core.tree import LabelTree
from xmtc.data.hierarchy import read_parents
from xmtc.kernels.merge_rankings import mean_scores
from xmtc.labels import vectors
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
class Config:
    """Fast to train and to ask, for any number of labels: what to try first."""

    text: TfidfConfig = field(default_factory=TfidfConfig)
    text_terms: int | None = 96  # of a text, the strongest: long ones cost less; none keeps all
    vectors: Literal["pifa", "pifa_weighted", "cooccurrence", "joint", "text"] = "pifa"  # of labels
    vector_terms: int | None = 64  # of pifa, the strongest: faster, as good; none keeps all
    tree: TreeConfig = field(default_factory=lambda: TreeConfig(max_leaf=100))
    parents: str = ""  # file that says which label is above which, used as the tree
    svm: SvmConfig = field(
        default_factory=lambda: SvmConfig(cost=0.5, positive_cost=2.0, max_passes=8)
    )
    negatives: Negatives = "both"  # texts a label learns from besides its own: tfn, man or both
    relevance: Relevance = "equal"  # of a text for a node: equal, or by its share of labels below
    score: Score = "path"  # by all classifiers on the path to a label, or by its own alone
    trust: float = 0.7  # exponent of the parent's score in a path: lower trusts the label more
    search: Search = "beam"  # exact: the best labels of all; not for score=label
    beam: int = 14  # nodes kept per level; more is slower and finds a little more
    trees: int = 1  # average of several trees: better, slower, larger
    weights: WeightType = "int8"  # int8: less than half the size, as good

    def __post_init__(self) -> None:
        require(1 <= self.beam <= 1 << 20, "beam", self.beam, "must lie between 1 and a million")
        for name in ("text_terms", "vector_terms"):
            terms = getattr(self, name)
            require(terms is None or terms >= 1, name, terms, "must be at least 1, or none for all")
        require(0 <= self.trust <= 1, "trust", self.trust, "must lie between 0 and 1")
        require(1 <= self.trees <= 100, "trees", self.trees, "must lie between 1 and 100")
        bounded = self.score != "label" and self.trust > 0
        require(
            self.search == "beam" or bounded,
            "search",
            self.search,
            "needs scores that the path bounds: a score other than 'label' and a trust above 0 "
            f"(here they are '{self.score}' and {self.trust:g}); or use beam",
        )


_PUBLISHED = SvmConfig(prune=0.1, tolerance=0.1)
PARABEL = Config(
    text_terms=None,
    vector_terms=None,
    tree=TreeConfig(arity=2, max_leaf=100, stop="gain"),
    svm=_PUBLISHED,
    negatives="tfn",
    score="path2",
    trust=1.0,
    beam=10,
    trees=3,
)
BONSAI = Config(
    text_terms=None,
    vector_terms=None,
    tree=TreeConfig(method="kmeans", arity=100, max_leaf=100, max_depth=3, stop="gain"),
    svm=_PUBLISHED,
    negatives="tfn",
    score="path2",
    trust=1.0,
    beam=10,
    trees=3,
)
XR_LINEAR = Config(
    vectors="pifa_weighted",
    text_terms=None,
    vector_terms=None,
    tree=TreeConfig(arity=16, max_leaf=100),
    svm=replace(_PUBLISHED, max_passes=100),
    negatives="tfn",
    score="path",
    trust=1.0,
    beam=10,
)
PLT = Config(
    text_terms=None,
    vector_terms=None,
    tree=TreeConfig(arity=2, max_leaf=100),
    svm=replace(_PUBLISHED, loss="logistic", cost=10.0, max_passes=100),
    negatives="tfn",
    score="probability",
    trust=1.0,
    search="exact",
)
# what a model was saved with before there was a choice
_BEFORE = {"weights": "float32", "text_terms": None, "vector_terms": None}


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
        return top_terms(self.encoder.encode(inputs), self.config.text_terms)

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
        config = parts.config(Config, **_BEFORE)
        encoder = from_untrusted(lambda: load_encoder(parts, "encoder", config.text))
        forests = forests_from(parts, config, encoder.feature_count)
        terms = config.text_terms
        if terms is not None and "terms" in parts.arrays:  # before, as many as were learned from
            terms = max(1, int(parts.ids("terms", terms + 1, 1)[0]))
        return LinearTree(config, encoder, forests, parts.labels, parts.trained_on, terms)


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> LinearTree:
    """Describe the labels by their texts, cluster them, learn the classifiers of each tree."""
    encoder, features = learn_encoder(dataset, config.text)
    features = top_terms(features, config.text_terms)
    trees = trees_of(dataset, label_vectors(dataset, features, encoder, config), config)
    forests = grown(features, dataset, trees, config)
    seen = dataset.trained_on()
    return LinearTree(config, encoder, forests, dataset.labels, seen, _terms(features, config))


def _terms(features: Csr, config: Config) -> int | None:
    """How many terms of a text are read: of one much longer than usual, not all that others have.

    So it does not take much longer than they do, and is ranked as well (docs/models).
    """
    if config.text_terms is None or not features.shape[0]:
        return config.text_terms
    usual = float(np.median(np.diff(features.indptr)))
    return min(config.text_terms, max(LEAST_TERMS, round(LONG * usual)))


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
            config.relevance,
            config.weights,
        )
        for tree in trees
    )


def ranked(
    forests: Sequence[Forest], encoded: Csr, k: int, config: Config, allowed: Allowed = None
) -> Ranking:
    """The k best labels found by walking down each tree."""
    how = (config.beam, config.score, allowed, config.trust, config.search)
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
    return tuple(forest.as_int8() if config.weights == "int8" else forest for forest in forests)


def trees_of(dataset: Dataset, described: Csr, config: Config) -> Iterator[LabelTree]:
    """One tree after the other over labels described by vectors; they differ by their seeds."""
    if config.parents:
        require(config.trees == 1, "trees", config.trees, "must be 1 when the tree is given")
        yield given_tree(dataset.labels, read_parents(config.parents))
        return
    counts = dataset.trained_on().label_counts
    for seed in range(config.trees):
        yield build_tree(described, counts, replace(config.tree, seed=config.tree.seed + seed))


def label_vectors(
    dataset: Dataset, features: Csr, encoder: Tfidf | GivenFeatures, config: Config
) -> Csr:
    """(labels, features) by which labels are grouped; nothing is made where the tree is given."""
    if config.parents:
        return as_csr(np.empty((len(dataset.labels), 0)))
    if config.vectors == "text":
        return vectors.from_text(dataset.labels, encoder)
    if config.vectors == "cooccurrence":
        return vectors.cooccurrence(dataset.relevant)
    if config.vectors == "joint":
        return vectors.joint(features, dataset.relevant)
    weighed = config.vectors == "pifa_weighted"
    return vectors.pifa(features, dataset.relevant, weighed, config.vector_terms)


def _average(rankings: list[Ranking], k: int) -> Ranking:
    """The mean of the scores; a label that a tree did not return counts 0 there."""
    labels = np.concatenate([ranking.labels for ranking in rankings], axis=1)
    scores = np.concatenate([ranking.scores for ranking in rankings], axis=1)
    return Ranking(*mean_scores(labels, scores, len(rankings), k))
