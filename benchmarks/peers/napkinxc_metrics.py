"""napkinXC's metrics of a ranking, asked by `quality_metrics_check`; in the env. of `napkinxc`."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from napkinxc import metrics

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.peers.runner import answer_questions

KS = (1, 3, 5)


def measured(question: dict[str, Any]) -> dict[str, float]:
    """P, nDCG and PSP at 1, 3 and 5, in percent.

    The folder holds labels.npy, relevant.npz and trained.npz.
    """
    folder = Path(question["folder"])
    ranked = [row[row >= 0].tolist() for row in np.load(folder / "labels.npy")]
    relevant = sp.load_npz(folder / "relevant.npz").tocsr()
    truth = [relevant[row].indices.tolist() for row in range(relevant.shape[0])]
    trained = sp.load_npz(folder / "trained.npz").tocsr()
    weights = metrics.Jain_et_al_inverse_propensity(trained)
    found = {
        "P": metrics.precision_at_k(truth, ranked, max(KS)),
        "nDCG": metrics.ndcg_at_k(truth, ranked, max(KS)),
        "PSP": metrics.psprecision_at_k(truth, ranked, weights, max(KS)),
    }
    return {f"{name}@{k}": 100 * float(by_k[k - 1]) for name, by_k in found.items() for k in KS}


if __name__ == "__main__":
    answer_questions(f"napkinxc {metadata.version('napkinxc')}", measured)
