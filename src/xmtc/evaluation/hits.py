"""Hits: which places of a ranking hold a relevant label. All metrics start from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xmtc.core.arrays import (
    Bools,
    Csr,
    Ints,
    Longs,
    as_csr,
    csr,
    pair_keys,
    row_of_each_entry,
    starts_of,
)
from xmtc.core.errors import DataError
from xmtc.core.ranking import NO_LABEL, Ranking


@dataclass(frozen=True)
class Hits:
    """The first k distinct labels of each text, and whether each is relevant."""

    labels: Ints  # (texts, k) no label twice, padded with -1 at the end of a row
    hit: Bools  # (texts, k)
    relevant: Csr  # (texts, labels)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def k(self) -> int:
        """Places in a row."""
        return int(self.labels.shape[1])

    @cached_property
    def relevant_counts(self) -> Longs:
        """(texts,) relevant labels of each text."""
        return np.asarray(np.diff(self.relevant.indptr), np.int64)

    @cached_property
    def returned_counts(self) -> Longs:
        """(texts,) returned labels of each text."""
        return np.asarray((self.labels != NO_LABEL).sum(axis=1), np.int64)

    def found(self, k: int) -> Longs:
        """(texts,) relevant labels among the first k."""
        return np.asarray(self.hit[:, :k].sum(axis=1), np.int64)


def hits_of(ranking: Ranking, relevant: Csr, k: int | None = None) -> Hits:
    """Look every ranked label up in the truth; repeats and padding go before the cut at k.

    relevant: (texts, labels) in the ids of the ranking. It may have columns that the ranking
    never names (labels unknown to the model), and a ranked id beyond its columns is a miss.
    """
    if relevant.shape[0] != len(ranking):
        raise DataError(
            f"expected a ranking of {relevant.shape[0]} texts like the truth, got {len(ranking)}. "
            "Rank and evaluate the same texts."
        )
    truth = relevant if relevant.has_canonical_format else as_csr(relevant.copy())
    if not np.all(truth.data):
        truth = truth.copy()
        truth.eliminate_zeros()
    labels = _distinct(ranking.labels)
    if k is not None:
        first = labels[:, :k]
        labels = np.full((len(first), k), NO_LABEL, np.int32)
        labels[:, : first.shape[1]] = first
    return Hits(labels, _is_relevant(labels, truth), truth)


def marks(labels: Ints, marked: Bools, columns: int) -> Csr:
    """(texts, columns) with a 1 for each marked place; ids from `columns` on widen it."""
    indptr = starts_of(marked.sum(axis=1))
    indices = labels[marked]
    columns = max(columns, int(indices.max(initial=-1)) + 1)
    return csr(np.ones(len(indices), np.float32), indices, indptr, columns)


def _distinct(labels: Ints) -> Ints:
    """Each label once, at its best place; the rest of the row moves up, padding goes last."""
    order = np.argsort(labels, axis=1, kind="stable")
    ordered = np.take_along_axis(labels, order, axis=1)
    dropped = ordered < 0
    dropped[:, 1:] |= ordered[:, 1:] == ordered[:, :-1]
    gone = np.empty_like(dropped)
    np.put_along_axis(gone, order, dropped, axis=1)
    present_first = np.argsort(gone, axis=1, kind="stable")
    padded = np.where(gone, NO_LABEL, labels)
    return np.take_along_axis(padded, present_first, axis=1).astype(np.int32)


def _is_relevant(labels: Ints, truth: Csr) -> Bools:
    """One binary search per place among (text, label) keys: nothing of size texts x labels."""
    columns = truth.shape[1]
    keys = pair_keys(row_of_each_entry(truth), truth.indices, columns)
    asked = pair_keys(np.arange(len(labels))[:, None], labels, columns)
    asked[(labels < 0) | (labels >= columns)] = -1
    nearest = np.append(keys, -2)[np.searchsorted(keys, asked)]
    is_relevant: Bools = nearest == asked
    return is_relevant
