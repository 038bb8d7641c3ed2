"""How long `xmtc --help` and `import xmtc` take, next to an empty Python."""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median
from typing import Any

from benchmarks.kit import Claim, Measurement, Options, one

COMMANDS = {
    "python": ["-c", "pass"],
    "import xmtc": ["-c", "import xmtc"],
    "xmtc --help": ["-m", "xmtc", "--help"],
}
SETTINGS: dict[str, Any] = {"data": "none", "remarks": ["median of 5 runs per repeat, in turns"]}


def run(options: Options) -> list[Measurement]:
    """Seconds of each command, started from nothing."""
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(5 * options.repeats):
        for name, arguments in COMMANDS.items():
            started = time.perf_counter()
            subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
            seconds[name].append(time.perf_counter() - started)
    return [
        {"command": name, "seconds": round(median(times), 4)} for name, times in seconds.items()
    ]


def check(measurements: list[Measurement]) -> list[Claim]:
    """Limits, since a person waits."""
    wait = {name: one(measurements, command=name)["seconds"] for name in COMMANDS}
    return [
        Claim(
            "xmtc --help takes less than half a second (s)",
            wait["xmtc --help"] < 0.5,
            wait["xmtc --help"],
        ),
        Claim(
            "import xmtc takes well under a second (s)",
            wait["import xmtc"] < 0.5,
            wait["import xmtc"],
        ),
    ]
