"""Threads: work cut into blocks that a pool shares. Kernels release the interpreter lock.

The pool is Python's own, not numba's, because numba's default threading layer aborts the process
when two Python threads enter it at once, and a server does that (docs/decisions/0004).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from xmtc.core.errors import ConfigError

T = TypeVar("T")
R = TypeVar("R")

_asked: list[int] = []  # the last `set_threads`, if any; of the whole process


def thread_count() -> int:
    """How many threads work at once: `set_threads`, else XMTC_THREADS, else all cores."""
    if _asked:
        return _asked[0]
    value = os.environ.get("XMTC_THREADS", "")
    if value and not (value.isdecimal() and int(value) > 0):
        raise ConfigError(f"XMTC_THREADS={value!r}: expected a positive whole number")
    if value:
        return int(value)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_threads(count: int | None) -> None:
    """Use this many threads from here on; None goes back to the default."""
    if count is not None and count < 1:
        raise ConfigError(f"threads={count}: expected at least 1, or None for all cores")
    _asked[:] = [] if count is None else [count]


def blocks(total: int, size: int) -> list[tuple[int, int]]:
    """[(0, size), (size, 2 * size), ...] up to `total`."""
    return [(start, min(start + size, total)) for start in range(0, total, size)]


def in_threads(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """`work` of every item, in order; the first error stops the rest."""
    items = list(items)
    workers = min(thread_count(), len(items))
    if workers <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))
