"""napkinXC's PLT, asked by `quality linear_tree`; runs in the environment of the peer `napkinxc`.

Usage: napkinxc_plt.py FOLDER, which holds X.npz, Y.npz and T.npz (features of texts to rank). A
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
from napkinxc.models import PLT  # type: ignore[import-not-found]


def fit_and_rank(folder: Path, threads: int, out: str, k: int) -> dict[str, Any]:
    """Clusters, trains and ranks, on the clock; settings as they come."""
    texts, labels, asked = (sp.load_npz(folder / f"{name}.npz").tocsr() for name in "XYT")
    with tempfile.TemporaryDirectory() as place:
        cpu, start = time.process_time(), time.perf_counter()
        model = PLT(place, threads=threads)
        model.fit(texts, labels)
        fitted, fit_cpu = time.perf_counter(), time.process_time()
        rows = model.predict_proba(asked, top_k=k)
        ranked = time.perf_counter()
    np.savez(
        out,
        indptr=np.cumsum([0, *map(len, rows)]),
        indices=np.array([label for row in rows for label, _ in row], np.int32),
        data=np.array([score for row in rows for _, score in row], np.float32),
    )
    return {"fit_seconds": fitted - start, "fit_cpu_seconds": fit_cpu - cpu,
            "rank_seconds": ranked - fitted}  # fmt: skip


def main(folder: str) -> None:
    """Answers questions until there are no more."""
    print(json.dumps({"version": f"napkinxc {metadata.version('napkinxc')}"}), flush=True)
    for line in sys.stdin:
        print(json.dumps(fit_and_rank(Path(folder), **json.loads(line))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
