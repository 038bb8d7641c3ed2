"""Records: a run's figures with all that is needed to judge them and to run it again."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks import processor
from benchmarks.kit import ROOT, Claim, Measurement, Options

RESULTS = ROOT / "benchmarks" / "records"
Record = dict[str, Any]
PACKAGES = ("xmtc", "numpy", "scipy", "numba", "scikit-learn", "torch", "transformers")


def about_the_run(name: str, options: Options, settings: dict[str, Any]) -> dict[str, Any]:
    """Everything that is known before the measuring begins."""
    return {
        "benchmark": name,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        **source(),
        "machine": machine(),
        "load_before": load(),
        "versions": versions(),
        "seed": options.seed,
        "settings": settings,
        "options": {key: _plain(value) for key, value in asdict(options).items()},
        "command": shlex.join(["python", *sys.argv]),
    }


def append(
    path: Path, about: dict[str, Any], measured: Sequence[Measurement], claims: Sequence[Claim]
) -> None:
    """One more line; earlier lines are never touched."""
    record = {
        **about,
        "load_after": load(),
        "measurements": list(measured),
        "claims": [claim._asdict() for claim in claims],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")


def records(name: str, results: Path = RESULTS) -> list[Record]:
    """Those that are fit to be shown, from a clean commit and whole data sets, the newest first."""
    path = results / f"{name}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found: list[Record] = [json.loads(line) for line in lines]
    return [row for row in found[::-1] if not row["dirty"] and row["options"]["subset"] is None]


def source() -> dict[str, Any]:
    """The commit, whether anything differed from it, and a fingerprint of what really ran."""
    changes = _git("status", "--porcelain", "--", ".", ":!benchmarks/records")
    return {
        "commit": _git("rev-parse", "HEAD") or "unknown",
        "dirty": changes != "",
        "source_sha256": _fingerprint(ROOT / "src" / "xmtc"),
    }


def machine() -> dict[str, Any]:
    """Processor, what neural systems multiply in on it, usable cores, memory."""
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "cpu": processor.name(),
        "precision": processor.PRECISION,
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "ram_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
    }


def versions() -> dict[str, str]:
    """Python and the packages that decide speed."""
    return {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}}


def load() -> list[float]:
    """Processes that wanted a core over the last 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _git(*arguments: str) -> str:
    answer = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return answer.stdout.strip()


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value
