"""Beam search for any scorers: expand the best nodes, score their children, keep the best.

Linear trees rank by a fused kernel instead (linear/forest.py), tested equal to this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from xmtc.core.arrays import Allowed
from xmtc.core.interfaces import Scorer
from xmtc.core.ranking import Ranking
from xmtc.core.threads import blocks, in_threads, thread_count
from xmtc.core.tree import Children, LabelTree
from xmtc.kernels.children import expand
from xmtc.kernels.topk import best

Combine = Literal["multiply", "add", "child"]

CELLS_PER_BLOCK = 1 << 20  # candidates scored at once: bounds memory, not the answer


def walk(
    tree: LabelTree,
    scorers: Sequence[Scorer],
    encoded: Any,
    k: int,
    beam: int = 10,
    combine: Combine = "multiply",
    allowed: Allowed = None,
) -> Ranking:
    """The k best labels of each encoded text.

    scorers: one per level of the tree, from the root down.
    combine: how a child's score is combined with its parent's: product, sum, or the child alone.
    allowed: which labels may be returned; the beam is spent on nodes that lead to them.
    """
    if len(scorers) != tree.depth:
        raise ValueError(f"{len(scorers)} scorers for a tree of {tree.depth} levels")
    texts = encoded.shape[0]
    levels = tree.children_among(allowed)
    # An upper bound of the candidates of one text: the largest `beam` nodes of a level.
    widest = max(int(np.sort(np.diff(each.start))[::-1][:beam].sum()) for each in levels)
    size = max(1, min(CELLS_PER_BLOCK // max(1, widest), -(-texts // thread_count())))

    def walk_block(block: tuple[int, int]) -> Ranking:
        return _walk_block(levels, scorers, encoded[block[0] : block[1]], k, beam, combine)

    return Ranking.stack(in_threads(walk_block, blocks(texts, size)) or [Ranking.empty(0, k)])


def _walk_block(
    levels: Sequence[Children],
    scorers: Sequence[Scorer],
    encoded: Any,
    k: int,
    beam: int,
    combine: Combine,
) -> Ranking:
    start = 1.0 if combine == "multiply" else 0.0
    texts = encoded.shape[0]
    ranking = Ranking(np.zeros((texts, 1), np.int32), np.full((texts, 1), start, np.float32))
    for level, (children, scorer) in enumerate(zip(levels, scorers, strict=True)):
        candidates, parent_scores = expand(
            children.start, children.nodes, ranking.labels, ranking.scores
        )
        scores = scorer.score(encoded, candidates)
        if combine == "multiply":
            scores = scores * parent_scores
        elif combine == "add":
            scores = scores + parent_scores
        last = level == len(levels) - 1
        ranking = Ranking(*best(candidates, scores, k if last else beam))
    return ranking
