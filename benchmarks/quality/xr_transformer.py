"""xr_transformer, its encoder read or taught, beside PECOS XR-Transformer with the same encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.kit import Claim, Measurement, Options
from benchmarks.processor import PRECISION
from benchmarks.quality import _cells, lightxml
from benchmarks.quality._cells import Job
from benchmarks.quality.lightxml import PEER, PEER_PUBLISHED, TREE, ask_peer, tree_job

READ = "xr_transformer, epochs=0"
TAUGHT = "xr_transformer"
SYSTEMS = {
    "linear_tree": TREE,
    "read": READ,
    "taught": TAUGHT,
    "xrt": PEER,
    "xrt-published": PEER_PUBLISHED,
}
SETTINGS: dict[str, Any] = {
    "data": ["eurlex4k-proxy", "debian-deps"],
    "systems": list(SYSTEMS),
    "k": 10,
    "training": {"precision": PRECISION},
    "remarks": [
        "xr_transformer: default settings and the bundled MiniLM, but for matrix products in bf16 "
        "where the processor has it (decision 14), as many epochs as fit --minutes, by a probe "
        "beforehand, the last weights count; epochs=0: the encoder does not learn",
        "linear_tree: default settings; all systems: all training texts",
        "the test texts are ranked once by each system, after everything was chosen",
        *lightxml.SETTINGS["remarks"][4:6],
        "train_seconds: everything from texts to the finished model; peak_mb: resident memory of "
        "the whole process at its peak in training, Python, torch and data included; PECOS's "
        "loader processes are not counted",
        "texts_per_second: all test texts; single_*: one text at a time, same threads; from raw "
        "text, but PECOS is given the TF-IDF features",
    ],
}


def run(options: Options) -> list[Measurement]:
    """One row per data set and system."""
    return _cells.in_cells(options, SETTINGS, SYSTEMS, CELLS)


def check(measurements: list[Measurement]) -> list[Claim]:
    """P@5 beside linear_tree's and beside that of the better peer, and minutes beside that peer's;
    sets and systems that were not run are left out, and minutes on another number of threads."""
    claims = []
    for name in dict.fromkeys(row["data"] for row in measurements):
        rows = {
            row["system"]: row
            for row in measurements
            if row["data"] == name and "failed" not in row
        }
        peers = [rows[peer] for peer in (PEER, PEER_PUBLISHED) if peer in rows]
        for ours in (rows[system] for system in (READ, TAUGHT) if system in rows):
            claims += _beside(name, ours, rows.get(TREE), peers)
    return claims


def _beside(
    name: str, ours: Measurement, tree: Measurement | None, peers: list[Measurement]
) -> list[Claim]:
    claims = []
    what = f"{name}: P@5 of {ours['system']}"
    if tree:
        ahead = ours["P@5"] - tree["P@5"]
        claims.append(Claim(f"{what} above linear_tree's (points ahead)", ahead > 0, ahead))
    if peers:
        better = max(peers, key=lambda row: row["P@5"])
        ahead = ours["P@5"] - better["P@5"]
        claims.append(Claim(f"{what} above {better['system']}'s (points ahead)", ahead > 0, ahead))
        if ours.get("threads") == better.get("threads"):
            minutes = (better["train_seconds"] - ours["train_seconds"]) / 60
            sentence = f"{name}: {ours['system']} takes less time than {better['system']}"
            claims.append(Claim(f"{sentence} (minutes less)", minutes > 0, minutes))
    return claims


def read_job(name: str, options: Options) -> Job:
    """Every text is read once."""
    settings = {"training": {**SETTINGS["training"], "epochs": 0, "seed": options.seed}}
    return Job("xr_transformer-read", "xr_transformer", name, settings)


def taught_job(name: str, options: Options) -> Job:
    """As many epochs as fit."""
    settings = {"training": {**SETTINGS["training"], "seed": options.seed}}
    return Job("xr_transformer-taught", "xr_transformer", name, settings, minutes=options.minutes)


def _ours(job: Callable[[str, Options], Job]) -> Callable[[str, Options], Measurement]:
    return lambda name, options: _cells.cell(job(name, options), options, SETTINGS["k"])


CELLS: dict[str, Callable[[str, Options], Measurement]] = {
    "linear_tree": _ours(lambda name, _: tree_job(name)),
    "read": _ours(read_job),
    "taught": _ours(taught_job),
    "xrt": lambda name, options: ask_peer("defaults", name, options),
    "xrt-published": lambda name, options: ask_peer("published", name, options),
}
