"""Rows of a sparse matrix: some with only the columns that occur in them, and sums of them."""

from __future__ import annotations

import numpy as np
from numba import njit

from xmtc.kernels.types import Floats, Ints, Longs, Matrix


def gather_rows(
    indptr: Longs, columns: Ints, values: Floats, rows: Ints, place_of: Ints
) -> tuple[Longs, Ints, Floats, Ints, Floats]:
    """(indptr, columns, values) of `rows` in new column numbers, which old columns those are,
    ascending, and the square length of each row.

    place_of: (columns,) scratch space, all zero before and after.
    """
    return _gather(indptr, columns, values, rows, place_of)


def unit_sums(groups: Matrix, first: int, last: int, matrix: Matrix, columns: int) -> Matrix:
    """(indptr, columns, values): of each group the weighted sum of its rows, of unit length.

    groups: (indptr, rows, weights) of all groups; those from first to last - 1 are summed.
    """
    return _unit_sums(*groups, first, last, *matrix, columns)


@njit(cache=True, nogil=True)
def _gather(indptr, columns, values, rows, place_of):
    size = 0
    for row in rows:
        size += indptr[row + 1] - indptr[row]
    used, seen = 0, np.empty(min(size, len(place_of)), np.int32)
    for row in rows:
        for entry in range(indptr[row], indptr[row + 1]):
            if place_of[columns[entry]] == 0:
                place_of[columns[entry]] = 1
                seen[used] = columns[entry]
                used += 1
    kept = np.sort(seen[:used])
    for place in range(used):
        place_of[kept[place]] = place
    new_indptr = np.zeros(len(rows) + 1, np.int64)
    new_columns, new_values = np.empty(size, np.int32), np.empty(size, np.float32)
    squares = np.zeros(len(rows), np.float32)
    size = 0
    for place in range(len(rows)):
        for entry in range(indptr[rows[place]], indptr[rows[place] + 1]):
            new_columns[size] = place_of[columns[entry]]
            new_values[size] = values[entry]
            squares[place] += values[entry] * values[entry]
            size += 1
        new_indptr[place + 1] = size
    for place in range(used):
        place_of[kept[place]] = 0
    return new_indptr, new_columns, new_values, kept, squares


@njit(cache=True, nogil=True)
def _unit_sums(starts, rows, weights, first, last, indptr, columns, values, width):
    bound = 0
    for group in range(first, last):
        size = 0
        for row in rows[starts[group] : starts[group + 1]]:
            size += indptr[row + 1] - indptr[row]
        bound += min(size, width)
    ends = np.zeros(last - first + 1, np.int64)
    out_columns, out_values = np.empty(bound, np.int32), np.empty(bound, np.float32)
    total, seen = np.zeros(width, np.float32), np.zeros(width, np.uint8)
    end = 0
    for group in range(first, last):
        begin = end
        for place in range(starts[group], starts[group + 1]):
            weight = weights[place]
            for entry in range(indptr[rows[place]], indptr[rows[place] + 1]):
                column = columns[entry]
                total[column] += weight * values[entry]
                if seen[column] == 0:
                    seen[column] = 1
                    out_columns[end] = column
                    end += 1
        out_columns[begin:end].sort()
        length = 0.0
        for place in range(begin, end):
            length += np.float64(total[out_columns[place]]) ** 2
        scale = np.float32(1 / np.sqrt(length)) if length > 0 else np.float32(0)
        for place in range(begin, end):
            column = out_columns[place]
            out_values[place] = total[column] * scale
            total[column], seen[column] = 0, 0
        ends[group - first + 1] = end
    return ends, out_columns[:end].copy(), out_values[:end].copy()
