"""xr_transformer: an encoder fine-tuned level by level, then linear classifiers over all features.

The encoder's vector of a text is concatenated with its TF-IDF row. A label tree with linear
classifiers ranks the labels, as in linear_tree; few labels have one classifier each and no tree.
With `training.epochs=0` the encoder is not fine-tuned and every text is read once.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Csr, Floats, Inputs, unit_rows
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.interfaces import model_repr
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts, from_untrusted
from xmtc.core.ranking import Ranking
from xmtc.core.run import NO_RUN, Run, training_key
from xmtc.labels.label_features import pifa
from xmtc.linear.explain import Evidence, of_path
from xmtc.linear.forest import Forest, flat_forest
from xmtc.linear.svm import refusing, train_one_vs_all
from xmtc.models import linear_tree
from xmtc.models.holdout import require_texts, split_validation, without_validation
from xmtc.models.xr_transformer.level_training import LabelledTexts, LevelTraining, level_tree
from xmtc.models.xr_transformer.xr_settings import Config, OneVsAllRanker, TreeRanker
from xmtc.neural.extra import require_neural
from xmtc.neural.settings import Pretrained
from xmtc.text import tfidf
from xmtc.text.concat import concat
from xmtc.text.tfidf import Tfidf
from xmtc.text.top_terms import top_terms

if TYPE_CHECKING:
    from xmtc.neural.devices import Rng
    from xmtc.neural.encoders.text_encoder import TextEncoder

__all__ = ["Config", "OneVsAllRanker", "TreeRanker", "XRTransformer", "train"]

KIND = "xr_transformer"
ENCODER = "(the encoder)"  # the name of all vector columns in explanations


@dataclass(frozen=True, repr=False)
class XRTransformer:
    """A vocabulary, an encoder, and linear classifiers over the features of both."""

    config: Config
    words: Tfidf
    encoder: TextEncoder
    forests: tuple[Forest, ...]
    labels: LabelSpace
    trained_on: TrainedOn
    kind: str = KIND

    __repr__ = model_repr

    def encode(self, inputs: Inputs) -> Csr:
        """(texts, words + dim) what the classifiers read."""
        require_texts(inputs, KIND)
        words = top_terms(self.words.encode(inputs), self.config.any_ranker.max_terms)
        return _with_vectors(words, self.encoder.encode(inputs), self.config)

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels, by a beam search in each tree."""
        ranker = _tree_settings(self.config, len(self.labels))
        return linear_tree.ranked(self.forests, self.encode(inputs), k, ranker, allowed)

    def explain(self, text: str, label: int) -> list[Evidence]:
        """Evidence for and against a label: words, and the whole vector as one."""

        def name(column: int) -> str:
            return self.words.term(column) if column < self.words.feature_count else ENCODER

        path = []
        for evidence in of_path(self.forests[0], self.encode([text]), label, name):
            words = [term for term in evidence.terms if term[0] != ENCODER]
            rest = sum(weight for name, weight in evidence.terms if name == ENCODER)
            terms = sorted([*words, (ENCODER, rest)], key=lambda term: -abs(term[1]))
            path.append(Evidence(evidence.bias, tuple(terms)))
        return path

    def to_parts(self) -> Parts:
        """Everything needed to make this model again, the encoder and its tokenizer included."""
        from xmtc.neural.encoders.serialize import encoder_arrays

        arrays = self.words.to_arrays("words") | encoder_arrays(self.encoder, "encoder")
        arrays |= linear_tree.arrays_of(self.forests)
        return Parts(settings.to_dict(self.config), self.labels, self.trained_on, arrays)

    @staticmethod
    def from_parts(parts: Parts) -> XRTransformer:
        """The model as it was saved, checked."""
        require_neural(KIND)
        from xmtc.neural.encoders.serialize import encoder_from

        config = parts.config(Config)
        text = config.any_ranker.text
        words = from_untrusted(lambda: Tfidf.from_parts(parts, "words", text))
        encoder = encoder_from(parts, "encoder", config.encoder)
        width = words.feature_count + encoder.dim
        ranker = _tree_settings(config, len(parts.labels))
        forests = from_untrusted(lambda: linear_tree.forests_from(parts, ranker, width))
        return XRTransformer(config, words, encoder, forests, parts.labels, parts.trained_on)


def train(
    dataset: Dataset, config: Config, run: Run = NO_RUN, encoded: tuple[Tfidf, Csr] | None = None
) -> XRTransformer:
    """Fine-tune the encoder, unless training.epochs=0; then train the ranker over all features.

    encoded: what `tfidf.learn` returns for these texts and settings, where it is there already.
    """
    require_neural(KIND)
    require_texts(dataset.inputs, KIND)
    from xmtc.neural.devices import Rng
    from xmtc.neural.training.prepared import prepare

    rng = Rng(config.training.seed)
    with run.with_cache() as cached:
        if not config.training.epochs or not len(dataset):
            dataset = without_validation(dataset, "training.epochs=0")
            return of_vectors(dataset, *read(dataset, config, cached.cache, rng), config, encoded)
        train_set, held_out = split_validation(dataset, config.training)
        if encoded is None or train_set is not dataset:
            encoded = tfidf.learn(train_set.texts, config.any_ranker.text)
        words, features = encoded
        features = top_terms(features, config.any_ranker.max_terms)
        max_terms = config.tree_ranker.published.vector_max_terms
        label_vectors: Csr | None = pifa(features, train_set.relevant, True, max_terms)
        texts = LabelledTexts(train_set.texts, features, train_set.relevant)
        validation = None
        if held_out is not None:
            rows = top_terms(words.encode(held_out.texts), config.any_ranker.max_terms)
            validation = LabelledTexts(held_out.texts, rows, held_out.relevant)
        how = (config.encoder, config.training, cached, _key(train_set, config), rng)
        prepared = prepare(texts.texts, *how, corpus=train_set.fingerprint, standardize=True)
        tree = level_tree(label_vectors, config)
        vectors = LevelTraining(prepared, tree, texts, validation, config).fine_tune()
        encoded = (words, features)
        if held_out is not None and held_out is not dataset.validation:
            # The ranker is trained on these texts too, so the vocabulary is another one.
            vectors = np.concatenate([vectors, prepared.encoder.eval().encode(held_out.texts)])
            train_set = train_set.concat(held_out)
            encoded = label_vectors = None
        model = of_vectors(train_set, prepared.encoder, vectors, config, encoded, label_vectors)
    return replace(model, trained_on=dataset.trained_on())


def of_vectors(
    dataset: Dataset,
    encoder: TextEncoder,
    vectors: Floats,
    config: Config,
    encoded: tuple[Tfidf, Csr] | None = None,
    label_vectors: Csr | None = None,
) -> XRTransformer:
    """The model of a finished encoder and its (texts, dim) vectors of the texts.

    encoded: as for `train`. label_vectors: weighted PIFA of the words, where it is there already.
    """
    ranker = config.ranker_for(len(dataset.labels))
    words, features = encoded or tfidf.learn(dataset.texts, ranker.text)
    features = top_terms(features, ranker.max_terms)
    encoder.finish()
    rows = _with_vectors(features, vectors, config)
    trained_on = dataset.trained_on()
    if isinstance(ranker, OneVsAllRanker):
        weights, biases = train_one_vs_all(rows, dataset.relevant, ranker.svm, ranker.seed)
        biases = refusing(biases, trained_on.label_counts)
        forests: tuple[Forest, ...] = (flat_forest(weights, biases, ranker.weight_type),)
    else:
        weighted = ranker.published.vectors == "pifa_weighted" and not ranker.parents
        if label_vectors is None or not weighted:
            label_vectors = linear_tree.label_vectors(dataset, features, words, ranker)
        if ranker.published.vectors in ("pifa", "pifa_weighted") and not ranker.parents:
            # The encoder's part is added after the words are cut to the heaviest ones, which would
            # leave no room for it.
            shares = unit_rows(dataset.relevant) if weighted else dataset.relevant
            label_vectors = _with_vectors(label_vectors, shares.T @ vectors, config)
        trees = linear_tree.trees_of(dataset, label_vectors, ranker)
        forests = linear_tree.train_forests(rows, dataset, trees, ranker)
    return XRTransformer(config, words, encoder, forests, dataset.labels, trained_on)


def is_flat(config: Config, labels: int) -> bool:
    """Whether this many labels have one classifier each and no tree."""
    return isinstance(config.ranker_for(labels), OneVsAllRanker)


def read(
    dataset: Dataset, config: Config, cache: Path, rng: Rng, fine_tuned_later: bool = False
) -> tuple[TextEncoder, Floats]:
    """The encoder as it is, and its vectors of the texts.

    fine_tuned_later: the states of frozen layers are cached too, which takes room there.
    """
    from xmtc.neural.batches.tokens import cached_tokens
    from xmtc.neural.encoders.frozen import TokenSource, source_of
    from xmtc.neural.encoders.make import make_encoder
    from xmtc.neural.encoders.vectors import text_vectors

    if not isinstance(config.encoder, Pretrained):
        logging.getLogger("xmtc").warning(
            "the encoder %r is random before training: with training.epochs=0 its vectors are "
            "noise. Use a pretrained one, see `xmtc encoders`.",
            config.encoder.TYPE,
        )
    encoder = make_encoder(dataset.texts, config.encoder, rng=rng)
    corpus = dataset.fingerprint
    tokens = cached_tokens(dataset.texts, encoder.tokenizer, encoder.cut, cache, corpus)
    precision = config.training.precision
    if fine_tuned_later:
        return encoder, text_vectors(source_of(encoder, tokens, cache, precision), cache)
    return encoder, text_vectors(TokenSource(encoder, tokens, precision), cache)


def _key(dataset: Dataset, config: Config) -> str:
    """The fingerprint of all that a fine-tuned encoder depends on: another ranker can reuse it."""
    values: dict[str, Any] = {
        name: settings.to_dict(getattr(config, name)) for name in ("encoder", "training", "levels")
    }
    values["text"] = settings.to_dict(config.any_ranker.text)
    values["svm"] = settings.to_dict(config.tree_ranker.svm)
    values["others"] = (
        config.encoder.TYPE,
        config.dropout,
        config.vector_weight,
        config.any_ranker.max_terms,
        config.any_ranker.seed,
        config.tree_ranker.published.vector_max_terms,
    )
    return training_key(values, dataset)


def _tree_settings(config: Config, labels: int) -> TreeRanker:
    """How labels are ranked, with or without a tree."""
    ranker = config.ranker_for(labels)
    return ranker.as_tree() if isinstance(ranker, OneVsAllRanker) else ranker


def _with_vectors(words: Csr, vectors: Floats, config: Config) -> Csr:
    return concat(words, vectors, whole=False, weight=config.vector_weight)
