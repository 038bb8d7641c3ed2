"""aplc by its partition of the labels: how many clusters, and how much lies in the head."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.kit import Claim, Measurement, Options, chosen, say
from benchmarks.process import alone
from benchmarks.quality import _cells
from benchmarks.quality._cells import KS, METRICS, Job

COUNTS = range(1, 7)
PARTITIONS: dict[str, tuple[float, ...]] = {
    **{f"{count}": (1 / count,) * count for count in COUNTS},  # even
    "0.7 0.2 0.1": (0.7, 0.2, 0.1),
    "0.1 0.2 0.7": (0.1, 0.2, 0.7),
}
THIRDS = "3"  # is also the partition between the two others
SHARES = ("0.7 0.2 0.1", THIRDS, "0.1 0.2 0.7")
SETTINGS: dict[str, Any] = {
    "data": "eurlex-ci",
    "systems": list(PARTITIONS),
    "seeds": [0, 1],
    "aplc": {
        "encoder": {"max_tokens": 64, "trainable_layers": 2},
        "training": {"epochs": 2, "validation": 0.0, "checkpoint_seconds": 1e9},
    },
    "remarks": [
        "aplc's defaults but for the settings above: 64 tokens, so that a run stays within six "
        "minutes on two cores; four of MiniLM's six layers are frozen and read once, and what "
        "they make of the texts is shared by all runs: only the first one's train_seconds hold it",
        "clusters 1 to 6 have as many labels each; 1 is one linear layer over all labels, without "
        "gates",
        "no checkpoint is chosen; the test texts are ranked once; means over the seeds, spread: "
        "between the best and the worst seed",
    ],
}
LIMIT_MINUTES = 6


def run(options: Options) -> list[Measurement]:
    """One row per partition: means over the seeds."""
    keys = chosen(options.systems, SETTINGS["systems"], "--systems")
    return [_row(key, options) for key in keys]


def check(measurements: list[Measurement]) -> list[Claim]:
    """The paper's two trends, in points of P@1, and the time of a run."""
    found = {row["system"]: row["P@1"] for row in measurements}
    claims = []
    if {"2", "6"} <= found.keys():
        points = found["2"] - found["6"]
        claims.append(
            Claim(
                "as in the paper: P@1 is higher with 2 clusters than with 6 (points)",
                points > 0,
                points,
            )
        )
    if set(SHARES) <= found.keys():
        steps = [found[more] - found[less] for more, less in pairwise(SHARES)]
        claims.append(
            Claim(
                "as in the paper: P@1 is higher the more labels lie in the head "
                "(points, smaller of two steps)",
                min(steps) > 0,
                min(steps),
            )
        )
    if measurements:
        longest = max(row["longest_seconds"] for row in measurements) / 60
        claims.append(
            Claim(
                f"a run takes at most {LIMIT_MINUTES} minutes (longest)",
                longest <= LIMIT_MINUTES,
                longest,
            )
        )
    return claims


def _row(key: str, options: Options) -> Measurement:
    runs = [_once(key, seed, options) for seed in SETTINGS["seeds"]]
    names = ("train_seconds", "tails_skipped", *METRICS)
    first = [run["P@1"] for run in runs]
    return {
        "data": SETTINGS["data"],
        "system": key,
        "threads": options.threads,
        "train_texts": runs[0]["train_texts"],
        "labels": runs[0]["labels"],
        "seeds": len(runs),
        **{what: round(mean(run[what] for run in runs), 3) for what in names},
        "spread": round(max(first) - min(first), 3),
        "longest_seconds": max(run["train_seconds"] for run in runs),
        "trained_commit": runs[0]["trained_commit"],
        "trained_dirty": any(run["trained_dirty"] for run in runs),
        "runs": [{what: round(run[what], 3) for what in names} for run in runs],
    }


def _once(key: str, seed: int, options: Options) -> Measurement:
    training = {**SETTINGS["aplc"]["training"], "seed": seed}
    settings = {**SETTINGS["aplc"], "training": training, "clusters": list(PARTITIONS[key])}
    job = Job(
        f"aplc-{key.replace(' ', '-')}-{seed}",
        "aplc",
        SETTINGS["data"],
        settings,
        shares_reading=True,
    )
    place, cost = _cells.trained(job, options)
    row = cost | alone(_measure, place, options)
    say(f"{key}, seed {seed}: {row['train_seconds']:.0f} s, P@1 {row['P@1']:.2f}")
    return row


def _measure(place: Path, options: Options) -> Measurement:
    import xmtc

    xmtc.set_threads(options.threads)
    model: Any = xmtc.load(place)
    test = _cells.asked(options, SETTINGS["data"]).named_in(model.labels)
    row = _cells.quality(model.rank(test.texts, max(KS)), test, model)
    return {**row, "tails_skipped": model.tails_skipped(test.texts, max(KS))}
