"""Plots for the docs, made from records: the same record gives the same file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.kit import Measurement
from benchmarks.tables import Record

PANELS = {"fit_seconds": "training, s", "peak_mb": "peak memory, MB", "rank_ms": "one text, ms"}


def stamp(*records: Record) -> str:
    """By which a plot says what it was made from."""
    return "; ".join(f"commit {record['commit']}, {record['date']}" for record in records)


def is_fresh(path: Path, *records: Record) -> bool:
    """Whether the plot was made from these records."""
    return path.exists() and f">{stamp(*records)}<" in path.read_text(encoding="utf-8")


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


def draw_curves(cells: Sequence[tuple[Measurement, Record]], path: Path) -> None:
    """P@k on validation texts by minute of training; linear_tree on the same texts beside it."""
    with _figure(len(cells), path, [record for _, record in cells]) as panels:
        for axes, (row, _) in zip(panels, cells, strict=True):
            minutes = [point["minute"] for point in row["curve"]]
            for place, k in enumerate((1, 3, 5)):
                name, color = f"P@{k}", f"C{place}"
                axes.plot(minutes, [point[name] for point in row["curve"]], "o-", color=color,
                          label=name, markersize=3)  # fmt: skip
                if tree := row.get("tree_on_validation"):
                    axes.axhline(tree[name], ls="--", lw=1, color=color)
            others = f", {row['system']}" if len({cell["data"] for cell, _ in cells}) == 1 else ""
            axes.set(title=row["data"] + others, xlabel="minutes of training", xlim=(0, None))
            beside = "-- linear_tree" if row.get("tree_on_validation") else None
            axes.legend(frameon=False, title=beside, fontsize=8)


def draw_negatives(cells: Sequence[tuple[Measurement, Record]], path: Path) -> None:
    """Bars of P@k by kind of negatives, a panel for each data set."""
    sets = list(dict.fromkeys(row["data"] for row, _ in cells))
    with _figure(len(sets), path, [record for _, record in cells]) as panels:
        for axes, name in zip(panels, sets, strict=True):
            rows = [row for row, _ in cells if row["data"] == name]
            for place, row in enumerate(rows):
                at = [k + (place - (len(rows) - 1) / 2) * 0.25 for k in range(3)]
                axes.bar(at, [row[f"P@{k}"] for k in (1, 3, 5)], 0.25, label=row["system"])
            axes.set(title=name, xticks=range(3), xticklabels=["P@1", "P@3", "P@5"])
            axes.legend(frameon=False, fontsize=8)


def draw_gains(
    bars: Sequence[tuple[str, dict[str, list[float]], list[Record]]], path: Path
) -> None:
    """Points that each ensemble gains at P@1, P@3 and P@5, a panel for each title."""
    with _figure(len(bars), path, [record for *_, some in bars for record in some]) as panels:
        for axes, (title, points, _) in zip(panels, bars, strict=True):
            for place, (name, gains) in enumerate(points.items()):
                at = [k + (place - (len(points) - 1) / 2) * 0.25 for k in range(3)]
                axes.bar(at, gains, 0.25, label=name)
            axes.axhline(0, lw=0.8, color="0.3")
            axes.set(title=title, xticks=range(3), xticklabels=["P@1", "P@3", "P@5"])
            axes.legend(frameon=False, fontsize=8)


@contextmanager
def _figure(panels: int, path: Path, records: Sequence[Record]) -> Iterator[list[Any]]:
    """Panels to draw on; written in the end, the same bytes for the same records."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    once = [record for place, record in enumerate(records) if record not in records[:place]]
    with mpl.rc_context({"svg.hashsalt": "xmtc", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(4 * panels, 2.8), layout="constrained")
        yield list(figure.subplots(1, panels, squeeze=False)[0])
        figure.savefig(path, format="svg", metadata={"Date": None, "Description": stamp(*once)})


def _allowed(rows: Sequence[Any], what: str) -> list[float]:
    """Linear in non-zeros for training, logarithmic in labels for ranking."""
    from math import log

    first = rows[0]
    if what == "rank_ms":
        return [first[what] * log(row["labels"]) / log(first["labels"]) for row in rows]
    return [first[what] * row["nonzeros"] / first["nonzeros"] for row in rows]
