"""auto, given some minutes, beside linear_tree: on texts that it holds out, and on test texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from benchmarks.kit import Claim, Measurement, Options
from benchmarks.processor import PRECISION
from benchmarks.quality import _cells
from benchmarks.quality._cells import Job
from benchmarks.quality.lightxml import TREE, tree_job

AUTO = "auto"
SYSTEMS = {"linear_tree": TREE, "auto": AUTO}
SETTINGS: dict[str, Any] = {
    "data": ["eurlex4k-proxy", "debian-deps", "wordnet-isa"],
    "systems": list(SYSTEMS),
    "k": 10,
    "overrides": [
        f"{kind} training.precision={PRECISION}" for kind in ("xr_transformer", "lightxml")
    ],
    "remarks": [
        "auto: default settings and the bundled MiniLM, but for matrix products in bf16 where "
        "the processor has it (decision 14), --minutes in all; linear_tree: default settings, all "
        "training texts",
        "tried: P@k on the texts that auto holds out of the training texts, where no model that is "
        "compared was taught them; the weights of the combination are chosen on them too",
        "the test texts are ranked once by each system, after everything was chosen",
        "train_seconds: everything from texts to the finished model, what was tried and not kept "
        "included",
    ],
}
POINTS_AHEAD = 1.0
SETS_AHEAD = 2
LATE = 1.15  # times the minutes it was given: it plans by the speed of the first texts


def run(options: Options) -> list[Measurement]:
    """One row per data set and system."""
    return _cells.in_cells(options, SETTINGS, SYSTEMS, CELLS)


def check(measurements: list[Measurement]) -> list[Claim]:
    """Never below linear_tree on validation; a point of P@5 above it on test texts of two sets."""
    claims = []
    ahead = []
    for name in dict.fromkeys(row["data"] for row in measurements):
        rows = {row["system"]: row for row in measurements if row["data"] == name}
        if AUTO not in rows:
            continue
        ours = rows[AUTO]
        points = _on_validation(ours)
        claims.append(
            Claim(
                f"{name}: auto is not below linear_tree in P@5 on validation texts (points ahead)",
                points >= 0,
                points,
            )
        )
        share = ours["train_seconds"] / 60 / ours["minutes"]
        claims.append(
            Claim(
                f"{name}: auto takes the minutes that it is given, and at most 15 % "
                "more (share of them)",
                share <= LATE,
                share,
            )
        )
        if TREE in rows:
            ahead.append(ours["P@5"] - rows[TREE]["P@5"])
    if ahead:
        sets = sum(points >= POINTS_AHEAD for points in ahead)
        sentence = (
            f"auto is {POINTS_AHEAD:g} point of P@5 above linear_tree on test texts of "
            f"{SETS_AHEAD} sets (sets)"
        )
        claims.append(Claim(sentence, sets >= SETS_AHEAD, sets))
    return claims


def _on_validation(row: Measurement) -> float:
    """How far what was kept is above linear_tree; 0 if nothing else was tried."""
    found = {each["name"]: each["figures"].get("P@5", 0.0) for each in row["tried"]}
    return float(found[row["kept"]] - found[TREE])


def cell(name: str, options: Options) -> Measurement:
    """What auto kept, what it cost and what it tried."""
    settings = {"minutes": options.minutes, "seed": options.seed}
    settings["overrides"] = SETTINGS["overrides"]
    job = Job("auto", "auto", name, settings)
    row = _cells.cell(job, options, SETTINGS["k"])
    place, _ = _cells.trained(job, options)
    said = json.loads((place.parent / "run" / "tried.json").read_text())
    return {**row, "kept": said["selected"], "tried": said["tried"], "why": [said["why"]]}


CELLS: dict[str, Callable[[str, Options], Measurement]] = {
    "linear_tree": lambda name, options: _cells.cell(tree_job(name), options, SETTINGS["k"]),
    "auto": cell,
}
