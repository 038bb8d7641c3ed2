"""xbert: label vectors times matchers, stage by stage; its ensembles beside the linear models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kit import Claim, Measurement, Options, chosen, dataset, say, timed, with_texts
from benchmarks.process import alone
from benchmarks.processor import PRECISION
from benchmarks.published import relative_improvement
from benchmarks.quality import _cells, _figures
from benchmarks.quality._cells import KS, Job
from benchmarks.quality.xr_transformer import READ, read_job, taught_job
from xmtc.models import presets

VECTORS = {"text": "label text", "pifa": "PIFA"}
MATCHERS = {"linear": "linear", "xttention": "X-ttention", "transformer": "transformer"}
SEEDS = (0, 1, 2)
RANKERS = {"xbert": "X-BERT", "xt": "X-Transformer features"}
# what a model says of the test texts, so many labels each
RANKED = "ranked.npz"
DEPTH = 100
PARABEL_1 = "Parabel T=1"
PARABEL_3 = "Parabel T=3"
ONE = "one_vs_all"
XR = "xr_transformer"


def _stage_name(vectors: str, matcher: str) -> str:
    return f"{VECTORS[vectors]}, {MATCHERS[matcher]}"


def name_of(ranker: str, kinds: Sequence[str], seeds: Sequence[int]) -> str:
    """Of an ensemble: one label vector and one seed, one and three, or two and three."""
    members = len(kinds) * len(seeds)
    which = f" ({VECTORS[kinds[0]]})" if len(kinds) == 1 else ""
    return f"{RANKERS[ranker]} T={members}{which}"


# Each row of the first table, by what --systems calls it: label vectors and matcher.
STAGES = {
    f"{vectors}-{matcher}": (vectors, matcher) for vectors, matcher in product(VECTORS, MATCHERS)
}
# Each of ours in the second table: ranker, label vectors, seeds.
TOGETHER: dict[str, tuple[str, tuple[str, ...], tuple[int, ...]]] = {
    f"{ranker}-{name}": (ranker, kinds, seeds)
    for ranker in RANKERS
    for name, kinds, seeds in (
        ("1", ("pifa",), SEEDS[:1]),
        ("1-text", ("text",), SEEDS[:1]),
        ("3-text", ("text",), SEEDS),
        ("3-pifa", ("pifa",), SEEDS),
        ("6", tuple(VECTORS), SEEDS),
    )
}
OTHERS = {
    "parabel-1": PARABEL_1,
    "parabel-3": PARABEL_3,
    "one_vs_all": ONE,
    "xr_read": READ,
    "xr_transformer": XR,
}
SYSTEMS = {
    **{key: _stage_name(*pair) for key, pair in STAGES.items()},
    **OTHERS,
    **{key: name_of(*how) for key, how in TOGETHER.items()},
}
FEW = ("parabel-1", "parabel-3", "xbert-1", "xt-1", "xr_read", "xr_transformer")  # second data set
SETTINGS: dict[str, Any] = {
    "data": {"eurlex4k-proxy": list(SYSTEMS), "debian-deps": list(FEW)},
    "systems": list(SYSTEMS),
    "validation_texts": 500,  # of the training part, not taught to the matcher
    "validations": 4,  # within a training: points of the learning curve, and checkpoints
    "epochs": {"transformer": 1, "xttention": 2},
    "k": 10,
    "centres": {"text": "mean", "pifa": "unit"},  # of clusters: Euclidean, spherical
    "transformer": {"encoder": {"max_tokens": 128}, "training": {"precision": PRECISION}},
    "xttention": {  # smaller than published, to learn something within the minutes
        "encoder": {
            "name": "xttention",
            "max_tokens": 301,
            "words": 80_003,
            "width": 128,
            "hidden": 500,
            "dropout": 0.2,
        },
        "training": {"encoder_rate": 1e-3, "head_rate": 1e-3, "head_epochs": 0},
        "standardise": False,
    },
    "rankers": {"xbert": {"features": "words"}, "xt": {"features": "joined"}},
    "remarks": [
        "xbert: default settings and the bundled MiniLM, but for 128 tokens and matrix products "
        "in bf16 where there is (decision 14), few epochs; the best of several checkpoints by the "
        "mean of cluster precisions at 1 to 10 on the validation texts, 500 of the training texts, "
        "drawn; index and ranker read all training texts",
        "the ranker of both: xbert's defaults, so tfn and man negatives together, scores with half "
        "the trust in clusters that the paper has",
        "X-ttention: smaller than published, see above; masked padding, own vocabulary",
        "linear: a binary tree of classifiers above the same clusters",
        "match_P@k: clusters of the test texts, as the matcher ranks them; the papers' own "
        "figures of this stage are contaminated (cluster 0 counts as true) and are no yardstick",
        "label text: the labels' names read by the untaught MiniLM, the mean of its tokens",
        "T: members, whose scores are averaged; alone: each of them. Seeds are of the clusters. "
        "X-Transformer features use the very matchers of X-BERT with another ranker: its "
        "train_seconds are of both rankers",
        "what the frozen layers make of the texts is read once and shared by all matchers of a "
        "data set: only the first one's train_seconds hold it",
        "Parabel: linear_tree's preset; one_vs_all: default settings; xr_transformer: as many "
        "epochs as fit --minutes",
        "texts_per_second: all test texts from raw text, the members one after the other",
        "the test texts are ranked once by each system, after everything was chosen",
    ],
}
METRICS = (*_cells.METRICS, *(f"R@{k}" for k in KS))
LIMIT_MINUTES = 20
AHEAD = {"P@1": 4.0, "P@5": 6.0}  # percent above Parabel T=3, for six members


def run(options: Options) -> list[Measurement]:
    """One row per data set and system."""
    names = chosen(options.only, list(SETTINGS["data"]), "--only")
    keys = chosen(options.systems, SETTINGS["systems"], "--systems")
    rows = []
    for name in names:
        for key in (key for key in keys if key in SETTINGS["data"][name]):
            row = _cell(key)(name, options)
            rows.append(
                {
                    "data": name,
                    "system": SYSTEMS[key],
                    "threads": options.threads,
                    "minutes": options.minutes,
                    **_cells.rounded(row),
                }
            )
            say(f"{name}, {SYSTEMS[key]}: P@5 {row['P@5']:.2f}")
    return rows


def check(measurements: list[Measurement]) -> list[Claim]:
    """Six members beside Parabel and beside three; what was not run is left out."""
    claims = []
    for name in dict.fromkeys(row["data"] for row in measurements):
        rows = {row["system"]: row for row in measurements if row["data"] == name}
        for ranker in RANKERS:
            six = name_of(ranker, tuple(VECTORS), SEEDS)
            threes = _threes(ranker)
            if six in rows and PARABEL_3 in rows:
                claims += _ahead(name, rows[six], rows[PARABEL_3])
            if six in rows and all(three in rows for three in threes):
                gains = [mean_of(rows[six]) - mean_of(rows[three]) for three in threes]
                claims.append(
                    Claim(
                        f"{name}: {six}, mean of P@1, P@3, P@5 above three seeds of "
                        "one kind (points ahead of the better)",
                        min(gains) > 0,
                        min(gains),
                    )
                )
        minutes = [row["train_seconds"] / 60 for row in rows.values() if "matcher" in row]
        if minutes:
            claims.append(
                Claim(
                    f"{name}: a neural matcher is trained within {LIMIT_MINUTES} "
                    "minutes, ranker included (longest)",
                    max(minutes) <= LIMIT_MINUTES,
                    max(minutes),
                )
            )
    return claims


def _threes(ranker: str) -> list[str]:
    return [name_of(ranker, (kind,), SEEDS) for kind in VECTORS]


def mean_of(row: Measurement) -> float:
    return sum(float(row[f"P@{k}"]) for k in KS) / len(KS)


def _ahead(name: str, ours: Measurement, parabel: Measurement) -> list[Claim]:
    claims = []
    for metric, wanted in AHEAD.items():
        gain = relative_improvement({metric: ours[metric]}, parabel)[metric]
        claims.append(
            Claim(
                f"{name}: {ours['system']}, {metric} {wanted:g} % above Parabel T=3's (percent)",
                gain >= wanted,
                gain,
            )
        )
    return claims


def _cell(key: str) -> Callable[[str, Options], Measurement]:
    if key in STAGES:
        return partial(_stages, *STAGES[key])
    if key in TOGETHER:
        return partial(together, *TOGETHER[key])
    return partial(_other, key)


def xbert_job(
    name: str, options: Options, vectors: str, matcher: str, seed: int = 0, **others: Any
) -> Job:
    """One model with X-BERT's ranker; neural ones are validated and get few epochs."""
    index = {"vectors": vectors, "centres": SETTINGS["centres"][vectors], "seed": seed}
    settings = {"index": index, **SETTINGS["rankers"]["xbert"]}
    job = f"xbert-{vectors}-{matcher}-{seed}"
    if matcher == "linear":
        return Job(job, "xbert", name, {**settings, "matcher": "linear"})
    texts = len(with_texts(dataset(options, name)))
    share = min(0.2, SETTINGS["validation_texts"] / texts)
    training = {"validation": share, "validations": SETTINGS["validations"], "seed": options.seed}
    own = SETTINGS[matcher]
    settings |= {**own, "training": {**training, **own["training"]}}
    planned = _cells.in_epochs(settings, SETTINGS["epochs"][matcher], texts)
    return Job(job, "xbert", name, planned, shares_reading=True)


def _model(
    ranker: str, name: str, options: Options, vectors: str, matcher: str, seed: int
) -> tuple[Path, Measurement]:
    """The model; another ranker than X-BERT's goes on where that one's matcher was done."""
    first = xbert_job(name, options, vectors, matcher, seed)
    place, cost = _cells.trained(first, options)
    if ranker == "xbert":
        return place, cost
    settings = {**cost["config"], **SETTINGS["rankers"][ranker]}
    again = Job(
        f"{ranker}-{vectors}-{matcher}-{seed}",
        "xbert",
        name,
        settings,
        shares_reading=True,
        goes_on_from=first.name,
    )
    place, more = _cells.trained(again, options)
    seconds = ("train_seconds", "train_cpu_seconds")
    return place, {**more, **{what: cost[what] + more[what] for what in seconds}}


def _stages(vectors: str, matcher: str, name: str, options: Options) -> Measurement:
    place, cost = _model("xbert", name, options, vectors, matcher, SEEDS[0])
    kind = {"vectors": vectors, "matcher": matcher} if matcher != "linear" else {}
    found = alone(_match, place, name, options)
    return {**kind, **cost, **_figures_of([place], name, options), **found}


def together(
    ranker: str, kinds: Sequence[str], seeds: Sequence[int], name: str, options: Options
) -> Measurement:
    """The models as one: their scores are averaged."""
    places, costs = _members(ranker, kinds, seeds, name, options)
    row = {**_cells.together(costs), "members": len(places), **_figures_of(places, name, options)}
    if len(places) > 1:
        found = [_figures_of([place], name, options) for place in places]
        row["alone"] = [{f"P@{k}": round(each[f"P@{k}"], 3) for k in KS} for each in found]
    return row


def speed(
    ranker: str, kinds: Sequence[str], seeds: Sequence[int], name: str, options: Options
) -> Measurement:
    """Milliseconds in which all of them together rank a text."""
    places, _ = _members(ranker, kinds, seeds, name, options)
    return alone(_speed, places, name, options)


def _members(
    ranker: str, kinds: Sequence[str], seeds: Sequence[int], name: str, options: Options
) -> tuple[tuple[Path, ...], tuple[Measurement, ...]]:
    """Where each model is, and what its training cost."""
    pairs = [
        _model(ranker, name, options, kind, "transformer", seed)
        for kind, seed in product(kinds, seeds)
    ]
    places, costs = zip(*pairs, strict=True)
    return places, costs


def _speed(places: Sequence[Path], name: str, options: Options) -> Measurement:
    import xmtc
    from xmtc.models import ensemble

    xmtc.set_threads(options.threads)
    model = ensemble.of([xmtc.load(place) for place in places])
    return _cells.latencies(model, _cells.asked(options, name).texts)


def other_job(key: str, name: str, options: Options) -> Job:
    """A linear model, or the successor, with its defaults or as published."""

    if key in ("xr_read", "xr_transformer"):  # the very models of `quality xr_transformer`
        return (read_job if key == "xr_read" else taught_job)(name, options)
    if key == "one_vs_all":
        return Job(key, key, name, {})
    trees = int(key.rpartition("-")[2])
    return Job(key, "linear_tree", name, {**presets.load("parabel").settings, "trees": trees})


def _other(key: str, name: str, options: Options) -> Measurement:
    place, cost = _cells.trained(other_job(key, name, options), options)
    cost = {what: value for what, value in cost.items() if what != "curve"}
    return {**cost, **_figures_of([place], name, options)}


def _figures_of(places: Sequence[Path], name: str, options: Options) -> Measurement:
    """Of one model, or of several as one. Each ranks the test texts once, whoever it is part of."""
    for place in places:
        if not (place.parent / RANKED).exists():
            alone(_rank, place, name, options)
    return alone(_measure, places, name, options)


def _rank(place: Path, name: str, options: Options) -> None:
    import xmtc

    xmtc.set_threads(options.threads)
    model = xmtc.load(place)
    test = _cells.asked(options, name)
    model.rank(list(test.texts[:32]), DEPTH)
    ranking, cost = timed(lambda: model.rank(test.texts, min(DEPTH, len(model.labels))))
    np.savez(
        place.parent / RANKED, labels=ranking.labels, scores=ranking.scores, seconds=cost.seconds
    )


def _measure(places: Sequence[Path], name: str, options: Options) -> Measurement:
    import xmtc
    from xmtc.models import ensemble
    from xmtc.models.ensemble.label_union import renumbered

    model = ensemble.of([xmtc.load(place) for place in places])
    saved = [np.load(place.parent / RANKED) for place in places]
    rankings = [
        renumbered(xmtc.Ranking(each["labels"], each["scores"]), ids)
        for each, ids in zip(saved, model.ids, strict=True)
    ]
    ranking = model.merged(rankings, SETTINGS["k"])
    test = _cells.asked(options, name).named_in(model.labels)
    found = _figures.quality_of(ranking, test, model.trained_on, METRICS, options.ranking)
    return {**found, "texts_per_second": len(test) / sum(float(each["seconds"]) for each in saved)}


def _match(place: Path, name: str, options: Options) -> Measurement:
    """P@k of the clusters of the test texts. A cluster is true when it holds a true label."""
    import xmtc
    from xmtc.core.arrays import as_csr
    from xmtc.models.xbert import match

    xmtc.set_threads(options.threads)
    model: Any = xmtc.load(place)
    test = _cells.asked(options, name).named_in(model.labels)
    known = as_csr(test.relevant[:, : len(model.labels)])
    truth = model.tree.relevant_at(0, known)
    found = match.figures(model.match(test.texts, match.DEPTH), truth)
    clusters = len(model.tree.parents[0])
    return {"clusters": clusters, **{f"match_{what}": value for what, value in found.items()}}
