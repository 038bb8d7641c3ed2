"""napkinXC's metrics of a ranking, asked by `quality_metrics_check`; in the env. of `napkinxc`."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from napkinxc import metrics  # type: ignore[import-not-found]

KS = (1, 3, 5)


def main() -> None:
    """Answer questions, each a folder with labels.npy, relevant.npz and trained.npz."""
    version = f"napkinxc {metadata.version('napkinxc')}"
    print(json.dumps({"version": version}), flush=True)
    for line in sys.stdin:
        print(json.dumps(measured(Path(json.loads(line)["folder"]))), flush=True)


def measured(folder: Path) -> dict[str, float]:
    """P, nDCG and PSP at 1, 3 and 5, in percent."""
    ranked = [row[row >= 0].tolist() for row in np.load(folder / "labels.npy")]
    truth = lists(folder / "relevant.npz")
    trained = sp.load_npz(folder / "trained.npz").tocsr()
    weights = metrics.Jain_et_al_inverse_propensity(trained)
    found = {
        "P": metrics.precision_at_k(truth, ranked, max(KS)),
        "nDCG": metrics.ndcg_at_k(truth, ranked, max(KS)),
        "PSP": metrics.psprecision_at_k(truth, ranked, weights, max(KS)),
    }
    return {f"{name}@{k}": 100 * float(by_k[k - 1]) for name, by_k in found.items() for k in KS}


def lists(path: Path) -> list[Any]:
    """The labels of each text."""
    matrix = sp.load_npz(path).tocsr()
    return [matrix[row].indices.tolist() for row in range(matrix.shape[0])]


if __name__ == "__main__":
    main()
