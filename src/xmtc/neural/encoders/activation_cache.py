"""The activation cache: arrays that encoders computed, found again by the tokens they belong to.

A training on some texts uses what another one computed for more texts.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xmtc.core.arrays import Longs
from xmtc.core.errors import StoreError
from xmtc.core.files import written
from xmtc.neural.batches.tokens import DIGEST_SIZE, short_digest

INDEX = np.dtype([("digest", f"V{DIGEST_SIZE}"), ("start", np.int64)])
Make = Callable[[Path], Longs]  # writes the array there; returns where each item's rows begin


def found_or_made(
    cache: Path, name: str, digests: Sequence[bytes], make: Make
) -> tuple[Path, Longs]:
    """An array with rows of all these items, and where in it the rows of each begin.

    name: of all that the rows depend on, except the tokens. The array may have other items too.
    """
    path = cache / f"{name}-{short_digest(b''.join(digests)).hex()}.npy"
    index = path.with_suffix(".index")
    others = (other for other in sorted(cache.glob(f"{name}-*{index.suffix}")) if other != index)
    for known in (index, *others):
        starts = _starts(known, digests)
        if starts is not None:
            return known.with_suffix(".npy"), starts
    starts = make(path)
    entries = np.empty(len(digests), INDEX)
    entries["digest"] = np.frombuffer(b"".join(digests), f"V{DIGEST_SIZE}")
    entries["start"] = starts
    with written(index) as draft:
        entries.tofile(draft)
    return path, starts


def allocate(path: Path, dtype: Any, shape: tuple[int, int]) -> np.memmap[Any, Any]:
    """An array on disk, all of it allocated: a full disk is found now, not in the middle."""
    try:
        array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
        if hasattr(os, "posix_fallocate"):
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    except OSError as error:
        path.unlink(missing_ok=True)
        size = math.prod(shape) * np.dtype(dtype).itemsize / 1e6
        raise StoreError(
            f"no room for {size:,.0f} MB in {path.parent}: {error}. Free some disk space, or "
            "set XMTC_CACHE to a folder with more. To cache nothing of frozen layers: "
            "encoder.published.frozen_cache=none."
        ) from error
    return array


def _starts(index: Path, digests: Sequence[bytes]) -> Longs | None:
    """Where the rows of each item begin; None where one of them is missing."""
    if not index.exists() or not index.with_suffix(".npy").exists():
        return None
    entries = np.fromfile(index, INDEX)
    starts = dict(zip(entries["digest"].tolist(), entries["start"].tolist(), strict=True))
    if not all(each in starts for each in digests):
        return None
    return np.array([starts[each] for each in digests], np.int64)
