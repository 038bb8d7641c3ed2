"""Beam search down a tree of linear classifiers, many texts at once or a single one.

The classifiers of siblings lie together in a chunk: for each feature that any of them weighs, which
siblings do and how much. For several texts at one node, a chunk's features are spread over a table
once; for a single text they are found by bisection.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from xmtc.kernels.types import Bytes, Floats, Ints, Longs, Matrix

# child_start, row_start, row_feature, entry_start, entry_sibling, entry_value, biases
Weights = tuple[Longs, Longs, Ints, Longs, Ints, Floats, Floats]

IDENTITY, SIGMOID, HINGE = 0, 1, 2  # what becomes of w·x + b; HINGE is exp(-max(0, 1 - v)^power)
MULTIPLY, ADD, CHILD = 0, 1, 2  # how a child's score joins its parent's


def beam_search(
    texts: Matrix,
    weights: Weights,
    level_starts: Longs,
    names: Longs,
    sizes: tuple[int, int],
    widths: tuple[int, int],
    rule: tuple[int, float, int, float],
    closed: Bytes,
) -> tuple[Ints, Floats]:
    """(texts, k) labels and scores, padded with -1 and -inf.

    weights: those of a Forest; node n's chunk is the rows row_start[n] to row_start[n + 1].
    level_starts: where the nodes of each level begin, the root's level first.
    names: the label of node n of the last level is names[n - names[0]].
    sizes: how many features there are, and the most children of a node. widths: beam and k.
    rule: transform, its power, how scores combine, and the exponent of the parent's when they are
    multiplied: 1 trusts the path fully, 0 not at all.
    closed: (nodes,) 1 for nodes that may not be entered; or empty.
    """
    ids = np.full((len(texts[0]) - 1, widths[1]), -1, np.int32)
    scores = np.full(ids.shape, -np.inf, np.float32)
    if ids.size:
        typed = (rule[0], np.float32(rule[1]), rule[2], np.float32(rule[3]))
        _search(texts, weights, level_starts, names, sizes, widths[0], typed, closed, ids, scores)
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
def _open_level(
    texts, weights, place_of, margins, beams, first_node, node_count, names, rule, closed, kept
):
    """Score the children of every node in the beams, node by node, and keep the best per text.

    texts, weights: as in `beam_search`. beams, kept: (nodes, scores, counts) of this level and the
    next. names: as in `beam_search`; empty where children are called by their numbers.
    """
    indptr, columns, values = texts
    child_start, row_start, row_feature, entry_start, entry_sibling, entry_value, biases = weights
    nodes, node_scores, counts = beams
    kept_nodes, kept_scores, kept_counts = kept
    starts, pairs = _by_node(nodes, counts, first_node, node_count)
    for node in range(first_node, first_node + node_count):
        begin_pair, end_pair = starts[node - first_node], starts[node - first_node + 1]
        first, last, spread = row_start[node], row_start[node + 1], end_pair - begin_pair > 1
        first_child, children = child_start[node], child_start[node + 1] - child_start[node]
        if spread:
            _spread(row_feature, first, last, place_of)
        for pair in range(begin_pair, end_pair):
            text = pairs[pair, 0]
            begin, end = indptr[text], indptr[text + 1]
            for child in range(children):
                margins[child] = biases[first_child + child - 1]
            if spread:
                _margins_by_table(
                    columns, values, begin, end, place_of, entry_start, entry_sibling, entry_value,
                    margins,
                )  # fmt: skip
            else:
                _margins_by_bisection(
                    columns, values, begin, end, row_feature, first, last, entry_start,
                    entry_sibling, entry_value, margins,
                )  # fmt: skip
            for child in range(children):
                number = first_child + child
                if len(closed) > 0 and closed[number] == 1:
                    continue
                score = _joined(margins[child], node_scores[text, pairs[pair, 1]], rule)
                name = np.int64(names[number - names[0]]) if len(names) > 0 else number
                kept_counts[text] = _keep(
                    score, name, kept_nodes[text], kept_scores[text], kept_counts[text],
                    kept_nodes.shape[1],
                )  # fmt: skip
        if spread:
            _clear(row_feature, first, last, place_of)


@njit(cache=True, nogil=True)
def _joined(margin, parent_score, rule):
    """A child's score, joined with its parent's."""
    transform, power, combine, trust = rule
    score = _transformed(margin, transform, power)
    if combine == MULTIPLY:
        return score * (parent_score if trust == 1 else parent_score**trust)
    return score + parent_score if combine == ADD else score


@njit(cache=True, nogil=True)
def _beams(texts, width):
    return (
        np.zeros((texts, width), np.int64),
        np.zeros((texts, width), np.float32),
        np.zeros(texts, np.int64),
    )


@njit(cache=True, nogil=True)
def _search(texts, weights, level_starts, names, sizes, beam, rule, closed, ids, scores):
    count, depth = ids.shape[0], len(level_starts) - 2
    margins = np.empty(sizes[1], np.float32)
    place_of = np.zeros(sizes[0] if count > 1 else 0, np.int32)
    beams = _beams(count, beam)
    for text in range(count):
        beams[1][text, 0] = 1 if rule[2] == MULTIPLY else 0
        beams[2][text] = 1
    for level in range(depth):
        last = level == depth - 1
        kept = _beams(count, ids.shape[1] if last else beam)
        _open_level(
            texts, weights, place_of, margins, beams, level_starts[level],
            level_starts[level + 1] - level_starts[level], names if last else names[:0], rule,
            closed, kept,
        )  # fmt: skip
        beams = kept
    for text in range(count):
        for place in range(beams[2][text]):
            ids[text, place] = beams[0][text, place]
            scores[text, place] = beams[1][text, place]
