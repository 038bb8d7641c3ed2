"""Scores of chosen rows: a text's vector times the weights of each of its candidates."""

from __future__ import annotations

import numpy as np
from numba import njit

from xmtc.kernels.types import Floats, Ints


def chosen_dots(vectors: Floats, weights: Floats, candidates: Ints) -> Floats:
    """(texts, dim), (nodes, dim), (texts, width) node ids -> (texts, width); no node below 0."""
    if vectors.shape[1] != weights.shape[1] or candidates.max(initial=-1) >= len(weights):
        raise ValueError(f"vectors {vectors.shape}, weights {weights.shape}: no such candidates")
    dots = np.zeros(candidates.shape, np.float32)
    _fill(np.ascontiguousarray(vectors), weights, candidates, dots)
    return dots


@njit(cache=True, nogil=True, fastmath=True)
def _fill(vectors, weights, candidates, dots):
    for text in range(candidates.shape[0]):
        for place in range(candidates.shape[1]):
            node = candidates[text, place]
            if node >= 0:
                dot = np.float32(0)
                for column in range(vectors.shape[1]):
                    dot += vectors[text, column] * weights[node, column]
                dots[text, place] = dot
