"""Head-only warm-up: the output layer is trained on cached vectors before the encoder is trained.

A new output layer sends random gradients into the encoder. After the warm-up it knows what can be
read from the vectors as they are, and the encoder learns what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xmtc.core.arrays import Array, Csr, Longs
from xmtc.core.run import Run
from xmtc.neural.batches.grouping import shuffled_batches
from xmtc.neural.devices import Rng, device
from xmtc.neural.distributed import Share
from xmtc.neural.settings import TrainingConfig
from xmtc.neural.training.loop import fit
from xmtc.neural.training.task import LabelTask, Net, RatedParts, head_loss

BATCH_FACTOR = 2  # batch size relative to fine-tuning
WARMUP_LR = 3e-3  # learning rate


@dataclass(frozen=True)
class HeadTask:
    """An output layer, trained on vectors that do not change."""

    net: Any  # the output layer
    whole: Net  # standardizes the vectors
    vectors: Array  # (texts, dim) as the encoder made them
    relevant: Csr  # (texts, labels)
    config: TrainingConfig
    details: dict[str, float] = field(default_factory=dict)

    @property
    def parts(self) -> RatedParts:
        """The output layer alone."""
        return {"head": (self.net, self.config.optimizer.head_lr)}

    def batches(self, epoch: int) -> Sequence[Longs]:
        """Texts of all lengths together, in an order of the epoch's own."""
        size = self.config.batch_size
        ones = np.ones(len(self.vectors), np.int64)
        return shuffled_batches(ones, size, size, [self.config.seed, epoch])

    def loss(self, share: Share) -> Tensor:
        """Summed over these texts."""
        vectors = torch.from_numpy(self.vectors[share.rows]).to(device())
        vectors = self.whole.dropout(self.whole.standardized(vectors))
        return head_loss(self.net, share, [vectors], self.relevant, self.config)

    def measure(self) -> dict[str, float]:
        """No validation."""
        return {}


def warm_up_head(task: LabelTask, vectors: Array, key: str, run: Run, rng: Rng) -> None:
    """Train the output layer of the task alone, on the vectors."""
    asked = task.config
    assert isinstance(asked, TrainingConfig)
    config = replace(
        asked,
        epochs=asked.head.warmup_epochs,
        optimizer=replace(asked.optimizer, head_lr=WARMUP_LR),
        batch_size=BATCH_FACTOR * asked.batch_size,
        averaging=None,
        published=replace(asked.published, accumulate=1, validate_every=None),
    )
    task.net.dropout.train()
    head = HeadTask(task.net.head, task.net, vectors, task.relevant, config)
    fit(head, config, key, run.below("head"), rng)
