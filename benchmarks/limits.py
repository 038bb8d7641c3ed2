"""Time and memory: measuring them, and work in a process of its own that is limited in both."""

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
from typing import Any, NamedTuple, TypeVar

import psutil

from benchmarks.experiment import BenchmarkError

T = TypeVar("T")
MEGABYTE = 1e6
MEMORY_SHARE = 0.85  # of the machine; beyond it, allocating fails and the cell says so
PR_SET_PDEATHSIG = 1  # Linux: the signal that a process gets when its parent ends
OOM = "OOM"  # what a cell says that ran out of memory


class Killed(BenchmarkError):
    """A process died by itself: usually for lack of memory."""


class TooSlow(BenchmarkError):
    """A process needed longer than its limit."""


class Timing(NamedTuple):
    """One piece of work on the clock."""

    seconds: float
    cpu_seconds: float  # of all threads and processes: fairer when the machine is busy


def timed(work: Callable[[], T]) -> tuple[T, Timing]:
    """The result of the work, and how long it took."""
    cpu = cpu_seconds()
    start = time.perf_counter()
    result = work()
    return result, Timing(time.perf_counter() - start, cpu_seconds() - cpu)


def cpu_seconds() -> float:
    """Processor time of this process and of all it started, running or finished."""
    own = psutil.Process()
    total = 0.0
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.Error):  # it ended meanwhile
            total += sum(process.cpu_times()[:4])  # own and of children that were waited for
    return total


def resident() -> float:
    """MB in memory now."""
    return float(psutil.Process().memory_info().rss) / MEGABYTE


def reset_peak() -> None:
    """Let `peak` count from here on. Only Linux can; elsewhere `peak` is the memory of now."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak() -> float:
    """MB in memory at the peak since `reset_peak`; psutil does not know it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resident()
    words = status.read_text(encoding="utf-8").split()
    return int(words[words.index("VmHWM:") + 1]) * 1024 / MEGABYTE


def megabytes_in(folder: Path) -> float:
    """Size of the files of a saved model."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / MEGABYTE


def limit_memory(share: float) -> None:
    """Fail to allocate beyond this share of the machine's memory, rather than bring it down."""
    if sys.platform == "linux":
        limit = int(share * psutil.virtual_memory().total)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def alone(work: Callable[..., T], *arguments: Any, minutes: float | None = None) -> T:
    """The result of the work, done in a new process that ends with it.

    minutes: it is stopped after so many, and gets no more than its share of the memory.
    """
    context = multiprocessing.get_context("spawn")
    start = time.monotonic()
    try:
        with ProcessPoolExecutor(1, context, _set_limits, (minutes,)) as pool:
            return pool.submit(work, *arguments).result()
    except BrokenProcessPool:
        if minutes and time.monotonic() - start >= 60 * minutes:
            raise TooSlow(f"> {minutes:g} min") from None
        name = getattr(work, "__qualname__", repr(work))
        raise Killed(f"the process of {name} was killed.") from None


def end_with_parent() -> None:
    """On Linux the calling process ends when its parent does, however that happened."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _set_limits(minutes: float | None) -> None:
    end_with_parent()
    if minutes:
        limit_memory(MEMORY_SHARE)
        signal.setitimer(signal.ITIMER_REAL, 60 * minutes)  # its signal ends the process
