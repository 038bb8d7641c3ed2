"""omikuji, a linear peer; in the environment of `omikuji`.

It trains from a text file and ranks one text per call.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

from omikuji import Model, _ThreadPoolHandle
from omikuji._libomikuji import ffi, lib

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.peers.runner import Adapter, Task, csr_of_pairs, serve

DENSE_FROM = 0.1  # what its own command line does before it ranks
MODES: dict[str, dict[str, Any]] = {
    "parabel": {},
    "bonsai": {"cluster_balanced": False, "cluster_k": 100, "max_depth": 3},
}


class Omikuji(Adapter):
    """Settings of its README. Its file is read before the clock starts, as others have X given."""

    version = f"omikuji {metadata.version('omikuji')}"

    def settings(self, task: Task) -> dict[str, Any]:
        return MODES[task.mode]

    def load(self, task: Task) -> Any:
        pool = _ThreadPoolHandle(task.threads)
        path = Path(task.folder) / "X.txt"
        if not path.exists():
            write_svmlight(path, task.matrix("X"), task.matrix("Y"))
        data = lib.load_omikuji_data_set(str(path).encode(), pool.ptr)
        return ffi.gc(data, lib.free_omikuji_data_set), pool

    def fit(self, data: Any, task: Task) -> Any:
        settings = Model.default_hyper_param()
        for name, value in {"n_trees": task.trees, **MODES[task.mode]}.items():
            setattr(settings, name, value)
        dataset, pool = data
        return Model(lib.train_omikuji_model(dataset, settings, pool.ptr))

    def save(self, model: Any, place: Path) -> None:
        model.save(str(place))

    def ready(self, place: Path, task: Task) -> Any:
        model = Model.load(str(place))
        model.init_prediction_thread_pool(task.threads)
        model.densify_weights(DENSE_FROM)
        return model

    def many(self, asked: Any) -> Any:
        return [self.one(asked[row : row + 1]) for row in range(asked.shape[0])]

    def rank(self, model: Any, asked: Any, task: Task) -> Any:
        with ThreadPoolExecutor(task.threads) as pool:
            return list(pool.map(lambda text: self.rank_one(model, text, task), asked))

    def scores(self, answer: Any) -> Any:
        return csr_of_pairs(answer)

    def one(self, row: Any) -> Any:
        return list(zip(row.indices.tolist(), row.data.tolist(), strict=True))

    def rank_one(self, model: Any, one: Any, task: Task) -> Any:
        return model.predict(one, top_k=task.k)


def write_svmlight(path: Path, features: Any, relevant: Any) -> None:
    """The file that it trains from: a header, then labels and features of each text."""
    with path.open("w", encoding="ascii") as file:
        print(*features.shape, relevant.shape[1], file=file)
        for row in range(features.shape[0]):
            labels = relevant.indices[relevant.indptr[row] : relevant.indptr[row + 1]]
            entries = slice(features.indptr[row], features.indptr[row + 1])
            pairs = zip(features.indices[entries], features.data[entries], strict=True)
            terms = [f"{column}:{weight:.6g}" for column, weight in pairs]
            print(",".join(map(str, labels)), *terms, file=file)


if __name__ == "__main__":
    serve(Omikuji())
