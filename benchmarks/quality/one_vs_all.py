"""one_vs_all on eurlex4k-proxy, beside scikit-learn's LinearSVC on the same features."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from benchmarks.kit import Claim, Measurement, Options, Timing, dataset, one, say, timed, with_texts

if TYPE_CHECKING:
    from xmtc import Dataset, Ranking
    from xmtc.core.arrays import Csr

Measured: TypeAlias = "tuple[Ranking, Timing, Timing]"  # fitting, ranking

SETTINGS: dict[str, Any] = {
    "data": "eurlex4k-proxy trn and tst (not the papers' Eurlex-4K)",
    "text": {"min_df": 2},  # as the peers' table was measured
    "sklearn": {  # LinearSVC as it comes, and stopping as early as xmtc does
        "scikit-learn": {"C": 1},
        "scikit-learn, tol 0.1": {"C": 1, "tol": 0.1},
    },
    "ks": [1, 3, 5],
    "remarks": [
        "both are given the same TF-IDF features, made by xmtc, untimed; settings are fixed and "
        "were not chosen by looking at the test part",
        "xmtc's settings are its defaults; its kernels are compiled beforehand on 200 texts",
        "scikit-learn's features are turned into float64 beforehand, as it would do per label",
        "each is fitted once, one after the other; claims are about scikit-learn's better figure",
    ],
}
POINTS_BELOW = 0.3


def run(options: Options) -> list[Measurement]:
    """Fit and rank with ours, then with scikit-learn's."""
    import xmtc
    from xmtc.text import tfidf

    xmtc.set_threads(options.threads)
    train = with_texts(dataset(options, "eurlex4k-proxy"))
    test = dataset(options, "eurlex4k-proxy", "tst").named_in(train.labels)
    encoder, features = tfidf.learn(train.texts, tfidf.TfidfConfig(**SETTINGS["text"]))
    given = xmtc.Dataset((), train.relevant, train.labels, features)
    encoded = encoder.encode(test.texts)
    rows = []
    for system, measure in _systems(options).items():
        say(f"{system} fits {len(train.labels):,} labels")
        ranking, fit, rank = measure(given, encoded)
        rows.append(
            {
                "system": system,
                "threads": options.threads,
                "texts": len(train),
                "labels": len(train.labels),
                "features": features.shape[1],
                "fit_seconds": round(fit.seconds, 3),
                "fit_cpu_seconds": round(fit.cpu_seconds, 3),
                "rank_seconds": round(rank.seconds, 3),
                **_quality(ranking, test, train),
            }
        )
        say(f"{system}: {fit.seconds:.1f} s")
    return rows


def check(measurements: list[Measurement]) -> list[Claim]:
    """Differences in points, and the ratio of fitting times."""
    ours = one(measurements, system="xmtc")
    theirs = [one(measurements, system=name) for name in SETTINGS["sklearn"]]
    claims = []
    for k in SETTINGS["ks"]:
        ahead = ours[f"P@{k}"] - max(row[f"P@{k}"] for row in theirs)
        claims.append(
            Claim(
                f"P@{k} is at most {POINTS_BELOW} points below scikit-learn's (points ahead)",
                ahead >= -POINTS_BELOW,
                ahead,
            )
        )
    for clock, name in (("fit_seconds", "by the clock"), ("fit_cpu_seconds", "in processor time")):
        ratio = min(row[clock] for row in theirs) / ours[clock]
        claims.append(Claim(f"fits faster than scikit-learn {name} (times)", ratio > 1, ratio))
    return claims


def _systems(options: Options) -> dict[str, Callable[[Dataset, Csr], Measured]]:
    """Name -> a function that fits to a training set and ranks the encoded test texts."""
    ways: dict[str, Callable[[Dataset, Csr], Measured]] = {"xmtc": partial(_xmtc, options)}
    for name, svm in SETTINGS["sklearn"].items():
        ways[name] = partial(_sklearn, options, svm)
    return ways


def _xmtc(options: Options, train: Dataset, encoded: Csr) -> Measured:
    from xmtc.models import one_vs_all

    config = one_vs_all.Config(seed=options.seed)
    one_vs_all.train(train.take(range(min(200, len(train)))), config).rank(encoded[:10], 5)
    model, fit = timed(lambda: one_vs_all.train(train, config))
    ranking, rank = timed(lambda: model.rank(encoded, max(SETTINGS["ks"])))
    return ranking, fit, rank


def _sklearn(options: Options, svm: dict[str, Any], train: Dataset, encoded: Csr) -> Measured:
    import scipy.sparse as sp
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    assert train.features is not None
    features = sp.csr_matrix(train.features, dtype=np.float64)
    relevant = sp.csr_matrix(train.relevant, dtype=np.int32)
    classifier = LinearSVC(**svm, random_state=options.seed)
    model = OneVsRestClassifier(classifier, n_jobs=options.threads)
    _, fit = timed(lambda: model.fit(features, relevant))
    texts = sp.csr_matrix(encoded, dtype=np.float64)
    ranking, rank = timed(lambda: _best(model.decision_function(texts), max(SETTINGS["ks"])))
    return ranking, fit, rank


def _best(scores: Any, k: int) -> Ranking:
    """The k highest of each row; equal scores in the order of label ids, as in xmtc."""
    from xmtc import Ranking

    labels = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    values = np.take_along_axis(scores, labels, axis=1)
    return Ranking(labels.astype(np.int32), values.astype(np.float32))


def _quality(ranking: Ranking, test: Dataset, train: Dataset) -> dict[str, float]:
    from xmtc.evaluation.report import evaluate_ranking

    ks = tuple(SETTINGS["ks"])
    report = evaluate_ranking(ranking, test.relevant, train.trained_on(), ks=ks)
    names = [f"P@{k}" for k in ks] + [f"nDCG@{ks[-1]}"] + [f"PSP@{k}" for k in ks]
    return {name: round(report.metrics[name], 3) for name in names}
