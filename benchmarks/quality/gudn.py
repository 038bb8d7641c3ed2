"""gudn's guides one by one, like Tables 3 and 4 and Figure 3 of its paper; and in cluster mode."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks.kit import Claim, Measurement, Options, chosen, say
from benchmarks.process import alone
from benchmarks.processor import PRECISION
from benchmarks.quality import _cells
from benchmarks.quality._cells import KS, Job

ENCODER = "encoder only"
FEATURE = "+ feature guide"
LINK = "+ link guide"
BOTH = "+ both guides"
ONE_HOT = "+ feature guide, one-hot"
SYSTEMS = {"encoder": ENCODER, "feature": FEATURE, "link": LINK, "both": BOTH, "one_hot": ONE_HOT}
GUIDES: dict[str, dict[str, Any]] = {
    "encoder": {"feature_weight": 0.0, "link_weight": 0.0},
    "feature": {"link_weight": 0.0},
    "link": {"feature_weight": 0.0},
    "both": {},
    "one_hot": {"link_weight": 0.0, "labels_as": "one_hot"},
}
SETTINGS: dict[str, Any] = {
    "data": {
        "eurlex4k-proxy": {"epochs": 3, "minutes": 20, "seeds": [0], "systems": list(SYSTEMS)},
        "eurlex-ci": {"epochs": 3, "minutes": 6, "seeds": [0, 1], "systems": list(SYSTEMS)},
        "debian-deps": {"epochs": 1, "minutes": 30, "seeds": [0], "systems": ["encoder", "both"]},
        "wordnet-isa": {
            "texts": 20_000,
            "epochs": 1,
            "minutes": 20,
            "seeds": [0],
            "systems": ["encoder", "both"],
            "gudn": {"plain_up_to": 0, "max_cluster": 64, "guides": {"say": "both"}},
        },
    },
    "systems": list(SYSTEMS),
    "gudn": {
        "encoder": {"max_tokens": 64, "trainable_layers": 2},
        "training": {"validation": 0.0, "checkpoint_seconds": 120.0, "precision": PRECISION},
    },
    "points_per_epoch": 4,  # of the curves of the feature loss
    "k": 10,
    "remarks": [
        "gudn's defaults but for the settings above: 64 tokens and matrix products in bf16 where "
        "there is, so that several epochs fit the minutes, which are a limit; output layers learn "
        "alone first, as always, and guides begin with the encoder",
        "what the frozen layers make of the texts is read once for all systems of a data set, in "
        "that precision (decision 14): who comes first, maybe `quality new_labels`, has it in "
        "train_seconds",
        "no checkpoint is chosen and nothing is held out; the test texts are ranked once",
        "wordnet-isa: 20,000 training texts, drawn with the seed",
        "label texts: names; of debian-deps the descriptions of the packages; of wordnet-isa, "
        "which is ranked in clusters, names and glosses",
        "one-hot: only which labels a text has, through a small network, in the feature guide",
        "step_ms: median over steps of the milliseconds per text, of this run",
        "feature_curve: the feature guide's loss (mean of squares), averaged over parts of an "
        "epoch; runs: figures of each seed; spread: the largest less the smallest",
    ],
}


def run(options: Options) -> list[Measurement]:
    """One row per data set and system: means over the seeds."""
    rows = []
    for name in chosen(options.only, list(SETTINGS["data"]), "--only"):
        asked = chosen(options.systems, SETTINGS["systems"], "--systems")
        rows += [
            _row(name, key, options) for key in SETTINGS["data"][name]["systems"] if key in asked
        ]
    return rows


def check(measurements: list[Measurement]) -> list[Claim]:
    """What the paper says, on our data: guides help, and label texts more than which labels."""
    claims = []
    for name in dict.fromkeys(row["data"] for row in measurements):
        rows = {row["system"]: row for row in measurements if row["data"] == name}
        for better, worse in ((BOTH, ENCODER), (FEATURE, ONE_HOT)):
            if better in rows and worse in rows:
                ahead = mean(rows[better][f"P@{k}"] - rows[worse][f"P@{k}"] for k in KS)
                claims.append(
                    Claim(
                        f"{name}: {better} above {worse} (points, mean of P@1/3/5)",
                        ahead > 0,
                        ahead,
                    )
                )
        minutes = max(row["longest_seconds"] for row in rows.values()) / 60
        limit = SETTINGS["data"][name]["minutes"]
        claims.append(
            Claim(
                f"{name}: a run takes at most its minutes (share of them)",
                minutes <= limit,
                minutes / limit,
            )
        )
    return claims


def job_of(name: str, system: str, seed: int) -> Job:
    """The training of one system."""
    special = SETTINGS["data"][name]
    settings = {**SETTINGS["gudn"], **special.get("gudn", {})}
    settings["guides"] = {**settings.get("guides", {}), **GUIDES[system]}
    settings["training"] = {**settings["training"], "seed": seed, "epochs": special["epochs"]}
    return Job(
        f"gudn-{system}-{seed}",
        "gudn",
        name,
        settings,
        texts=special.get("texts"),
        shares_reading=True,
    )


def _row(name: str, system: str, options: Options) -> Measurement:
    runs = [_once(name, system, seed, options) for seed in SETTINGS["data"][name]["seeds"]]
    names = ("train_seconds", "step_ms", *_cells.METRICS)
    return {
        "data": name,
        "system": SYSTEMS[system],
        "threads": options.threads,
        "train_texts": runs[0]["train_texts"],
        "labels": runs[0]["labels"],
        "seeds": len(runs),
        "epochs": runs[0]["epochs"],
        **{what: round(mean(run[what] for run in runs), 3) for what in names},
        **{f"spread P@{k}": round(_spread(run[f"P@{k}"] for run in runs), 3) for k in KS},
        "longest_seconds": max(run["train_seconds"] for run in runs),
        "model_mb": runs[0]["model_mb"],
        "peak_mb": max(run["peak_mb"] for run in runs),
        "feature_curve": runs[0]["feature_curve"],
        "trained_commit": runs[0]["trained_commit"],
        "trained_dirty": any(run["trained_dirty"] for run in runs),
        "runs": [{what: round(run[what], 3) for what in names} for run in runs],
    }


def _spread(values: Any) -> float:
    found = list(values)
    return float(max(found) - min(found))


def _once(name: str, system: str, seed: int, options: Options) -> Measurement:
    place, cost = _cells.trained(job_of(name, system, seed), options)
    row = cost | of_log(place.parent / "run") | alone(_measure, place, name, options)
    say(
        f"{name}, {SYSTEMS[system]}, seed {seed}: {row['train_seconds']:.0f} s, P@1 "
        f"{row['P@1']:.2f}, P@5 {row['P@5']:.2f}"
    )
    return row


def of_log(run: Path) -> Measurement:
    """What the log says of the steps with the encoder."""
    steps = [line for line in _cells.lines_of(run / "log.jsonl") if "texts_per_second" in line]
    return {
        "step_ms": 1000 * median(1 / line["texts_per_second"] for line in steps),
        "feature_curve": feature_curve(steps, SETTINGS["points_per_epoch"]),
    }


def feature_curve(steps: Sequence[dict[str, Any]], points: int) -> list[dict[str, float]]:
    """The feature guide's loss, averaged over so many parts of each epoch; by epochs done."""
    curve = []
    for epoch in dict.fromkeys(line["epoch"] for line in steps):
        losses = [
            line["feature_loss"]
            for line in steps
            if line["epoch"] == epoch and "feature_loss" in line
        ]
        size = -(-len(losses) // points) or 1
        curve += [
            {
                "epoch": round(epoch + min(start + size, len(losses)) / len(losses), 3),
                "loss": round(mean(losses[start : start + size]), 5),
            }
            for start in range(0, len(losses), size)
        ]
    return curve


def _measure(place: Path, name: str, options: Options) -> Measurement:
    import xmtc

    xmtc.set_threads(options.threads)
    model = xmtc.load(place)
    test = _cells.asked(options, name).named_in(model.labels)
    return _cells.quality(model.rank(test.texts, max(KS)), test, model)
