"""The output layer alone: on vectors that do not change while it learns.

An untrained output layer would send the encoder in all directions. Once it has learned what can be
read from the vectors as they are, the encoder learns what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from xmtc.core.arrays import Array, Csr, Longs
from xmtc.core.run import Run
from xmtc.neural.batches.grouping import shuffled_batches
from xmtc.neural.devices import device
from xmtc.neural.settings import TrainingConfig
from xmtc.neural.training.guided_loss import GuidedTask
from xmtc.neural.training.loop import fit
from xmtc.neural.training.task import LabelTask, Net, head_loss

WARMUP_LR = 3e-3  # of the output layers while they are trained alone
WIDER = 2  # batches than those that the encoder learns with


@dataclass(frozen=True)
class HeadTask:
    """An output layer that learns from vectors which do not change."""

    net: Any
    read: Net  # brings vectors to its standard
    vectors: Array  # (texts, dim) as the encoder made them
    relevant: Csr  # (texts, labels)
    config: TrainingConfig

    @property
    def parts(self) -> Mapping[str, tuple[nn.Module, float]]:
        """The output layer alone."""
        return {"head": (self.net, self.config.optimizer.head_lr)}

    def batches(self, epoch: int) -> Sequence[Longs]:
        """Texts of all lengths together, in an order of the epoch's own."""
        ones = np.ones(len(self.vectors), np.int64)
        return shuffled_batches(
            ones, self.config.batch_size, self.config.batch_size, [self.config.seed, epoch]
        )

    def loss(self, rows: Longs) -> Tensor:
        """Summed over these texts."""
        vectors = self.read.standardised(torch.from_numpy(self.vectors[rows]).to(device()))
        dropped = self.read.dropout(vectors)
        return head_loss(self.net, rows, [dropped], self.relevant, self.config)

    def measure(self) -> dict[str, float]:
        """Nothing is held out."""
        return {}


def warm_up_head(task: LabelTask | GuidedTask, vectors: Array, key: str, run: Run) -> None:
    """Train the output layer of the task alone, on the vectors."""
    asked = task.config
    config = replace(
        asked,
        epochs=asked.head.warmup_epochs,
        optimizer=replace(asked.optimizer, head_lr=WARMUP_LR),
        batch_size=WIDER * asked.batch_size,
        averaging=None,
        published=replace(asked.published, accumulate=1, validate_every=None),
    )
    task.net.dropout.train()
    head = HeadTask(task.net.head, task.net, vectors, task.relevant, config)
    fit(head, config, key, run.below("head"))
