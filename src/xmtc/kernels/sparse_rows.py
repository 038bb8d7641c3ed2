"""Rows of a sparse matrix: some with only the columns that occur in them, and sums of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmtc.kernels.compiled import kernel
from xmtc.kernels.quickselect import mark_largest
from xmtc.kernels.types import Floats, Ints, Longs, Matrix


class TrainingRows(NamedTuple):
    """Texts as the solver of linear classifiers reads them: a matrix and its rows' lengths."""

    indptr: Longs
    columns: Ints
    values: Floats
    square_lengths: Floats  # (rows,)


@kernel
def gather_rows(matrix: Matrix, rows: Ints, place_of: Ints) -> tuple[TrainingRows, Ints]:
    """These rows in new column numbers, and which old columns those are, ascending.

    place_of: (columns,) scratch space, all zero before and after.
    """
    indptr, columns, values = matrix
    size = 0
    for row in rows:
        size += indptr[row + 1] - indptr[row]
    used = 0
    seen = np.empty(min(size, len(place_of)), np.int32)
    for row in rows:
        for entry in range(indptr[row], indptr[row + 1]):
            if place_of[columns[entry]] == 0:
                place_of[columns[entry]] = 1
                seen[used] = columns[entry]
                used += 1
    features = np.sort(seen[:used])
    for place in range(used):
        place_of[features[place]] = place
    new_indptr = np.zeros(len(rows) + 1, np.int64)
    new_columns = np.empty(size, np.int32)
    new_values = np.empty(size, np.float32)
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
        place_of[features[place]] = 0
    return TrainingRows(new_indptr, new_columns, new_values, squares), features


@kernel
def largest_entries(matrix: Matrix, count: int) -> Matrix:
    """The same rows, each with its `count` largest entries; of equals, the first."""
    indptr, columns, values = matrix
    starts = np.zeros(len(indptr), np.int64)
    longest = 0
    for row in range(len(indptr) - 1):
        size = indptr[row + 1] - indptr[row]
        longest = max(longest, size)
        starts[row + 1] = starts[row] + min(size, count)
    new_columns = np.empty(starts[-1], np.int32)
    new_values = np.empty(starts[-1], np.float32)
    marks = np.empty(longest, np.bool_)
    end = 0
    for row in range(len(indptr) - 1):
        first = indptr[row]
        last = indptr[row + 1]
        mark_largest(values[first:last], count, marks)
        for entry in range(first, last):
            if marks[entry - first]:
                new_columns[end] = columns[entry]
                new_values[end] = values[entry]
                end += 1
    return Matrix(starts, new_columns, new_values)


@kernel
def sorted_union(left: Ints, right: Ints) -> Ints:
    """All numbers of two ascending arrays, once each, ascending."""
    both = np.empty(len(left) + len(right), np.int32)
    i = 0
    j = 0
    end = 0
    while i < len(left) or j < len(right):
        from_left = j == len(right) or (i < len(left) and left[i] <= right[j])
        number = left[i] if from_left else right[j]
        i += i < len(left) and left[i] == number
        j += j < len(right) and right[j] == number
        both[end] = number
        end += 1
    return both[:end].copy()


@kernel
def _largest_first(columns, total, count):
    """The columns with the largest sums move to the front, in their order; others' become 0."""
    marks = np.empty(len(columns), np.bool_)
    mark_largest(total[columns], count, marks)
    end = 0
    for place in range(len(columns)):
        if marks[place]:
            columns[end] = columns[place]
            end += 1
        else:
            total[columns[place]] = 0
    return end


@kernel
def unit_sums(
    groups: Matrix, first: int, last: int, matrix: Matrix, width: int, max_columns: int
) -> Matrix:
    """Of each group from first to last - 1 the weighted sum of its rows, of unit length.

    groups: which rows of `matrix` (rows, width), and their weights.
    max_columns: of a sum, the largest; of equals, the first.
    """
    starts, rows, weights = groups
    indptr, columns, values = matrix
    max_columns = min(max_columns, width)
    bound = 0
    largest = 0
    for group in range(first, last):
        size = 0
        for row in rows[starts[group] : starts[group + 1]]:
            size += indptr[row + 1] - indptr[row]
        bound += min(size, max_columns)
        largest = max(largest, min(size, width))
    bound += largest
    ends = np.zeros(last - first + 1, np.int64)
    out_columns = np.empty(bound, np.int32)
    out_values = np.empty(bound, np.float32)
    total = np.zeros(width, np.float32)
    seen = np.zeros(width, np.uint8)
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
        for place in range(begin, end):
            seen[out_columns[place]] = 0
        if end - begin > max_columns:
            end = begin + _largest_first(out_columns[begin:end], total, max_columns)
        length = 0.0
        for place in range(begin, end):
            length += np.float64(total[out_columns[place]]) ** 2
        scale = np.float32(1 / np.sqrt(length)) if length > 0 else np.float32(0)
        for place in range(begin, end):
            column = out_columns[place]
            out_values[place] = total[column] * scale
            total[column] = 0
        ends[group - first + 1] = end
    return Matrix(ends, out_columns[:end].copy(), out_values[:end].copy())
