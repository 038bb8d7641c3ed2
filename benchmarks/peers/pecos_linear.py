"""PECOS's XR-Linear, asked by `quality linear_tree`; runs in the environment of the peer `pecos`.

Usage: pecos_linear.py FOLDER, which holds X.npz, Y.npz and T.npz (features of texts to rank). A
question names the threads and where the ranking goes.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from pecos.xmc import Indexer, LabelEmbeddingFactory  # type: ignore[import-not-found]
from pecos.xmc.xlinear.model import XLinearModel  # type: ignore[import-not-found]


def fit_and_rank(folder: Path, threads: int, out: str, k: int) -> dict[str, Any]:
    """Clusters, trains and ranks, on the clock; recommended settings, teacher forcing negatives."""
    texts, labels, asked = (sp.load_npz(folder / f"{name}.npz").tocsr() for name in "XYT")
    cpu, start = time.process_time(), time.perf_counter()
    vectors = LabelEmbeddingFactory.create(labels, texts, method="pifa")
    model = XLinearModel.train(texts, labels, C=Indexer.gen(vectors), threads=threads)
    fitted, fit_cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as place:  # its fast ranking needs a model from disk
        model.save(place)
        ready = XLinearModel.load(place, is_predict_only=True)
        begun = time.perf_counter()
        scores = ready.predict(asked, only_topk=k, threads=threads).tocsr()
        ranked = time.perf_counter()
    np.savez(out, indptr=scores.indptr, indices=scores.indices, data=scores.data)
    return {"fit_seconds": fitted - start, "fit_cpu_seconds": fit_cpu - cpu,
            "rank_seconds": ranked - begun}  # fmt: skip


def main(folder: str) -> None:
    """Answers questions until there are no more."""
    print(json.dumps({"version": f"libpecos {metadata.version('libpecos')}"}), flush=True)
    for line in sys.stdin:
        print(json.dumps(fit_and_rank(Path(folder), **json.loads(line))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
