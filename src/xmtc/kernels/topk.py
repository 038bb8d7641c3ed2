"""The k best of each row: higher scores first, equal scores by smaller id."""

from __future__ import annotations

import numpy as np

from xmtc.kernels.compiled import kernel
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


@kernel
def _fill_best(ids, scores, top_ids, top_scores):
    for row in range(len(ids)):
        filled = 0
        for column in range(ids.shape[1]):
            if ids[row, column] >= 0:
                score = scores[row, column]
                if not score > -np.inf:  # NaN and -inf
                    score = np.float32(-np.inf)
                filled = insert_best(top_ids[row], top_scores[row], filled, ids[row, column], score)


@kernel
def insert_best(best_ids, best_scores, filled, new, score):
    """Insert `new` into a list that is best first, ties by smaller id; returns how many are in it.

    A list that is full loses its worst.
    """
    if filled == len(best_ids):
        worst = best_scores[filled - 1]
        if score < worst or (score == worst and new > best_ids[filled - 1]):
            return filled
        filled -= 1
    place = filled
    while place > 0 and (
        score > best_scores[place - 1]
        or (score == best_scores[place - 1] and new < best_ids[place - 1])
    ):
        best_scores[place] = best_scores[place - 1]
        best_ids[place] = best_ids[place - 1]
        place -= 1
    best_scores[place] = score
    best_ids[place] = new
    return filled + 1
