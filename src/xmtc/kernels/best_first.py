"""Uniform-cost search down a tree of linear classifiers: the best labels of all, exactly.

Where scores are multiplied and at most 1, a node's score bounds those of the labels below it: they
are at most it to the power of the rule's exponent, once for each level between. So the node with
the highest bound is opened until k labels have come out first.
"""

from __future__ import annotations

import numpy as np

from xmtc.kernels.beam_search import SearchTree
from xmtc.kernels.chunks import Rule, child_score, fill_margins, inherited, scratch_for
from xmtc.kernels.term_table import grown
from xmtc.kernels.types import Bytes, Floats, Ints, Matrix, kernel


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
    # A heap: labels by their ids, inner nodes by their numbers less `first_label`, so below 0: of
    # equal scores a node is opened before a label is taken, because its child may come first.
    heap_score = np.empty(1 << 10, np.float32)
    heap_item = np.empty(1 << 10, np.int64)
    for text in range(count):
        heap_score[0] = 1
        heap_item[0] = -first_label
        size = 1
        found = 0
        while size > 0 and found < k:
            bound = heap_score[0]
            item = heap_item[0]
            size -= 1
            _sink(heap_score, heap_item, size, heap_score[size], heap_item[size])
            if item >= 0:
                ids[text, found] = item
                scores[text, found] = bound
                found += 1
                continue
            node = item + first_label
            above = inherited(node_score[node], typed)
            fill_margins(texts, text, weights, node, scratch)
            heap_score = grown(heap_score, size + tree.widest)
            heap_item = grown(heap_item, size + tree.widest)
            for child in range(child_start[node], child_start[node + 1]):
                if len(closed) == 0 or closed[child] == 0:
                    score = child_score(scratch.margins[child - child_start[node]], above, typed)
                    item = child - first_label
                    if item >= 0:
                        item = tree.labels[item]
                    else:
                        node_score[child] = score
                        score = score if typed.exponent == 1 else score ** powers[child]
                    _rise(heap_score, heap_item, size, score, item)
                    size += 1
    return ids, scores


@kernel
def _before(score, item, other_score, other_item):
    return score > other_score or (score == other_score and item < other_item)


@kernel
def _rise(heap_score, heap_item, place, score, item):
    """Put an item into the free last place, then up to where it belongs."""
    while place > 0:
        above = (place - 1) >> 1
        if not _before(score, item, heap_score[above], heap_item[above]):
            break
        heap_score[place] = heap_score[above]
        heap_item[place] = heap_item[above]
        place = above
    heap_score[place] = score
    heap_item[place] = item


@kernel
def _sink(heap_score, heap_item, size, score, item):
    """Put an item into the free first place, then down to where it belongs."""
    place = 0
    below = 1
    while below < size:
        if below + 1 < size and _before(
            heap_score[below + 1], heap_item[below + 1], heap_score[below], heap_item[below]
        ):
            below += 1
        if not _before(heap_score[below], heap_item[below], score, item):
            break
        heap_score[place] = heap_score[below]
        heap_item[place] = heap_item[below]
        place = below
        below = 2 * below + 1
    heap_score[place] = score
    heap_item[place] = item
