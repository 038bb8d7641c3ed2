"""aplc with 100,978 labels: memory of its training, and how many tails ranking leaves shut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.kit import Claim, Measurement, Options, one
from benchmarks.peers.at_work import latency
from benchmarks.process import alone
from benchmarks.quality import _cells
from benchmarks.quality._cells import Job

SETTINGS: dict[str, Any] = {
    "data": "rust-prs",
    "aplc": {  # its defaults, but for these: a training of minutes
        "clusters": [0.25, 0.25, 0.25, 0.25],
        "encoder": {"max_tokens": 32, "trainable_layers": 1},
        "training": {"epochs": 1, "head_epochs": 1, "validation": 0.0, "checkpoint_seconds": 1e9},
    },
    "k": 5,
    "remarks": [
        "all 63,365 training texts and their labels, in four clusters; one epoch, and one of the "
        "output layer alone before it, texts cut at 32 tokens, one layer learns: enough to see "
        "memory and to have a model, not for quality",
        "peak_mb: resident memory of the whole process at its peak, Python, torch and data "
        "included; memory does not depend on the number of epochs",
        "label side: from a text's vector to the names of its five best labels; all tails: the "
        "same answer with every tail opened; tails_skipped: of all tails of all test texts, the "
        "share that was left shut",
    ],
}
GIGABYTES = 8


def run(options: Options) -> list[Measurement]:
    """Training, then ranking one text at a time."""
    job = Job("aplc-rust", "aplc", SETTINGS["data"], SETTINGS["aplc"])
    place, training = _cells.training_row(job, options)
    return [training, *map(_cells.rounded, alone(_rank, place, options))]


def check(measurements: list[Measurement]) -> list[Claim]:
    """A limit of its own, and that skipping tails is worth it."""
    memory = one(measurements, what="training")["peak_mb"] / 1000
    pruned, whole = (
        one(measurements, what=what)["single_p50_ms"] for what in ("label side", "all tails")
    )
    return [
        Claim(f"100,978 labels are trained within {GIGABYTES} GB (GB)", memory < GIGABYTES, memory),
        Claim(
            "skipping tails is not slower than opening all (times the time)",
            pruned <= whole,
            pruned / whole,
        ),
    ]


def _rank(place: Path, options: Options) -> list[Measurement]:
    import xmtc

    xmtc.set_threads(options.threads)
    model: Any = xmtc.load(place)
    texts = list(_cells.asked(options, SETTINGS["data"]).texts)
    k = SETTINGS["k"]
    vectors = [model.encode([text]) for text in texts[:300]]

    def names(prune: bool) -> Any:
        return lambda vector: model.scorer.rank_and_count(vector, k, prune=prune)[0].named(
            model.labels
        )

    few = {"threads": options.threads}
    return [
        {
            "what": "all texts",
            **few,
            **_cells.measured(model, options, SETTINGS["data"]),
            "tails_skipped": model.tails_skipped(texts, k),
        },
        {"what": "label side", **few, **latency(names(True), vectors)},
        {"what": "all tails", **few, **latency(names(False), vectors)},
    ]
