"""Row-wise work on sparse counts: renumber and sort their columns, turn counts into weights."""

from __future__ import annotations

import numpy as np

from xmtc.kernels.types import Floats, Ints, Longs, kernel


@kernel
def renumber_columns(
    indptr: Longs, columns: Ints, counts: Ints, new: Ints
) -> tuple[Longs, Ints, Ints]:
    """Column c becomes new[c], or is dropped where that is -1; each row ends up sorted."""
    width = 0
    if len(indptr) > 2:  # of a single text, nothing may grow with the vocabulary
        for column in new:
            width = max(width, column + 1)
        if len(columns) > width:
            return _renumber_by_column(indptr, columns, counts, new, width)
    return _renumber_by_row(indptr, columns, counts, new)


@kernel
def tfidf_weights(
    indptr: Longs, columns: Ints, counts: Ints, idf: Floats, sublinear: bool, unit: bool
) -> Floats:
    """tf * idf per entry, tf the count or 1 + ln(count); with `unit` each row has length 1."""
    weights = np.empty(len(columns), np.float32)
    log_of = np.log(np.maximum(np.arange(256), 1)) + 1  # most counts are small
    for row in range(len(indptr) - 1):
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            count = counts[entry]
            tf = np.float64(count)
            if sublinear:
                tf = log_of[count] if count < 256 else np.log(tf) + 1
            weight = tf * idf[columns[entry]]
            weights[entry] = weight
            total += weight * weight
        if unit and total > 0:
            scale = 1 / np.sqrt(total)
            for entry in range(indptr[row], indptr[row + 1]):
                weights[entry] *= scale
    return weights


@kernel
def _renumber_by_column(indptr, columns, counts, new, width):
    """Sorted by way of the columns: each entry moves twice, nothing is compared."""
    column_end = np.zeros(width + 1, np.int64)
    for entry in range(len(columns)):
        if new[columns[entry]] >= 0:
            column_end[new[columns[entry]] + 1] += 1
    new_indptr = np.zeros(len(indptr), np.int64)
    for column in range(width):
        column_end[column + 1] += column_end[column]
    size = column_end[width]
    by_column = np.empty((size, 2), np.int32)  # row and count
    for row in range(len(indptr) - 1):
        for entry in range(indptr[row], indptr[row + 1]):
            column = new[columns[entry]]
            if column >= 0:
                by_column[column_end[column], 0] = row
                by_column[column_end[column], 1] = counts[entry]
                column_end[column] += 1  # in the end, where the column ends
                new_indptr[row + 1] += 1
    for row in range(len(indptr) - 1):
        new_indptr[row + 1] += new_indptr[row]
    new_columns = np.empty(size, np.int32)
    new_counts = np.empty(size, np.int32)
    place = new_indptr[:-1].copy()
    start = 0
    for column in range(width):
        for entry in range(start, column_end[column]):
            row = by_column[entry, 0]
            new_columns[place[row]] = column
            new_counts[place[row]] = by_column[entry, 1]
            place[row] += 1
        start = column_end[column]
    return new_indptr, new_columns, new_counts


@kernel
def _renumber_by_row(indptr, columns, counts, new):
    """Sorted row by row, for few rows. Column and count share one number."""
    packed = np.empty(len(columns), np.int64)
    new_indptr = np.zeros(len(indptr), np.int64)
    size = 0
    for row in range(len(indptr) - 1):
        first = size
        for entry in range(indptr[row], indptr[row + 1]):
            column = np.int64(new[columns[entry]])
            if column >= 0:
                packed[size] = (column << 32) | counts[entry]
                size += 1
        packed[first:size].sort()
        new_indptr[row + 1] = size
    packed = packed[:size]
    return new_indptr, (packed >> 32).astype(np.int32), (packed & 0xFFFFFFFF).astype(np.int32)
