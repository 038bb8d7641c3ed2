"""New labels for a finished output layer, from vectors that stand for them. Nothing is trained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xmtc.core.arrays import Array, Floats
from xmtc.neural.heads.dense_scorer import DenseScorer

# Of a known label's weights. With more, new labels push known ones off the first places
# (docs/models/gudn.md).
STRENGTH = 0.75


def with_nodes(
    scorer: DenseScorer, trained: int, new: Floats, mean_node: Floats, mean_text: Floats
) -> DenseScorer:
    """The scorer with more nodes behind its own: each finds texts that are like its vector.

    trained: how many of its first nodes were trained; they tell how large weights should be.
    new: (new nodes, dim) the vector of each. mean_node: (dim,) the mean vector of trained nodes.
    mean_text: (dim,) the mean text, which a new node scores as trained ones do on average.
    """
    ways = scorer.read(new) - scorer.read(mean_node[None])
    average = scorer.read(mean_text[None])[0]
    lengths = np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    size = np.linalg.norm(scorer.weights[:trained], axis=1).mean()
    weights = STRENGTH * size * ways / lengths
    known = scorer.weights @ average + (0 if scorer.bias is None else scorer.bias)
    lacking = known[:trained].mean() - weights @ average
    if scorer.bias is None:
        weights = weights + np.outer(lacking / (average @ average), average)
        return replace(scorer, weights=_below(scorer.weights, weights))
    bias = _below(scorer.bias, lacking)
    return replace(scorer, weights=_below(scorer.weights, weights), bias=bias)


def _below(known: Array, new: Array) -> Array:
    return np.concatenate([known, new]).astype(np.float32)
