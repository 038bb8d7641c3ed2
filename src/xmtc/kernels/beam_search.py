"""Beam search down a tree of linear classifiers, many texts at once or a single one.

Of many texts, those that are at one node are scored together, while its chunk is at hand.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from xmtc.kernels.chunks import (
    IDENTITY,
    MULTIPLY,
    Weights,
    announce,
    fill_margins,
    from_above,
    joined,
    room_for,
)
from xmtc.kernels.types import Bytes, Floats, Ints, Longs, Matrix

AHEAD = 3  # nodes of each text that are opened before the others


def beam_search(
    texts: Matrix,
    weights: Weights,
    level_starts: Longs,
    names: Longs,
    widest: int,
    widths: tuple[int, int],
    rule: tuple[int, float, int, float],
    closed: Bytes,
    opened: tuple[Ints, Floats] | None = None,
    far: float = 0.0,
) -> tuple[Ints, Floats]:
    """(texts, k) labels and scores, padded with -1 and -inf.

    level_starts: where the nodes of each level begin, the root's level first.
    names: the label of node n of the last level is names[n - names[0]].
    widest: the most children of a node. widths: beam and k.
    rule: transform, its power, how scores combine, and the exponent of the parent's when they are
    multiplied: 1 trusts the path fully, 0 not at all.
    closed: (nodes,) 1 for nodes that may not be entered; or empty.
    opened: (texts, beam) places of nodes in the last level but one, padded with -1 at the end, and
    their scores: the search begins there. None: at the root.
    far: at each level, nodes below this share of the best one's score are not kept; 0 keeps all.
    For scores that are products.
    """
    ids = np.empty((len(texts[0]) - 1, widths[1]), np.int32)
    scores = np.empty(ids.shape, np.float32)
    if ids.size:
        typed = (rule[0], np.float32(rule[1]), rule[2], np.float32(rule[3]))
        first, beams = _begun(len(ids), level_starts, widths[0], rule[2], opened)
        limits = (widest, widths[0], np.float32(far))
        _search(
            texts, weights, level_starts, names, limits, typed, closed, first, beams, ids, scores
        )
    return ids, scores


def _begun(
    texts: int, level_starts: Longs, beam: int, combine: int, opened: tuple[Ints, Floats] | None
) -> tuple[int, tuple[Longs, Floats, Longs]]:
    """The level where the search begins, and the nodes, scores and counts that it begins with."""
    if opened is None:
        nodes, scores, counts = _beams(texts, beam)
        scores[:, 0] = 1 if combine == MULTIPLY else 0
        counts[:] = 1
        return 0, (nodes, scores, counts)
    places, given = opened
    level = len(level_starts) - 3
    nodes = level_starts[level] + np.maximum(places, 0)
    counts = (places >= 0).sum(axis=1).astype(np.int64)
    return level, (nodes.astype(np.int64), np.ascontiguousarray(given, np.float32), counts)


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
        kept_scores[place] = kept_scores[place - 1]
        kept_nodes[place] = kept_nodes[place - 1]
        place -= 1
    kept_scores[place] = score
    kept_nodes[place] = node
    return filled + 1


@njit(cache=True, nogil=True)
def _by_node(nodes, counts, first_node, node_count, first, last):
    """(pairs, 2) texts and their places, by node.

    first, last: which places of the beams, the best being 0.
    """
    starts = np.zeros(node_count + 1, np.int64)
    for text in range(len(counts)):
        for place in range(first, min(last, counts[text])):
            starts[nodes[text, place] - first_node + 1] += 1
    for node in range(node_count):
        starts[node + 1] += starts[node]
    pairs = np.empty((starts[node_count], 2), np.int64)
    cursor = starts.copy()
    for text in range(len(counts)):
        for place in range(first, min(last, counts[text])):
            node = nodes[text, place] - first_node
            pairs[cursor[node], 0] = text
            pairs[cursor[node], 1] = place
            cursor[node] += 1
    return pairs


@njit(cache=True, nogil=True)
def _open_node(texts, weights, room, beams, text, place, names, rule, closed, far, kept):
    """Score the children of one node in a text's beam and keep the best; see `_open_level`.

    Where scores are products no child is above its parent, so a node is skipped when all that can
    be kept are better already, or so much better that its children would be dropped.
    """
    child_start = weights[0]
    node = beams[0][text, place]
    above = from_above(beams[1][text, place], rule)
    best_nodes = kept[0][text]
    best_scores = kept[1][text]
    filled = kept[2][text]
    bounded = rule[2] == MULTIPLY and rule[0] != IDENTITY
    least = far * best_scores[0] if filled > 0 else np.float32(0)
    if filled == len(best_nodes):
        least = max(least, best_scores[filled - 1])
    if bounded and above < least:
        return
    fill_margins(texts, text, weights, node, room)
    for number in range(child_start[node], child_start[node + 1]):
        if len(closed) == 0 or closed[number] == 0:
            score = joined(room[0][number - child_start[node]], above, rule)
            name = np.int64(names[number - names[0]]) if len(names) > 0 else number
            filled = _keep(score, name, best_nodes, best_scores, filled, len(best_nodes))
    kept[2][text] = filled


@njit(cache=True, nogil=True)
def _open_level(
    texts, weights, room, beams, first_node, node_count, names, rule, closed, far, kept
):
    """Score the children of the nodes in the beams, node by node, and keep the best per text.

    texts, weights: as in `beam_search`. beams, kept: (nodes, scores, counts) of this level and the
    next. names: as in `beam_search`; empty where children are called by their numbers.
    The best nodes of every text come first, so that many of the others are skipped.
    """
    nodes, _, counts = beams
    if len(counts) == 1:  # nothing here may grow with the number of nodes
        for place in range(counts[0]):
            if place + 1 < counts[0]:
                announce(texts, 0, weights, nodes[0, place + 1])
            _open_node(texts, weights, room, beams, 0, place, names, rule, closed, far, kept)
        return
    for first, last in ((0, AHEAD), (AHEAD, nodes.shape[1])):
        pairs = _by_node(nodes, counts, first_node, node_count, first, last)
        for pair in range(len(pairs)):
            text, place = pairs[pair]
            _open_node(texts, weights, room, beams, text, place, names, rule, closed, far, kept)


@njit(cache=True, nogil=True)
def _beams(texts, width):
    return (
        np.zeros((texts, width), np.int64),
        np.zeros((texts, width), np.float32),
        np.zeros(texts, np.int64),
    )


@njit(cache=True, nogil=True)
def _drop_far(kept, far):
    """Shorten the beams by the nodes below this share of their best."""
    _, scores, counts = kept
    for text in range(len(counts)):
        while counts[text] > 1 and scores[text, counts[text] - 1] < far * scores[text, 0]:
            counts[text] -= 1


@njit(cache=True, nogil=True)
def _search(texts, weights, level_starts, names, limits, rule, closed, first, beams, ids, scores):
    count, depth, (widest, beam, far) = ids.shape[0], len(level_starts) - 2, limits
    room = room_for(texts, widest)
    for level in range(first, depth):
        last = level == depth - 1
        kept = _beams(count, ids.shape[1] if last else beam)
        _open_level(
            texts,
            weights,
            room,
            beams,
            level_starts[level],
            level_starts[level + 1] - level_starts[level],
            names if last else names[:0],
            rule,
            closed,
            far,
            kept,
        )
        if far > 0:
            _drop_far(kept, far)
        beams = kept
    for text in range(count):
        found = beams[2][text]
        for place in range(found):
            ids[text, place] = beams[0][text, place]
            scores[text, place] = beams[1][text, place]
        ids[text, found:] = -1
        scores[text, found:] = -np.inf
