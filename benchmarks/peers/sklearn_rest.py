"""scikit-learn's one-vs-rest LinearSVC, a linear peer; in that of `sklearn`."""

from __future__ import annotations

import pickle
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.peers.runner import Adapter, Task, best, in_blocks, serve

TEXTS_PER_BLOCK = 4096  # its answers are dense: (texts, labels) of float64


class OneVsRest(Adapter):
    """LinearSVC as it comes; features become float64 beforehand, as it would do per label."""

    version = f"scikit-learn {metadata.version('scikit-learn')}"
    one_process = False

    def load(self, task: Task) -> Any:
        return task.matrix("X").astype(np.float64), task.matrix("Y").astype(np.int32)

    def fit(self, data: Any, task: Task) -> Any:
        svm = LinearSVC(random_state=task.seed)
        return OneVsRestClassifier(svm, n_jobs=task.threads).fit(*data)

    def save(self, model: Any, place: Path) -> None:
        with (place / "model.pickle").open("wb") as file:
            pickle.dump(model, file)

    def ready(self, place: Path, task: Task) -> Any:
        with (place / "model.pickle").open("rb") as file:
            return pickle.load(file)  # noqa: S301 - our own, of a moment ago

    def rank(self, model: Any, asked: Any, task: Task) -> Any:
        def rank(block: Any) -> Any:
            return best(model.decision_function(block.astype(np.float64)), task.k)

        return in_blocks(rank, asked, TEXTS_PER_BLOCK)


if __name__ == "__main__":
    serve(OneVsRest())
