"""Weights as small whole numbers, with a scale for each child of a node."""

from __future__ import annotations

import numpy as np
from numba import njit

from xmtc.kernels.types import Floats, Ints, Signed


def largest_by_sibling(siblings: Ints, values: Floats, count: int) -> Floats:
    """(count,) the largest absolute value of each sibling; 0 without any."""
    return _largest(siblings, values, count)


def rounded_values(siblings: Ints, values: Floats, scales: Floats) -> Signed:
    """int8: each value in whole numbers of its sibling's scale."""
    return _rounded(siblings, values, scales)


@njit(cache=True, nogil=True)
def _largest(siblings, values, count):
    largest = np.zeros(count, np.float32)
    for entry in range(len(values)):
        largest[siblings[entry]] = max(largest[siblings[entry]], abs(values[entry]))
    return largest


@njit(cache=True, nogil=True)
def _rounded(siblings, values, scales):
    whole = np.empty(len(values), np.int8)
    for entry in range(len(values)):
        whole[entry] = np.int8(np.rint(values[entry] / scales[siblings[entry]]))
    return whole
