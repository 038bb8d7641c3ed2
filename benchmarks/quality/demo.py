"""The models of `xmtc demo` on the data set that ships: the table in the README."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from benchmarks.kit import BenchmarkError, Claim, Measurement, Options, one

AVERAGE = "linear_tree + lightxml"
TEXTS = 10_091  # of the test set

SETTINGS: dict[str, Any] = {
    "data": "xmtc.datasets.debian()",
    "remarks": [
        "each model trained once on all cores: linear ones with their default settings, lightxml "
        "with those of `xmtc demo`, which fit into some minutes (SETTINGS in src/xmtc/cli/demo.py)",
        "the last row is the average of linear_tree and lightxml, of log odds; its times are sums",
        "kernels are compiled beforehand; ms/text includes reading the text, many texts at once",
    ],
}


def run(options: Options) -> list[Measurement]:
    """What `xmtc demo --json` prints, one row per model."""
    demo = [sys.executable, "-m", "xmtc", "--threads", str(options.threads), "demo", "--json"]
    _ = subprocess.run(
        [*demo, "--kind", "linear_tree"], capture_output=True, check=False
    )  # compiles
    done = subprocess.run(demo, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchmarkError(f"xmtc demo failed: {done.stderr.strip()}")
    return [{"model": kind, **row} for kind, row in json.loads(done.stdout).items()]


def check(measurements: list[Measurement]) -> list[Claim]:
    """Every model beats the floor, linear ones are quick, and the whole demo stays a demo."""
    floor = one(measurements, model="most_frequent")
    others = [row for row in measurements if row["model"] != "most_frequent"]
    linear = [row for row in others if row["model"] in ("linear_tree", "one_vs_all")]
    worst = min(row["P@1"] for row in others) / floor["P@1"]
    slowest = max(row["ms/text"] for row in linear)
    claims = [
        Claim("every model has at least twice the floor's P@1 (times)", worst >= 2, worst),
        Claim("linear models tag a text in less than a millisecond (ms)", slowest < 1, slowest),
    ]
    return claims + _claims_of_the_average(measurements)


def _claims_of_the_average(measurements: list[Measurement]) -> list[Claim]:
    """None where PyTorch is not installed: then the demo has no lightxml."""
    averages = [row for row in measurements if row["model"] == AVERAGE]
    if not averages:
        return []
    tree = one(measurements, model="linear_tree")
    gain = averages[0]["P@5"] - tree["P@5"]
    single = [row for row in measurements if row["model"] != AVERAGE]
    minutes = sum(row["train s"] + row["ms/text"] * TEXTS / 1e3 for row in single) / 60
    return [
        Claim("the average is above linear_tree in P@5 (points)", gain > 0, gain),
        Claim(
            "all trainings and tests take at most 8.5 minutes (minutes)", minutes <= 8.5, minutes
        ),
    ]
