"""The models of `xmtc demo` on the data set that ships: the table in the README."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from benchmarks.kit import BenchmarkError, Claim, Measurement, Options, one

SETTINGS: dict[str, Any] = {
    "data": "xmtc.datasets.debian()",
    "remarks": [
        "each model with its default settings, trained once on all cores",
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
    """Every model beats the floor, and a text takes well under a millisecond."""
    floor = one(measurements, model="most_frequent")
    others = [row for row in measurements if row["model"] != "most_frequent"]
    worst = min(row["P@1"] for row in others) / floor["P@1"]
    slowest = max(row["ms/text"] for row in others)
    return [
        Claim("every model has at least three times the floor's P@1 (times)", worst >= 3, worst),
        Claim("every model tags a text in less than a millisecond (ms)", slowest < 1, slowest),
    ]
