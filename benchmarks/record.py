"""Records: a run's figures with all that is needed to read them and to run it again.

One line of JSON per run in `records/EXPERIMENT.jsonl`, only ever appended. A record names data
sets, never a folder of the machine.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import psutil

from benchmarks import cpu
from benchmarks.experiment import ROOT, Experiment, Options, Result, Rows
from benchmarks.peers.runner import environment

RECORDS = ROOT / "benchmarks" / "records"
Record = dict[str, Any]
PACKAGES = ("python", "xmtc", "numpy", "scipy", "numba", "scikit-learn", "torch", "transformers")


def about_the_run(experiment: Experiment, options: Options, command: Sequence[str]) -> Record:
    """Everything that is known before the measuring begins."""
    return {
        "benchmark": experiment.name,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        **source(),
        "machine": machine(),
        "load_before": load(),
        "versions": versions(),
        "seed": options.seed,
        "settings": {
            "systems": {key: asdict(system) for key, system in experiment.systems.items()},
            "remarks": list(experiment.remarks),
        },
        "options": {key: value for key, value in asdict(options).items() if key != "work"},
        "command": shlex.join(["python", "-m", "benchmarks", *command]),
    }


def append(path: Path, about: Record, rows: Rows, claims: Sequence[Result]) -> None:
    """One more line; earlier lines are never touched."""
    record = {
        **about,
        "load_after": load(),
        "measurements": list(rows),
        "claims": [claim._asdict() for claim in claims],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")


def records(name: str, folder: Path = RECORDS) -> list[Record]:
    """Those that may be shown, from a clean commit and whole data sets, the newest first."""
    path = folder / f"{name}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found: list[Record] = [json.loads(line) for line in lines]
    return [row for row in found[::-1] if not row["dirty"] and row["options"]["subset"] is None]


def source() -> dict[str, Any]:
    """The commit, and whether anything differed from it."""
    changes = _git("status", "--porcelain", "--", ".", ":!benchmarks/records")
    return {"commit": _git("rev-parse", "HEAD") or "unknown", "dirty": changes != ""}


def machine() -> dict[str, Any]:
    """Processor, precision of neural systems on it, usable cores, memory."""
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "cpu": cpu.name(),
        "precision": cpu.precision(),
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "ram_gb": round(psutil.virtual_memory().total / 1e9, 1),
    }


def versions() -> dict[str, str]:
    """Python and the packages that decide speed, where they are installed."""
    return {name: version for name, version in environment().items() if name in PACKAGES}


def load() -> list[float]:
    """Processes that wanted a core over the last 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return answer.stdout.strip()


def say(text: str) -> None:
    """Tell what happens now; standard output is for results."""
    print(f"  {text}", file=sys.stderr, flush=True)
