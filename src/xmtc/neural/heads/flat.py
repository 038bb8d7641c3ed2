"""Flat: every label has weights of its own, and every text is trained against all labels."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from xmtc.core.arrays import Csr, Longs, as_csr, row_of_each_entry
from xmtc.neural import distributed
from xmtc.neural.heads.dense_scorer import DenseScorer
from xmtc.neural.settings import LabelLoss


class Flat(nn.Module):
    """(texts, dim) -> (texts, nodes) logits."""

    def __init__(self, dim: int, nodes: int, mean: bool, loss: LabelLoss = "bce") -> None:
        super().__init__()
        self.linear = nn.Linear(dim, nodes)
        self.nodes = nodes
        self.mean = mean
        self.kind = loss
        self.shard_rows: slice | None = None  # the nodes of this process; None: it has all

    def shard(self) -> None:
        """From here on this process holds its own nodes only."""
        self.shard_rows = distributed.shard_of(self.nodes)
        self.linear.weight = distributed.sharded(self.linear.weight[self.shard_rows])
        self.linear.bias = distributed.sharded(self.linear.bias[self.shard_rows])

    def forward(self, vectors: Tensor) -> Tensor:
        """Logits; of its own nodes, where each process has some."""
        logits: Tensor = self.linear(vectors)
        return logits

    def loss(self, vectors: Tensor, relevant: Csr) -> Tensor:
        """Summed over the texts, and over or averaged over the nodes."""
        return self.loss_of(self(vectors), relevant)

    def loss_of(self, logits: Tensor, relevant: Csr) -> Tensor:
        """The same, from the logits."""
        rows = self.shard_rows
        own = relevant if rows is None else as_csr(relevant[:, rows])
        total = LOSSES[self.kind](logits, dense(own, logits))
        return total / self.nodes if self.mean else total

    def of_all_nodes(self, logits: Tensor) -> Tensor:
        """Logits of all processes' nodes, without gradient."""
        return logits.detach() if self.shard_rows is None else distributed.gathered(logits.T).T

    @torch.no_grad()
    def start_at_frequency(self, counts: Longs, texts: int) -> None:
        """At first every text gets each node's frequency: training need not learn that."""
        self.linear.weight.zero_()
        start = log_odds(counts, texts)
        self.linear.bias.copy_(start if self.kind == "bce" else 2 * torch.sigmoid(start) - 1)

    def scorer(self) -> DenseScorer:
        """The finished layer."""
        weights = self.linear.weight.detach()
        bias = self.linear.bias.detach()
        if self.shard_rows is not None:
            weights = distributed.gathered(weights)
            bias = distributed.gathered(bias)
        return DenseScorer(array(weights), array(bias))

    def scorers(self) -> tuple[DenseScorer, ...]:
        """One per level of the tree: here there is one."""
        return (self.scorer(),)


def bce(logits: Tensor, targets: Tensor) -> Tensor:
    """Binary cross-entropy in fp32, summed."""
    return F.binary_cross_entropy_with_logits(logits.float(), targets, reduction="sum")


def squared_hinge(margins: Tensor, targets: Tensor) -> Tensor:
    """[1 - m]² where the margin m, towards the right side, is below 1; in fp32, summed."""
    return _shortfall(margins, targets).square().sum()


def hinge(margins: Tensor, targets: Tensor) -> Tensor:
    """The same, not squared."""
    return _shortfall(margins, targets).sum()


def _shortfall(margins: Tensor, targets: Tensor) -> Tensor:
    return torch.relu(1 - (2 * targets - 1) * margins.float())


LOSSES = {"bce": bce, "hinge": hinge, "squared_hinge": squared_hinge}


def dense(relevant: Csr, like: Tensor) -> Tensor:
    """The few texts of a batch as (texts, nodes) of 0 and 1."""
    targets = torch.zeros(relevant.shape, dtype=torch.float32, device=like.device)
    rows = torch.from_numpy(row_of_each_entry(relevant).astype(np.int64))
    targets[rows, torch.from_numpy(relevant.indices.astype(np.int64))] = 1.0
    return targets


def log_odds(counts: Longs, texts: int) -> Tensor:
    """(nodes,) ln(share / (1 - share)), with half a text added to both sides."""
    return torch.from_numpy(np.log((counts + 0.5) / (texts - counts + 0.5)).astype(np.float32))


def array(weights: Tensor) -> np.ndarray:
    """The numbers of a parameter, a copy of their own."""
    copied: np.ndarray = weights.detach().cpu().float().numpy().copy()
    return copied
