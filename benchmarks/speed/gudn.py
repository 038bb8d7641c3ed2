"""What gudn's guides cost: a training step beside the unguided one, and ranking, which is equal."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.kit import Claim, Measurement, Options, Timing, dataset, in_turns, one, timed
from benchmarks.quality import _cells
from benchmarks.quality.gudn import BOTH, ENCODER, FEATURE, GUIDES, LINK, ONE_HOT, SYSTEMS

if TYPE_CHECKING:
    from xmtc import Dataset, Model

SETTINGS: dict[str, Any] = {
    "data": "eurlex4k-proxy",
    "texts": 512,  # drawn with the seed; half of them are ranked
    "gudn": {
        "encoder": {"max_tokens": 128, "trainable_layers": 2},
        "training": {"epochs": 2, "head_epochs": 0, "validation": 0.0},
    },
    "systems": list(GUIDES),
    "remarks": [
        "step_ms: milliseconds per text of the steps of the second epoch, from the log: reading "
        "with frozen layers, which happens once, is not in it; medians over the rounds",
        "rank_ms: of processor time per text, from raw text; parameters: numbers in the saved "
        "model, but for the vector of an average text, which ranking does not read",
    ],
}
RATIO = 1.1


def run(options: Options) -> list[Measurement]:
    """One row per system."""
    import xmtc

    xmtc.set_threads(options.threads)
    train = _cells.some(dataset(options, SETTINGS["data"]), SETTINGS["texts"], options.seed)
    asked = list(train.texts[: len(train) // 2])
    models = dict[str, Any]()

    def teach(system: str) -> Timing:
        models[system], seconds = _taught(train, system)
        return Timing(seconds, seconds)

    def rank(system: str) -> Timing:
        return timed(lambda: models[system].rank(asked, 5))[1]

    steps = in_turns({key: partial(teach, key) for key in GUIDES}, options.repeats)
    rank(next(iter(GUIDES)))  # kernels are compiled before the clock starts
    ranking = in_turns({key: partial(rank, key) for key in GUIDES}, options.repeats)
    return [
        {
            "system": SYSTEMS[key],
            "threads": options.threads,
            "texts": len(train),
            "step_ms": round(1000 * median(t.seconds for t in steps[key]), 3),
            "rank_ms": round(1000 * median(t.cpu_seconds for t in ranking[key]) / len(asked), 3),
            "parameters": _parameters(models[key]),
        }
        for key in GUIDES
    ]


def check(measurements: list[Measurement]) -> list[Claim]:
    """Steps cost more, and how much more is said; ranking costs the same."""
    plain = one(measurements, system=ENCODER)
    claims = []
    for system in (FEATURE, LINK, BOTH, ONE_HOT):
        row = one(measurements, system=system)
        times = row["step_ms"] / plain["step_ms"]
        claims.append(
            Claim(
                f"{system}: a step takes less than twice the unguided one's (times)",
                times < 2,
                times,
            )
        )
        more = row["parameters"] - plain["parameters"]
        claims.append(Claim(f"{system}: as many parameters are left (more)", more == 0, more))
        times = row["rank_ms"] / plain["rank_ms"]
        claims.append(
            Claim(
                f"{system}: ranking takes as long, to a tenth (times)",
                1 / RATIO <= times <= RATIO,
                times,
            )
        )
    return claims


def _taught(train: Dataset, system: str) -> tuple[Model, float]:
    """The model, and seconds per text of its second epoch."""
    import xmtc

    config = {**SETTINGS["gudn"], "guides": GUIDES[system]}
    with tempfile.TemporaryDirectory() as folder:
        model = xmtc.train("gudn", train, config, run=folder)
        lines = _cells.lines_of(Path(folder) / "log.jsonl")
    steps = [line for line in lines if "texts_per_second" in line and line["epoch"] == 1]
    seconds = sum(line["texts"] / line["texts_per_second"] for line in steps)
    return model, seconds / sum(line["texts"] for line in steps)


def _parameters(model: Model) -> int:
    arrays = model.to_parts().arrays
    return sum(
        array.size
        for name, array in arrays.items()
        if name != "middle" and not name.endswith(".json")
    )
