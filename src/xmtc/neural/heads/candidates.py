"""LabelCandidates: the labels that a text is trained against, those of its likeliest clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xmtc.core.arrays import Array, Csr, Floats, Ints, pair_keys, row_of_each_entry
from xmtc.core.ranking import NO_LABEL
from xmtc.core.tree import Children
from xmtc.kernels.children import expand
from xmtc.kernels.topk import best


@dataclass(frozen=True)
class LabelCandidates:
    """(texts, width) each: label ids padded with -1, whether relevant, and whether it counts."""

    labels: Ints
    relevant: Array
    counts: Array


def hardest_clusters(probabilities: Floats, relevant: Csr, beam: int) -> Ints:
    """(texts, beam): the true clusters first, then the likeliest others; -1 pads."""
    # A probability may be rounded to 1.
    keys = probabilities + 2 * relevant.toarray().astype(np.float32)
    ids = np.broadcast_to(np.arange(keys.shape[1], dtype=np.int32), keys.shape)
    return best(np.ascontiguousarray(ids), keys, beam)[0]


def candidates_of(
    clusters: Ints,
    children: Children,
    relevant: Csr,
    overflow: str = "extend",
    pads: str = "masked",
    width: Callable[[int], int] = int,
) -> LabelCandidates:
    """All labels of these clusters, in their order. A relevant label is never left out:

    overflow: what lies outside the clusters is added ("extend"), or takes the places of negatives
    as far as there are any ("overwrite", as in LightXML's code).
    pads: places beyond the end do not count ("masked"), or repeat the last label ("repeat").
    width: to how many places labels are repeated, from how many there are.
    """
    labels, _ = expand(
        children.start, children.nodes, clusters, np.zeros(clusters.shape, np.float32)
    )
    is_relevant, missing = _compared(labels, relevant)
    if len(missing):
        if overflow == "extend":
            labels = _extended(labels, missing)
        else:
            labels = _overwritten(labels, is_relevant, missing)
        is_relevant, _ = _compared(labels, relevant)
    if pads == "repeat":
        last = np.maximum(1, (labels != NO_LABEL).sum(1)) - 1
        places = np.minimum(np.arange(width(labels.shape[1])), last[:, None])
        labels = np.take_along_axis(labels, places, 1)
        is_relevant = np.take_along_axis(is_relevant, places, 1)
    return LabelCandidates(labels, is_relevant, labels != NO_LABEL)


def _compared(labels: Ints, relevant: Csr) -> tuple[Array, Array]:
    """Which candidates are relevant, and the (text, label) pairs that are no candidates."""
    width = relevant.shape[1]
    rows = row_of_each_entry(relevant).astype(np.int64)
    wanted = pair_keys(rows, relevant.indices, width)
    keys = pair_keys(np.arange(len(labels))[:, None], labels, width)
    hit = np.isin(keys, wanted) & (labels != NO_LABEL)
    lost = ~np.isin(wanted, keys[labels != NO_LABEL])
    return hit, np.stack([rows[lost], relevant.indices[lost]], axis=1)


def _extended(labels: Ints, missing: Array) -> Ints:
    """Missing labels behind the others of their row."""
    used = (labels != NO_LABEL).sum(1)
    more = np.bincount(missing[:, 0], minlength=len(labels))
    wide = np.full((len(labels), int((used + more).max())), NO_LABEL, np.int32)
    wide[:, : labels.shape[1]] = labels[:, : wide.shape[1]]
    for row, label in missing:
        wide[row, used[row]] = label
        used[row] += 1
    return wide


def _overwritten(labels: Ints, relevant: Array, missing: Array) -> Ints:
    """Missing labels in the places of negatives of their row."""
    labels = labels.copy()
    taken = relevant | (labels == NO_LABEL)
    for row, label in missing:
        free = np.flatnonzero(~taken[row])
        if len(free):
            labels[row, free[0]] = label
            taken[row, free[0]] = True
    return labels
