"""Plots for the docs, made from records: the same record gives the same file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.tables import Record

PANELS = {"fit_seconds": "training, s", "peak_mb": "peak memory, MB", "rank_ms": "one text, ms"}


def stamp(record: Record) -> str:
    """By which a plot says what it was made from."""
    return f"commit {record['commit']}, {record['date']}"


def is_fresh(path: Path, record: Record) -> bool:
    """Whether the plot was made from this record."""
    return path.exists() and stamp(record) in path.read_text(encoding="utf-8")


def draw_growth(record: Record, path: Path) -> None:
    """Costs by size on logarithmic axes, each beside the growth that we allow it."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    rows = record["measurements"]
    sizes = [row["texts"] for row in rows]
    with mpl.rc_context({"svg.hashsalt": "xmtc", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(8, 2.4), layout="constrained")
        for axes, (what, name) in zip(figure.subplots(1, 3), PANELS.items(), strict=True):
            axes.plot(sizes, _allowed(rows, what), "--", color="0.6", label="allowed")
            axes.plot(sizes, [row[what] for row in rows], "o-", color="C0", label="measured")
            axes.set(xscale="log", title=name, xlabel="texts and labels")
            if what != "rank_ms":
                axes.set_yscale("log")
            axes.set_ylim(bottom=0 if what == "rank_ms" else None)
            axes.legend(frameon=False)
        figure.savefig(path, format="svg", metadata={"Date": None, "Description": stamp(record)})


def _allowed(rows: Sequence[Any], what: str) -> list[float]:
    """Linear in non-zeros for training, logarithmic in labels for ranking."""
    from math import log

    first = rows[0]
    if what == "rank_ms":
        return [first[what] * log(row["labels"]) / log(first["labels"]) for row in rows]
    return [first[what] * row["nonzeros"] / first["nonzeros"] for row in rows]
