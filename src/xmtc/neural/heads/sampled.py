"""Active: every node has weights of its own, and a text is trained against some nodes only."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from xmtc.core.arrays import Csr, Floats, row_of_each_entry
from xmtc.neural.heads.dense_scorer import DenseScorer
from xmtc.neural.heads.flat import array


class Active(nn.Module):
    """A text's active nodes are the entries of its row: 0 where it lacks the node, else how much
    having it counts. Only the weights of a batch's active nodes get gradients and change."""

    def __init__(self, weights: Floats, biases: Floats) -> None:
        """weights: (nodes, dim), biases: (nodes,) to begin with."""
        super().__init__()
        self.weights = nn.Embedding(len(weights), weights.shape[1], sparse=True)
        self.biases = nn.Embedding(len(biases), 1, sparse=True)
        with torch.no_grad():
            self.weights.weight.copy_(torch.from_numpy(weights))
            self.biases.weight.copy_(torch.from_numpy(biases).unsqueeze(1))

    def loss(self, vectors: Tensor, active: Csr) -> Tensor:
        """Squared hinge, the mean over a text's active nodes, summed over the texts."""
        on = vectors.device
        texts = torch.from_numpy(row_of_each_entry(active).astype(np.int64)).to(on)
        nodes = torch.from_numpy(active.indices.astype(np.int64)).to(on)
        counts = torch.from_numpy(active.data).to(on)
        carried = counts > 0
        margins = torch.where(carried, 1.0, -1.0) * self.logits(vectors, texts, nodes).float()
        each = torch.where(carried, counts, 1.0) * torch.relu(1 - margins) ** 2
        shares = 1 / np.maximum(np.diff(active.indptr), 1).astype(np.float32)
        return (each * torch.from_numpy(shares).to(on)[texts]).sum()

    def logits(self, vectors: Tensor, texts: Tensor, nodes: Tensor) -> Tensor:
        """Of each pair of a text's place in (texts, dim) and a node; each node is fetched once."""
        rows, places = torch.unique(nodes, return_inverse=True)
        table = vectors @ self.weights(rows).T + self.biases(rows).T
        found: Tensor = table.flatten().gather(0, texts * len(rows) + places)
        return found

    def scorer(self) -> DenseScorer:
        """The finished layer."""
        weights = array(self.weights.weight)
        return DenseScorer(weights, array(self.biases.weight)[:, 0])
