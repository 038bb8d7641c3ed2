"""Merges the rankings of several models of the same labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xmtc.kernels.compiled import kernel
from xmtc.kernels.topk import best
from xmtc.kernels.types import Floats, Ints


def mean_scores(labels: Ints, scores: Floats, models: int, k: int) -> tuple[Ints, Floats]:
    """(texts, places) of all models side by side -> the k best by mean score, absent counting 0."""
    ids, sums = merged(labels, scores * np.float32(1 / models))
    return best(ids, sums, k)


def merged(
    labels: Ints, scores: npt.NDArray[Any], largest: bool = False
) -> tuple[Ints, npt.NDArray[Any]]:
    """(texts, places) of all models side by side -> every label once, in the order of ids.

    Its score is the sum of those it has in the row; largest: the greatest. Padded with -1.
    """
    order = np.argsort(labels, axis=1, kind="stable").astype(np.int32)
    ids = np.full_like(labels, -1)
    values = np.zeros_like(scores)
    _merge_equal(labels, scores, order, largest, ids, values)
    return ids, values


@kernel
def _merge_equal(labels, scores, order, largest, ids, values):
    for text in range(len(labels)):
        last = -1
        for place in order[text]:
            if labels[text, place] < 0:
                continue
            score = scores[text, place]
            if last < 0 or ids[text, last] != labels[text, place]:
                last += 1
                ids[text, last] = labels[text, place]
                values[text, last] = score
            elif largest:
                values[text, last] = max(values[text, last], score)
            else:
                values[text, last] += score
