"""update, add_labels and remove_labels: what they cost, and what they do to the old labels."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.kit import Claim, Measurement, Options, dataset, one, say, timed
from benchmarks.quality.new_labels import figures

if TYPE_CHECKING:
    from xmtc import Dataset, Model

SETTINGS: dict[str, Any] = {
    "data": ["eurlex4k-proxy", "debian-deps"],
    "parts": "training part only: a tenth held out (seed 7) to evaluate; of the rest a tenth "
    "(the same seed) comes as the update",
    "seeds": [7, 8, 9, 10, 11],  # of the update, whose rows are means; the rest has the first
    "labels": 100,  # added and removed, drawn with seed 7 among those with at least `examples`
    "examples": 5,  # per added label
    "ks": [1, 3, 5],
    "remarks": [
        "P@k of old labels: only old labels may be ranked, and only they are true",
        "P@k elsewhere: texts that carry none of the added labels, all labels compete",
        "add by text: the same labels by their names (debian-deps: the packages' descriptions); "
        "new R@5: texts that carry them, only they compete; among_all R@5: all labels compete. "
        "How cautious such labels are was chosen on these held-out texts with other labels",
        "linear_tree with its defaults; kernels compiled beforehand",
    ],
}
POINTS = 0.1


def run(options: Options) -> list[Measurement]:
    """Both data sets, each change after the other."""
    import xmtc

    xmtc.set_threads(options.threads)
    few = dataset(options, "eurlex4k-proxy").take(range(500))
    base, more = (_carried(part) for part in few.split(0.5))
    xmtc.update(xmtc.train("linear_tree", base), base, more)
    rows = []
    for name in SETTINGS["data"]:
        rows += [{"data": name, **row} for row in _updates(dataset(options, name))]
        rest, held_out = _parts(dataset(options, name), SETTINGS["seeds"][0])
        rows += [{"data": name, **row} for row in _add(rest, held_out)]
        rows += [{"data": name, **row} for row in _remove(rest, held_out)]
    return rows


def check(measurements: list[Measurement]) -> list[Claim]:
    """Differences in points; the time of an update beside that of training anew."""
    claims = []
    for name in SETTINGS["data"]:
        for change in ("update", "add", "elsewhere", "remove"):
            before = one(measurements, data=name, change=change, when="before")
            after = one(measurements, data=name, change=change, when="after")
            worst = min(after[f"P@{k}"] - before[f"P@{k}"] for k in SETTINGS["ks"])
            claims.append(
                Claim(
                    f"{name}, {change}: P@k of old labels falls by at most {POINTS} points (worst)",
                    worst >= -POINTS,
                    worst,
                )
            )
        told = one(measurements, data=name, change="add by text", when="after")
        worst = min(
            told[f"elsewhere after P@{k}"] - told[f"elsewhere P@{k}"] for k in SETTINGS["ks"]
        )
        claims.append(
            Claim(
                f"{name}, add by text: P@k of texts without them falls by at most "
                f"{POINTS} points (worst)",
                worst >= -POINTS,
                worst,
            )
        )
        updated = one(measurements, data=name, change="update", when="after")
        anew = one(measurements, data=name, change="update", when="trained anew")
        share = updated["cpu_seconds"] / anew["cpu_seconds"]
        claims.append(
            Claim(
                f"{name}: an update takes less than training anew (times its cpu)", share < 1, share
            )
        )
    return claims


def _parts(whole: Dataset, seed: int) -> tuple[Dataset, Dataset]:
    rest, held_out = whole.split(0.1, seed=seed)
    return _carried(rest), held_out


def _updates(whole: Dataset) -> list[Measurement]:
    """Means over the seeds: of one held-out tenth, six texts more or less are 0.4 points."""
    runs = [_update(*_parts(whole, seed), seed) for seed in SETTINGS["seeds"]]
    return [
        {
            what: round(mean(row[what] for row in rows), 3) if isinstance(value, float) else value
            for what, value in rows[0].items()
        }
        | {"P@1 of each": [row["P@1"] for row in rows]}
        for rows in zip(*runs, strict=True)
    ]


def _update(rest: Dataset, held_out: Dataset, seed: int) -> list[Measurement]:
    import xmtc

    base, more = (_carried(part) for part in rest.split(0.1, seed=seed))
    old = base.labels.names
    model, first = timed(lambda: xmtc.train("linear_tree", base))
    updated, second = timed(lambda: xmtc.update(model, base, more))
    anew, third = timed(lambda: xmtc.train("linear_tree", rest))
    say(f"update {second.cpu_seconds:.1f} cpu s, anew {third.cpu_seconds:.1f} cpu s")
    return [
        {
            "change": "update",
            "when": when,
            "texts": made.trained_on.texts,
            "labels": len(made.labels),
            "seconds": round(timing.seconds, 2),
            "cpu_seconds": round(timing.cpu_seconds, 2),
            **_quality(made, held_out, old),
        }
        for when, made, timing in (
            ("before", model, first),
            ("after", updated, second),
            ("trained anew", anew, third),
        )
    ]


def _add(rest: Dataset, held_out: Dataset) -> list[Measurement]:
    import xmtc

    added = _drawn(rest)
    base = _without(rest, added)
    examples = _examples(rest, added)
    model, first = timed(lambda: xmtc.train("linear_tree", base))
    wider, second = timed(lambda: xmtc.add_labels(model, examples))
    mine = held_out.named_in(rest.labels).relevant[:, added].sum(axis=1)
    elsewhere = held_out.take(np.flatnonzero(np.asarray(mine).ravel() == 0))
    only = held_out.take(np.flatnonzero(np.asarray(mine).ravel() > 0))
    new = [rest.labels.names[label] for label in added]
    rows: list[Measurement] = []
    for when, made, timing in (("before", model, first), ("after", wider, second)):
        spent = {
            "texts": made.trained_on.texts,
            "labels": len(made.labels),
            "seconds": round(timing.seconds, 2),
            "cpu_seconds": round(timing.cpu_seconds, 2),
        }
        everything = {"change": "add, all labels", "when": when, **_quality(made, held_out)}
        rows += [
            {"change": "add", "when": when, **spent, **_quality(made, held_out, base.labels.names)},
            {"change": "elsewhere", "when": when, **_quality(made, elsewhere)},
            everything,
        ]
    rows.append({"change": "the new labels", "when": "after", **_quality(wider, only, new)})
    said = {rest.labels.names[label]: rest.labels.text_of(label) for label in added}
    told = xmtc.add_labels(model, texts=said)
    found = figures(model, told, held_out.named_in(told.labels))
    rows.append(
        {
            "change": "add by text",
            "when": "after",
            **{what: round(figure, 3) for what, figure in found.items()},
        }
    )
    return rows


def _remove(rest: Dataset, held_out: Dataset) -> list[Measurement]:
    import xmtc

    gone = _drawn(rest)
    kept = _without(rest, gone).labels.names
    model = xmtc.train("linear_tree", rest)
    names = [rest.labels.names[label] for label in gone]
    smaller, timing = timed(lambda: xmtc.remove_labels(model, names))
    return [
        {
            "change": "remove",
            "when": "before",
            "labels": len(model.labels),
            **_quality(model, held_out, kept),
        },
        {
            "change": "remove",
            "when": "after",
            "labels": len(smaller.labels),
            "seconds": round(timing.seconds, 2),
            "cpu_seconds": round(timing.cpu_seconds, 2),
            **_quality(smaller, held_out, kept),
        },
    ]


def _quality(model: Model, texts: Dataset, labels: Any = None) -> dict[str, float]:
    """P@k where only these labels may be ranked, and only they are true."""
    from xmtc.evaluation.report import evaluate_ranking

    truth = texts.named_in(model.labels)
    known = len(model.labels)
    allowed = np.ones(known, bool) if labels is None else np.isin(model.labels.names, labels)
    relevant = truth.relevant
    if labels is not None:
        relevant = relevant[:, np.flatnonzero(allowed)]
        places = np.full(known + 1, -1, np.int32)
        places[np.flatnonzero(allowed)] = np.arange(allowed.sum())
    ranking = model.rank(truth.inputs, max(SETTINGS["ks"]), allowed)
    if labels is not None:
        ranking = replace(ranking, labels=places[ranking.labels])
    metrics = evaluate_ranking(ranking, relevant, ks=tuple(SETTINGS["ks"])).metrics
    return {f"P@{k}": round(metrics[f"P@{k}"], 3) for k in SETTINGS["ks"]}


def _drawn(rest: Dataset) -> Any:
    counts = rest.trained_on().label_counts
    often = np.flatnonzero(counts >= SETTINGS["examples"])
    return np.sort(np.random.default_rng(7).choice(often, SETTINGS["labels"], replace=False))


def _examples(rest: Dataset, labels: Any) -> Dataset:
    """A few texts per label, with these labels only."""
    columns = rest.relevant[:, labels].tocsc()
    rows = np.concatenate(
        [
            columns.indices[columns.indptr[place] :][: SETTINGS["examples"]]
            for place in range(len(labels))
        ]
    )
    chosen = rest.take(np.unique(rows))
    keep = np.isin(np.arange(len(rest.labels)), labels)
    return replace(chosen, relevant=chosen.relevant[:, keep], labels=rest.labels.only(keep))


def _without(rest: Dataset, labels: Any) -> Dataset:
    keep = ~np.isin(np.arange(len(rest.labels)), labels)
    return replace(rest, relevant=rest.relevant[:, keep], labels=rest.labels.only(keep))


def _carried(part: Dataset) -> Dataset:
    keep = np.bincount(part.relevant.indices, minlength=len(part.labels)) > 0
    return replace(part, relevant=part.relevant[:, keep], labels=part.labels.only(keep))
