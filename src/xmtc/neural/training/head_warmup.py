"""The output layer alone: on vectors that do not change while it learns.

First on those of the encoder before it is taught: an output layer that knows nothing sends the
encoder in all directions. Once it knows what can be read from the vectors as they are, the encoder
learns what is missing. Then again at the end: until then it was aiming at vectors that moved.
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

WIDER = 2  # batches than those that the encoder learns with


@dataclass(frozen=True)
class HeadTask:
    """An output layer that learns from vectors which do not change."""

    net: Any
    read: Net  # brings vectors to its standard
    vectors: Array  # (texts, dim) as the encoder made them
    relevant: Csr  # (texts, labels)
    config: TrainingConfig
    choosing: Array | None = None  # (texts, dim) that choose the negatives, where others do

    @property
    def parts(self) -> Mapping[str, tuple[nn.Module, float]]:
        """The output layer alone."""
        return {"head": (self.net, self.config.head_rate)}

    def batches(self, epoch: int) -> Sequence[Longs]:
        """Texts of all lengths together, in an order of the epoch's own."""
        ones = np.ones(len(self.vectors), np.int64)
        return shuffled_batches(
            ones, self.config.batch, self.config.batch, [self.config.seed, epoch]
        )

    def loss(self, rows: Longs) -> Tensor:
        """Summed over these texts."""
        others = () if self.choosing is None else (self._standardised(self.choosing[rows]),)
        vectors = [self.read.dropout(self._standardised(self.vectors[rows])), *others]
        return head_loss(self.net, rows, vectors, self.relevant, self.config)

    def _standardised(self, vectors: Array) -> Tensor:
        return self.read.standardised(torch.from_numpy(vectors).to(device()))

    def measure(self) -> dict[str, float]:
        """Nothing is held out."""
        return {}


def warm_up_head(
    task: LabelTask | GuidedTask,
    vectors: Array,
    key: str,
    run: Run,
    *,
    last: bool = False,
    choosing: Array | None = None,
) -> None:
    """Teach the output layer of the task alone, by some passes over the vectors.

    last: the encoder was taught already. choosing: other vectors, by which negatives are chosen.
    """
    asked = task.config
    epochs, rate = (
        (asked.head_last_epochs, asked.head_last_rate)
        if last
        else (asked.head_epochs, asked.head_first_rate)
    )
    config = replace(
        asked,
        epochs=epochs,
        head_rate=rate,
        batch=WIDER * asked.batch,
        accumulate=1,
        extra_epochs=0,
        average_from=None,
        validate_every=0,
    )
    task.net.dropout.train()
    head = HeadTask(task.net.head, task.net, vectors, task.relevant, config, choosing)
    fit(head, config, key, run.below("head-last" if last else "head"))
