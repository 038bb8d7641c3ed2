"""Loops over arrays, compiled by numba; they know nothing of the rest of xmtc."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path


def find_cache_folder() -> None:
    """numba caches next to the source or in the home folder, and fails if both are read-only."""
    if any(os.access(place, os.W_OK) for place in (Path(__file__).parent, Path.home())):
        return
    if "NUMBA_CACHE_DIR" not in os.environ:
        folder = tempfile.mkdtemp(prefix="xmtc-kernels-")
        os.environ["NUMBA_CACHE_DIR"] = folder
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


find_cache_folder()
