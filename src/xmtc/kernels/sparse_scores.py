"""Scores of sparse texts under many sparse linear classifiers."""

from __future__ import annotations

import numpy as np
from numba import njit

from xmtc.kernels.types import Floats, Ints, Matrix


def score_nodes(texts: Matrix, weights: Matrix, biases: Floats, candidates: Ints) -> Floats:
    """w·x + b for every candidate of every text.

    texts: (texts, features). weights: (features, nodes), so that only the features of a text are
    touched. candidates: (texts, width) node ids; those below 0 score 0.
    """
    scores = np.zeros(candidates.shape, np.float32)
    _score(*texts, *weights, biases, candidates, scores)
    return scores


@njit(cache=True, nogil=True)
def _score(indptr, columns, values, w_indptr, w_nodes, w_values, biases, candidates, scores):
    sums = np.empty(len(biases), np.float32)
    for text in range(len(indptr) - 1):
        for node in range(len(biases)):
            sums[node] = biases[node]
        for entry in range(indptr[text], indptr[text + 1]):
            feature = columns[entry]
            value = values[entry]
            for place in range(w_indptr[feature], w_indptr[feature + 1]):
                sums[w_nodes[place]] += value * w_values[place]
        for place in range(candidates.shape[1]):
            if candidates[text, place] >= 0:
                scores[text, place] = sums[candidates[text, place]]
