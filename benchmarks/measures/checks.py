"""Checks: start-up, the models of `xmtc demo`, our metrics next to napkinXC's."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import data
from benchmarks.experiment import KS, BenchmarkError, Options, Row, System
from benchmarks.peers.client import Peer


@dataclass(frozen=True)
class Command(System):
    """A command of Python, started from nothing: the median of five runs."""

    arguments: tuple[str, ...]

    def measure(self, data: str, options: Options) -> Row:
        seconds = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run([sys.executable, *self.arguments], capture_output=True, check=True)
            seconds.append(time.perf_counter() - start)
        return {"seconds": median(seconds)}


@dataclass(frozen=True)
class Demo(System):
    """One row per model that `xmtc demo --json` prints."""

    def measure(self, data: str, options: Options) -> list[Row]:
        threads = ["--threads", str(options.threads)]
        command = [sys.executable, "-m", "xmtc", *threads, "demo", "--json"]
        compiles = [*command, "--kind", "linear_tree"]
        subprocess.run(compiles, capture_output=True, check=False)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BenchmarkError(f"xmtc demo failed: {done.stderr.strip()}")
        return [{"model": kind, **row} for kind, row in json.loads(done.stdout).items()]


@dataclass(frozen=True)
class Metrics(System):
    """One row per metric of linear_tree's ranking of the test texts."""

    def measure(self, name: str, options: Options) -> list[Row]:
        import xmtc
        from xmtc.evaluation.report import evaluate_ranking

        xmtc.set_threads(options.threads)
        train = data.training(name, options)
        test = data.test(name, options).named_in(train.labels)
        ranking = xmtc.train("linear_tree", train).rank(test.texts, max(KS))
        ours = evaluate_ranking(ranking, test.relevant, train.trained_on(), ks=KS).metrics
        theirs = napkinxc_metrics(ranking.labels, test.relevant, train.relevant)
        return [
            {
                "metric": metric,
                "xmtc": ours[metric],
                "napkinXC": theirs[metric],
                "difference": abs(ours[metric] - theirs[metric]),
                "version": theirs["version"],
            }
            for metric in (f"{name}@{k}" for name in ("P", "nDCG", "PSP") for k in KS)
        ]


def napkinxc_metrics(labels: Any, relevant: Any, trained: Any) -> dict[str, Any]:
    """napkinXC's figures. relevant: may have labels, after the others, that training never saw."""
    with tempfile.TemporaryDirectory() as folder, Peer("napkinxc", "napkinxc_metrics.py") as peer:
        place = Path(folder)
        wider = sp.csr_matrix(trained)
        wider.resize(trained.shape[0], relevant.shape[1])
        np.save(place / "labels.npy", labels)
        sp.save_npz(place / "trained.npz", wider)
        sp.save_npz(place / "relevant.npz", sp.csr_matrix(relevant))
        return {**peer.about, **peer.ask(folder=folder)}
