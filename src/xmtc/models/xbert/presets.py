"""Settings of xbert as published: X-BERT and X-ttention (2019), X-Transformer (2020)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from xmtc.linear.svm import SvmConfig
from xmtc.models.xbert import match
from xmtc.models.xbert.index import IndexConfig, LabelVectors
from xmtc.models.xbert.model import Config
from xmtc.neural.settings import (
    Encoder,
    HeadConfig,
    OptimizerConfig,
    Pooling,
    Pretrained,
    PublishedTraining,
    ScheduleConfig,
    TrainingConfig,
    XttentionEncoder,
)
from xmtc.text.tfidf import PublishedTfidf, TfidfConfig

# The bundled encoder, with what each paper's ranker reads and how it scores.
X_BERT = Config(features="words", negatives="tfn", trust=1.0)
X_TRANSFORMER = Config(features="joined", unit_rows=True, negatives="both", score="label")

# As published. Texts are words without sublinear counts, the ranker reads those alone, and label
# texts are read by BERT instead of ELMo, three layers side by side.
_WORDS = TfidfConfig(published=PublishedTfidf(sublinear_tf=False))
_PIFA = IndexConfig("pifa", terms=None, stop="change")
_SAID = IndexConfig(
    "text",
    stop="change",
    centres="mean",
    encoder=Pretrained("bert-base-uncased", max_tokens=64, pooled_layers=3),
)


def _published(encoder: Encoder, training: TrainingConfig, **others: Any) -> Config:
    """X-BERT of 2019, with the label texts' clusters."""
    values: dict[str, Any] = {
        "index": _SAID,
        "text": _WORDS,
        "text_terms": None,
        "features": "words",
        "svm": SvmConfig(prune=0.1, tolerance=0.1, max_iterations=100),
        "negatives": "tfn",
        "start_at_frequency": False,
        "standardise": False,
        "weights": "float32",
        "trust": 1.0,
        "unit_rows": True,
        **others,
    }
    return Config(encoder=encoder, training=training, **values)


def _bert(
    epochs: int, validate_every: int, batch: int = 32, rate: float = 5e-5, warmup: float = 0.1
) -> Config:
    encoder = Pretrained(
        "bert-base-uncased",
        max_tokens=512,
        pooling="pooler",
        trainable_layers=None,
        dropout=None,
    )
    training = TrainingConfig(
        epochs=epochs,
        batch_size=batch,
        batch_tokens=batch * 512,
        optimizer=OptimizerConfig(rate, rate),
        schedule=ScheduleConfig(warmup=warmup),
        head=HeadConfig(0),
        validation=0.1,
        published=PublishedTraining(validate_every=validate_every),
        metric=match.MEAN,
        patience=epochs,
        seed=42,
    )
    return _published(encoder, training)


EURLEX_4K = _bert(20, 400)
WIKI10_31K = _bert(15, 150)
AMAZONCAT_13K = _bert(5, 10_000, batch=36)
WIKI_500K = _bert(12, 15_000, batch=36, rate=8e-5, warmup=0.2)


def six(config: Config) -> tuple[Config, ...]:
    """X-BERT's ensemble: label texts and PIFA, three seeds of clusters each."""
    kinds = [replace(clusters, seed=seed) for clusters in (_SAID, _PIFA) for seed in range(3)]
    return tuple(replace(config, index=clusters) for clusters in kinds)


EURLEX_4K_SIX = six(EURLEX_4K)
WIKI10_31K_SIX = six(WIKI10_31K)
AMAZONCAT_13K_SIX = six(AMAZONCAT_13K)
WIKI_500K_SIX = six(WIKI_500K)


def _xttention(epochs: int, batch: int, validate_every: int) -> Config:
    encoder = XttentionEncoder(80_003, 512, max_tokens=301, dropout=0.0)
    training = TrainingConfig(
        epochs=epochs,
        batch_size=batch,
        batch_tokens=batch * 301,
        optimizer=OptimizerConfig(1e-4, 1e-4, weight_decay=0.0),
        schedule=ScheduleConfig("plateau", warmup=0.0),
        head=HeadConfig(0),
        validation=0.1,
        published=PublishedTraining(validate_every=validate_every),
        metric=match.MEAN,
        patience=epochs,
        seed=42,
    )
    return _published(encoder, training, dropout=0.0)


EURLEX_4K_XTTENTION = _xttention(12, 128, 50)
WIKI10_31K_XTTENTION = _xttention(20, 128, 40)
AMAZONCAT_13K_XTTENTION = _xttention(6, 256, 1_300)
WIKI_500K_XTTENTION = _xttention(9, 256, 1_500)


_KINDS: tuple[LabelVectors, ...] = ("pifa", "pifa_neural", "text")
_LARGE: dict[str, Pooling] = {
    "bert-large-cased-whole-word-masking": "pooler",
    "roberta-large": "pooler",
    "xlnet-large-cased": "cls",
}


def _x_transformer(epochs: int, warmup: float, rate: float = 5e-5) -> tuple[Config, ...]:
    """X-Transformer of 2020: three encoders times three kinds of label vectors.

    epochs: of batches of 256, as near as can be to the published number of steps.
    """
    training = TrainingConfig(
        epochs=epochs,
        batch_size=128,
        batch_tokens=128 * 128,
        optimizer=OptimizerConfig(rate, rate, weight_decay=0.0),
        schedule=ScheduleConfig(warmup=warmup),
        head=HeadConfig(0),
        published=PublishedTraining(accumulate=2),
    )
    reader = Pretrained("roberta-large", max_tokens=64)
    svm = SvmConfig(prune=0.01, tolerance=0.1, max_iterations=100)
    nine = []
    for name, vector in _LARGE.items():
        encoder = Pretrained(
            name, max_tokens=128, pooling=vector, trainable_layers=None, dropout=None
        )
        for kind in _KINDS:
            clusters = IndexConfig(kind, terms=None, encoder=reader)
            nine.append(
                _published(
                    encoder,
                    training,
                    index=clusters,
                    features="joined",
                    svm=svm,
                    negatives="both",
                    score="label",
                )
            )
    return tuple(nine)


EURLEX_4K_NINE = _x_transformer(17, 0.1)
WIKI10_31K_NINE = _x_transformer(25, 0.07)
AMAZONCAT_13K_NINE = _x_transformer(4, 0.1, 8e-5)
WIKI_500K_NINE = _x_transformer(12, 0.0125, 6e-5)
