"""What each setting of neural training on a CPU does to quality, alone, on held-out texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.kit import Claim, Measurement, Options, chosen, dataset, one, say, with_texts
from benchmarks.process import alone
from benchmarks.quality import _cells
from benchmarks.quality._cells import KS, Job

DEFAULT = "default"
CHANGES: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "cls": {"encoder": {"vector": "cls"}},
    "cls-of-3-layers": {"encoder": {"vector": "cls", "layers": 3}},
    "mean-of-3-layers": {"encoder": {"layers": 3}},
    "all-layers-learn": {"encoder": {"trainable_layers": -1}},
    "cache-in-fp32": {"encoder": {"frozen_cache": "fp32"}},
    "biases-from-0": {"start_at_frequency": False},
    "vectors-as-they-are": {"standardise": False},
    "all-from-the-start": {"training": {"head_epochs": 0}},
    "one-rate": {"training": {"head_rate": 1e-4}},
    "bf16": {"training": {"precision": "bf16"}},
}
SETTINGS: dict[str, Any] = {
    "data": "eurlex-ci",
    "systems": list(CHANGES),
    "held_out": 600,  # of the 3,000 training texts
    "lightxml": {"encoder": {"max_tokens": 96}, "training": {"epochs": 2, "validation": 0.0}},
    "changes": CHANGES,
    "remarks": [
        "lightxml's defaults but for the settings above, one setting changed at a time",
        "P@k of the held-out part of the training texts: the test part is not looked at",
        "no checkpoint is chosen: the last weights count",
    ],
}


def run(options: Options) -> list[Measurement]:
    """One row per change."""
    keys = chosen(options.systems, SETTINGS["systems"], "--systems")
    return [_row(key, options) for key in keys]


def check(measurements: list[Measurement]) -> list[Claim]:
    """The default is not far below anything tried."""
    if not any(row["change"] == DEFAULT for row in measurements):
        return []
    ours = one(measurements, change=DEFAULT)["P@5"]
    best = max(row["P@5"] for row in measurements)
    return [
        Claim(
            "P@5 of the default within half a point of the best (points)",
            best - ours <= 0.5,
            best - ours,
        )
    ]


def _row(key: str, options: Options) -> Measurement:
    settings = {**SETTINGS["lightxml"]}
    for part, change in CHANGES[key].items():
        given = settings.get(part)
        settings[part] = {**given, **change} if isinstance(given, dict) else change
    training = {**settings["training"], "seed": options.seed}
    job = Job(
        f"setting-{key}",
        "lightxml",
        SETTINGS["data"],
        {**settings, "training": training},
        held_out=SETTINGS["held_out"],
    )
    place, cost = _cells.trained(job, options)
    found = alone(_measure, place, options)
    say(f"{key}: P@5 {found['P@5']:.2f} in {cost['train_seconds']:.0f} s")
    wanted = ("train_seconds", "train_cpu_seconds", "trained_commit", "trained_dirty")
    return {"change": key, **_cells.rounded(found), **{name: cost[name] for name in wanted}}


def _measure(place: Path, options: Options) -> Measurement:
    import xmtc

    xmtc.set_threads(options.threads)
    model = xmtc.load(place)
    train = with_texts(dataset(options, SETTINGS["data"]))
    held_out = train.split(SETTINGS["held_out"] / len(train), options.seed)[1]
    return _cells.quality(model.rank(held_out.texts, max(KS)), held_out, model)
