"""The walk: expand the best nodes of a tree, score their children, keep the best. Written once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from xmtc.core.arrays import Allowed, Floats
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
    combine: how a child's score joins its parent's: their product, their sum, or the child alone.
    allowed: which labels may be returned; the beam is spent on nodes that lead to them.
    """
    if len(scorers) != tree.depth:
        raise ValueError(f"{len(scorers)} scorers for a tree of {tree.depth} levels")
    texts = encoded.shape[0]
    levels = tree.children_among(allowed)
    widest = max(_widest(children, beam) for children in levels)
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
    kept = _root(encoded.shape[0], combine)
    for level, (children, scorer) in enumerate(zip(levels, scorers, strict=True)):
        candidates, parent_scores = expand(children.start, children.nodes, kept.labels, kept.scores)
        scores = _combined(scorer.score(encoded, candidates), parent_scores, combine)
        last = level == len(levels) - 1
        kept = Ranking(*best(candidates, scores, k if last else beam))
    return kept


def _root(texts: int, combine: Combine) -> Ranking:
    start = 1.0 if combine == "multiply" else 0.0
    return Ranking(np.zeros((texts, 1), np.int32), np.full((texts, 1), start, np.float32))


def _combined(scores: Floats, parent_scores: Floats, combine: Combine) -> Floats:
    if combine == "multiply":
        return scores * parent_scores
    return scores + parent_scores if combine == "add" else scores


def _widest(children: Children, beam: int) -> int:
    """An upper bound of how many candidates one text can have at this level."""
    sizes = np.sort(np.diff(children.start))[::-1]
    return int(sizes[:beam].sum())
