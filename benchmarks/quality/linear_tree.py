"""linear_tree beside PECOS XR-Linear and napkinXC PLT, one tree each, on the same features."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from benchmarks.kit import Claim, Measurement, Options, dataset, one, say, timed
from benchmarks.peers.ask import Peer

if TYPE_CHECKING:
    from xmtc import Dataset, Ranking

SETTINGS: dict[str, Any] = {
    "data": ["eurlex4k-proxy", "debian-deps"],
    "text": {"min_df": 2},
    "k": 10,
    "remarks": [
        "all are given the same TF-IDF features, made by xmtc, untimed; clustering is timed",
        "every system with its default settings and one tree; xmtc's defaults were chosen on a "
        "tenth of the training texts, never on the test part",
        "kernels are compiled beforehand on 300 texts; medians over the rounds, in turns",
    ],
}
PEERS = {"PECOS XR-Linear": ("pecos", "pecos_linear.py"),
         "napkinXC PLT": ("napkinxc", "napkinxc_plt.py")}  # fmt: skip
KS = (1, 3, 5)


def run(options: Options) -> list[Measurement]:
    """One row per data set and system."""
    import xmtc

    xmtc.set_threads(options.threads)
    return [row for name in SETTINGS["data"] for row in _compare(name, options)]


def check(measurements: list[Measurement]) -> list[Claim]:
    """On each data set: accuracy in points, times as ratios."""
    claims = []
    for name in SETTINGS["data"]:
        ours = one(measurements, data=name, system="xmtc")
        theirs = [row for row in measurements if row["data"] == name and row is not ours]
        for k in KS:
            ahead = ours[f"P@{k}"] - max(row[f"P@{k}"] for row in theirs)
            sentence = f"{name}: P@{k} is not 0.2 points below the best peer (points ahead)"
            claims.append(Claim(sentence, ahead >= -0.2, ahead))
        for what, wanted in (("fit", 2), ("rank", 1.5)):
            ratio = min(row[f"{what}_seconds"] for row in theirs) / ours[f"{what}_seconds"]
            sentence = f"{name}: {what} at least {wanted} times as fast as the fastest peer"
            claims.append(Claim(sentence, ratio >= wanted, ratio))
    return claims


def _compare(name: str, options: Options) -> list[Measurement]:
    from xmtc.text import tfidf

    train = dataset(options, name)
    test = dataset(options, name, "tst").named_in(train.labels)
    encoder, features = tfidf.learn(train.texts, tfidf.TfidfConfig(**SETTINGS["text"]))
    asked = encoder.encode(test.texts)
    with tempfile.TemporaryDirectory() as folder:
        for part, matrix in (("X", features), ("Y", train.relevant), ("T", asked)):
            sp.save_npz(Path(folder) / part, sp.csr_matrix(matrix))
        peers = {system: Peer(*where, folder) for system, where in PEERS.items()}
        rounds: dict[str, list[dict[str, float]]] = {"xmtc": [], **{peer: [] for peer in peers}}
        rankings: dict[str, Ranking] = {}
        _ours(train.take(range(300)), features[:300], asked[:10], options)
        for _ in range(options.repeats):
            rankings["xmtc"], times = _ours(train, features, asked, options)
            rounds["xmtc"].append(times)
            for system, peer in peers.items():
                out = str(Path(folder) / "ranking.npz")
                rounds[system].append(peer.ask(threads=options.threads, out=out, k=SETTINGS["k"]))
                rankings[system] = _ranking(out)
            say(f"{name}: a round")
        for peer in peers.values():
            peer.__exit__(None, None, None)
    return [
        {"data": name, "system": system, "threads": options.threads,
         **{what: round(median(times[what] for times in rounds[system]), 3)
            for what in ("fit_seconds", "fit_cpu_seconds", "rank_seconds")},
         **_quality(rankings[system], test, train)}
        for system in rounds
    ]  # fmt: skip


def _ours(
    train: Dataset, features: Any, asked: Any, options: Options
) -> tuple[Any, dict[str, float]]:
    import xmtc
    from xmtc.models import linear_tree

    given = xmtc.Dataset((), train.relevant, train.labels, features)
    model, fit = timed(lambda: linear_tree.train(given, linear_tree.Config()))
    ranking, rank = timed(lambda: model.rank(asked, SETTINGS["k"]))
    return ranking, {"fit_seconds": fit.seconds, "fit_cpu_seconds": fit.cpu_seconds,
                     "rank_seconds": rank.seconds}  # fmt: skip


def _ranking(path: str) -> Ranking:
    """A peer's ranking, best first."""
    import xmtc

    saved = np.load(path)
    ranking = xmtc.Ranking.empty(len(saved["indptr"]) - 1, SETTINGS["k"])
    for row, (begin, end) in enumerate(zip(saved["indptr"], saved["indptr"][1:], strict=False)):
        order = begin + np.argsort(-saved["data"][begin:end], kind="stable")
        ranking.labels[row, : end - begin] = saved["indices"][order]
        ranking.scores[row, : end - begin] = saved["data"][order]
    return ranking


def _quality(ranking: Ranking, test: Dataset, train: Dataset) -> dict[str, float]:
    from xmtc.evaluation.report import evaluate_ranking

    metrics = evaluate_ranking(ranking, test.relevant, train.trained_on(), ks=KS).metrics
    names = [f"P@{k}" for k in KS] + ["nDCG@5", "PSP@1", "PSP@3", "PSP@5"]
    return {name: round(metrics[name], 2) for name in names}
