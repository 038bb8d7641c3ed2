"""Opens nodes of a tree: from the best nodes of each text to all their children."""

from __future__ import annotations

import numpy as np

from xmtc.kernels.compiled import kernel
from xmtc.kernels.types import Floats, Ints, Longs


def expand(starts: Longs, children: Ints, beam: Ints, scores: Floats) -> tuple[Ints, Floats]:
    """(texts, beam) nodes and scores -> (texts, width) children, each with its parent's score.

    Node n has `children[starts[n] : starts[n + 1]]`. Below 0 is no node; rows are padded with -1.
    """
    nodes = len(starts) - 1
    if beam.shape != scores.shape or beam.max(initial=-1) >= nodes:
        raise ValueError(f"beam {beam.shape} and scores {scores.shape} of {nodes} nodes")
    return _expand(starts, children, beam, scores)


@kernel
def _expand(starts, children, beam, scores):
    widest = 0
    for text in range(len(beam)):
        width = 0
        for node in beam[text]:
            if node >= 0:
                width += starts[node + 1] - starts[node]
        widest = max(widest, width)
    candidates = np.full((len(beam), widest), -1, np.int32)
    parent_scores = np.zeros((len(beam), widest), np.float32)
    for text in range(len(beam)):
        place = 0
        for rank in range(beam.shape[1]):
            node = beam[text, rank]
            if node >= 0:
                for child in range(starts[node], starts[node + 1]):
                    candidates[text, place] = children[child]
                    parent_scores[text, place] = scores[text, rank]
                    place += 1
    return candidates, parent_scores
