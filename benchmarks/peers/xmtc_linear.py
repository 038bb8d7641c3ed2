"""Our own linear kinds, given features like the linear peers, in a process of their own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import xmtc
from benchmarks.data import given
from benchmarks.peers.runner import Adapter, Task, serve
from xmtc.core.arrays import as_csr


class Xmtc(Adapter):
    """Default settings, of linear_tree unless the mode is one_vs_all."""

    version = f"xmtc {xmtc.__version__}"

    def __init__(self) -> None:
        few = given(as_csr(sp.eye(300)), as_csr(sp.eye(300)))
        for sample in (100, 300):  # compiles the ways of clustering large and small nodes
            tree = {"published": {"sample": sample}}
            xmtc.train("linear_tree", few, {"trees": 2, "tree": tree}).rank(as_csr(sp.eye(300)), 5)
        xmtc.train("one_vs_all", few).rank(as_csr(sp.eye(300)), 5)

    def load(self, task: Task) -> Any:
        xmtc.set_threads(task.threads)
        return given(as_csr(task.matrix("X")), as_csr(task.matrix("Y")))

    def fit(self, data: Any, task: Task) -> Any:
        kind = task.mode or "linear_tree"
        trees = {"trees": task.trees} if kind == "linear_tree" else {}
        return xmtc.train(kind, data, {"seed": task.seed, **trees})

    def save(self, model: Any, place: Path) -> None:
        xmtc.save(model, place / "model")

    def ready(self, place: Path, task: Task) -> Any:
        xmtc.set_threads(task.threads)
        return xmtc.load(place / "model")

    def many(self, asked: Any) -> Any:
        return as_csr(asked)

    def one(self, row: Any) -> Any:
        return as_csr(row)

    def rank(self, model: Any, asked: Any, task: Task) -> Any:
        return model.rank(asked, task.k)

    def scores(self, answer: Any) -> Any:
        filled = answer.labels >= 0
        starts = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
        return sp.csr_matrix((answer.scores[filled], answer.labels[filled], starts))


if __name__ == "__main__":
    serve(Xmtc())
