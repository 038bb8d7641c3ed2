"""Uniform-cost search down a tree of linear classifiers: the best labels of all, exactly.

Where scores are multiplied and at most 1, a node's score bounds those of the labels below it: they
are at most it to the power of the rule's exponent, once for each level between. So the node with
the highest bound is opened until k labels have come out first.
"""

from __future__ import annotations

import heapq

import numpy as np

from xmtc.kernels.beam_search import SearchTree
from xmtc.kernels.chunks import Rule, child_score, fill_margins, inherited, scratch_for
from xmtc.kernels.compiled import kernel
from xmtc.kernels.types import Bytes, Floats, Ints, Matrix


@kernel
def best_first_search(
    texts: Matrix, tree: SearchTree, k: int, rule: Rule, closed: Bytes
) -> tuple[Ints, Floats]:
    """(texts, k) labels and scores, padded with -1 and -inf. closed: as in `beam_search`."""
    count = len(texts.indptr) - 1
    ids = np.full((count, k), -1, np.int32)
    scores = np.full((count, k), np.float32(-np.inf), np.float32)
    typed = Rule(np.float32(rule.power), rule.along_path, np.float32(rule.exponent))
    weights = tree.weights
    child_start = weights.child_start
    first_label = tree.level_start[-2]
    scratch = scratch_for(texts, tree.widest)
    node_score = np.ones(first_label, np.float32)
    powers = np.ones(first_label, np.float32)  # from a node's score to the bound of its labels
    levels = len(tree.level_start) - 2
    for level in range(levels):
        power = np.float32(rule.exponent ** np.float64(levels - level))
        powers[tree.level_start[level] : tree.level_start[level + 1]] = power
    for text in range(count):
        # Labels by their ids, inner nodes by their numbers less `first_label`, so below 0: of equal
        # scores a node is opened before a label is taken, because its child may come first.
        heap = [(np.float32(-1), np.int64(-first_label))]  # minus the bound, for the least is first
        found = 0
        while len(heap) > 0 and found < k:
            bound, item = heapq.heappop(heap)
            if item >= 0:
                ids[text, found] = item
                scores[text, found] = -bound
                found += 1
                continue
            node = item + first_label
            above = inherited(node_score[node], typed)
            fill_margins(texts, text, weights, node, scratch)
            for child in range(child_start[node], child_start[node + 1]):
                if len(closed) == 0 or closed[child] == 0:
                    score = child_score(scratch.margins[child - child_start[node]], above, typed)
                    item = child - first_label
                    if item >= 0:
                        item = tree.labels[item]
                    else:
                        node_score[child] = score
                        score = score if typed.exponent == 1 else score ** powers[child]
                    heapq.heappush(heap, (-score, item))
    return ids, scores
