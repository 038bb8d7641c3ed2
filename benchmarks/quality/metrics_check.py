"""Our P@k, nDCG@k and PSP@k of one ranking, beside napkinXC's of the same ranking."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.kit import Claim, Measurement, Options, dataset, with_texts
from benchmarks.peers.ask import Peer
from benchmarks.quality._figures import KS

SETTINGS: dict[str, Any] = {
    "data": "eurlex4k-proxy",
    "remarks": [
        "the ranking is linear_tree's, of the test texts; labels that training never saw "
        "count as relevant and cannot be found"
    ],
}
METRICS = [f"{name}@{k}" for name in ("P", "nDCG", "PSP") for k in KS]
POINTS = 1e-3


def run(options: Options) -> list[Measurement]:
    """One row per metric."""
    import xmtc
    from xmtc.evaluation.report import evaluate_ranking

    xmtc.set_threads(options.threads)
    train = with_texts(dataset(options, SETTINGS["data"]))
    test = dataset(options, SETTINGS["data"], "tst").named_in(train.labels)
    ranking = xmtc.train("linear_tree", train).rank(test.texts, max(KS))
    ours = evaluate_ranking(ranking, test.relevant, train.trained_on(), ks=KS).metrics
    theirs = asked(ranking.labels, test.relevant, train.relevant)
    return [
        {
            "metric": name,
            "xmtc": round(ours[name], 4),
            "napkinXC": round(theirs[name], 4),
            "version": theirs["version"],
        }
        for name in METRICS
    ]


def check(measurements: list[Measurement]) -> list[Claim]:
    """The same to a thousandth of a point."""
    most = max(abs(row["xmtc"] - row["napkinXC"]) for row in measurements)
    sentence = f"each metric is the same to {POINTS} points (largest difference)"
    return [Claim(sentence, most <= POINTS, most)]


def asked(labels: Any, relevant: Any, trained: Any) -> dict[str, Any]:
    """napkinXC's figures. relevant: may have labels, after the others, that training never saw."""
    with tempfile.TemporaryDirectory() as folder, Peer("napkinxc", "napkinxc_metrics.py") as peer:
        np.save(Path(folder) / "labels.npy", labels)
        wider = sp.csr_matrix(trained)
        wider.resize(trained.shape[0], relevant.shape[1])
        sp.save_npz(Path(folder) / "trained.npz", wider)
        sp.save_npz(Path(folder) / "relevant.npz", sp.csr_matrix(relevant))
        return {"version": peer.about["version"], **peer.ask(folder=folder)}
