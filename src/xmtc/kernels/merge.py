"""Joins the rankings of several models of the same labels."""

from __future__ import annotations

import numpy as np
from numba import njit

from xmtc.kernels.topk import best
from xmtc.kernels.types import Floats, Ints


def mean_scores(labels: Ints, scores: Floats, models: int, k: int) -> tuple[Ints, Floats]:
    """(texts, places) of all models side by side -> the k best by mean score, absent counting 0."""
    order = np.argsort(labels, axis=1, kind="stable").astype(np.int32)
    ids, sums = np.full_like(labels, -1), np.zeros_like(scores)
    _add_equal(labels, scores, order, np.float32(1 / models), ids, sums)
    return best(ids, sums, k)


@njit(cache=True, nogil=True)
def _add_equal(labels, scores, order, share, ids, sums):
    for text in range(len(labels)):
        last = -1
        for place in order[text]:
            if labels[text, place] < 0:
                continue
            if last < 0 or ids[text, last] != labels[text, place]:
                last += 1
                ids[text, last] = labels[text, place]
            sums[text, last] += scores[text, place] * share
