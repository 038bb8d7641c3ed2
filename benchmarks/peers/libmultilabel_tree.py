"""libmultilabel's tree, a linear peer; in the environment of `libmultilabel`."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from libmultilabel import linear

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.peers.runner import Adapter, Task, best, in_blocks, serve

TEXTS_PER_BLOCK = 256  # its answers are dense: (texts, labels and clusters) of float64


class Libmultilabel(Adapter):
    """Settings as they come."""

    version = f"libmultilabel {metadata.version('libmultilabel')}"

    def load(self, task: Task) -> Any:
        return task.matrix("X"), task.matrix("Y").astype(np.int64)

    def fit(self, data: Any, task: Task) -> Any:
        np.random.seed(task.seed)
        texts, labels = data
        return linear.train_tree(labels, texts, f"-m {task.threads}", verbose=False)

    def save(self, model: Any, place: Path) -> None:
        linear.save_pipeline(str(place), None, model)

    def ready(self, place: Path, task: Task) -> Any:
        return linear.load_pipeline(str(place / "linear_pipeline.pickle"))[1]

    def rank(self, model: Any, asked: Any, task: Task) -> Any:
        return in_blocks(
            lambda block: best(model.predict_values(block), task.k), asked, TEXTS_PER_BLOCK
        )


if __name__ == "__main__":
    serve(Libmultilabel())
