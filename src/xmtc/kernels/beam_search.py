"""Beam search down a tree of linear classifiers, many texts at once or a single one.

Of many texts, those that are at one node are scored together, while its chunk is at hand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmtc.kernels.chunks import (
    Rule,
    Scratch,
    Weights,
    child_score,
    fill_margins,
    inherited,
    prefetch_node,
    scratch_for,
)
from xmtc.kernels.compiled import kernel
from xmtc.kernels.topk import insert_best
from xmtc.kernels.types import Bytes, Floats, Ints, Longs, Matrix

AHEAD = 3  # nodes of each text that are opened before the others


class SearchTree(NamedTuple):
    """A tree of classifiers, ready to search."""

    weights: Weights
    level_start: Longs  # where the nodes of each level begin, the root's level first
    labels: Longs  # by node of the last level
    widest: int  # children of a node at most


class Limits(NamedTuple):
    """How much of a tree is searched."""

    beam: int
    k: int
    min_share: float  # nodes below this share of a level's best score are dropped; 0: none


class Beams(NamedTuple):
    """The best nodes of every text, best first: (texts, beam), and how many there are."""

    nodes: Longs
    scores: Floats
    counts: Longs


class Query(NamedTuple):
    """What a search asks, the same at every node."""

    texts: Matrix
    weights: Weights
    rule: Rule
    closed: Bytes
    min_share: float
    scratch: Scratch


class Level(NamedTuple):
    """What the search of one level needs: where its nodes begin, and what their children are."""

    first_node: int
    nodes: int
    first_child: int
    names: Longs  # of children, by place: labels; empty where a child is called by its number


@kernel
def beam_search(
    texts: Matrix,
    tree: SearchTree,
    limits: Limits,
    rule: Rule,
    closed: Bytes,
    opened: Ints,
    opened_scores: Floats,
) -> tuple[Ints, Floats]:
    """(texts, k) labels and scores, padded with -1 and -inf.

    closed: (nodes,) 1 for nodes that may not be entered; or empty.
    opened: (texts, beam) places of nodes in the last level but one, padded with -1 at the end, and
    their scores: the search begins there. Without rows: at the root.
    """
    count = len(texts.indptr) - 1
    ids = np.full((count, limits.k), -1, np.int32)
    scores = np.full((count, limits.k), np.float32(-np.inf), np.float32)
    if ids.size == 0:
        return ids, scores
    typed = Rule(np.float32(rule.power), rule.along_path, np.float32(rule.exponent))
    min_share = np.float32(limits.min_share)
    scratch = scratch_for(texts, tree.widest)
    query = Query(texts, tree.weights, typed, closed, min_share, scratch)
    depth = len(tree.level_start) - 2
    level = 0
    if len(opened) > 0:
        level = depth - 1
        beams = _opened_beams(opened, opened_scores, tree.level_start[level])
    else:
        beams = _empty_beams(count, limits.beam)
        beams.scores[:, 0] = 1
        beams.counts[:] = 1
    while level < depth:
        last = level == depth - 1
        first_node = tree.level_start[level]
        first_child = tree.level_start[level + 1]
        names = tree.labels if last else tree.labels[:0]
        here = Level(first_node, first_child - first_node, first_child, names)
        found = _empty_beams(count, limits.k if last else limits.beam)
        _open_level(query, here, beams, found)
        if min_share > 0:
            _drop_below(found, min_share)
        beams = found
        level += 1
    for text in range(count):
        for place in range(beams.counts[text]):
            ids[text, place] = beams.nodes[text, place]
            scores[text, place] = beams.scores[text, place]
    return ids, scores


@kernel
def _opened_beams(places, scores, first_node):
    """Beams that begin at these places of a level, padded with -1 at the end."""
    beams = _empty_beams(len(places), places.shape[1])
    for text in range(len(places)):
        for place in range(places.shape[1]):
            if places[text, place] >= 0:
                beams.nodes[text, place] = first_node + places[text, place]
                beams.scores[text, place] = scores[text, place]
                beams.counts[text] += 1
    return beams


@kernel
def _empty_beams(texts, width):
    return Beams(
        np.zeros((texts, width), np.int64),
        np.zeros((texts, width), np.float32),
        np.zeros(texts, np.int64),
    )


@kernel
def _open_level(query, level, beams, found):
    """Score the children of the nodes in the beams, node by node; the best per text into `found`.

    The best nodes of every text come first, so that many of the others are skipped.
    """
    counts = beams.counts
    if len(counts) == 1:  # nothing here may grow with the number of nodes
        for place in range(counts[0]):
            if place + 1 < counts[0]:
                prefetch_node(query.texts, 0, query.weights, beams.nodes[0, place + 1])
            _open_node(query, level, beams, 0, place, found)
        return
    for first, last in ((0, AHEAD), (AHEAD, beams.nodes.shape[1])):
        pairs = _by_node(beams, level, first, last)
        for pair in range(len(pairs)):
            text, place = pairs[pair]
            _open_node(query, level, beams, text, place, found)


@kernel
def _by_node(beams, level, first, last):
    """(pairs, 2) texts and their places, by node.

    first, last: which places of the beams, the best being 0.
    """
    nodes, _, counts = beams
    starts = np.zeros(level.nodes + 1, np.int64)
    for text in range(len(counts)):
        for place in range(first, min(last, counts[text])):
            starts[nodes[text, place] - level.first_node + 1] += 1
    for node in range(level.nodes):
        starts[node + 1] += starts[node]
    pairs = np.empty((starts[level.nodes], 2), np.int64)
    for text in range(len(counts)):
        for place in range(first, min(last, counts[text])):
            node = nodes[text, place] - level.first_node
            pairs[starts[node], 0] = text
            pairs[starts[node], 1] = place
            starts[node] += 1
    return pairs


@kernel
def _open_node(query, level, beams, text, place, found):
    """Score the children of one node in a text's beam; the best of them into `found`.

    Where scores are products no child is above its parent, so a node is skipped when all that can
    be found are better already, or so much better that its children would be dropped.
    """
    texts, weights, rule, closed, min_share, scratch = query
    node = beams.nodes[text, place]
    above = inherited(beams.scores[text, place], rule)
    best_nodes = found.nodes[text]
    best_scores = found.scores[text]
    filled = found.counts[text]
    least = min_share * best_scores[0] if filled > 0 else np.float32(0)
    if filled == len(best_nodes):
        least = max(least, best_scores[filled - 1])
    if rule.along_path and above < least:
        return
    fill_margins(texts, text, weights, node, scratch)
    margins = scratch.margins
    names = level.names
    first_child = weights.child_start[node]
    for child in range(first_child, weights.child_start[node + 1]):
        if len(closed) == 0 or closed[child] == 0:
            score = child_score(margins[child - first_child], above, rule)
            name = names[child - level.first_child] if len(names) > 0 else child
            filled = insert_best(best_nodes, best_scores, filled, name, score)
    found.counts[text] = filled


@kernel
def _drop_below(beams, min_share):
    """Shorten the beams by the nodes below this share of their best."""
    _, scores, counts = beams
    for text in range(len(counts)):
        while counts[text] > 1 and scores[text, counts[text] - 1] < min_share * scores[text, 0]:
            counts[text] -= 1
