"""Flat: every label has weights of its own, and every text is taught against all labels."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from xmtc.core.arrays import Csr, Longs, row_of_each_entry
from xmtc.neural.heads.scorer import DenseScorer


class Flat(nn.Module):
    """(texts, dim) -> (texts, nodes) logits."""

    def __init__(self, dim: int, nodes: int, mean: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, nodes)
        self.mean = mean

    def forward(self, vectors: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.linear(vectors)
        return logits

    def loss(self, vectors: Tensor, relevant: Csr) -> Tensor:
        """Binary cross-entropy, summed over the texts, and over or averaged over the nodes."""
        return bce(self(vectors), dense(relevant, vectors), self.mean)

    @torch.no_grad()
    def start_at_frequency(self, counts: Longs, texts: int) -> None:
        """At first every text gets each node's frequency: training need not learn that."""
        self.linear.weight.zero_()
        self.linear.bias.copy_(log_odds(counts, texts))

    def teach(self, what: str) -> None:
        """There is one layer only, and it is always taught."""

    def scorer(self) -> DenseScorer:
        """The finished layer."""
        return DenseScorer(array(self.linear.weight), array(self.linear.bias),
                           stop=self.linear.in_features)  # fmt: skip

    def scorers(self, part: int = 0) -> tuple[DenseScorer, ...]:
        """One per level of the tree: here there is one."""
        return (self.scorer(),)


def bce(logits: Tensor, targets: Tensor, mean: bool) -> Tensor:
    """Binary cross-entropy in fp32, summed over texts; over nodes its mean or its sum."""
    total = F.binary_cross_entropy_with_logits(logits.float(), targets, reduction="sum")
    return total / logits.shape[1] if mean else total


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
