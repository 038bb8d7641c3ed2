"""PECOS's XR-Linear, a linear peer; in the environment of `pecos`."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from pecos.utils.smat_util import CsrEnsembler
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.peers.runner import Adapter, Task, serve


class Pecos(Adapter):
    """Recommended settings, teacher forcing negatives; several trees are averaged by its own
    ensembler, each giving twice as many labels as asked for."""

    version = f"libpecos {metadata.version('libpecos')}"

    def fit(self, data: Any, task: Task) -> Any:
        texts, labels = data
        vectors = LabelEmbeddingFactory.create(labels, texts, method="pifa")
        trees = [Indexer.gen(vectors, seed=task.seed + tree) for tree in range(task.trees)]
        return [XLinearModel.train(texts, labels, C=C, threads=task.threads) for C in trees]

    def save(self, model: Any, place: Path) -> None:
        for number, tree in enumerate(model):
            tree.save(str(place / str(number)))

    def ready(self, place: Path, task: Task) -> Any:
        folders = [str(place / str(number)) for number in range(task.trees)]
        return [XLinearModel.load(folder, is_predict_only=True) for folder in folders]

    def rank(self, model: Any, asked: Any, task: Task) -> Any:
        wide = task.k if len(model) == 1 else 2 * task.k
        found = [tree.predict(asked, only_topk=wide, threads=task.threads) for tree in model]
        return CsrEnsembler.average(*found).tocsr() if len(found) > 1 else found[0].tocsr()


if __name__ == "__main__":
    serve(Pecos())
