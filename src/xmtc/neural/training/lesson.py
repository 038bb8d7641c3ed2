"""Lesson: texts as an encoder reads them while it is taught. All that a training needs besides the
output layer and the labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xmtc.core.arrays import Array, Csr
from xmtc.neural.batches.tokens import Tokens, tokenised
from xmtc.neural.encoders.attention import use_fastest
from xmtc.neural.encoders.encoder import TextEncoder, make_encoder
from xmtc.neural.encoders.frozen import Source, source_of
from xmtc.neural.heads.scorer import Standard
from xmtc.neural.settings import EncoderConfig, TrainingConfig
from xmtc.neural.training.head_first import teach_head, vectors_of
from xmtc.neural.training.loop import fit
from xmtc.neural.training.task import LabelTask, Net


@dataclass(frozen=True)
class Lesson:
    """An encoder and its texts."""

    encoder: TextEncoder
    tokens: Tokens
    source: Source  # batches of the tokens, as the part of the encoder that learns reads them
    vectors: Array | None  # (texts, dim) of the untaught encoder, where somebody wants them
    standard: Standard | None  # what output layers' vectors are brought to
    training: TrainingConfig
    cache: Path
    key: str  # of settings and data: an unfinished training with this key goes on

    def task(
        self, head: Any, relevant: Csr, dropout: float, measure: Callable[[], dict[str, float]]
    ) -> LabelTask:
        """Encoder and output layer, to be taught together."""
        net = Net(self.source.encoder, head, dropout, self.standard)
        task = LabelTask(net, self.source, relevant, self.training, measure)
        use_fastest(self.encoder, self.source, task.batches(0), self.cache)
        return task

    def read_by(self, encoder: TextEncoder) -> Lesson:
        """The same texts, read by another encoder with the same tokens."""
        return replace(self, encoder=encoder, source=source_of(encoder, self.tokens, self.cache))


def prepared(
    texts: Sequence[str], encoder_config: EncoderConfig, training: TrainingConfig, cache: Path,
    key: str, standardise: bool = False,
) -> Lesson:  # fmt: skip
    """Make the encoder and read the texts with what of it is frozen."""
    encoder = make_encoder(texts, encoder_config)
    tokens = tokenised(texts, encoder.tokenizer, encoder.cut, cache)
    source = source_of(encoder, tokens, cache)
    wanted = (standardise or training.head_epochs > 0) and len(texts) > 0
    vectors = vectors_of(source, cache, key) if wanted else None
    standard = Standard.of(vectors) if standardise and vectors is not None else None
    return Lesson(encoder, tokens, source, vectors, standard, training, cache, key)


def teach(lesson: Lesson, task: LabelTask) -> None:
    """The output layer alone first, where the settings say so, then everything."""
    if lesson.vectors is not None and lesson.training.head_epochs:
        teach_head(task, lesson.vectors, lesson.key)
    fit(task, lesson.training, lesson.key)
