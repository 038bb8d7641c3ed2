"""Candidates: the labels a text is taught against, those of the clusters that look right for it."""

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
class Candidates:
    """(texts, width) each: label ids padded with -1, whether relevant, and whether it counts."""

    labels: Ints
    relevant: Array
    counts: Array


def hardest_clusters(chances: Floats, relevant: Csr, most: int) -> Ints:
    """(texts, most): the true clusters first, then those that look most right; -1 pads."""
    keys = chances + 2 * relevant.toarray().astype(np.float32)  # a chance may be rounded to 1
    ids = np.broadcast_to(np.arange(keys.shape[1], dtype=np.int32), keys.shape)
    return best(np.ascontiguousarray(ids), keys, most)[0]


def candidates_of(
    clusters: Ints,
    children: Children,
    relevant: Csr,
    overflow: str = "extend",
    pads: str = "masked",
    widest: Callable[[int], int] = int,
) -> Candidates:
    """All labels of these clusters, in their order. A relevant label is never left out:

    overflow: what lies outside the clusters is added ("extend"), or takes the places of negatives
    as far as there are any ("overwrite", as in LightXML's code).
    pads: places beyond the end do not count ("masked"), or repeat the last label ("repeat").
    widest: to how many places labels are repeated, from how many there are.
    """
    labels, _ = expand(
        children.start, children.nodes, clusters, np.zeros(clusters.shape, np.float32)
    )
    hit, missing = _hits(labels, relevant)
    if len(missing):
        labels = (
            _extended(labels, missing)
            if overflow == "extend"
            else _overwritten(labels, hit, missing)
        )
        hit, _ = _hits(labels, relevant)
    if pads == "repeat":
        labels, hit = _repeated(labels, hit, widest(labels.shape[1]))
    return Candidates(labels, hit, labels != NO_LABEL)


def _hits(labels: Ints, relevant: Csr) -> tuple[Array, Array]:
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


def _overwritten(labels: Ints, hit: Array, missing: Array) -> Ints:
    labels, taken = labels.copy(), hit | (labels == NO_LABEL)
    for row, label in missing:
        free = np.flatnonzero(~taken[row])
        if len(free):
            labels[row, free[0]] = label
            taken[row, free[0]] = True
    return labels


def _repeated(labels: Ints, hit: Array, width: int) -> tuple[Ints, Array]:
    last = np.maximum(1, (labels != NO_LABEL).sum(1)) - 1
    places = np.minimum(np.arange(width), last[:, None])
    return np.take_along_axis(labels, places, 1), np.take_along_axis(hit, places, 1)
