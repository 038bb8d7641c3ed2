"""Asking for memory changes nothing, wherever it is."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from xmtc.kernels.simd import fetch


@njit
def asked(array, places):
    for place in places:
        fetch(array, place)
    return array.sum()


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64, np.float32])
def test_any_place_may_be_asked_for(kind):
    array = np.arange(5).astype(kind)
    assert asked(array, np.array([0, 4, 5, -1, 1 << 40])) == 10
    assert asked(array[:0], np.array([0])) == 0
