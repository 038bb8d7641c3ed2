"""TF-IDF rows: counts of terms are renumbered, sorted and weighted."""

from __future__ import annotations

import numpy as np

from xmtc.kernels.compiled import kernel
from xmtc.kernels.types import Floats, Ints, Longs, Matrix


@kernel
def tfidf_rows(
    indptr: Longs,
    terms: Ints,
    counts: Ints,
    column_of: Ints,
    idf: Floats,
    sublinear: bool,
    unit: bool,
) -> Matrix:
    """Counts of terms as weights tf * idf, tf the count or 1 + ln(count); rows are sorted.

    column_of: (terms,) the column of each, -1 for none. idf: (columns,). unit: rows have length 1.
    """
    if len(indptr) > 2 and len(terms) > len(idf):  # of one text, nothing may grow with the columns
        indptr, columns, counts = _renumber_by_column(indptr, terms, counts, column_of, len(idf))
    else:
        indptr, columns, counts = _renumber_by_row(indptr, terms, counts, column_of)
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
    return Matrix(indptr, columns, weights)


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
