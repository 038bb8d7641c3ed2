"""AttentionXML's output layer: each label attends to the words that concern it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from xmtc.core.arrays import Csr
from xmtc.neural.heads.attention_scorer import AttentionScorer
from xmtc.neural.heads.candidates import LabelCandidates
from xmtc.neural.heads.flat import array, bce, dense

CHUNK = 1 << 10  # nodes whose attention to all words of a batch is held at a time


class AttentionHead(nn.Module):
    """One level of a tree: (texts, length, dim) states -> logits of its nodes."""

    def __init__(
        self, dim: int, nodes: int, hidden: tuple[int, ...], mean: bool, sparse: bool
    ) -> None:
        """sparse: a batch changes only the nodes that it has candidates of."""
        super().__init__()
        self.nodes = nn.Embedding(nodes, dim, sparse=sparse)
        nn.init.xavier_uniform_(self.nodes.weight)
        sizes = (dim, *hidden, 1)
        self.layers = nn.ModuleList(nn.Linear(into, out) for into, out in pairwise(sizes))
        self.mean = mean

    def start_at_frequency(self, relevant: Csr) -> None:
        """At first every node gets the average frequency of all."""
        share = (relevant.nnz + 0.5) / (relevant.shape[0] * relevant.shape[1] + 1)
        last: Any = self.layers[-1]
        nn.init.zeros_(last.weight)
        nn.init.constant_(last.bias, float(np.log(share / (1 - share))))

    def begin_like(self, above: AttentionHead) -> None:
        """What all nodes share begins with what the level above has learned."""
        self.layers.load_state_dict(above.layers.state_dict())

    def of_all(self, states: Tensor, mask: Tensor) -> Tensor:
        """(texts, nodes) logits. Chunk after chunk, each computed again when it is learned from."""
        chunks = torch.split(self.nodes.weight, CHUNK)
        if len(chunks) == 1:
            return self._logits(states, mask, chunks[0])
        found = [
            checkpoint(self._logits, states, mask, chunk, use_reentrant=False) for chunk in chunks
        ]
        return torch.cat(found, dim=1)

    def of_some(self, states: Tensor, mask: Tensor, nodes: Tensor) -> Tensor:
        """(texts, width) node ids -> (texts, width) logits"""
        return self._logits(states, mask, self.nodes(nodes))

    def _logits(self, states: Tensor, mask: Tensor, looks: Tensor) -> Tensor:
        """looks: (nodes, dim) the same for all texts, or (texts, nodes, dim)."""
        cares = looks @ states.transpose(1, 2)  # (texts, nodes, length)
        cares = cares.masked_fill(mask.unsqueeze(1) == 0, float("-inf")).softmax(dim=2)
        seen = cares @ states
        for layer in self.layers[:-1]:
            seen = torch.relu(layer(seen))
        logits: Tensor = self.layers[-1](seen).squeeze(2)
        return logits

    def loss(
        self, states: Tensor, mask: Tensor, relevant: Csr, candidates: LabelCandidates | None
    ) -> Tensor:
        """Binary cross-entropy, summed over the texts; over or averaged over the nodes.

        candidates: of these texts, where not all nodes are.
        """
        if candidates is None:
            total = bce(self.of_all(states, mask), dense(relevant, states))
            return total / relevant.shape[1] if self.mean else total
        on = states.device
        counts = torch.from_numpy(candidates.counts).to(on)
        ids = torch.from_numpy(np.maximum(candidates.labels, 0).astype(np.int64)).to(on)
        targets = torch.from_numpy(candidates.relevant).to(on).float()
        logits = self.of_some(states, mask, ids)
        total = bce(logits[counts], targets[counts])
        return total * len(states) / int(counts.sum()) if self.mean else total

    def scorer(self, level: int) -> AttentionScorer:
        """The finished layer."""
        layers: list[Any] = list(self.layers)
        weights = tuple(array(layer.weight) for layer in layers)
        biases = tuple(array(layer.bias) for layer in layers)
        return AttentionScorer(level, array(self.nodes.weight), weights, biases)
