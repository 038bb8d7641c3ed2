"""Plots for the docs, made from records: the same record gives the same file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.kit import Measurement
from benchmarks.record import Record

WIDE = 3  # panels side by side
SHOWN = 3  # times from the best figure to the middle one; what is further below is at the edge
LEAST_GAP = 0.01  # between these two, of the best, where many are alike
# sizes of a system's name and of half a dot, in points
NAME = 6
DOT = 2
OURS, OTHERS = "C0", "#b35900"  # dots and names of systems; a darker C1, so that it can be read
# Where a name may stand beside its point, in points, the best place first.
PLACES = [(side * 5, up) for up in (-8, 4, 11, -15, -2, 18, -22, 26, -30) for side in (1, -1)]
# How bad a worse place, another system's dot covered, a name covered, a name outside is.
FAR = 1 / 8
MISTAKEN = 6
OVER = 8
OUTSIDE = 9
NEAR = 12  # points up or down; a name further away has a line to its dot
PANELS = {"fit_seconds": "training, s", "peak_mb": "peak memory, MB", "rank_ms": "one text, ms"}


class Point(NamedTuple):
    """A system in a plot of quality by cost."""

    name: str
    ours: bool
    cost: float
    quality: float


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
                name = f"P@{k}"
                color = f"C{place}"
                axes.plot(
                    minutes,
                    [point[name] for point in row["curve"]],
                    "o-",
                    color=color,
                    label=name,
                    markersize=3,
                )
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
                at = [k + (place - (len(rows) - 1) / 2) * 0.2 for k in range(3)]
                axes.bar(at, [row[f"P@{k}"] for k in (1, 3, 5)], 0.2, label=row["system"])
            axes.set(title=name, xticks=range(3), xticklabels=["P@1", "P@3", "P@5"])
            axes.legend(frameon=False, fontsize=8)


def draw_feature_loss(cells: Sequence[tuple[Measurement, Record]], path: Path) -> None:
    """The loss of gudn's feature guide by epoch, a panel for each data set."""
    sets = list(dict.fromkeys(row["data"] for row, _ in cells))
    with _figure(len(sets), path, [record for _, record in cells]) as panels:
        for axes, name in zip(panels, sets, strict=True):
            for row in (row for row, _ in cells if row["data"] == name):
                points = row["feature_curve"]
                axes.plot(
                    [point["epoch"] for point in points],
                    [point["loss"] for point in points],
                    "o-",
                    markersize=3,
                    label=row["system"].removeprefix("+ "),
                )
            axes.set(
                title=name, xlabel="epochs", ylabel="feature loss", yscale="log", xlim=(0, None)
            )


def draw_partitions(cells: Sequence[tuple[Measurement, Record]], path: Path) -> None:
    """P@1 by number of even clusters, and by what lies in the head; bars from seed to seed."""
    rows = {row["system"]: row for row, _ in cells}
    even = [name for name in rows if " " not in name]
    three = [name for name in ("0.7 0.2 0.1", "3", "0.1 0.2 0.7") if name in rows]
    with _figure(2, path, [record for _, record in cells]) as panels:
        for axes, names, title in zip(
            panels, (even, three), ("even clusters", "three clusters"), strict=True
        ):
            seeds = [[run["P@1"] for run in rows[name]["runs"]] for name in names]
            middle = [rows[name]["P@1"] for name in names]
            below = [mean - min(each) for mean, each in zip(middle, seeds, strict=True)]
            above = [max(each) - mean for mean, each in zip(middle, seeds, strict=True)]
            axes.errorbar(range(len(names)), middle, yerr=[below, above], fmt="o-", capsize=3)
            axes.set(title=title, ylabel="P@1", xticks=range(len(names)))
            axes.set_xticklabels(["thirds" if n == "3" and axes is panels[1] else n for n in names])


def draw_adaptive(record: Record, path: Path) -> None:
    """Time, memory and weights of both layers by number of labels."""
    rows = record["measurements"]
    what = {
        "seconds": "forward and backward, s",
        "memory_mb": "memory, MB",
        "parameters": "weights",
    }
    with _figure(3, path, [record]) as panels:
        for axes, (key, title) in zip(panels, what.items(), strict=True):
            for layer in dict.fromkeys(row["layer"] for row in rows):
                mine = [row for row in rows if row["layer"] == layer]
                axes.plot(
                    [row["labels"] for row in mine],
                    [row[key] for row in mine],
                    "o-",
                    label=layer,
                    markersize=3,
                )
            axes.set(title=title, xlabel="labels", xscale="log", yscale="log")


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


def draw_fronts(
    panels: Mapping[str, Sequence[Point]], cost: str, path: Path, records: Sequence[Record]
) -> None:
    """P@5 by cost, a panel for each data set; named are those that nothing cheaper surpasses, the
    best of the others, and with their figure those too far below to be drawn in their place."""
    with _figure(len(panels), path, records) as all_axes:
        for axes, (data, points) in zip(all_axes, panels.items(), strict=True):
            axes.set(title=data, xlabel=cost, ylabel="P@5", xscale="log")
            _draw_front(axes, points)
            axes.margins(x=0.2, y=0.1)
        all_axes[0].figure.draw_without_rendering()  # from here on the place of a point is known
        for axes, points in zip(all_axes, panels.values(), strict=True):
            _name_points(axes, points)


def _draw_front(axes: Any, points: Sequence[Point]) -> None:
    best = front(points)
    least = _least_shown(points)
    shown = [point for point in best if point.quality >= least]
    axes.step(
        [point.cost for point in shown],
        [point.quality for point in shown],
        where="post",
        color="0.8",
        lw=1,
        zorder=0,
    )
    for ours, color, label in ((True, OURS, "xmtc"), (False, OTHERS, "others")):
        mine = [point for point in points if point.ours == ours]
        some = [point for point in mine if point.quality >= least]
        axes.scatter(
            [point.cost for point in some],
            [point.quality for point in some],
            s=14,
            color=color,
            label=label,
        )
        below = [point.cost for point in mine if point.quality < least]
        axes.scatter(below, [least] * len(below), s=14, color=color, marker="v")
    axes.legend(frameon=False, fontsize=7)


def _least_shown(points: Sequence[Point]) -> float:
    middle, best = (of(point.quality for point in points) for of in (median, max))
    return middle - SHOWN * max(best - middle, LEAST_GAP * best)


def _name_points(axes: Any, points: Sequence[Point]) -> None:
    """Each name near its point, where it covers least."""
    least = _least_shown(points)
    scale = 72 / axes.figure.dpi
    frame, legend = (scale * part.get_window_extent().extents for part in (axes, axes.get_legend()))
    at = {
        point: scale * axes.transData.transform((point.cost, max(point.quality, least)))
        for point in points
    }
    dots = [[x - DOT, y - DOT, x + DOT, y + DOT] for x, y in at.values()]
    texts = [legend]
    for point, name in _names(points, least).items():
        boxes = [_box(at[point], place, name) for place in PLACES]
        faults = [
            place * FAR
            + MISTAKEN * _covered(box, dots)
            + OVER * _covered(box, texts)
            + OUTSIDE * (not _inside(box, frame))
            for place, box in enumerate(boxes)
        ]
        which = faults.index(min(faults))
        texts.append(boxes[which])
        _annotate(axes, name, (point.cost, max(point.quality, least)), PLACES[which], point.ours)


def _annotate(
    axes: Any, name: str, at: tuple[float, float], place: tuple[int, int], ours: bool
) -> None:
    """The name in the colour of its dot, with a line to it where it is not near."""
    (side, up), color = place, OURS if ours else OTHERS
    line = {"arrowstyle": "-", "lw": 0.4, "color": color, "shrinkA": 0, "shrinkB": 1}
    axes.annotate(
        name,
        at,
        xytext=place,
        fontsize=NAME,
        textcoords="offset points",
        color=color,
        ha="left" if side > 0 else "right",
        arrowprops=line if abs(up) >= NEAR else None,
    )


def _names(points: Sequence[Point], least: float) -> dict[Point, str]:
    """What is named, and how."""
    others = sorted((point.quality, point) for point in points if not point.ours)
    named = dict.fromkeys([*front(points), *(point for _, point in others[-1:])])
    names = {point: point.name for point in named if point.quality >= least}
    return names | {
        point: f"{point.name}, {point.quality:.1f}" for point in points if point.quality < least
    }


def _box(at: Sequence[float], place: tuple[int, int], name: str) -> list[float]:
    """Left, bottom, right, top of a name beside a point, in points; letters are about as wide as
    half of their height."""
    width, (side, up) = 0.55 * NAME * len(name), place
    left = at[0] + side - (width if side < 0 else 0)
    return [left, at[1] + up - 1, left + width, at[1] + up + NAME]


def _inside(box: Sequence[float], frame: Sequence[float]) -> bool:
    return box[0] >= frame[0] and box[1] >= frame[1] and box[2] <= frame[2] and box[3] <= frame[3]


def _covered(box: Sequence[float], others: Sequence[Sequence[float]]) -> int:
    """How many of the others it covers at least in part."""
    return sum(
        box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
        for other in others
    )


def front(points: Sequence[Point]) -> list[Point]:
    """Of points by rising cost, those that nothing cheaper surpasses."""
    best: list[Point] = []
    for point in points:
        if not best or point.quality > best[-1].quality:
            best.append(point)
    return best


def draw_deciles(
    panels: Mapping[str, Sequence[tuple[str, Sequence[float]]]],
    path: Path,
    records: Sequence[Record],
) -> None:
    """What labels add to P@5 by frequency: a panel for each data set, a line for each system, which
    has the same colour in all of them."""
    names = dict.fromkeys(name for lines in panels.values() for name, _ in lines)
    look = {
        name: (f"C{place % 10}", ("-", "--")[place // 10 % 2]) for place, name in enumerate(names)
    }
    with _figure(len(panels), path, records) as all_axes:
        for axes, (data, lines) in zip(all_axes, panels.items(), strict=True):
            for name, parts in lines:
                color, style = look[name]
                axes.plot(
                    range(1, len(parts) + 1),
                    parts,
                    style,
                    marker="o",
                    markersize=2,
                    lw=1,
                    color=color,
                    label=name,
                )
            axes.set(
                title=data,
                ylabel="part of P@5",
                ylim=(0, None),
                xlabel="labels by frequency, in ten parts as often carried",
            )
            axes.legend(frameon=False, fontsize=6)


def draw_frequencies(rows: Sequence[tuple[Measurement, Record]], path: Path) -> None:
    """Training texts of a label by its rank, a line for each data set."""
    with _figure(1, path, [record for _, record in rows]) as (axes,):
        for row, _ in rows:
            axes.plot(row["ranks"], row["counts"], lw=1, label=row["data"])
        axes.set(xlabel="rank of the label", ylabel="training texts", xscale="log", yscale="log")
        axes.legend(frameon=False, fontsize=7)


@contextmanager
def _figure(panels: int, path: Path, records: Sequence[Record]) -> Iterator[list[Any]]:
    """Panels to draw on, at most three side by side; the same bytes for the same records."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    once = [record for place, record in enumerate(records) if record not in records[:place]]
    with mpl.rc_context({"svg.hashsalt": "xmtc", "svg.fonttype": "none", "font.size": 9}):
        wide = min(panels, WIDE)
        high = -(-panels // WIDE)
        figure = Figure(figsize=(4 * wide, 2.8 * high), layout="constrained")
        every = list(figure.subplots(high, wide, squeeze=False).ravel())
        for empty in every[panels:]:
            empty.remove()
        yield every[:panels]
        figure.savefig(path, format="svg", metadata={"Date": None, "Description": stamp(*once)})


def _allowed(rows: Sequence[Any], what: str) -> list[float]:
    """Linear in non-zeros for training, logarithmic in labels for ranking."""
    from math import log

    first = rows[0]
    if what == "rank_ms":
        return [first[what] * log(row["labels"]) / log(first["labels"]) for row in rows]
    return [first[what] * row["nonzeros"] / first["nonzeros"] for row in rows]
