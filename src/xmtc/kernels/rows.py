"""Some rows of a sparse matrix with only the columns that occur in them."""

from __future__ import annotations

import numpy as np
from numba import njit

from xmtc.kernels.types import Floats, Ints, Longs


def gather_rows(
    indptr: Longs, columns: Ints, values: Floats, rows: Ints, place_of: Ints
) -> tuple[Longs, Ints, Floats, Ints, Floats]:
    """(indptr, columns, values) of `rows` in new column numbers, which old columns those are,
    ascending, and the square length of each row.

    place_of: (columns,) scratch space, all zero before and after.
    """
    return _gather(indptr, columns, values, rows, place_of)


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
