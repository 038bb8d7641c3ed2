"""Kept: what encoders made of texts, on disk, found again by the tokens that it was made of.

So a training of some texts uses what another one of more texts has read already.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from xmtc.core.arrays import Longs
from xmtc.core.errors import StoreError
from xmtc.core.files import written
from xmtc.neural.batches.tokens import Tokens

SIZE = 16  # bytes that tell tokens apart
INDEX = np.dtype([("made_of", f"V{SIZE}"), ("start", np.int64)])
Make = Callable[[Path], Longs]  # writes the array there; where what was made of each begins


def pieces_of(tokens: Tokens) -> list[bytes]:
    """What tells the pieces of texts apart, by their tokens."""
    ids = np.ascontiguousarray(tokens.ids)
    starts = tokens.starts.tolist()
    return [_digest(ids[start:end].tobytes()) for start, end in pairwise(starts)]


def texts_of(tokens: Tokens) -> list[bytes]:
    """What tells whole texts apart."""
    pieces = pieces_of(tokens)
    first = tokens.first.tolist()
    return [_digest(b"".join(pieces[start:end])) for start, end in pairwise(first)]


def found_or_made(
    cache: Path, name: str, wanted: Sequence[bytes], make: Make
) -> tuple[Path, Longs]:
    """An array with what was made of all of these, and where in it that of each begins.

    name: of all that it depends on besides. What was made of others may be in the array too.
    """
    path = cache / f"{name}-{_digest(b''.join(wanted)).hex()}.npy"
    same = _index_of(path)
    others = (index for index in sorted(cache.glob(f"{name}-*{same.suffix}")) if index != same)
    for index in (same, *others):
        places = _places(index, wanted)
        if places is not None:
            return index.with_suffix(".npy"), places
    starts = make(path)
    _note(same, wanted, starts)
    return path, starts


def room_for(path: Path, dtype: Any, shape: tuple[int, int]) -> np.memmap[Any, Any]:
    """An array on disk, all of it allocated: a full disk is found now, not in the middle."""
    try:
        states = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
        if hasattr(os, "posix_fallocate"):
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    except OSError as error:
        path.unlink(missing_ok=True)
        size = math.prod(shape) * np.dtype(dtype).itemsize / 1e6
        raise StoreError(
            f"no room for {size:,.0f} MB in {path.parent}: {error}. Make room, set XMTC_CACHE to "
            "another folder, or take a larger disk. States of frozen layers can be done without: "
            "encoder.frozen_cache=none."
        ) from error
    return states


def _index_of(path: Path) -> Path:
    return path.with_suffix(".index")


def _places(index: Path, wanted: Sequence[bytes]) -> Longs | None:
    """Where what was made of each begins; None where one of them is missing."""
    if not index.exists() or not index.with_suffix(".npy").exists():
        return None
    entries = np.fromfile(index, INDEX)
    starts = dict(zip(entries["made_of"].tolist(), entries["start"].tolist(), strict=True))
    if not all(each in starts for each in wanted):
        return None
    return np.array([starts[each] for each in wanted], np.int64)


def _note(index: Path, made_of: Sequence[bytes], starts: Longs) -> None:
    entries = np.empty(len(made_of), INDEX)
    entries["made_of"] = np.frombuffer(b"".join(made_of), f"V{SIZE}")
    entries["start"] = starts
    with written(index) as draft:
        entries.tofile(draft)


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=SIZE).digest()
