"""A task that costs nothing to train: a linear layer with dropout, targets made of its inputs."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from xmtc.neural.batches.grouping import shuffled_batches
from xmtc.neural.devices import Rng


class Toy:
    """Learns y = x·w. `metrics` are what `measure` returns, one epoch after the other."""

    def __init__(self, texts=24, dropout=0.2, rate=0.05, metrics=(), poison=None, batch=4):
        rng = np.random.default_rng(0)
        self.inputs = torch.from_numpy(rng.normal(size=(texts, 6)).astype(np.float32))
        self.targets = self.inputs @ torch.arange(6.0).unsqueeze(1)
        with Rng(0).turn():
            self.net = nn.Sequential(
                nn.Dropout(dropout), nn.Linear(6, 8), nn.LayerNorm(8), nn.Linear(8, 1)
            )
        self.parts = {"net": (self.net, rate)}
        self.metrics = list(metrics)
        self.poison = poison
        self.batch = batch
        self.read = []
        self.details = {}

    def batches(self, epoch):
        return shuffled_batches(np.full(len(self.inputs), 3), self.batch, 1000, [0, epoch])

    def loss(self, share):
        rows = share.rows
        self.read.append(rows.tolist())
        error = (self.net(self.inputs[rows]) - self.targets[rows]) ** 2
        return error.sum() * (float("nan") if self.poison in rows else 1.0)

    def measure(self):
        return {"P@5": self.metrics.pop(0)} if self.metrics else {}


def weights(task):
    return torch.cat([p.detach().flatten() for p in task.net.parameters()])
