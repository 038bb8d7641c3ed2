"""The value at a place of the sorted order, and which values are the largest, without sorting."""

from __future__ import annotations

import numpy as np

from xmtc.kernels.compiled import kernel


@kernel
def in_order(values, wanted):
    """The value that would be at place `wanted` if they were sorted; they are shuffled meanwhile.

    Quickselect. NumPy's own (np.partition) takes numba five seconds to compile.
    """
    first = 0
    last = len(values) - 1
    while first < last:
        pivot = values[(first + last) // 2]
        low = first
        high = last
        while low <= high:
            while values[low] < pivot:
                low += 1
            while values[high] > pivot:
                high -= 1
            if low <= high:
                values[low], values[high] = values[high], values[low]
                low += 1
                high -= 1
        if wanted <= high:
            last = high
        elif wanted >= low:
            first = low
        else:
            break
    return values[wanted]


@kernel
def mark_largest(values, count, marks):
    """True for the `count` values that are the farthest from 0; of equals, the first."""
    if len(values) <= count:
        marks[: len(values)] = True
        return
    limit = -in_order(-np.abs(values), count - 1)
    ties = count
    for place in range(len(values)):
        ties -= abs(values[place]) > limit
    for place in range(len(values)):
        tied = abs(values[place]) == limit and ties > 0
        ties -= tied
        marks[place] = tied or abs(values[place]) > limit
