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
    scorer: DenseScorer, taught: int, new: Floats, usual: Floats, middle: Floats
) -> DenseScorer:
    """The scorer with more nodes behind its own: each finds texts that are like its vector.

    taught: so many of its first nodes were learned, and say how large weights should be.
    new: (new nodes, dim) what stands for each. usual: (dim,) what stands for a taught node, on
    average. middle: (dim,) an average text, which a new node finds as likely as taught ones do.
    """
    ways = scorer.read(new) - scorer.read(usual[None])
    average = scorer.read(middle[None])[0]
    lengths = np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    size = np.linalg.norm(scorer.weights[:taught], axis=1).mean()
    weights = STRENGTH * size * ways / lengths
    known = scorer.weights @ average + (0 if scorer.bias is None else scorer.bias)
    lacking = known[:taught].mean() - weights @ average
    if scorer.bias is None:
        weights = weights + np.outer(lacking / (average @ average), average)
        return replace(scorer, weights=_below(scorer.weights, weights))
    bias = _below(scorer.bias, lacking)
    return replace(scorer, weights=_below(scorer.weights, weights), bias=bias)


def _below(known: Array, new: Array) -> Array:
    return np.concatenate([known, new]).astype(np.float32)
