"""Our own linear_tree, asked by `quality linear_tree` like the peers, in a process of its own."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

import xmtc
from benchmarks.peers.at_work import System, Task, serve
from xmtc.core.arrays import as_csr
from xmtc.labels.trees import PublishedTree
from xmtc.models import linear_tree


class Xmtc(System):
    """Default settings; kernels are compiled beforehand, on a few texts."""

    version = f"xmtc {xmtc.__version__}"

    def __init__(self) -> None:
        few = given(as_csr(sp.eye(300)), as_csr(sp.eye(300)))
        for sample in (100, 300):  # the ways of clustering that large and small nodes take
            two = config(2)
            tree = replace(two.tree, published=PublishedTree(sample=sample))
            model = linear_tree.train(few, replace(two, tree=tree))
        model.rank(as_csr(sp.eye(300)), 5)

    def load(self, task: Task) -> Any:
        xmtc.set_threads(task.threads)
        return given(as_csr(task.matrix("X")), as_csr(task.matrix("Y")))

    def fit(self, data: Any, task: Task) -> Any:
        return linear_tree.train(data, config(task.trees, task.seed))

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
        kept = answer.labels >= 0
        starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        return sp.csr_matrix((answer.scores[kept], answer.labels[kept], starts))


def config(trees: int, seed: int = 0) -> linear_tree.Config:
    """The default, with so many trees."""
    return linear_tree.Config(trees=trees, seed=seed)


def given(features: Any, relevant: Any) -> xmtc.Dataset:
    """Features instead of texts; labels are called by their numbers."""
    names = tuple(map(str, range(relevant.shape[1])))
    return xmtc.Dataset((), relevant, xmtc.LabelSpace(names), features)


if __name__ == "__main__":
    serve(Xmtc())
