"""What benchmarks share: options, claims, timing in turns, peak memory, reading the data sets."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from xmtc import Dataset

T = TypeVar("T")
Measurement: TypeAlias = dict[str, Any]  # one row of the table; lists are recorded, not shown

ROOT = Path(__file__).resolve().parents[1]


class BenchmarkError(Exception):
    """Why a benchmark cannot run, in one sentence."""


@dataclass(frozen=True)
class Options:
    """What the command line sets for every benchmark."""

    data: Path = ROOT.parent / "shared" / "data"  # the folder that holds the data sets
    repeats: int = 3  # medians are over as many rounds
    threads: int = 2
    subset: int | None = None  # so many training texts only, for a quick try
    seed: int = 0
    only: tuple[str, ...] = ()  # data sets, of a benchmark that has several; none: all
    systems: tuple[str, ...] = ()  # likewise
    limit_minutes: float = 10.0  # a peer that needs longer is stopped, and that is recorded
    minutes: float = 20.0  # of training, of each neural system
    work: Path = ROOT / "benchmarks" / "work"  # trained models, so that a cell can be run alone
    ranking: Path | None = None  # where the ranking of the test texts is kept


class Claim(NamedTuple):
    """A sentence that a run proves or disproves, and the figure that decides."""

    sentence: str
    holds: bool
    figure: float


class Timing(NamedTuple):
    """One piece of work on the clock."""

    seconds: float
    cpu_seconds: (
        float  # of all threads and processes: fairer than the clock when the machine is busy
    )


def say(text: str) -> None:
    """Tell what happens now; standard output is for results."""
    print(f"  {text}", file=sys.stderr, flush=True)


def timed(work: Callable[[], T]) -> tuple[T, Timing]:
    """What the work gives, and how long it took."""
    cpu = cpu_seconds()
    start = time.perf_counter()
    result = work()
    return result, Timing(time.perf_counter() - start, cpu_seconds() - cpu)


def cpu_seconds() -> float:
    """Processor time of this process and of all it started, running (on Linux) or done."""
    done = os.times()
    children: dict[int, list[tuple[int, float]]] = {}
    for parent, pid, seconds in _processes():
        children.setdefault(parent, []).append((pid, seconds))
    running = 0.0
    family = [os.getpid()]
    while family:
        for pid, seconds in children.get(family.pop(), []):
            running += seconds
            family.append(pid)
    return time.process_time() + done.children_user + done.children_system + running


def _processes() -> Iterator[tuple[int, int, float]]:
    """(parent, number, processor time with that of its finished children) of all processes."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
            ticks = sum(map(int, fields[11:15]))
            yield int(fields[1]), int(path.parent.name), ticks / os.sysconf("SC_CLK_TCK")


def in_turns(candidates: Mapping[T, Callable[[], Timing]], repeats: int) -> dict[T, list[Timing]]:
    """Every candidate once per round, so that a busy moment does not hit only one of them."""
    timings: dict[T, list[Timing]] = {name: [] for name in candidates}
    for number in range(1, repeats + 1):
        for name, work in candidates.items():
            timings[name].append(work())
            say(f"round {number} of {repeats}, {name}: {timings[name][-1].seconds:.2f} s")
    return timings


def summary(timings: Sequence[Timing]) -> Measurement:
    """Median and runs, ready for a measurement."""
    return {
        "seconds": round(statistics.median(timing.seconds for timing in timings), 4),
        "cpu_seconds": round(statistics.median(timing.cpu_seconds for timing in timings), 4),
        "runs": [round(timing.seconds, 4) for timing in timings],
    }


def one(measurements: Sequence[Measurement], **where: Any) -> Measurement:
    """The only measurement with these values."""
    found = [row for row in measurements if where.items() <= row.items()]
    if len(found) != 1:
        raise BenchmarkError(f"{len(found)} measurements with {where}, and there should be one.")
    return found[0]


def dataset(options: Options, name: str, part: str = "trn") -> Dataset:
    """One part of a data set; of the training part only the first `subset` texts, if asked."""
    from xmtc import read_dataset

    path = options.data / name / f"{part}.jsonl.gz"
    if not path.is_file():
        raise BenchmarkError(f"{path} is missing: give the data sets' folder with --data FOLDER.")
    texts = read_dataset(path)
    short = part == "trn" and options.subset is not None and options.subset < len(texts)
    return texts.take(range(options.subset or 0)) if short else texts


def with_texts(train: Dataset) -> Dataset:
    """Without the labels that no text carries, which a subset has."""
    import numpy as np

    carried = np.bincount(train.relevant.indices, minlength=len(train.labels)) > 0
    if carried.all():
        return train
    return replace(train, relevant=train.relevant[:, carried], labels=train.labels.only(carried))


def chosen(asked: Sequence[str], there_are: Sequence[str], option: str) -> list[str]:
    """Those that were asked for, in our order; all when none was."""
    unknown = [name for name in asked if name not in there_are]
    if unknown:
        raise BenchmarkError(f"{option} {unknown[0]}: there are {', '.join(there_are)}.")
    return [name for name in there_are if not asked or name in asked]


def peak_memory(command: Sequence[str], **environment: str) -> tuple[int, str]:
    """Bytes that a command had in memory at its peak, and what it printed.

    The kernel counts a child from the size of its parent at least: call this from a small process.
    """
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
    ) as child:
        printed = _all_of(child.stdout)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise BenchmarkError(f"{' '.join(command)} ended with code {child.returncode}.")
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024), printed


def _all_of(stream: IO[str] | None) -> str:
    return stream.read() if stream else ""
