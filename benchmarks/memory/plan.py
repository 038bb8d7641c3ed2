"""What `xmtc.plan` foretells beside what training then takes: processor time, memory, size."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from benchmarks.kit import BenchmarkError, Claim, Measurement, Options, say

SETTINGS: dict[str, Any] = {
    "data": {
        "linear_tree": [
            "eurlex-ci",
            "cve-libs",
            "eurlex4k-proxy",
            "debian-deps",
            "wordnet-isa",
            "rust-prs",
            "eurlex57k",
            "yso-finna-en",
        ],
        "one_vs_all": ["eurlex-ci", "cve-libs", "eurlex4k-proxy"],
    },
    "remarks": [
        "training parts; plan and training each in a process of its own, with default settings",
        "kernels are compiled beforehand on planted data, in each process",
        "memory is resident memory at the peak above what the process had before it read the data",
        "time is that of all processors, since other work on the machine stretches the clock",
    ],
}
WITHIN = (0.7, 1.3)
PROGRAM = """
import ctypes, gc, json, re, sys, time
import xmtc
from xmtc.core import store
from xmtc.data.planted import planted
what, kind, path, threads, subset = sys.argv[1:]
xmtc.set_threads(int(threads))

def kilobytes(name):
    return int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read())[1])

small = planted(texts=400, labels=200)
xmtc.plan(kind, small)
xmtc.train(kind, small)
gc.collect()
ctypes.CDLL(None).malloc_trim(0)  # what is free now would be used again, and not be seen to grow
before = kilobytes("VmRSS") * 1024
data = xmtc.read_dataset(path)
data = data.take(range(min(int(subset), len(data)))) if int(subset) else data
start, clock = time.process_time(), time.perf_counter()
if what == "plan":
    made = xmtc.plan(kind, data)
    told = {"cpu_seconds": made.cpu_seconds, "bytes": made.peak_bytes - before,
            "model_bytes": made.model_bytes}
else:
    model = xmtc.train(kind, data)
    told = {"cpu_seconds": time.process_time() - start,
            "bytes": kilobytes("VmHWM") * 1024 - before,
            "model_bytes": sum(a.nbytes for a in model.to_parts().arrays.values())
            + sum(len(n.encode()) + 13 for n in data.labels.names)}
told["took"] = time.process_time() - start
told["clock"] = time.perf_counter() - clock
print(json.dumps(told))
"""


def run(options: Options) -> list[Measurement]:
    """Plan and train, one process after the other."""
    rows = []
    for kind, names in SETTINGS["data"].items():
        for name in names:
            told, true = (_in_process(what, kind, name, options) for what in ("plan", "train"))
            rows.append(
                {
                    "kind": kind,
                    "data": name,
                    "plan_cpu_s": round(told["took"], 2),
                    "told_cpu_s": round(told["cpu_seconds"], 2),
                    "train_cpu_s": round(true["cpu_seconds"], 2),
                    "told_mb": round(told["bytes"] / 1e6, 1),
                    "peak_mb": round(true["bytes"] / 1e6, 1),
                    "told_model_mb": round(told["model_bytes"] / 1e6, 2),
                    "model_mb": round(true["model_bytes"] / 1e6, 2),
                    "time_ratio": round(told["cpu_seconds"] / true["cpu_seconds"], 3),
                    "memory_ratio": round(told["bytes"] / true["bytes"], 3),
                }
            )
            say(f"{kind}, {name}: {rows[-1]}")
    return rows


def check(measurements: list[Measurement]) -> list[Claim]:
    """What was foretold, as a share of what happened."""
    claims = []
    for row in measurements:
        for what in ("time", "memory"):
            ratio = row[f"{what}_ratio"]
            claims.append(
                Claim(
                    f"{row['kind']} on {row['data']}: {what} foretold to 30 % (told / true)",
                    WITHIN[0] <= ratio <= WITHIN[1],
                    ratio,
                )
            )
    return claims


def _in_process(what: str, kind: str, name: str, options: Options) -> Measurement:
    path = options.data / name / "trn.jsonl.gz"
    if not path.is_file():
        raise BenchmarkError(f"{path} is missing: give the data's folder with --data FOLDER.")
    words = [what, kind, str(path), str(options.threads), str(options.subset or 0)]
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=False
    )
    if answer.returncode:
        raise BenchmarkError(f"{what} of {kind} on {name} failed: {answer.stderr[-300:]}")
    told: Measurement = json.loads(answer.stdout.splitlines()[-1])
    return told
