"""Peak memory of reading eurlex57k and of `xmtc data doctor` on it, in processes of their own."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.kit import BenchmarkError, Claim, Measurement, Options, one, peak_memory, say

SETTINGS: dict[str, Any] = {
    "data": "eurlex57k trn and tst",
    "remarks": [
        "peak resident memory of the whole process, Python and imported packages included",
        "kernels are compiled within the run, as on a new user's machine: the worst case",
        "text_bytes are those of the training texts as UTF-8",
    ],
}
READ = """
import json, sys
from xmtc import read_dataset
texts = read_dataset(sys.argv[1]).texts
print(json.dumps({"texts": len(texts), "text_bytes": sum(len(t.encode()) for t in texts)}))
"""
DOCTOR = "from xmtc.cli import main; main()"

DOCTOR_GIGABYTES = 1.5
TIMES_TEXT_SIZE = 3.0


def run(options: Options) -> list[Measurement]:
    """Two processes, one after the other."""
    train, test = (options.data / "eurlex57k" / f"{part}.jsonl.gz" for part in ("trn", "tst"))
    for path in (train, test):
        if not path.is_file():
            raise BenchmarkError(f"{path} is missing: give the data's folder with --data FOLDER.")
    say("reading")
    read_peak, printed = _peak(READ, train)
    sizes = json.loads(printed)
    say("xmtc data doctor")
    doctor_peak, _ = _peak(DOCTOR, "data", "doctor", train, test)
    return [
        {"what": "read_dataset trn", "peak_bytes": read_peak, **sizes},
        {"what": "xmtc data doctor trn tst", "peak_bytes": doctor_peak, **sizes},
    ]


def check(measurements: list[Measurement]) -> list[Claim]:
    """Peaks beside fixed limits."""
    read = one(measurements, what="read_dataset trn")
    doctor = one(measurements, what="xmtc data doctor trn tst")
    times = read["peak_bytes"] / read["text_bytes"]
    gigabytes = doctor["peak_bytes"] / 1e9
    return [
        Claim(
            f"reading stays below {TIMES_TEXT_SIZE:g} times the size of the texts (times)",
            times < TIMES_TEXT_SIZE,
            times,
        ),
        Claim(
            f"xmtc data doctor stays below {DOCTOR_GIGABYTES} GB (GB)",
            gigabytes < DOCTOR_GIGABYTES,
            gigabytes,
        ),
    ]


def _peak(program: str, *arguments: str | Path) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as no_cache:
        command = [sys.executable, "-c", program, *map(str, arguments)]
        return peak_memory(command, NUMBA_CACHE_DIR=no_cache)
