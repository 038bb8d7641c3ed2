"""Beam search down a tree of linear classifiers, many texts at once or a single one.

The classifiers of siblings lie together in a chunk: for each feature that any of them weighs, which
siblings do and how much. For several texts at one node, a chunk's features are spread over a table
once; for a single text they are found by bisection.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from xmtc.kernels.types import Bytes, Floats, Ints, Longs

Matrix = tuple[Longs, Ints, Floats]  # indptr, columns, values
# child_start, row_start, row_feature, entry_start, entry_sibling, entry_value, biases
Weights = tuple[Longs, Longs, Ints, Longs, Ints, Floats, Floats]

IDENTITY, SIGMOID, HINGE = 0, 1, 2  # what becomes of w·x + b; HINGE is exp(-max(0, 1 - v)^power)
MULTIPLY, ADD, CHILD = 0, 1, 2  # how a child's score joins its parent's


def beam_search(
    texts: Matrix,
    weights: Weights,
    level_starts: Longs,
    labels: Ints,
    features: int,
    widths: tuple[int, int],
    rule: tuple[int, float, int],
    closed: Bytes,
) -> tuple[Ints, Floats]:
    """(texts, k) labels and scores, padded with -1 and -inf.

    weights: those of a Forest; node n's chunk is the rows row_start[n] to row_start[n + 1].
    level_starts: where the nodes of each level begin, the root's level first.
    labels: the label of each node of the last level. widths: beam and k.
    rule: transform, its power, and how scores combine.
    closed: (nodes,) 1 for nodes that may not be entered; or empty.
    """
    ids = np.full((len(texts[0]) - 1, widths[1]), -1, np.int32)
    scores = np.full(ids.shape, -np.inf, np.float32)
    if ids.size:
        _search(
            *texts, *weights, level_starts, labels, features, widths[0],
            rule[0], np.float32(rule[1]), rule[2], closed, ids, scores,
        )  # fmt: skip
    return ids, scores


@njit(cache=True, nogil=True)
def _transformed(value, transform, power):
    if transform == SIGMOID:
        return np.float32(1 / (1 + np.exp(-value)))
    if transform == HINGE:
        loss = max(np.float32(0), np.float32(1) - value)
        if power == 3:
            return np.float32(np.exp(-loss * loss * loss))
        return np.float32(np.exp(-(loss**power)))
    return value


@njit(cache=True, nogil=True)
def _spread(row_feature, first, last, place_of):
    for row in range(first, last):
        place_of[row_feature[row]] = row + 1


@njit(cache=True, nogil=True)
def _clear(row_feature, first, last, place_of):
    for row in range(first, last):
        place_of[row_feature[row]] = 0


@njit(cache=True, nogil=True)
def _margins_by_table(
    columns, values, begin, end, place_of, entry_start, entry_sibling, entry_value, margins
):
    for entry in range(begin, end):
        row = place_of[columns[entry]] - 1
        if row >= 0:
            value = values[entry]
            for cell in range(entry_start[row], entry_start[row + 1]):
                margins[entry_sibling[cell]] += value * entry_value[cell]


@njit(cache=True, nogil=True)
def _margins_by_bisection(
    columns, values, begin, end, row_feature, first, last, entry_start, entry_sibling, entry_value,
    margins,
):  # fmt: skip
    low = first
    for entry in range(begin, end):
        wanted, high = columns[entry], last
        while low < high:
            middle = (low + high) >> 1
            if row_feature[middle] < wanted:
                low = middle + 1
            else:
                high = middle
        if low == last:
            return
        if row_feature[low] == wanted:
            value = values[entry]
            for cell in range(entry_start[low], entry_start[low + 1]):
                margins[entry_sibling[cell]] += value * entry_value[cell]


@njit(cache=True, nogil=True)
def _keep(score, node, kept_nodes, kept_scores, filled, most):
    """Insert into a list that is best first, ties by smaller id; returns the new length."""
    if filled == most:
        worst = kept_scores[most - 1]
        if score < worst or (score == worst and node > kept_nodes[most - 1]):
            return filled
        filled -= 1
    place = filled
    while place > 0 and (
        score > kept_scores[place - 1]
        or (score == kept_scores[place - 1] and node < kept_nodes[place - 1])
    ):
        kept_scores[place], kept_nodes[place] = kept_scores[place - 1], kept_nodes[place - 1]
        place -= 1
    kept_scores[place], kept_nodes[place] = score, node
    return filled + 1


@njit(cache=True, nogil=True)
def _by_node(nodes, counts, first_node, node_count):
    """All (text, place) pairs by node: where each node's pairs begin, and the pairs."""
    starts = np.zeros(node_count + 1, np.int64)
    for text in range(len(counts)):
        for place in range(counts[text]):
            starts[nodes[text, place] - first_node + 1] += 1
    for node in range(node_count):
        starts[node + 1] += starts[node]
    pairs, cursor = np.empty((starts[node_count], 2), np.int64), starts.copy()
    for text in range(len(counts)):
        for place in range(counts[text]):
            node = nodes[text, place] - first_node
            pairs[cursor[node], 0], pairs[cursor[node], 1] = text, place
            cursor[node] += 1
    return starts, pairs


@njit(cache=True, nogil=True)
def _search(
    indptr, columns, values, child_start, row_start, row_feature, entry_start, entry_sibling,
    entry_value, biases, level_starts, labels, features, beam, transform, power, combine, closed,
    ids, scores,
):  # fmt: skip
    texts, depth, k = len(indptr) - 1, len(level_starts) - 2, ids.shape[1]
    widest = 1
    for node in range(len(child_start) - 1):
        widest = max(widest, child_start[node + 1] - child_start[node])
    margins = np.empty(widest, np.float32)
    place_of = np.zeros(features if texts > 1 else 0, np.int32)
    nodes, node_scores = np.zeros((texts, beam), np.int64), np.empty((texts, beam), np.float32)
    counts = np.ones(texts, np.int64)
    for text in range(texts):
        node_scores[text, 0] = 1 if combine == MULTIPLY else 0
    for level in range(depth):
        first_node = level_starts[level]
        last_level = level == depth - 1
        node_count = level_starts[level + 1] - first_node
        most = k if last_level else beam
        kept, kept_scores = np.zeros((texts, most), np.int64), np.empty((texts, most), np.float32)
        kept_counts = np.zeros(texts, np.int64)
        starts, pairs = _by_node(nodes, counts, first_node, node_count)
        for place_of_node in range(node_count):
            here = starts[place_of_node + 1] - starts[place_of_node]
            if here == 0:
                continue
            node = first_node + place_of_node
            first, last = row_start[node], row_start[node + 1]
            spread = here > 1
            if spread:
                _spread(row_feature, first, last, place_of)
            for pair in range(starts[place_of_node], starts[place_of_node + 1]):
                text = pairs[pair, 0]
                parent_score = node_scores[text, pairs[pair, 1]]
                begin_child, end_child = child_start[node], child_start[node + 1]
                for child in range(begin_child, end_child):
                    margins[child - begin_child] = biases[child - 1]
                if spread:
                    _margins_by_table(
                        columns, values, indptr[text], indptr[text + 1], place_of, entry_start,
                        entry_sibling, entry_value, margins,
                    )  # fmt: skip
                else:
                    _margins_by_bisection(
                        columns, values, indptr[text], indptr[text + 1], row_feature, first, last,
                        entry_start, entry_sibling, entry_value, margins,
                    )  # fmt: skip
                for child in range(begin_child, end_child):
                    if len(closed) > 0 and closed[child] == 1:
                        continue
                    score = _transformed(margins[child - begin_child], transform, power)
                    if combine == MULTIPLY:
                        score *= parent_score
                    elif combine == ADD:
                        score += parent_score
                    name = np.int64(labels[child - level_starts[depth]]) if last_level else child
                    kept_counts[text] = _keep(
                        score, name, kept[text], kept_scores[text], kept_counts[text], most
                    )
            if spread:
                _clear(row_feature, first, last, place_of)
        nodes, node_scores, counts = kept, kept_scores, kept_counts
    for text in range(texts):
        for place in range(counts[text]):
            ids[text, place] = nodes[text, place]
            scores[text, place] = node_scores[text, place]
