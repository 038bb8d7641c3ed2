"""aplc beside a plain output layer on the same encoder and steps, lightxml and linear_tree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.kit import Claim, Measurement, Options, chosen, say
from benchmarks.process import alone
from benchmarks.quality import _cells
from benchmarks.quality._cells import Job
from benchmarks.quality.lightxml import tree_job

APLC = "aplc"
PLAIN = "plain output layer"
LIGHTXML = "lightxml, clusters"
TREE = "linear_tree"
SYSTEMS = {"aplc": APLC, "plain": PLAIN, "lightxml": LIGHTXML, "linear_tree": TREE}
SETTINGS: dict[str, Any] = {
    "data": ["eurlex4k-proxy"],
    "systems": list(SYSTEMS),
    "encoder": {"max_tokens": 64},
    "training": {"validation": 0.0, "checkpoint_seconds": 1e9},
    "k": 10,
    "remarks": [
        "aplc: default settings (two clusters of as many labels, the tail half as wide) and the "
        "bundled MiniLM; as many epochs as fit --minutes, by a probe beforehand",
        "the three neural systems read the first 64 tokens, not the default's 256, so that a "
        "comparison takes minutes; what that costs is in docs/decisions/0010 (3.4 points of P@5 "
        "for linear_tree, which reads whole texts here)",
        "what the frozen layers make of the texts is read once, by aplc, and shared: the "
        "train_seconds of the others do not hold it",
        "plain output layer: every label in one linear layer, binary cross-entropy; lightxml "
        "without clusters, with aplc's encoder, rates, dropout, epochs and batches",
        "lightxml, clusters: its defaults, but clusters also for so few labels, and aplc's epochs",
        "linear_tree: default settings",
        "no checkpoint is chosen; the test texts are ranked once by each system",
        "train_seconds: everything from texts to the finished model; peak_mb: resident memory of "
        "the whole process at its peak in training, Python, torch and data included",
        "tails_skipped: of all tails of all test texts, the share that ranking ten labels left "
        "shut; the ranking is that of all labels",
    ],
}
LIMIT_MINUTES = 30
POINTS = 1.0


def run(options: Options) -> list[Measurement]:
    """One row per data set and system."""
    names = chosen(options.only, SETTINGS["data"], "--only")
    keys = chosen(options.systems, SETTINGS["systems"], "--systems")
    return [_row(name, key, options) for name in names for key in keys]


def check(measurements: list[Measurement]) -> list[Claim]:
    """Points that aplc is behind the plain layer, and its minutes."""
    claims = []
    for name in dict.fromkeys(row["data"] for row in measurements):
        rows = {row["system"]: row for row in measurements if row["data"] == name}
        if APLC in rows and PLAIN in rows:
            least = min(rows[APLC][f"P@{k}"] - rows[PLAIN][f"P@{k}"] for k in _cells.KS)
            claims.append(
                Claim(
                    f"{name}: P@1, P@3, P@5 at most {POINTS:g} below the plain output "
                    "layer's (points ahead, at worst)",
                    least >= -POINTS,
                    least,
                )
            )
        if APLC in rows:
            minutes = rows[APLC]["train_seconds"] / 60
            claims.append(
                Claim(
                    f"{name}: trained within {LIMIT_MINUTES} minutes (minutes)",
                    minutes <= LIMIT_MINUTES,
                    minutes,
                )
            )
    return claims


def jobs(name: str, options: Options) -> dict[str, Job]:
    """What is trained; the epochs of the others are aplc's, which come later."""
    encoder = SETTINGS["encoder"]
    training = {**SETTINGS["training"], "seed": options.seed}
    ours = {"encoder": encoder, "training": training}
    shared = _shared()
    like_aplc = {
        **shared,
        "encoder": {**shared["encoder"], **encoder},
        "training": {**shared["training"], **training},
    }

    def job(key: str, kind: str, settings: dict[str, Any], minutes: float = 0.0) -> Job:
        return Job(key, kind, name, settings, minutes=minutes, shares_reading=True)

    return {
        "aplc": job("aplc", "aplc", ours, options.minutes),
        "plain": job("aplc-plain", "lightxml", {**like_aplc, "plain_up_to": 1 << 30}),
        "lightxml": job("aplc-lightxml", "lightxml", {**ours, "plain_up_to": 0}),
        "linear_tree": tree_job(name),
    }


def _shared() -> dict[str, Any]:
    """Settings of aplc that lightxml has too."""
    from xmtc.core.config import to_dict
    from xmtc.models import aplc, lightxml

    ours = to_dict(aplc.Config())
    theirs = to_dict(lightxml.Config())
    return {key: value for key, value in ours.items() if key in theirs}


def _row(name: str, key: str, options: Options) -> Measurement:
    every = jobs(name, options)
    place, cost = _cells.trained(every["aplc"], options) if key != "linear_tree" else (None, {})
    if key != "aplc":
        place, cost = _cells.trained(_in_epochs(every[key], cost.get("epochs")), options)
    assert place is not None
    found = cost | alone(_measure, place, name, options)
    say(f"{name}, {SYSTEMS[key]}: P@5 {found['P@5']:.2f}")
    return {
        "data": name,
        "system": SYSTEMS[key],
        "threads": options.threads,
        "minutes": options.minutes,
        **_cells.rounded(found),
    }


def _in_epochs(job: Job, epochs: int | None) -> Job:
    if epochs is None:
        return job
    training = {**job.settings["training"], "epochs": epochs, "patience": epochs}
    return replace(job, settings={**job.settings, "training": training})


def _measure(place: Path, name: str, options: Options) -> Measurement:
    import xmtc

    xmtc.set_threads(options.threads)
    model: Any = xmtc.load(place)
    row = _cells.measured(model, options, name, SETTINGS["k"])
    if model.kind == "aplc":
        row["tails_skipped"] = model.tails_skipped(_cells.asked(options, name).texts, SETTINGS["k"])
    return row
