"""Chunked: a flat output layer for very many labels. No array of texts × labels, no gradient of
all weights: chunk after chunk is read, trained and freed."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from xmtc.core.arrays import Csr, Longs
from xmtc.neural import distributed
from xmtc.neural.heads.dense_scorer import DenseScorer
from xmtc.neural.heads.flat import array, dense, log_odds

CHUNK = 1 << 15  # labels


class Chunked(nn.Module):
    """The same as `Flat`, a chunk of labels at a time."""

    steps_in_backward = True  # the optimizer changes each chunk as soon as its gradient is there

    def __init__(self, dim: int, nodes: int, mean: bool, chunk: int = CHUNK) -> None:
        super().__init__()
        self.nodes = nodes
        self.mean = mean
        self.chunk = chunk
        self.spans = [(start, min(start + chunk, nodes)) for start in range(0, nodes, chunk)]
        self.weights = nn.ParameterList(
            torch.empty(stop - start, dim) for start, stop in self.spans
        )
        self.biases = nn.ParameterList(torch.zeros(stop - start) for start, stop in self.spans)
        for weights in self.weights:
            nn.init.uniform_(weights, -(dim**-0.5), dim**-0.5)
        self.sharded = False

    def shard(self) -> None:
        """From here on this process holds its own nodes only; a chunk may be cut in two."""
        own = distributed.shard_of(self.nodes)
        spans = []
        weights = []
        biases = []
        for place, (start, stop) in enumerate(self.spans):
            first = max(start, own.start)
            last = min(stop, own.stop)
            if first < last:
                rows = slice(first - start, last - start)
                spans.append((first, last))
                weights.append(distributed.sharded(self.weights[place][rows]))
                biases.append(distributed.sharded(self.biases[place][rows]))
        self.spans = spans
        self.weights = nn.ParameterList(weights)
        self.biases = nn.ParameterList(biases)
        self.sharded = True

    def loss(self, vectors: Tensor, relevant: Csr) -> Tensor:
        """Binary cross-entropy, summed over the texts, and over or averaged over the nodes."""
        total = vectors.new_zeros((), dtype=torch.float32)
        columns = relevant.tocsc()
        for (start, stop), weights, bias in zip(self.spans, self.weights, self.biases, strict=True):
            own = columns[:, start:stop].tocsr()
            total = total + _ChunkLoss.apply(vectors, weights, bias, own)  # type: ignore[no-untyped-call]
        return total / self.nodes if self.mean else total

    @torch.no_grad()
    def start_at_frequency(self, counts: Longs, texts: int) -> None:
        """At first every text gets each node's frequency."""
        odds = log_odds(counts, texts)
        for (start, stop), weights, bias in zip(self.spans, self.weights, self.biases, strict=True):
            weights.zero_()
            bias.copy_(odds[start:stop])

    def scorers(self) -> tuple[DenseScorer, ...]:
        """The finished layer, for a tree of one level."""
        weights = self._whole(self.weights)
        bias = self._whole(self.biases)
        return (DenseScorer(weights, bias),)

    @torch.no_grad()
    def _whole(self, chunks: nn.ParameterList) -> np.ndarray:
        rows = torch.cat(list(chunks))
        return array(distributed.gathered(rows) if self.sharded else rows)


class _ChunkLoss(torch.autograd.Function):
    """Stores nothing of size texts × labels: what backward needs is computed again."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, weights: Tensor, bias: Tensor, relevant: Csr) -> Tensor:
        ctx.save_for_backward(vectors, weights, bias)
        ctx.relevant = relevant
        logits = F.linear(vectors, weights, bias).float()
        positive = dense(relevant, vectors)
        return F.binary_cross_entropy_with_logits(logits, positive, reduction="sum")

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        vectors, weights, bias = ctx.saved_tensors
        same = weights.to(vectors.dtype)  # no autocast here, unlike in forward
        change = F.linear(vectors, same, bias.to(vectors.dtype)).float().sigmoid_()
        change -= dense(ctx.relevant, vectors)  # the gradient of the logits, directly
        change *= upstream[0]
        change = change.to(vectors.dtype)
        by_weights = change.T @ vectors
        by_bias = change.sum(0)
        return change @ same, by_weights.to(weights.dtype), by_bias.to(bias.dtype), None
