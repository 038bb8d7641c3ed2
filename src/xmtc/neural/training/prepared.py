"""Prepared: an encoder and its tokenised texts, ready for fine-tuning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xmtc.core.arrays import Array, Csr
from xmtc.core.run import Run
from xmtc.neural.batches.tokens import Tokens, tokenised
from xmtc.neural.devices import device
from xmtc.neural.encoders.frozen import Source, digest_of, source_of
from xmtc.neural.encoders.make import make_encoder
from xmtc.neural.encoders.text_encoder import TextEncoder
from xmtc.neural.encoders.vectors import text_vectors
from xmtc.neural.heads.dense_scorer import Standard
from xmtc.neural.settings import Encoder, TrainingConfig
from xmtc.neural.training.guided_loss import GuidedTask
from xmtc.neural.training.head_warmup import warm_up_head
from xmtc.neural.training.loop import fit
from xmtc.neural.training.task import LabelTask, Net


@dataclass(frozen=True)
class Prepared:
    """An encoder and its texts."""

    encoder: TextEncoder
    tokens: Tokens
    source: Source  # batches of the tokens, as the part of the encoder that learns reads them
    vectors: Array | None  # (texts, dim) of the untaught encoder, where somebody wants them
    standard: Standard | None  # what output layers' vectors are brought to
    training: TrainingConfig
    run: Run
    key: str  # of settings and data: an unfinished training with this key goes on

    def task(
        self, head: Any, relevant: Csr, dropout: float, measure: Callable[[], dict[str, float]]
    ) -> LabelTask:
        """Encoder and output layer, to be taught together."""
        net = Net(self.source.encoder, head, dropout, self.standard).to(device())
        return LabelTask(net, self.source, relevant, self.training, measure)

    def second(self, encoder: TextEncoder) -> Prepared:
        """The same texts for a second training: read by an encoder that was taught already."""
        same = encoder is self.encoder
        precision = self.training.precision
        source = self.source if same else source_of(encoder, self.tokens, self.run.cache, precision)
        key = f"{self.key}-second-{digest_of(encoder)[:16]}"  # a cache may outlive this training
        vectors = None if self.vectors is None else text_vectors(source, self.run.cache)
        return replace(self, encoder=encoder, source=source, vectors=vectors, key=key)


def prepare(
    texts: Sequence[str],
    encoder_config: Encoder,
    training: TrainingConfig,
    run: Run,
    key: str,
    standardise: bool = False,
    pooler: bool = False,
) -> Prepared:
    """Make the encoder and read the texts with what of it is frozen.

    pooler: keep the encoder's own, although its vector is made without it.
    """
    encoder = make_encoder(texts, encoder_config, pooler)
    key = f"{key[:16]}-{digest_of(encoder)[:16]}"  # with another encoder it is another training
    tokens = tokenised(texts, encoder.tokenizer, encoder.cut, run.cache)
    source = source_of(encoder, tokens, run.cache, training.precision)
    wanted = (standardise or training.head.warmup_epochs > 0) and len(texts) > 0
    vectors = text_vectors(source, run.cache) if wanted else None
    standard = Standard.of(vectors) if standardise and vectors is not None else None
    return Prepared(encoder, tokens, source, vectors, standard, training, run, key)


def fine_tune(lesson: Prepared, task: LabelTask | GuidedTask) -> None:
    """The output layer alone first, then everything, each as long as the settings say."""
    training = lesson.training
    if lesson.vectors is not None and training.head.warmup_epochs:
        warm_up_head(task, lesson.vectors, lesson.key, lesson.run)
    fit(task, training, lesson.key, lesson.run)
