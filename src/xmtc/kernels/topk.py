"""Keeps the k best of each row: higher scores first, equal scores by smaller id."""

from __future__ import annotations

import numpy as np
from numba import njit

from xmtc.kernels.types import Floats, Ints


def best(ids: Ints, scores: Floats, k: int) -> tuple[Ints, Floats]:
    """(rows, width) ids and scores -> (rows, k), padded with id -1 and score -inf.

    An id of -1 is no candidate; a NaN score ranks below every number.
    """
    if ids.shape != scores.shape or ids.ndim != 2:
        raise ValueError(f"ids {ids.shape} and scores {scores.shape} must have one 2-d shape")
    top_ids = np.full((len(ids), k), -1, np.int32)
    top_scores = np.full((len(ids), k), -np.inf, np.float32)
    if k > 0:
        _fill_best(ids, scores.astype(np.float32, copy=False), top_ids, top_scores)
    return top_ids, top_scores


@njit(cache=True, nogil=True)
def _fill_best(ids, scores, top_ids, top_scores):
    rows, width = ids.shape
    k = top_ids.shape[1]
    for row in range(rows):
        filled = 0
        for column in range(width):
            node = ids[row, column]
            if node < 0:
                continue
            score = scores[row, column]
            if not score > -np.inf:  # NaN and -inf
                score = np.float32(-np.inf)
            if filled == k and not _before(
                score, node, top_scores[row, k - 1], top_ids[row, k - 1]
            ):
                continue
            place = filled if filled < k else k - 1
            while place > 0 and _before(
                score, node, top_scores[row, place - 1], top_ids[row, place - 1]
            ):
                top_scores[row, place] = top_scores[row, place - 1]
                top_ids[row, place] = top_ids[row, place - 1]
                place -= 1
            top_scores[row, place] = score
            top_ids[row, place] = node
            filled = min(filled + 1, k)


@njit(cache=True, nogil=True, inline="always")
def _before(score, node, other_score, other_node):
    return score > other_score or (score == other_score and node < other_node)
