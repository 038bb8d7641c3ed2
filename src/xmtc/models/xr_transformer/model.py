"""xr_transformer: an encoder learns the label tree level by level, then a linear tree reads it all.

What the encoder makes of a text is laid beside the text's words, and linear_tree's classifiers
weigh both; where labels are few, one classifier for each of them does, without a tree. With
`training.epochs=0` the encoder stays as it is and every text is read once.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xmtc.core import config as settings
from xmtc.core.arrays import Allowed, Csr, Floats, Inputs, unit_rows
from xmtc.core.dataset import Dataset, TrainedOn
from xmtc.core.errors import require
from xmtc.core.labels import LabelSpace
from xmtc.core.parts import Parts, from_untrusted
from xmtc.core.ranking import Ranking
from xmtc.core.run import NO_RUN, Run, training_key
from xmtc.labels.trees import TreeConfig
from xmtc.linear.explain import Evidence, of_path
from xmtc.linear.forest import Forest, flat_forest
from xmtc.linear.svm import SvmConfig, refusing, train_one_vs_all
from xmtc.models import linear_tree
from xmtc.models.holdout import require_texts, split_validation, without_validation
from xmtc.models.xr_transformer.level_training import Course, beside, words_of
from xmtc.neural.extra import require_neural
from xmtc.neural.settings import (
    Encoder,
    HeadConfig,
    OptimizerConfig,
    Pretrained,
    ScheduleConfig,
    TrainingConfig,
)
from xmtc.text.tfidf import Tfidf
from xmtc.text.top_terms import top_terms

if TYPE_CHECKING:
    from xmtc.neural.devices import Rng
    from xmtc.neural.encoders.text_encoder import TextEncoder

KIND = "xr_transformer"
FLAT = ("flat_up_to", "flat_svm")  # settings that the encoder does not depend on
# Settings of `linear` that matter without a tree too, besides the encoder's own lessons.
USED_FLAT = frozenset({"text", "max_terms", "weight_type", "parents", "seed"})
ENCODER = "(the encoder)"  # what explanations call all that does not come from words


@dataclass(frozen=True)
class Config:
    """Words and an encoder in one linear tree; with training.epochs=0 the quickest use of it."""

    encoder: Encoder = field(default_factory=Pretrained)
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(head=HeadConfig(warmup_epochs=0))
    )
    dropout: float = 0.1  # share of the text vector that is hidden in each training step
    levels: TreeConfig = field(default_factory=TreeConfig)  # the tree that the encoder learns
    shares: tuple[float, ...] = (3.0, 4.0, 6.0)  # of the epochs, by level; further: like the last
    most_nodes: int = 32_768  # of a level that the encoder learns; finer ones are left out
    training_beam: int = 5  # nodes of the level above whose children a text is taught
    vector_weight: float = 0.7  # what the encoder's vector counts beside the words, which count 1
    linear: linear_tree.Config = field(default_factory=linear_tree.Config)  # what ranks labels
    flat_up_to: int = 5_000  # labels: so few are ranked by a classifier each, without a tree
    flat_svm: SvmConfig = field(default_factory=SvmConfig)  # of these classifiers

    def __post_init__(self) -> None:
        require(0 <= self.dropout < 1, "dropout", self.dropout, "must lie between 0 and 1")
        require(
            self.levels.method == "balanced",
            "levels.method",
            self.levels.method,
            "the encoder learns balanced trees only; linear.tree may be any",
        )
        require(
            bool(self.shares) and min(self.shares) >= 0 and sum(self.shares) > 0,
            "shares",
            self.shares,
            "give one number for each level, none below 0, not all 0",
        )
        require(self.most_nodes >= 1, "most_nodes", self.most_nodes, "must be at least 1")
        require(self.training_beam >= 1, "training_beam", self.training_beam, "must be at least 1")
        require(self.flat_up_to >= 0, "flat_up_to", self.flat_up_to, "must be 0 or more")
        require(
            0 < self.vector_weight <= 1000,
            "vector_weight",
            self.vector_weight,
            "must be above 0, at most 1000; without an encoder, train linear_tree",
        )
        require(
            self.training.head.warmup_epochs == 0,
            "training.head.warmup_epochs",
            self.training.head.warmup_epochs,
            "must be 0: output layers begin as linear classifiers here",
        )
        require(
            self.training.averaging is None,
            "training.averaging",
            self.training.averaging,
            "does not work here, where each level has epochs of its own; set averaging=none",
        )
        require(
            not self.training.published.shard_labels,
            "training.published.shard_labels",
            True,
            "output layers are small here and are not shared out",
        )


def _published(
    epochs: int,
    shares: tuple[float, ...],
    *,
    tokens: int = 128,
    rate: float = 5e-5,
    warmup: float,
    arity: int = 16,
    max_leaf: int = 16,
    beam: int = 5,
    refined: TreeConfig,
    costs: tuple[float, float],
    relevance: Any = "induced",
    ranked: int = 75,
    **svm: Any,
) -> Config:
    encoder = Pretrained(
        "bert-base-uncased",
        max_tokens=tokens,
        pooling="pooler",
        trainable_layers=None,
        dropout=None,
    )
    training = TrainingConfig(
        epochs=epochs,
        batch_size=256,
        batch_tokens=256 * tokens,
        optimizer=OptimizerConfig(rate, rate, weight_decay=0.0),
        schedule=ScheduleConfig(warmup=warmup),
        head=HeadConfig(0),
    )
    positive, negative = costs
    linear = linear_tree.Config(
        max_terms=None,
        tree=refined,
        svm=SvmConfig(
            cost=negative,
            positive_cost=positive / negative,
            max_iterations=100,
            **{"tolerance": 0.1, "prune": 1e-3, **svm},
        ),
        path_exponent=1.0,
        beam=ranked,
        published=linear_tree.PublishedLinearTree(
            vectors="pifa_weighted", vector_max_terms=None, relevance=relevance
        ),
    )
    return Config(
        encoder,
        training,
        levels=TreeConfig(arity=arity, max_leaf=max_leaf),
        shares=shares,
        training_beam=beam,
        vector_weight=1.0,
        linear=linear,
        flat_up_to=0,
    )


# Published steps are of 256 texts; here they are epochs, rounded. Levels that the authors leave out
# at the top have a share of 0. Their costs of the upper ranker levels are those of the last here.
_WIDE = TreeConfig(arity=32, max_leaf=100)
EURLEX_4K = _published(43, (600, 800, 1200), warmup=0.1, refined=TreeConfig(arity=8), costs=(2, 4))
WIKI10_31K = _published(
    43,
    (0, 1000, 1000, 400),
    tokens=256,
    warmup=0.1,
    beam=20,
    refined=TreeConfig(arity=16),
    costs=(4, 1),
    ranked=100,
)
AMAZONCAT_13K = _published(
    10,
    (0, 0, 5, 10, 30),
    tokens=256,
    warmup=0.07,
    arity=8,
    beam=50,
    refined=TreeConfig(arity=8),
    costs=(0.25, 0.5),
    ranked=100,
    tolerance=0.01,
    prune=1e-4,
)
WIKI_500K = _published(
    9, (0, 10, 10, 20, 20), rate=1e-4, warmup=0.3, arity=8, refined=_WIDE, costs=(4, 1), ranked=50
)
AMAZON_670K = _published(
    10,
    (0, 4, 4, 12),
    rate=1e-4,
    warmup=0.03,
    max_leaf=32,
    refined=_WIDE,
    costs=(1, 1),
    relevance="equal",
)
AMAZON_3M = _published(
    5,
    (0, 10, 10, 10),
    rate=1e-4,
    warmup=0.1,
    max_leaf=100,
    beam=20,
    refined=_WIDE,
    costs=(8, 1),
    ranked=50,
)


@dataclass(frozen=True, repr=False)
class XRTransformer:
    """A vocabulary, an encoder, and trees of linear classifiers that read both."""

    config: Config
    words: Tfidf
    encoder: TextEncoder
    forests: tuple[Forest, ...]
    labels: LabelSpace
    trained_on: TrainedOn
    kind: str = KIND

    def __repr__(self) -> str:
        return f"{self.kind}({len(self.labels):,} labels, {self.trained_on.texts:,} texts)"

    def encode(self, inputs: Inputs) -> Csr:
        """(texts, words + dim) what the trees read."""
        require_texts(inputs, KIND)
        words = top_terms(self.words.encode(inputs), self.config.linear.max_terms)
        return beside(words, self.encoder.encode(inputs), self.config)

    def rank(self, inputs: Inputs, k: int, allowed: Allowed = None) -> Ranking:
        """The k best labels found by walking down each tree."""
        how = _ranker(self.config, len(self.labels))
        return linear_tree.ranked(self.forests, self.encode(inputs), k, how, allowed)

    def explain(self, text: str, label: int) -> list[Evidence]:
        """What spoke for and against a label: words, and all that the encoder saw as one."""
        known = self.words.feature_count

        def name(column: int) -> str:
            return self.words.term(column) if column < known else ENCODER

        path = of_path(self.forests[0], self.encode([text]), label, name)
        return [_encoder_as_one(evidence) for evidence in path]

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

        config = parts.config(Config, flat_up_to=0)  # as those were saved that had no choice
        words = from_untrusted(lambda: Tfidf.from_parts(parts, "words", config.linear.text))
        encoder = encoder_from(parts, "encoder", config.encoder)
        width = words.feature_count + encoder.dim
        how = _ranker(config, len(parts.labels))
        forests = from_untrusted(lambda: linear_tree.forests_from(parts, how, width))
        return XRTransformer(config, words, encoder, forests, parts.labels, parts.trained_on)


def train(dataset: Dataset, config: Config, run: Run = NO_RUN) -> XRTransformer:
    """Teach the encoder, if it is to be taught; then learn linear trees on words and vectors."""
    require_neural(KIND)
    require_texts(dataset.inputs, KIND)
    from xmtc.neural.devices import Rng

    rng = Rng(config.training.seed)
    with run.with_cache() as cached:
        if not config.training.epochs or not len(dataset):
            dataset = without_validation(dataset, "training.epochs=0")
            return of_vectors(dataset, *read(dataset, config, cached.cache, rng), config)
        taught, held_out = split_validation(dataset, config.training)
        encoder, vectors = _taught_encoder(taught, held_out, config, cached, rng)
        if held_out is not None and held_out is not dataset.validation:
            # From here on they are texts like others.
            vectors = np.concatenate([vectors, encoder.eval().encode(held_out.texts)])
            taught = taught.concat(held_out)
        model = of_vectors(taught, encoder, vectors, config)
    return replace(model, trained_on=dataset.trained_on())


def of_vectors(
    dataset: Dataset, encoder: TextEncoder, vectors: Floats, config: Config
) -> XRTransformer:
    """The model of an encoder that is ready, and of what it made of the texts: (texts, dim)."""
    words, features = words_of(dataset, config)
    encoder.finish()
    rows = beside(features, vectors, config)
    _say_unused(config, len(dataset.labels))
    if is_flat(config, len(dataset.labels)):
        forests: tuple[Forest, ...] = (_flat(rows, dataset, config),)
    else:
        described = _label_vectors(dataset, words, features, vectors, config)
        trees = linear_tree.trees_of(dataset, described, config.linear)
        forests = linear_tree.train_forests(rows, dataset, trees, config.linear)
    return XRTransformer(config, words, encoder, forests, dataset.labels, dataset.trained_on())


def is_flat(config: Config, labels: int) -> bool:
    """Whether each label has a classifier over all texts; a tree that is given is used."""
    return 0 < labels <= config.flat_up_to and not config.linear.parents


def _flat(rows: Csr, dataset: Dataset, config: Config) -> Forest:
    weights, biases = train_one_vs_all(rows, dataset.relevant, config.flat_svm, config.linear.seed)
    refused = refusing(biases, dataset.trained_on().label_counts)
    return flat_forest(weights, refused, config.linear.weight_type)


def _say_unused(config: Config, labels: int) -> None:
    """A setting that does nothing is never silent."""
    if is_flat(config, labels):
        usual = linear_tree.Config()
        how = replace(config.linear.published, vector_max_terms=64)  # the encoder's tree has it
        linear = replace(config.linear, published=how)
        read = set(USED_FLAT)
        read |= {"svm"} if config.training.epochs else set()  # by which the encoder is taught
        unused = [
            f"linear.{each.name}"
            for each in fields(usual)
            if each.name not in read and getattr(linear, each.name) != getattr(usual, each.name)
        ]
        instead = f"flat_up_to={config.flat_up_to} ranks {labels} labels without a tree; set it to "
        instead += "0 for trees, or set flat_svm"
    else:
        unused = ["flat_svm"] if config.flat_svm != SvmConfig() else []
        instead = f"{labels} labels are ranked by a tree; set linear.svm, or a higher flat_up_to"
    if unused:
        log = logging.getLogger("xmtc")
        log.warning("%s is not used for ranking: %s.", " and ".join(unused), instead)


def _ranker(config: Config, labels: int) -> linear_tree.Config:
    """How labels are ranked: without a tree by the label's own classifier alone."""
    if not is_flat(config, labels):
        return config.linear
    return replace(
        config.linear,
        trees=1,
        published=replace(config.linear.published, score="label", search="beam"),
    )


def read(
    dataset: Dataset, config: Config, cache: Path, rng: Rng, taught_later: bool = False
) -> tuple[TextEncoder, Floats]:
    """The encoder as it is, and what it makes of the texts.

    taught_later: what frozen layers make of them is kept in the cache too, which takes room there.
    """
    from xmtc.neural.batches.tokens import cached_tokens
    from xmtc.neural.encoders.frozen import TokenSource, source_of
    from xmtc.neural.encoders.make import make_encoder
    from xmtc.neural.encoders.vectors import text_vectors

    if not isinstance(config.encoder, Pretrained):
        logging.getLogger("xmtc").warning(
            "the encoder %r knows nothing before it is taught: with training.epochs=0 its vectors "
            "are chance. Take a pretrained one, see `xmtc encoders`.",
            config.encoder.TYPE,
        )
    encoder = make_encoder(dataset.texts, config.encoder, rng=rng)
    corpus = dataset.fingerprint
    tokens = cached_tokens(dataset.texts, encoder.tokenizer, encoder.cut, cache, corpus)
    how = (encoder, tokens, cache, config.training.precision)
    source = source_of(*how) if taught_later else TokenSource(encoder, tokens, how[-1])
    return encoder, text_vectors(source, cache)


def _taught_encoder(
    dataset: Dataset, held_out: Dataset | None, config: Config, run: Run, rng: Rng
) -> tuple[TextEncoder, Floats]:
    from xmtc.neural.training.prepared import prepare

    key = _key(dataset, config)
    lesson = prepare(
        dataset.texts,
        config.encoder,
        config.training,
        run,
        key,
        rng,
        corpus=dataset.fingerprint,
        standardize=True,
    )
    return lesson.encoder, Course(dataset, held_out, config, lesson).taught()


def _key(dataset: Dataset, config: Config) -> str:
    """Of all that a taught encoder depends on."""
    known = settings.to_dict(config)
    return training_key({name: known[name] for name in known if name not in FLAT}, dataset)


def _label_vectors(
    dataset: Dataset, words: Tfidf, features: Csr, vectors: Floats, config: Config
) -> Csr:
    """PIFA of words and vectors: the strongest words would leave no room for the encoder."""
    by_words = linear_tree.label_vectors(dataset, features, words, config.linear)
    if config.linear.parents or config.linear.published.vectors not in ("pifa", "pifa_weighted"):
        return by_words
    weighed = config.linear.published.vectors == "pifa_weighted"
    weights = unit_rows(dataset.relevant) if weighed else dataset.relevant
    return beside(by_words, weights.T @ vectors, config)


def _encoder_as_one(evidence: Evidence) -> Evidence:
    words = [term for term in evidence.terms if term[0] != ENCODER]
    rest = sum(weight for name, weight in evidence.terms if name == ENCODER)
    terms = sorted([*words, (ENCODER, rest)], key=lambda term: -abs(term[1]))
    return Evidence(evidence.bias, tuple(terms))
