"""This process's memory, now and at its peak; files in megabytes; work in a process of its own."""

from __future__ import annotations

import ctypes
import multiprocessing
import resource
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.kit import BenchmarkError

T = TypeVar("T")
MEGABYTE = 1e6
MEMORY_SHARE = 0.85  # of the machine; beyond it, allocating fails and the cell says so
PR_SET_PDEATHSIG = 1  # Linux: the signal that a process gets when its parent ends
OOM = "OOM"  # what a cell says that ran out of memory


class Killed(BenchmarkError):
    """The end of a process that nobody here asked for: mostly there was no memory left."""


class TooSlow(BenchmarkError):
    """The end of a process that needed longer than it was given."""


def resident() -> float:
    """MB in memory now; at the peak so far where there is no /proc."""
    return _status("VmRSS")


def forget_peak() -> None:
    """Let `peak` count from here on. Only Linux can; elsewhere the peak is that of all time."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak() -> float:
    """MB in memory at the peak since `forget_peak`."""
    return _status("VmHWM")


def megabytes_in(folder: Path) -> float:
    """What the files of a saved model take on disk."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / MEGABYTE


def limit_memory(share: float) -> None:
    """Fail to allocate beyond this share of the machine's memory, rather than bring it down."""
    if sys.platform == "linux":
        pages = Path("/proc/meminfo").read_text(encoding="ascii").split()
        limit = int(share * 1024 * int(pages[pages.index("MemTotal:") + 1]))
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def alone(work: Callable[..., T], *arguments: Any, minutes: float | None = None) -> T:
    """What the work gives, done in a new process that ends with it.

    minutes: it is ended after so many, and gets no more than its share of the memory.
    """
    context = multiprocessing.get_context("spawn")
    start = time.monotonic()
    try:
        with ProcessPoolExecutor(1, context, _set_limits, (minutes,)) as pool:
            return pool.submit(work, *arguments).result()
    except BrokenProcessPool:
        if minutes and time.monotonic() - start >= 60 * minutes:
            raise TooSlow(f"> {minutes:g} min") from None
        called = ", ".join(map(str, arguments))
        raise Killed(f"the process of {work.__name__}({called}) was killed.") from None


def _set_limits(minutes: float | None) -> None:
    if sys.platform == "linux":  # who kills a benchmark does not want its work to go on
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if minutes:
        limit_memory(MEMORY_SHARE)
        signal.setitimer(signal.ITIMER_REAL, 60 * minutes)  # its signal ends the process


def _status(field: str) -> float:
    with suppress(OSError):
        words = Path("/proc/self/status").read_text(encoding="utf-8").split()
        return int(words[words.index(f"{field}:") + 1]) * 1024 / MEGABYTE
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size * (1 if sys.platform == "darwin" else 1024) / MEGABYTE
