"""LabelTask: texts and their labels, an encoder and an output layer, ready for the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from xmtc.core.arrays import Csr, Longs, as_csr
from xmtc.neural.batches.grouping import shuffled_batches
from xmtc.neural.batches.layout import thinned
from xmtc.neural.devices import device
from xmtc.neural.encoders.frozen import Source
from xmtc.neural.heads.dense_scorer import Standard
from xmtc.neural.label_shards import texts_of_all
from xmtc.neural.settings import TrainingConfig


class Net(nn.Module):
    """An encoder, its vectors brought to a standard, dropout, an output layer."""

    def __init__(
        self, encoder: nn.Module, head: nn.Module, dropout: float, standard: Standard | None = None
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.dropout = nn.Dropout(dropout)
        self.center = None if standard is None else torch.from_numpy(standard.center).to(device())
        self.spread = 1.0 if standard is None else standard.spread

    def standardised(self, vectors: Tensor) -> Tensor:
        """(texts, dim) as the output layer reads them."""
        return vectors if self.center is None else (vectors - self.center) / self.spread


@dataclass(frozen=True)
class LabelTask:
    """The head has `loss(vectors, relevant)`, summed over the texts."""

    net: Any
    source: Source
    relevant: Csr  # (texts, labels)
    config: TrainingConfig
    measure: Callable[[], dict[str, float]]
    chooser: Source | None = None  # a frozen encoder whose vectors choose the negatives

    @property
    def parts(self) -> Mapping[str, tuple[nn.Module, float]]:
        """The encoder learns slowly, the output layer fast; parts of it may have their own rate."""
        return {
            "encoder": (self.net.encoder, self.config.optimizer.encoder_lr),
            **getattr(self.net.head, "slower", {}),
            "head": (self.net.head, self.config.optimizer.head_lr),
        }

    def batches(self, epoch: int) -> Sequence[Longs]:
        """Texts of like length together, in an order of the epoch's own."""
        seed = [self.config.seed, epoch]
        lengths = self.source.lengths * self.source.tokens.piece_counts
        config = self.config
        return shuffled_batches(lengths, config.batch_size, config.batch_tokens, seed)

    def loss(self, rows: Longs) -> Tensor:
        """Summed over these texts."""
        others = () if self.chooser is None else (self._choosing_vectors(rows),)
        batch = thinned(self.source.batch(rows), self.config.published.token_fraction)
        vectors = [self.net.dropout(self.net.standardised(self.net.encoder(batch))), *others]
        return head_loss(self.net.head, rows, vectors, self.relevant, self.config)

    @torch.no_grad()
    def _choosing_vectors(self, rows: Longs) -> Tensor:
        assert self.chooser is not None
        vectors = self.chooser.encoder.eval()(self.chooser.batch(rows))
        chosen_by: Tensor = self.net.standardised(vectors)
        return chosen_by


def head_loss(
    head: Any, rows: Longs, vectors: Sequence[Tensor], relevant: Csr, config: TrainingConfig
) -> Tensor:
    """Of these texts; where label rows are shared out, of those that other processes read too."""
    if config.published.shard_labels:
        rows, vectors = texts_of_all(rows, *vectors)
    loss: Tensor = head.loss(vectors[0], as_csr(relevant[rows]), *vectors[1:])
    return loss
