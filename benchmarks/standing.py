"""The row that stands for each data set and system of docs/results.md, of all records.

Rows of other experiments count too. Of several the first of these decides: it did not fail, the
full vocabulary was given, more than one thread, more minutes of training (up to those that the page
allows), the time of one text is known, it is the newest.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.catalog import EXPERIMENTS
from benchmarks.experiment import Options, Row
from benchmarks.record import RECORDS, Record, records
from benchmarks.systems import LinearPeer, Ours

OWN = "quality_results"
EXPERIMENT = EXPERIMENTS[OWN]
DATA = EXPERIMENT.data
FIRST = DATA[0]  # every system is measured here
OURS = [key for key, system in EXPERIMENT.systems.items() if isinstance(system, Ours)]
FEATURES_GIVEN = [
    key
    for key, system in EXPERIMENT.systems.items()
    if isinstance(system, LinearPeer) and key != "fasttext"
]
MINUTES = {"auto": 60.0}  # that the page allows; the others have half as many
IN_MINUTES = [key for key, system in EXPERIMENT.systems.items() if system.minutes(Options())]
TIMED = [*IN_MINUTES, "learned"]  # systems that train for the minutes they are given
Cell = tuple[str, str]  # data set and system
Cells = dict[Cell, tuple[Row, Record]]
Standing = tuple[str, Row, Record]  # system, its row, where it is from

# Experiments whose rows count too, and their keys that have another name here.
OTHERS = (
    *("quality_lightxml", "quality_xr_transformer", "quality_xbert", "quality_aplc"),
    *("quality_auto", "quality_one_vs_all", "quality_linear_tree"),
)
KEYS = {"xmtc": "linear_tree", "xmtc-3": "linear_tree-3", "xmtc-one_vs_all": "one_vs_all"}


def standing(folder: Path = RECORDS) -> Cells:
    """The row of each cell."""
    found = every_row(folder)
    return {cell: max(rows, key=partial(worth, cell[1])) for cell, rows in found.items()}


def every_row(folder: Path = RECORDS) -> dict[Cell, list[tuple[Row, Record]]]:
    """All rows of each cell."""
    found: dict[Cell, list[tuple[Row, Record]]] = {}
    for name in (OWN, *OTHERS):
        for record in records(name, folder):
            for row in record["measurements"]:
                data = row.get("data", FIRST)
                key = row.get("key", "")
                key = KEYS.get(key, key)
                if key in EXPERIMENT.systems and data in DATA and not row.get("trained_dirty"):
                    found.setdefault((data, key), []).append((row, record))
    return found


def full_vocabulary(key: str, record: Record, row: Row) -> bool:
    """Whether features were given with the words of a single text, which our systems read."""
    linear = record["benchmark"] in ("quality_linear_tree", "quality_one_vs_all")
    if not linear and key not in FEATURES_GIVEN:
        return True
    return bool(row.get("text", {"min_df": 2}).get("min_df", 1) == 1)


def worth(key: str, cell: tuple[Row, Record]) -> tuple[bool, bool, bool, float, bool, str]:
    """Of several rows of a cell the greatest stands; see above."""
    row, record = cell
    minutes = float(row.get("minutes", 0)) if key in TIMED else 0.0
    return (
        "failed" not in row,
        full_vocabulary(key, record, row),
        row.get("threads", 2) > 1,
        minutes if minutes <= MINUTES.get(key, 30.0) else 0.0,
        "single_p50_ms" in row,
        record["date"],
    )


def measured_cells(options: Options, folder: Path = RECORDS) -> list[Cell]:
    """Cells that need not be measured again: in as many threads, or failed for good."""
    found = []
    for cell, (row, _) in standing(folder).items():
        failed = str(row.get("failed", ""))
        for_good = failed == "OOM" or failed.startswith("> ")
        complete = "single_p50_ms" in row and row.get("threads", 2) == options.threads
        if for_good or (complete and not failed):
            found.append(cell)
    return found


def of_data(cells: Cells, data: str) -> list[Standing]:
    """The rows of one data set: best P@5 first, failures last."""
    rows = [(key, *cell) for (name, key), cell in cells.items() if name == data]
    return sorted(rows, key=lambda row: -row[1].get("P@5", 0.0))
