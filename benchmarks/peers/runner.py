"""What the adapters of the peers share: fit, save and rank on the clock, asked in lines of JSON.

An adapter runs isolated in the environment of its peer, puts the repository on its path and calls
`serve` with its `Adapter`. A question is a `Task`; the answer holds the figures.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.limits import (
    MEMORY_SHARE,
    OOM,
    limit_memory,
    megabytes_in,
    peak,
    reset_peak,
    resident,
    timed,
)

WARM_UP = 20  # texts ranked off the clock
SINGLE_TEXTS = 1000  # ranked one at a time, at most
SINGLE_SECONDS = 20.0  # a peer that is slower than this ranks fewer texts


@dataclass(frozen=True)
class Task:
    """Train on X.npz and Y.npz in `folder`, then rank the rows of T.npz."""

    folder: str
    trees: int
    threads: int
    seed: int
    k: int
    mode: str = ""  # of a peer that has several

    def matrix(self, name: str) -> Any:
        """One of the three, as float32 CSR."""
        return sp.load_npz(Path(self.folder) / f"{name}.npz").tocsr()


class Adapter:
    """A peer, as its script describes it; the defaults suit one that takes CSR matrices."""

    version = ""
    one_process = True  # else its memory cannot be read

    def settings(self, task: Task) -> dict[str, Any]:
        """What is not left at its default; asked after `fit`."""
        return {}

    def load(self, task: Task) -> Any:
        """The training data in the form that `fit` wants; not on the clock."""
        return task.matrix("X"), task.matrix("Y")

    def fit(self, data: Any, task: Task) -> Any:
        """Cluster and train."""
        raise NotImplementedError

    def save(self, model: Any, place: Path) -> None:
        """Write the model; what is written is weighed."""
        raise NotImplementedError

    def ready(self, place: Path, task: Task) -> Any:
        """The saved model, ready for its fastest ranking."""
        raise NotImplementedError

    def asked(self, task: Task) -> Any:
        """The texts to rank, in a form that has rows; not on the clock."""
        return task.matrix("T")

    def many(self, asked: Any) -> Any:
        """Rows of features in the form that `rank` wants; not on the clock."""
        return asked

    def rank(self, model: Any, asked: Any, task: Task) -> Any:
        """At least the k best labels of each text."""
        raise NotImplementedError

    def scores(self, answer: Any) -> Any:
        """What `rank` gave, as CSR; not on the clock."""
        return answer

    def one(self, row: Any) -> Any:
        """One row of features in the form that `rank_one` wants; not on the clock."""
        return row

    def rank_one(self, model: Any, one: Any, task: Task) -> Any:
        """The k best labels of one text."""
        return self.rank(model, one, task)


def serve(adapter: Adapter) -> None:
    """Answer tasks until there are no more."""
    limit_memory(MEMORY_SHARE)
    answer_questions(adapter.version, lambda question: measure(adapter, Task(**question)))


def answer_questions(version: str, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """The version, then an answer per line of input; what the peer prints is dropped."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    about = {"version": version, "environment": environment()}
    print(json.dumps(about), file=answers, flush=True)
    for line in sys.stdin:
        try:
            found = answer(json.loads(line))
        except MemoryError:
            found = {"failed": OOM}
        except Exception as problem:  # a peer's failure is a result
            found = {"failed": f"{type(problem).__name__}: {problem}"[:200]}
        print(json.dumps(found), file=answers, flush=True)


def environment() -> dict[str, str]:
    """Versions of Python and of all packages that are installed with the peer."""
    installed = {each.metadata["Name"]: each.version for each in metadata.distributions()}
    return {"python": platform.python_version(), **dict(sorted(installed.items()))}


def measure(adapter: Adapter, task: Task) -> dict[str, Any]:
    """One cell of the table, all but the quality of the ranking, which goes to ranking.npz."""
    before = resident()
    data = adapter.load(task)
    reset_peak()
    model, fit = timed(lambda: adapter.fit(data, task))
    figures = {"fit_seconds": fit.seconds, "fit_cpu_seconds": fit.cpu_seconds}
    if adapter.one_process:
        figures["peak_mb"] = peak() - before
    asked = adapter.asked(task)
    with tempfile.TemporaryDirectory(dir=task.folder) as folder:
        place = Path(folder)
        adapter.save(model, place)
        figures["model_mb"] = megabytes_in(place)
        model = adapter.ready(place, task)
        few = adapter.many(asked[:WARM_UP])
        many = adapter.many(asked)
        adapter.rank(model, few, task)
        answer, rank = timed(lambda: adapter.rank(model, many, task))
        alone = replace(task, threads=1)
        model = adapter.ready(place, alone)
        texts = range(min(SINGLE_TEXTS, asked.shape[0]))
        rows = [adapter.one(asked[row : row + 1]) for row in texts]
        single = latency(lambda row: adapter.rank_one(model, row, alone), rows)
    found = adapter.scores(answer)
    ranking = Path(task.folder) / "ranking.npz"
    np.savez(ranking, indptr=found.indptr, indices=found.indices, data=found.data)
    return {"config": adapter.settings(task), **figures, "rank_seconds": rank.seconds, **single}


def latency(rank_one: Callable[[Any], Any], rows: Sequence[Any]) -> dict[str, Any]:
    """Milliseconds of one text at a time: median and 99th percentile."""
    _seconds_of_each(rank_one, rows[:WARM_UP], SINGLE_SECONDS / 4)
    seconds = _seconds_of_each(rank_one, rows[:SINGLE_TEXTS], SINGLE_SECONDS)
    middle, slow = (float(value) * 1000 for value in np.percentile(seconds, [50, 99]))
    return {"single_p50_ms": middle, "single_p99_ms": slow, "single_texts": len(seconds)}


def _seconds_of_each(
    rank_one: Callable[[Any], Any], rows: Sequence[Any], limit: float
) -> list[float]:
    """Of as many rows as can be begun within `limit` seconds."""
    seconds: list[float] = []
    end = time.perf_counter() + limit
    for row in rows:
        start = time.perf_counter()
        rank_one(row)
        seconds.append(time.perf_counter() - start)
        if time.perf_counter() > end:
            break
    return seconds


def best(scores: Any, k: int) -> Any:
    """The k highest scores of each row of a dense matrix, as CSR."""
    k = min(k, scores.shape[1])
    labels = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    values = np.take_along_axis(scores, labels, axis=1)
    starts = np.arange(0, labels.size + 1, k)
    return sp.csr_matrix((values.ravel(), labels.ravel(), starts), shape=scores.shape)


def in_blocks(rank: Callable[[Any], Any], asked: Any, size: int) -> Any:
    """`rank` of so many texts at a time, for peers whose answers are dense."""
    starts = range(0, asked.shape[0], size)
    return sp.vstack([rank(asked[start : start + size]) for start in starts], "csr")


def csr_of_pairs(rows: Sequence[Sequence[tuple[int, float]]]) -> Any:
    """Lists of (label, score) as CSR."""
    starts = np.cumsum([0, *map(len, rows)])
    ids = np.array([label for row in rows for label, _ in row], np.int32)
    scores = np.array([score for row in rows for _, score in row], np.float32)
    return sp.csr_matrix((scores, ids, starts))
