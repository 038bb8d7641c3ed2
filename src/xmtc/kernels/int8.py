"""Weights as small whole numbers, with a scale for each child of a node."""

from __future__ import annotations

import math

import numpy as np

from xmtc.kernels.compiled import kernel
from xmtc.kernels.types import Floats, Ints, Signed

LARGEST = np.float32(127)  # of the whole numbers
SCALE_BITS = 16  # so that a whole number times its scale is exact, and rounding twice is as once


@kernel
def to_int8(siblings: Ints, values: Floats, count: int) -> tuple[Signed, Floats]:
    """Each value in whole numbers of -127 to 127 of its sibling's scale, and the (count,) scales.

    siblings: which of the `count` children each value belongs to.
    """
    scales = np.zeros(count, np.float32)
    for entry in range(len(values)):
        scales[siblings[entry]] = max(scales[siblings[entry]], abs(values[entry]))
    for child in range(count):
        mantissa, exponent = math.frexp(scales[child] / LARGEST)
        whole = np.rint(mantissa * (1 << SCALE_BITS))
        scales[child] = np.float32(math.ldexp(whole, exponent - SCALE_BITS))
        if scales[child] == 0:
            scales[child] = 1
    whole_values = np.empty(len(values), np.int8)
    for entry in range(len(values)):
        whole_values[entry] = np.int8(np.rint(values[entry] / scales[siblings[entry]]))
    return whole_values, scales
