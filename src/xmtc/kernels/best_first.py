"""Uniform-cost search down a tree of linear classifiers: the best labels of all, exactly.

Where scores are multiplied and at most 1, a node's score bounds those of the labels below it: they
are at most it to the power of trust, once for each level between. So the node with the highest
bound is opened until k labels have come out first.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from xmtc.kernels.chunks import Weights, fill_margins, from_above, joined, room_for
from xmtc.kernels.term_table import grown
from xmtc.kernels.types import Bytes, Floats, Ints, Longs, Matrix


def best_first_search(
    texts: Matrix,
    weights: Weights,
    level_starts: Longs,
    names: Longs,
    widest: int,
    k: int,
    rule: tuple[int, float, int, float],
    closed: Bytes,
) -> tuple[Ints, Floats]:
    """(texts, k) labels and scores, padded with -1 and -inf. All arguments as in `beam_search`."""
    ids = np.full((len(texts[0]) - 1, k), -1, np.int32)
    scores = np.full(ids.shape, -np.inf, np.float32)
    typed = (rule[0], np.float32(rule[1]), rule[2], np.float32(rule[3]))
    if ids.size:
        levels_below = np.arange(len(level_starts) - 2, 0, -1)
        powers = np.repeat(rule[3] ** levels_below, np.diff(level_starts[:-1]))
        powers = powers.astype(np.float32)
        _search(texts, weights, names, widest, typed, powers, closed, ids, scores)
    return ids, scores


@njit(cache=True, nogil=True)
def _search(texts, weights, names, widest, rule, powers, closed, ids, scores):
    child_start = weights[0]
    labels_from = names[0] + 1
    room = room_for(texts, widest)
    node_score = np.ones(len(powers), np.float32)
    # A heap: labels by their ids, inner nodes by their numbers less `labels_from`, so below 0: of
    # equal scores a node is opened before a label is taken, because its child may come first.
    heap_score = np.empty(1 << 10, np.float32)
    heap_item = np.empty(1 << 10, np.int64)
    for text in range(len(ids)):
        heap_score[0] = 1
        heap_item[0] = -labels_from
        size = 1
        found = 0
        while size > 0 and found < ids.shape[1]:
            bound = heap_score[0]
            item = heap_item[0]
            size -= 1
            _sink(heap_score, heap_item, size, heap_score[size], heap_item[size])
            if item >= 0:
                ids[text, found] = item
                scores[text, found] = bound
                found += 1
                continue
            node = item + labels_from
            above = from_above(node_score[node], rule)
            fill_margins(texts, text, weights, node, room)
            heap_score = grown(heap_score, size + widest)
            heap_item = grown(heap_item, size + widest)
            for number in range(child_start[node], child_start[node + 1]):
                if len(closed) == 0 or closed[number] == 0:
                    score = joined(room[0][number - child_start[node]], above, rule)
                    item = number - labels_from
                    if item >= 0:
                        item = np.int64(names[item + 1])
                    else:
                        node_score[number] = score
                        score = score if rule[3] == 1 else score ** powers[number]
                    _rise(heap_score, heap_item, size, score, item)
                    size += 1


@njit(cache=True, nogil=True)
def _before(score, item, other_score, other_item):
    return score > other_score or (score == other_score and item < other_item)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
