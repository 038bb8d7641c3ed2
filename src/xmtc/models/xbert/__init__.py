"""xbert: index the labels into clusters, match texts to clusters, rank the labels inside.

The matcher is an encoder (X-BERT), a BiLSTM with attention (X-ttention) or a linear tree; the
ranker is a linear classifier per label, over words or over words and the matcher's vectors
(X-Transformer). The run stores each stage: a training that was killed continues with the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Array, Csr, Floats, Inputs, as_csr
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.interfaces import model_repr
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts, from_untrusted
from xmtc.core.ranking import Ranking
from xmtc.core.run import NO_RUN, Run, training_key
from xmtc.core.tree import LabelTree
from xmtc.linear.forest import Forest
from xmtc.linear.forest_store import forest_arrays, read_forest
from xmtc.linear.nodes import ForestConfig, train_leaves
from xmtc.models.holdout import require_texts, split_validation, without_validation
from xmtc.models.xbert import match
from xmtc.models.xbert.index import clusters_of, index_labels
from xmtc.models.xbert.match import Matcher, MatcherTexts
from xmtc.models.xbert.xbert_settings import Config, PifaIndex, PifaNeuralIndex, TextIndex
from xmtc.neural.encoders.locate import fingerprint
from xmtc.neural.extra import require_neural
from xmtc.neural.settings import Pretrained
from xmtc.neural.training.log import Log
from xmtc.text import tfidf
from xmtc.text.concat import concat
from xmtc.text.tfidf import Tfidf
from xmtc.text.top_terms import top_terms

__all__ = ["Config", "PifaIndex", "PifaNeuralIndex", "TextIndex", "XBert", "train"]

KIND = "xbert"
# The settings that the first and the second stage depend on.
INDEX_SETTINGS = ("index", "text", "max_terms")
MATCHER_SETTINGS = (*INDEX_SETTINGS, "encoder", "training", "dropout")
MATCHER_PUBLISHED = ("loss", "bias_from_frequency", "standardize")


@dataclass(frozen=True, repr=False)
class XBert:
    """Clusters of labels, a matcher that finds them, and a classifier for each label."""

    config: Config
    words: Tfidf
    tree: LabelTree  # clusters, then labels
    matcher: Matcher
    ranker: Forest
    labels: LabelSpace
    trained_on: TrainedOn
    kind: str = KIND

    __repr__ = model_repr

    def encode(self, inputs: Inputs) -> tuple[Csr, Floats | None]:
        """(texts, features) words, and (texts, dim) vectors where the matcher has an encoder."""
        require_texts(inputs, KIND)
        words = top_terms(self.words.encode(inputs), self.config.max_terms)
        return words, self.matcher.read(inputs)

    def match(self, inputs: Inputs, k: int = 10, allowed: Allowed = None) -> Ranking:
        """The k best clusters of each text; a cluster's labels are those of `tree`."""
        beam = max(k, self.config.beam)  # a linear matcher finds less with a narrow one
        return self.matcher.match(*self.encode(inputs), beam, self._clusters_with(allowed)).top(k)

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels of the best clusters."""
        words, vectors = self.encode(inputs)
        config = self.config
        matched = self.matcher.match(words, vectors, config.beam, self._clusters_with(allowed))
        return self.ranker.rank(
            _ranker_features(words, vectors, config),
            k,
            config.beam,
            config.published.score,
            allowed,
            config.path_exponent,
            opened=matched,
        )

    def _clusters_with(self, allowed: Allowed) -> Allowed:
        """True for clusters that have an allowed label."""
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
        width = words.feature_count + (matcher.dim if config.concatenates else 0)
        ranker = from_untrusted(lambda: read_forest(parts, "ranker", 2, width, len(parts.labels)))
        return XBert(config, words, ranker.tree, matcher, ranker, parts.labels, parts.trained_on)


@dataclass(frozen=True)
class Corpus:
    """The texts of all stages: first those that train the matcher, then the held-out ones.

    Held-out texts select the matcher's best epoch. To index and ranker they are training texts like
    the others, unless they were given as validation data.
    """

    texts: Dataset
    words: Tfidf
    features: Csr  # of all texts
    n_matcher: int  # texts that train the matcher
    n_train: int  # texts that train index and ranker


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> XBert:
    """Index, match, rank: the run's folder, if there is one, stores what is done."""
    require_texts(dataset.inputs, KIND)
    if config.needs_neural:
        require_neural(KIND)
    if config.encoder is None:
        dataset = without_validation(dataset, "encoder=none")
    matcher_set, held_out = split_validation(dataset, config.training)
    texts = matcher_set if held_out is None else matcher_set.concat(held_out)
    train_set = texts if dataset.validation is None else matcher_set
    words, features = tfidf.learn(train_set.texts, config.text)
    train_features = top_terms(features, config.max_terms)
    features = train_features
    if len(train_set) < len(texts):
        rows = words.encode(texts.texts[len(train_set) :])
        features = as_csr(sp.vstack([features, top_terms(rows, config.max_terms)]))
    corpus = Corpus(texts, words, features, len(matcher_set), len(train_set))

    def make_index() -> dict[str, Array]:
        levels = index_labels(train_set, words, train_features, config.index).parents
        return {f"level{level:02d}": parents for level, parents in enumerate(levels)}

    made = run.stage("index", _key(train_set, config, INDEX_SETTINGS), make_index)
    tree = LabelTree(tuple(made[name] for name in sorted(made)))
    _log(run, "index", levels=[len(parents) for parents in tree.parents])
    matcher, vectors = _match(corpus, tree, config, run)
    matched = Ranking.empty(0, config.beam)
    if config.negatives != "tfn":
        matched = matcher.match(train_features, vectors, config.beam, None)
    rows = _ranker_features(train_features, vectors, config)
    how = ForestConfig(config.svm, config.negatives, weight_type=config.weight_type)
    ranker = train_leaves(rows, train_set.relevant, clusters_of(tree), how, matched)
    _log(run, "ranker", texts=len(train_set), features=rows.shape[1])
    trained_on = dataset.trained_on()
    return XBert(config, words, ranker.tree, matcher, ranker, dataset.labels, trained_on)


def _match(
    corpus: Corpus, tree: LabelTree, config: Config, run: Run
) -> tuple[Matcher, Floats | None]:
    """The matcher, and its vectors of the training texts if the ranker needs them."""
    texts = corpus.texts
    n = corpus.n_matcher
    names = MATCHER_SETTINGS if config.encoder is not None else (*MATCHER_SETTINGS, "svm")
    others = {"known": corpus.n_train} if corpus.n_train < len(texts) else {}
    key = _key(texts, config, names, **others)
    clusters = tree.relevant_at(tree.depth - 2, texts.relevant)
    held_out = MatcherTexts(texts.texts[n:], clusters[n:]) if n < len(texts) else None

    def make() -> dict[str, Array]:
        if config.encoder is None:
            upper = LabelTree(tree.parents[:-1])
            trained = match.train_linear(corpus.features[:n], clusters[:n], upper, config.svm)
            return trained.to_arrays("matcher")
        train_set = MatcherTexts(texts.texts[:n], clusters[:n])
        with run.with_cache() as cached:
            matcher, vectors = match.train_neural(train_set, held_out, config, cached, key)
            arrays = {}
            if vectors is not None:  # before the encoder is finished: exact, also with int8
                more = matcher.encoder.eval().encode(texts.texts[n : corpus.n_train])
                arrays["vectors"] = np.concatenate([vectors, more])
            matcher.encoder.finish()
            return {**matcher.to_arrays("matcher"), **arrays}

    made = run.stage("matcher-and-vectors" if config.stores_vectors else "matcher", key, make)
    parts = Parts({}, texts.labels, texts.trained_on(), made)
    matcher = _saved_matcher(parts, config, corpus.words, clusters.shape[1])
    figures = {}
    if run.folder is not None and held_out is not None:
        vectors = matcher.read(held_out.texts)
        matched = matcher.match(corpus.features[n:], vectors, match.METRIC_DEPTH, None)
        figures = match.cluster_metrics(matched, held_out.clusters)
    _log(run, "matcher", figures=figures)
    return matcher, made.get("vectors")


def _log(run: Run, stage: str, **more: Any) -> None:
    """A finished stage, in the run's log."""
    if run.folder is not None:
        Log(run.folder).write(stage=stage, **more)


def _ranker_features(words: Csr, vectors: Floats | None, config: Config) -> Csr:
    """What the ranker reads."""
    if vectors is None or config.vector_weight is None:
        return words
    return concat(words, vectors, config.published.unit_length, config.vector_weight)


def _key(texts: Dataset, config: Config, names: Sequence[str], **more: int) -> str:
    """The fingerprint of all that a stage depends on; other settings may change between runs."""
    values = settings.to_dict(config)
    known: dict[str, Any] = {name: values[name] for name in names} | more
    encoders = [] if isinstance(config.index, PifaIndex) else [config.index.encoder.name]
    if "encoder" in names:
        known |= {name: values["published"][name] for name in MATCHER_PUBLISHED}
        if isinstance(config.encoder, Pretrained):
            encoders.append(config.encoder.name)
    if encoders:  # another encoder may lie in the same folder by now
        known["fingerprints"] = [fingerprint(name) for name in encoders]
    return training_key(known, texts)


def _saved_matcher(parts: Parts, config: Config, words: Tfidf, clusters: int) -> Matcher:
    if config.encoder is None:
        return match.read_linear_matcher(parts, "matcher", words.feature_count, clusters)
    require_neural(KIND)
    loss = config.published.loss
    return match.read_neural_matcher(parts, "matcher", clusters, config.encoder, loss)
