"""Prepared: an encoder and its tokenized texts, ready for fine-tuning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xmtc.core.arrays import Array, Csr
from xmtc.core.run import Run
from xmtc.neural.batches.tokens import Tokens, cached_tokens
from xmtc.neural.devices import Rng, device
from xmtc.neural.encoders.frozen import BatchSource, digest_of, source_of
from xmtc.neural.encoders.make import make_encoder
from xmtc.neural.encoders.text_encoder import TextEncoder
from xmtc.neural.encoders.vectors import text_vectors
from xmtc.neural.heads.dense_scorer import Standard
from xmtc.neural.settings import EncoderConfig, FineTuning
from xmtc.neural.training.head_warmup import warm_up_head
from xmtc.neural.training.loop import fit
from xmtc.neural.training.task import LabelTask, Net


@dataclass(frozen=True)
class Prepared:
    """An encoder and the training texts as it reads them."""

    encoder: TextEncoder
    tokens: Tokens  # of the texts
    source: BatchSource  # their batches, as the trainable part of the encoder reads them
    vectors: Array | None  # (texts, dim) before fine-tuning; None: neither warm-up nor standard
    standard: Standard | None  # to which output layers' inputs are brought; None: read as they are
    training: FineTuning
    run: Run
    key: str  # fingerprint of settings and data: a checkpoint with this key is resumed
    rng: Rng

    def task(
        self, head: Any, relevant: Csr, dropout: float, measure: Callable[[], dict[str, float]]
    ) -> LabelTask:
        """Encoder and output layer, to be trained together."""
        net = Net(self.source.encoder, head, dropout, self.standard).to(device())
        return LabelTask(net, self.source, relevant, self.training, measure)

    def with_encoder(self, encoder: TextEncoder) -> Prepared:
        """The same texts for a second training, of an encoder that is already fine-tuned."""
        source = source_of(encoder, self.tokens, self.run.cache, self.training.precision)
        key = f"{self.key}-second-{digest_of(encoder)[:16]}"  # a cache may outlive this training
        vectors = None if self.vectors is None else text_vectors(source, self.run.cache)
        return replace(self, encoder=encoder, source=source, vectors=vectors, key=key)


def prepare(
    texts: Sequence[str],
    encoder_config: EncoderConfig,
    training: FineTuning,
    run: Run,
    key: str,
    rng: Rng,
    *,
    corpus: str | None = None,
    standardize: bool = False,
    pooler: bool = False,
) -> Prepared:
    """Make the encoder and read the texts with its frozen layers.

    corpus: fingerprint of the texts; without it they are hashed here.
    pooler: load the encoder's own, although its vector is made without it.
    """
    encoder = make_encoder(texts, encoder_config, pooler, rng)
    key = f"{key[:16]}-{digest_of(encoder)[:16]}"  # with another encoder it is another training
    tokens = cached_tokens(texts, encoder.tokenizer, encoder.cut, run.cache, corpus)
    source = source_of(encoder, tokens, run.cache, training.precision)
    vectors = None
    if (standardize or training.warmup_epochs > 0) and len(texts):
        vectors = text_vectors(source, run.cache)
    standard = Standard.of(vectors) if standardize and vectors is not None else None
    return Prepared(encoder, tokens, source, vectors, standard, training, run, key, rng)


def fine_tune(prepared: Prepared, task: LabelTask) -> None:
    """Warm up the output layer alone, then train everything, each as long as the settings say."""
    if prepared.vectors is not None and prepared.training.warmup_epochs:
        warm_up_head(task, prepared.vectors, prepared.key, prepared.run, prepared.rng)
    fit(task, prepared.training, prepared.key, prepared.run, prepared.rng)
