"""Opens nodes of a tree: from the nodes kept for each text to all their children."""

from __future__ import annotations

import numpy as np
from numba import njit

from xmtc.kernels.types import Floats, Ints, Longs


def expand(starts: Longs, children: Ints, kept: Ints, scores: Floats) -> tuple[Ints, Floats]:
    """(texts, beam) nodes and scores -> (texts, width) children, each with its parent's score.

    Node n has `children[starts[n] : starts[n + 1]]`. Below 0 is no node; rows are padded with -1.
    """
    nodes = len(starts) - 1
    if kept.shape != scores.shape or kept.max(initial=-1) >= nodes:
        raise ValueError(f"kept {kept.shape} and scores {scores.shape} of {nodes} nodes")
    shape = (len(kept), _width(starts, kept))
    candidates = np.full(shape, -1, np.int32)
    parent_scores = np.zeros(shape, np.float32)
    _fill(starts, children, kept, scores, candidates, parent_scores)
    return candidates, parent_scores


@njit(cache=True, nogil=True)
def _width(starts, kept):
    widest = 0
    for text in range(kept.shape[0]):
        width = 0
        for node in kept[text]:
            if node >= 0:
                width += starts[node + 1] - starts[node]
        widest = max(widest, width)
    return widest


@njit(cache=True, nogil=True)
def _fill(starts, children, kept, scores, candidates, parent_scores):
    for text in range(kept.shape[0]):
        place = 0
        for rank in range(kept.shape[1]):
            node = kept[text, rank]
            if node < 0:
                continue
            for child in range(starts[node], starts[node + 1]):
                candidates[text, place] = children[child]
                parent_scores[text, place] = scores[text, rank]
                place += 1
