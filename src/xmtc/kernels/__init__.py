"""Loops over arrays, compiled by numba; they know nothing of the rest of xmtc."""

import os
import tempfile
from pathlib import Path


def _find_a_place_for_compiled_kernels() -> None:
    """numba caches beside the source or in the home folder, and fails if both are read-only."""
    beside = Path(__file__).parent
    if any(os.access(place, os.W_OK) for place in (beside, Path.home())):
        return
    if "NUMBA_CACHE_DIR" not in os.environ:
        os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="xmtc-kernels-")


_find_a_place_for_compiled_kernels()
