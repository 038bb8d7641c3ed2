"""xbert: index the labels into clusters, match texts to clusters, rank the labels inside.

The matcher is an encoder (X-BERT), a BiLSTM with attention (X-ttention) or a linear tree; the
ranker is a linear classifier per label, over words or over words and the matcher's vectors
(X-Transformer). Each stage is kept in the run: a training that dies in one goes on there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Array, Csr, Floats, Inputs, as_csr
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.errors import require
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts, from_untrusted
from xmtc.core.ranking import Ranking
from xmtc.core.run import NO_RUN, Run, training_key
from xmtc.core.tree import LabelTree
from xmtc.linear.forest import Forest, WeightType
from xmtc.linear.forest_store import forest_arrays, read_forest
from xmtc.linear.nodes import ForestConfig, Negatives, train_leaves
from xmtc.linear.svm import SvmConfig
from xmtc.models.holdout import require_texts, split_validation, without_validation
from xmtc.models.xbert import match
from xmtc.models.xbert.index import IndexConfig, clusters_of, index
from xmtc.models.xbert.match import Matcher
from xmtc.neural.encoders.locate import fingerprint
from xmtc.neural.extra import require_neural
from xmtc.neural.settings import Encoder, LabelLoss, Pretrained, TrainingConfig
from xmtc.neural.training.log import Log
from xmtc.text import tfidf
from xmtc.text.concat import concat
from xmtc.text.tfidf import Tfidf, TfidfConfig
from xmtc.text.top_terms import top_terms

KIND = "xbert"
# The settings that the first and the second stage depend on.
_INDEX = ("index", "text", "text_terms")
_MATCHER = (
    *_INDEX,
    "matcher",
    "encoder",
    "training",
    "loss",
    "dropout",
    "start_at_frequency",
    "standardise",
)
# X-BERT's clusters: Euclidean ones of label texts, whose lengths say something, else spherical.
_CENTRES = {"text": "mean"}


@dataclass(frozen=True)
class Config:
    """An encoder finds the clusters, words decide inside them. Minutes to hours."""

    index: IndexConfig = field(default_factory=IndexConfig)
    matcher: Literal["neural", "linear"] = "neural"  # an encoder, or a tree of classifiers: quick
    encoder: Encoder = field(default_factory=Pretrained)
    training: TrainingConfig = field(default_factory=lambda: TrainingConfig(metric=match.MEAN))
    loss: LabelLoss = "squared_hinge"  # of the matcher
    dropout: float = 0.1  # share of the text vector that is hidden in each training step
    start_at_frequency: bool = True  # begin with how frequent each cluster is, not by chance
    standardise: bool = True  # the matcher reads vectors of mean 0, spread 1: learns much faster
    beam: int = 10  # clusters whose labels are ranked
    text: TfidfConfig = field(default_factory=TfidfConfig)
    text_terms: int | None = 96  # of a text, the strongest: long ones cost less; none keeps all
    features: Literal["words", "joined"] = "joined"  # joined: and a neural matcher's vectors
    vector_weight: float = 1.0  # what the vector counts beside the words, which count 1
    unit_rows: bool = False  # joined rows are brought to length 1 again, as X-Transformer does
    svm: SvmConfig = field(default_factory=SvmConfig)
    negatives: Negatives = "both"  # texts a label learns from besides its own: tfn, man or both
    score: Literal["path", "label"] = "path"  # the cluster's times the label's own, or that alone
    trust: float = 0.5  # exponent of the cluster's score: lower trusts the label more
    weights: WeightType = "int8"  # int8: less than half the size, as good

    def __post_init__(self) -> None:
        require(0 <= self.dropout < 1, "dropout", self.dropout, "must lie between 0 and 1")
        require(1 <= self.beam <= 1 << 20, "beam", self.beam, "must lie between 1 and a million")
        require(
            self.text_terms is None or self.text_terms >= 1,
            "text_terms",
            self.text_terms,
            "must be at least 1, or none for all",
        )
        require(
            0 < self.vector_weight <= 1000,
            "vector_weight",
            self.vector_weight,
            "must be above 0, at most 1000; without vectors, set features=words",
        )
        require(0 <= self.trust <= 1, "trust", self.trust, "must lie between 0 and 1")

    @property
    def joins(self) -> bool:
        """Whether the ranker reads vectors besides words; a linear matcher has none."""
        return self.features == "joined" and self.matcher == "neural"

    @property
    def reads_vectors(self) -> bool:
        """Whether the ranker must know the matcher's vectors of the training texts."""
        return self.matcher == "neural" and (self.joins or self.negatives != "tfn")

    @property
    def needs_neural(self) -> bool:
        """Whether torch is needed."""
        return self.matcher == "neural" or self.index.vectors != "pifa"


@dataclass(frozen=True, repr=False)
class XBert:
    """Clusters of labels, what finds them, and a classifier for each label."""

    config: Config
    words: Tfidf
    tree: LabelTree  # clusters, then labels
    matcher: Matcher
    ranker: Forest
    labels: LabelSpace
    trained_on: TrainedOn
    kind: str = KIND

    def __repr__(self) -> str:
        return f"{self.kind}({len(self.labels):,} labels, {self.trained_on.texts:,} texts)"

    def encode(self, inputs: Inputs) -> tuple[Csr, Floats | None]:
        """(texts, features) words, and (texts, dim) vectors where the matcher makes any."""
        require_texts(inputs, KIND)
        return _words_of(self.words, inputs, self.config), self.matcher.read(inputs)

    def match(self, inputs: Inputs, k: int = 10, allowed: Allowed = None) -> Ranking:
        """The k best clusters of each text; a cluster's labels are those of `tree`."""
        beam = max(k, self.config.beam)  # a linear matcher finds less with a narrow one
        return self.matcher.match(*self.encode(inputs), beam, self._clusters_with(allowed)).top(k)

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels of the best clusters."""
        words, vectors = self.encode(inputs)
        config = self.config
        opened = self._clusters_with(allowed)
        matched = self.matcher.match(words, vectors, config.beam, opened)
        features = _features(words, vectors, config)
        how = (config.beam, config.score, allowed, config.trust)
        return self.ranker.rank(features, k, *how, opened=matched)

    def _clusters_with(self, allowed: Allowed) -> Allowed:
        """Those that have an allowed label."""
        return None if allowed is None else self.tree.open_nodes(allowed)[0]

    def to_parts(self) -> Parts:
        """Everything needed to make this model again, an encoder and its tokenizer included."""
        arrays = {
            **self.words.to_arrays("words"),
            **self.matcher.to_arrays("matcher"),
            **forest_arrays(self.ranker, "ranker"),
        }
        return Parts(settings.to_dict(self.config), self.labels, self.trained_on, arrays)

    @staticmethod
    def from_parts(parts: Parts) -> XBert:
        """The model as it was saved, checked."""
        config = parts.config(Config)
        words = from_untrusted(lambda: Tfidf.from_parts(parts, "words", config.text))
        clusters = len(parts.array("ranker.parents0", np.int32, (None,)))
        matcher = from_untrusted(lambda: _saved_matcher(parts, config, words, clusters))
        wide = words.feature_count + (matcher.dim if config.joins else 0)
        ranker = from_untrusted(lambda: read_forest(parts, "ranker", 2, wide, len(parts.labels)))
        return XBert(config, words, ranker.tree, matcher, ranker, parts.labels, parts.trained_on)


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> XBert:
    """Index, match, rank: each stage is kept in the run's folder, where there is one."""
    require_texts(dataset.inputs, KIND)
    if config.needs_neural:
        require_neural(KIND)
    if config.matcher == "linear":
        dataset = without_validation(dataset, "matcher=linear")
    taught, held_out = split_validation(dataset, config.training, match.METRICS)
    texts = taught if held_out is None else taught.concat(held_out)  # those held out come last
    # Only the matcher is chosen by them. To all else they are texts like others, unless they were
    # given as validation data.
    known = texts if dataset.validation is None else taught
    words, features = _words(known, texts, config)
    mine = features if known is texts else features[: len(known)]
    tree = _indexed(known, words, mine, config, run)
    matcher, vectors = _matched(texts, len(taught), len(known), words, features, tree, config, run)
    ranker = _ranked(known, mine, vectors, matcher, clusters_of(tree), config, run)
    labels = dataset.labels
    seen = dataset.trained_on()
    return XBert(config, words, ranker.tree, matcher, ranker, labels, seen)


def _words(known: Dataset, texts: Dataset, config: Config) -> tuple[Tfidf, Csr]:
    """The vocabulary of the known texts, and the words of all of them, the known ones first."""
    words, features = tfidf.learn(known.texts, config.text)
    features = top_terms(features, config.text_terms)
    if len(known) < len(texts):
        others = _words_of(words, texts.texts[len(known) :], config)
        features = as_csr(sp.vstack([features, others]))
    return words, features


def variants(
    config: Config, vectors: Sequence[str] = ("text", "pifa"), seeds: Sequence[int] = (0, 1, 2)
) -> tuple[Config, ...]:
    """One for each kind of label vectors and each seed of the clusters: members of an ensemble.

    X-BERT's six by default, with its centres of each kind; `variants(config, ["pifa"])` are its
    three seeds of one kind.
    """
    changes = [
        {"index": {"vectors": kind, "centres": _CENTRES.get(kind, "unit"), "seed": seed}}
        for kind in vectors
        for seed in seeds
    ]
    plain = settings.to_dict(config)
    return tuple(settings.from_dict(Config, settings.merged(plain, each)) for each in changes)


def _indexed(texts: Dataset, words: Tfidf, features: Csr, config: Config, run: Run) -> LabelTree:
    """The first stage: halves of halves of the labels."""

    def make() -> dict[str, Array]:
        levels = index(texts, words, features, config.index).parents
        return {f"level{level:02d}": parents for level, parents in enumerate(levels)}

    made = run.stage("index", _key(texts, config, _INDEX), make)
    _say(run, "index", levels=[len(made[name]) for name in sorted(made)])
    return LabelTree(tuple(made[name] for name in sorted(made)))


def _matched(
    texts: Dataset,
    taught: int,
    known: int,
    words: Tfidf,
    features: Csr,
    tree: LabelTree,
    config: Config,
    run: Run,
) -> tuple[Matcher, Floats | None]:
    """The second stage: the matcher, and its vectors of known texts where the ranker needs them.

    The last texts, from number `taught` on, are held out; all are known, or only those taught.
    """
    names = _MATCHER if config.matcher == "neural" else (*_MATCHER, "svm")
    key = _key(texts, config, names, **({"known": known} if known < len(texts) else {}))
    clusters = tree.relevant_at(tree.depth - 2, texts.relevant)

    def make() -> dict[str, Array]:
        if config.matcher == "linear":
            upper = LabelTree(tree.parents[:-1])
            read = features[:taught]
            truth = clusters[:taught]
            return match.linear_matcher(read, truth, upper, config.svm).to_arrays("matcher")
        return _taught(texts, taught, known, clusters, config, run, key)

    made = run.stage("matcher-and-vectors" if config.reads_vectors else "matcher", key, make)
    parts = Parts({}, texts.labels, texts.trained_on(), made)
    matcher = _saved_matcher(parts, config, words, clusters.shape[1])
    vectors: Floats | None = made.get("vectors")
    _say(run, "matcher", figures=_judged(matcher, texts, taught, features, clusters, run))
    return matcher, vectors


def _taught(
    texts: Dataset, taught: int, known: int, clusters: Csr, config: Config, run: Run, key: str
) -> dict[str, Array]:
    """A neural matcher as arrays, with its vectors of the known texts where somebody needs them."""
    from xmtc.neural.devices import Rng

    mine = texts.texts[:taught]
    others = texts.texts[taught:]
    held_out = (others, clusters[taught:]) if others else None
    how = match.Teaching(
        config.encoder,
        config.training,
        config.loss,
        config.dropout,
        config.standardise,
        config.start_at_frequency,
    )
    rng = Rng(config.training.seed)
    with run.with_cache() as cached:
        matcher, read = match.neural_matcher(
            mine, clusters[:taught], held_out, how, cached, key, rng
        )
        vectors = {}
        if config.reads_vectors:  # before it is finished: all of them exact, also with int8
            more = matcher.encoder.eval().encode(texts.texts[taught:known])
            vectors["vectors"] = np.concatenate([read(), more])
        matcher.encoder.finish()
        return {**matcher.to_arrays("matcher"), **vectors}


def _say(run: Run, stage: str, **more: Any) -> None:
    """That a stage is done, into the run's log."""
    if run.folder is not None:
        Log(run.folder).write(stage=stage, **more)


def _judged(
    matcher: Matcher, texts: Dataset, taught: int, features: Csr, clusters: Csr, run: Run
) -> dict[str, float]:
    """How good the matcher is on the texts that were held out, if any were and somebody reads."""
    others = texts.texts[taught:]
    if run.folder is None or not others:
        return {}
    matched = matcher.match(features[taught:], matcher.read(others), match.DEPTH, None)
    return match.figures(matched, clusters[taught:])


def _ranked(
    texts: Dataset,
    features: Csr,
    vectors: Floats | None,
    matcher: Matcher,
    tree: LabelTree,
    config: Config,
    run: Run,
) -> Forest:
    """The third stage: a classifier for each label, against those that the matcher leads there."""
    matched = Ranking.empty(0, config.beam)
    if config.negatives != "tfn":
        matched = matcher.match(features, vectors, config.beam, None)
    joint = _features(features, vectors, config)
    how = ForestConfig(config.svm, config.negatives, weight_type=config.weights)
    ranker = train_leaves(joint, texts.relevant, tree, how, matched)
    _say(run, "ranker", texts=len(texts), features=joint.shape[1])
    return ranker


def _words_of(words: Tfidf, inputs: Inputs, config: Config) -> Csr:
    return top_terms(words.encode(inputs), config.text_terms)


def _features(words: Csr, vectors: Floats | None, config: Config) -> Csr:
    """What the ranker reads."""
    if not config.joins:
        return words
    assert vectors is not None
    return concat(words, vectors, config.unit_rows, config.vector_weight)


def _key(texts: Dataset, config: Config, names: Sequence[str], **more: int) -> str:
    """Of all that a stage depends on: what it does not read may change between two runs."""
    values = settings.to_dict(config)
    known = {name: values[name] for name in names} | more
    readers = [config.index.encoder.name] if config.index.vectors != "pifa" else []
    if "encoder" in names and config.matcher == "neural" and isinstance(config.encoder, Pretrained):
        readers.append(config.encoder.name)
    if readers:  # another encoder may lie in the same folder by now
        known["fingerprints"] = [fingerprint(name) for name in readers]
    return training_key(known, texts)


def _saved_matcher(parts: Parts, config: Config, words: Tfidf, clusters: int) -> Matcher:
    if config.matcher == "linear":
        return match.read_linear_matcher(parts, "matcher", words.feature_count, clusters)
    require_neural(KIND)
    return match.read_neural_matcher(parts, "matcher", clusters, config.encoder, config.loss)
