"""Tables of docs/models/xbert.md, made from the newest records like those of `tables.py`."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.kit import Measurement
from benchmarks.neural_tables import Cells, newest
from benchmarks.published import relative_improvement
from benchmarks.quality import xbert
from benchmarks.quality._cells import KS
from benchmarks.record import Record
from benchmarks.tables import captions, claims_table, markdown, none_yet, short


def stages(found: Sequence[Record], plot: str) -> str:
    """Label vectors times matchers: the matcher's figures and the ranker's (paper's Table 2)."""
    cells = newest(found, [xbert.SYSTEMS[key] for key in xbert.STAGES])
    if not cells:
        return none_yet("quality xbert")
    columns = [
        "test set",
        "label vectors, matcher",
        "clusters",
        "trained min (epochs)",
        "match P@1/3/5",
        "rank P@1/3/5",
    ]
    lines = [
        [
            row["data"],
            row["system"],
            short(row["clusters"]),
            _minutes(row),
            _figures(row, "match_P"),
            _figures(row, "P"),
        ]
        for row, _ in cells.values()
    ]
    curves = [f"![P@k of clusters by minute of training]({plot})"] if curves_of(found) else []
    return "\n\n".join([markdown(columns, lines), *curves, _captions(cells)])


def beside_others(found: Sequence[Record]) -> str:
    """Ours and the linear models: P and R (Table 3), and what each gains on Parabel (Table 4)."""
    cells = _second(found)
    if not cells:
        return none_yet("quality xbert")
    rows = [row for row, _ in cells.values()]
    base = {row["data"]: row for row in rows if row["system"] == xbert.PARABEL_3}
    columns = [
        "test set",
        "system",
        "trained min",
        "MB",
        "texts/s",
        "P@1/3/5",
        "R@1/3/5",
        "above Parabel T=3, %",
    ]
    lines = [
        [
            row["data"],
            row["system"],
            _minutes(row),
            short(row["model_mb"]),
            short(row["texts_per_second"]),
            _figures(row, "P"),
            _figures(row, "R"),
            gains(row, base.get(row["data"])),
        ]
        for row in rows
    ]
    claims = xbert.check(rows)
    return "\n\n".join(
        [markdown(columns, lines), *([claims_table(claims)] if claims else []), _captions(cells)]
    )


def gains(row: Measurement, base: Measurement | None) -> str:
    """Relative improvement in percent, P@1/3/5."""
    if base is None or base is row:
        return ""
    gained = relative_improvement({f"P@{k}": row[f"P@{k}"] for k in KS}, base)
    return "/".join(f"{gain:+.2f}" for gain in gained.values())


def ensembles(found: Sequence[Record], plot: str) -> str:
    """The figure, and a sentence (the paper's Figure 5)."""
    bars = bars_of(found)
    if not bars:
        return none_yet("quality xbert")
    return "\n\n".join(
        [f"![points that ensembles gain on the best single model]({plot})", *map(_sentence, bars)]
    )


# Data set and ranker, points gained by each ensemble at P@1, P@3 and P@5, and the records.
Bars = tuple[str, dict[str, list[float]], list[Record]]


def bars_of(found: Sequence[Record]) -> list[Bars]:
    """For each data set and ranker with all of them: three ensembles over the best single model."""
    cells = _second(found)
    bars = []
    for data in dict.fromkeys(data for data, _ in cells):
        for ranker, title in xbert.RANKERS.items():
            names = [xbert.name_of(*how) for how in xbert.TOGETHER.values() if how[0] == ranker]
            if not all((data, name) in cells for name in names):
                continue
            rows = {name: cells[data, name][0] for name in names}
            many = names[2:]
            six = rows[names[-1]]
            best = max(six.get("alone") or [rows[name] for name in names[:2]], key=xbert.mean_of)
            points = {name: [rows[name][f"P@{k}"] - best[f"P@{k}"] for k in KS] for name in many}
            records = [cells[data, name][1] for name in names]
            bars.append((f"{data}, {title}", points, records))
    return bars


def _sentence(bars: Bars) -> str:
    title, points, _ = bars
    means = {name: sum(each) / len(each) for name, each in points.items()}
    *threes, six = means
    best = max(threes, key=lambda name: means[name])
    verdict = "beats" if means[six] > means[best] else "does not beat"
    return (
        f"{title}: two kinds of label vectors and three seeds ({means[six]:+.2f} points on "
        f"average over P@1, P@3, P@5) {verdict} three seeds of one kind ({best}: "
        f"{means[best]:+.2f})."
    )


def curves_of(found: Sequence[Record]) -> list[tuple[Measurement, Record]]:
    """The rows of the first table that have a learning curve."""
    names = [xbert.SYSTEMS[key] for key in xbert.STAGES]
    return [cell for cell in newest(found, names).values() if cell[0].get("curve")]


def _second(found: Sequence[Record]) -> Cells:
    return newest(found, [xbert.SYSTEMS[key] for key in (*xbert.OTHERS, *xbert.TOGETHER)])


def _minutes(row: Measurement) -> str:
    epochs = f" ({row['epochs']:g})" if row.get("epochs") else ""
    return f"{row['train_seconds'] / 60:.1f}{epochs}"


def _figures(row: Measurement, what: str) -> str:
    return "/".join(f"{row[f'{what}@{k}']:.1f}" for k in KS)


def _captions(cells: Cells) -> str:
    return captions(record for _, record in cells.values())
