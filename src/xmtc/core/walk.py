"""The walk: expand the best nodes of a tree, score their children, keep the best. Written once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from xmtc.core.arrays import Floats
from xmtc.core.interfaces import Scorer
from xmtc.core.ranking import Ranking
from xmtc.core.threads import blocks, in_threads, thread_count
from xmtc.core.tree import LabelTree
from xmtc.kernels.expand import expand
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
) -> Ranking:
    """The k best labels of each encoded text.

    scorers: one per level of the tree, from the root down.
    combine: how a child's score joins its parent's: their product, their sum, or the child alone.
    """
    if len(scorers) != tree.depth:
        raise ValueError(f"{len(scorers)} scorers for a tree of {tree.depth} levels")
    texts = encoded.shape[0]
    widest = max(_widest(tree, level, beam) for level in range(tree.depth))
    size = max(1, min(CELLS_PER_BLOCK // max(1, widest), -(-texts // thread_count())))

    def walk_block(block: tuple[int, int]) -> Ranking:
        return _walk_block(tree, scorers, encoded[block[0] : block[1]], k, beam, combine)

    return Ranking.stack(in_threads(walk_block, blocks(texts, size)) or [Ranking.empty(0, k)])


def _walk_block(
    tree: LabelTree, scorers: Sequence[Scorer], encoded: Any, k: int, beam: int, combine: Combine
) -> Ranking:
    kept = _root(encoded.shape[0], combine)
    for level, scorer in enumerate(scorers):
        children = tree.children[level]
        candidates, parent_scores = expand(children.start, children.nodes, kept.labels, kept.scores)
        scores = _combined(scorer.score(encoded, candidates), parent_scores, combine)
        last = level == tree.depth - 1
        kept = Ranking(*best(candidates, scores, k if last else beam))
    return kept


def _root(texts: int, combine: Combine) -> Ranking:
    start = 1.0 if combine == "multiply" else 0.0
    return Ranking(np.zeros((texts, 1), np.int32), np.full((texts, 1), start, np.float32))


def _combined(scores: Floats, parent_scores: Floats, combine: Combine) -> Floats:
    if combine == "multiply":
        return scores * parent_scores
    return scores + parent_scores if combine == "add" else scores


def _widest(tree: LabelTree, level: int, beam: int) -> int:
    """An upper bound of how many candidates one text can have at this level."""
    sizes = np.sort(np.diff(tree.children[level].start))[::-1]
    return int(sizes[:beam].sum())
