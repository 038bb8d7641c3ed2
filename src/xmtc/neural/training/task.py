"""Tasks: a net with its training texts and its loss, ready for the training loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from xmtc.core.arrays import Csr, Longs, as_csr
from xmtc.neural.batches.grouping import shuffled_batches
from xmtc.neural.batches.token_layout import thinned
from xmtc.neural.devices import device
from xmtc.neural.distributed import Share, gathered_batch
from xmtc.neural.encoders.frozen import BatchSource
from xmtc.neural.heads.dense_scorer import Standard
from xmtc.neural.settings import FineTuning

RatedParts = Mapping[str, tuple[nn.Module, float]]  # name -> module and its learning rate


class Net(nn.Module):
    """An encoder, the standardization of its vectors, dropout, and an output layer."""

    def __init__(
        self, encoder: nn.Module, head: nn.Module, dropout: float, standard: Standard | None = None
    ) -> None:
        super().__init__()
        self.encoder: Any = encoder
        self.head: Any = head
        self.dropout = nn.Dropout(dropout)
        self.center = None if standard is None else torch.from_numpy(standard.center).to(device())
        self.spread = 1.0 if standard is None else standard.spread

    def standardized(self, vectors: Tensor) -> Tensor:
        """(texts, dim) as the output layer reads them."""
        return vectors if self.center is None else (vectors - self.center) / self.spread


def text_loss(task: LabelTask, share: Share) -> Tensor:
    """The output layer's loss on text vectors."""
    net = task.net
    vectors = net.dropout(net.standardized(net.encoder(task.batch(share.rows))))
    return head_loss(net.head, share, [vectors], task.relevant, task.config)


@dataclass(frozen=True)
class LabelTask:
    """Encoder and output layer, trained on texts and their labels."""

    net: Net
    source: BatchSource
    relevant: Csr  # (texts, labels)
    config: FineTuning
    measure: Callable[[], dict[str, float]]  # validation metrics; empty without validation texts
    loss_function: Callable[[LabelTask, Share], Tensor] = text_loss  # summed over the texts
    more_parts: RatedParts = field(default_factory=dict)
    details: dict[str, float] = field(default_factory=dict)  # of the last batch, for the log

    @property
    def parts(self) -> RatedParts:
        """Encoder and output layer; a layer inside them may have a learning rate of its own."""
        optimizer = self.config.optimizer
        return {
            "encoder": (self.net.encoder, optimizer.encoder_lr),
            **getattr(self.net.head, "own_rates", {}),
            "head": (self.net.head, optimizer.head_lr),
            **self.more_parts,
        }

    def batches(self, epoch: int) -> Sequence[Longs]:
        """Texts of similar length together, in an order of the epoch's own."""
        lengths = self.source.lengths * self.source.tokens.piece_counts
        config = self.config
        seed = [config.seed, epoch]
        return shuffled_batches(lengths, config.batch_size, config.batch_tokens, seed)

    def loss(self, share: Share) -> Tensor:
        """Summed over these texts."""
        return self.loss_function(self, share)

    def batch(self, rows: Longs) -> Any:
        """These texts as the encoder reads them in training."""
        return thinned(self.source.batch(rows), self.config.published.token_fraction)


def head_loss(
    head: Any, share: Share, vectors: Sequence[Tensor], relevant: Csr, config: FineTuning
) -> Tensor:
    """Of these texts; where label rows are sharded, of those that other processes read too."""
    rows = share.counted(share.rows)
    counted = [share.counted(each) for each in vectors]
    if config.published.shard_labels:
        rows, counted = gathered_batch(rows, counted)
    loss: Tensor = head.loss(counted[0], as_csr(relevant[rows]), *counted[1:])
    return loss
