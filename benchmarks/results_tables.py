"""Tables of docs/results.md and of the README, made from the rows that count (`_standing.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.kit import Measurement, Options
from benchmarks.plots import Point
from benchmarks.published import published
from benchmarks.quality import results
from benchmarks.quality._standing import (
    DATA,
    FIRST,
    OWN,
    TIMED,
    Cells,
    best_two,
    measured,
    same_defaults,
    same_features,
)
from benchmarks.quality.leads import SAME
from benchmarks.record import RESULTS, Record, records
from benchmarks.tables import captions, claims_table, markdown, short

PARTS = {"eurlex57k": (45_000, 6_000)}  # training and test texts, where figures are published
QUALITY = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@5")
COSTS = ["training", "ms/text", "MB", "peak MB", "min allowed", "epochs"]
IN_SHORT = 3  # of these costs, in the README
QUICK = ("linear_tree", "linear_tree-3", "one_vs_all")  # in the README whatever they reach
README_SET = ("eurlex57k", FIRST)  # the first of them that both sides are measured on
ONE = " ¹"  # trained on one thread
FEWER = " ‡"  # given fewer words than ours read
ALLOWED = Options(minutes=30.0)  # as the page wants it
Row = tuple[str, Measurement, Record]  # system, its row, where it is from


def page(cells: Cells) -> str:
    """A section for each data set."""
    return "\n\n".join(_section(data, cells) for data in DATA)


def in_sum(cells: Cells) -> str:
    """P@5 and time of training of our best, of one tree and of the best peer, on each data set."""
    lines = []
    for data in DATA:
        rows = [row for row in measured(cells, data) if "failed" not in row[1]]
        ours = next((row for row in rows if row[0] in results.OURS), None)
        peer = next((row for row in rows if row[0] in results.PEERS), None)
        if ours and peer:
            tree = next((row for row in rows if row[0] == "linear_tree"), None)
            ahead = round(float(ours[1]["P@5"]) - float(peer[1]["P@5"]), 1)
            best = (
                f"{_name(*ours[:2])} {_reached(ours)}",
                _reached(tree),
                f"{_title(peer[0])} {_reached(peer)}",
            )
            lines.append([f"[{data}](#{data})", *best, f"{ahead:+.1f}" if ahead else "level"])
    columns = ["P@5 (training)", "best of ours", "one `linear_tree`", "best peer", "ours ahead by"]
    return markdown(columns, lines) if lines else ""


def _reached(row: Row | None) -> str:
    """`63.5 (27.4 min)`"""
    if row is None:
        return ""
    seconds = train_seconds(row[1])
    return f"{row[1]['P@5']:.1f}" + (f" ({_time(seconds)}{_one(row[1])})" if seconds else "")


def _section(data: str, cells: Cells) -> str:
    rows = measured(cells, data)
    claims = results.check(
        [{**row, "data": data, "key": key, "system": _title(key)} for key, row, _ in rows]
    )
    parts = [
        f"## {data}",
        *([_table(data, rows)] if rows else []),
        *_notes(rows),
        _missing(data, cells),
        *([claims_table(claims)] if claims else []),
        leads_table(data, cells),
        *_sources(rows),
    ]
    return "\n\n".join(part for part in parts if part)


def _table(data: str, rows: Sequence[Row]) -> str:
    theirs = published(data, *PARTS[data]) if data in PARTS else []
    names = (*QUALITY, *(["RP@5"] if theirs else []))
    lines = [[_name(key, row), *_figures(key, row, names)] for key, row, _ in rows]
    lines += [[f"*published: {each.system}*", *_of_paper(each.metrics, names)] for each in theirs]
    sources = dict.fromkeys(each.source for each in theirs)
    said = [f"Published figures are those of {source}." for source in sources]
    return "\n\n".join([markdown(["system", *names, *COSTS], lines), *said])


def _of_paper(metrics: dict[str, float], names: Sequence[str]) -> list[str]:
    found = [f"*{metrics[name]:.1f}*" if name in metrics else "" for name in names]
    return found + [""] * len(COSTS)


def _name(key: str, row: Measurement) -> str:
    """Ours as code, with a mark where default settings have changed; peers with their version, and
    with a mark where they had fewer words."""
    if key in results.PEERS:
        name = f"{_title(key)} {str(row.get('version', '')).rpartition(' ')[2]}".strip()
        return name + ("" if same_features(key, row) else FEWER)
    kind, _, rest = _title(key).partition(",")
    known = f"`{kind}`" if " " not in kind else kind
    return known + (f",{rest}" if rest else "") + ("" if same_defaults(row) else " †")


def _title(key: str) -> str:
    return results.SYSTEMS[key].title


def _one(row: Measurement) -> str:
    return ONE * (row.get("threads") == 1)


def _figures(key: str, row: Measurement, names: Sequence[str]) -> list[str]:
    if "failed" in row:
        return [_said(row["failed"]) + _one(row), *[""] * (len(names) - 1 + len(COSTS))]
    return [*(_quality(row, name) for name in names), *_costs(key, row)]


def _said(failed: str) -> str:
    """On one line of a table."""
    return " ".join(failed.split()).replace("|", "\\|")[:80]


def _quality(row: Measurement, name: str) -> str:
    """With half of its 95 % interval at P@5, where the row has one."""
    low, high = row.get("intervals", {}).get(name, (0, 0)) if name == "P@5" else (0, 0)
    sure = f" ± {(high - low) / 2:.1f}" if high else ""
    return _number(row.get(name), "{:.1f}") + sure


def _costs(key: str, row: Measurement) -> list[str]:
    seconds = train_seconds(row)
    allowed = row.get("minutes") if key in TIMED else None
    return [
        "" if seconds is None else _time(seconds) + _one(row),
        *(_number(row.get(what)) for what in ("single_p50_ms", "model_mb", "peak_mb")),
        _number(allowed, "{:g}"),
        _number(row.get("epochs") or None, "{:g}"),
    ]


def _time(seconds: float) -> str:
    return f"{short(seconds)} s" if seconds < 60 else f"{short(seconds / 60)} min"


def _number(value: float | None, form: str = "") -> str:
    if value is None:
        return ""
    return form.format(value) if form else short(value)


def train_seconds(row: Measurement) -> float | None:
    """Whatever a benchmark calls it."""
    return row.get("train_seconds", row.get("fit_seconds"))


def _notes(rows: Sequence[Row]) -> list[str]:
    notes = []
    if any(row.get("threads") == 1 for _, row, _ in rows):
        notes.append(f"{ONE.strip()} one thread, in training and in ms/text.")
    if not all(same_defaults(row) for key, row, _ in rows if key in results.OURS):
        notes.append(
            "† with the default settings of its commit, which differ from today's or are "
            "not known; of auto, with fewer models to try."
        )
    if not all(same_features(key, row) for key, row, _ in rows):
        notes.append(
            f"{FEWER.strip()} given features without words that occur in a single text, "
            "which our systems read."
        )
    return notes


def _missing(data: str, cells: Cells) -> str:
    """Up to four sentences."""
    wanted = results.wanted(data, cells)
    left = [_title(key) for key in wanted if (data, key) not in cells]
    if data not in (FIRST, "yso-finna-en") and not best_two(cells):
        left.append(f"the best two neural systems of {FIRST}, once all of them are measured there")
    again = [
        key
        for key in wanted
        if (data, key) in cells and not results.is_fit(key, *cells[data, key], ALLOWED)
    ]
    ours = [key for key in again if key in results.OURS]
    old = [key for key in ours if not same_defaults(cells[data, key][0])]
    more = (
        f"with two threads and {ALLOWED.minutes:g} minutes (auto twice as many), or for what "
        "its row lacks"
    )
    said = {
        "Not measured yet": left,
        "To be measured again, with the settings of today": [_title(key) for key in old],
        f"To be measured again {more}": [_title(key) for key in ours if key not in old],
        "Peers to be measured again, with our features, as many minutes or all figures": [
            _title(key) for key in again if key not in ours
        ],
    }
    return " ".join(f"{what}: {'; '.join(names)}." for what, names in said.items() if names)


def leads_table(data: str, cells: Cells, where: Path = RESULTS) -> str:
    """How far ours are ahead of each peer, text by text, where that was asked of these rows."""
    found: dict[tuple[str, str], tuple[Measurement, Record]] = {}
    for record in records("quality_leads", where):
        for row in record["measurements"]:
            if row["data"] == data and _is_of(row, cells):
                found.setdefault((row["system"], row["peer"]), (row, record))
    if not found:
        return ""
    lines = [
        [f"{ours} ahead of {peer}", *(_lead(row, name) for name in QUALITY)]
        for (ours, peer), (row, _) in found.items()
    ]
    table = markdown(["points, and their 95 % interval over the same texts", *QUALITY], lines)
    return f"{table}\n\n{captions(record for _, record in found.values())}"


def _is_of(row: Measurement, cells: Cells) -> bool:
    """Whether both systems still have the figures that were compared."""
    pairs = zip((row["key"], row["against"]), row["figures"], strict=True)
    found = [(cells.get((row["data"], key), ({}, {}))[0].get("P@5"), then) for key, then in pairs]
    return all(now is not None and abs(now - then) <= SAME for now, then in found)


def _lead(row: Measurement, name: str) -> str:
    low, high = row["intervals"][name]
    return f"{row[name]:+.2f} ({low:+.2f} to {high:+.2f})"


def _sources(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    of: dict[str, list[str]] = {}
    for key, row, record in rows:
        trained = str(row.get("trained_commit", record["commit"]))
        known = "weights" not in row and not record["commit"].startswith(trained)
        then = f" (trained at {trained})" if known else ""  # members of an ensemble: at several
        of.setdefault(captions([record]), []).append(_title(key) + then)
    said = "\n".join(f"- {'; '.join(names)}: {line}" for line, names in of.items())
    return [
        f"<details><summary>Commands, commits, machine and seed</summary>\n\n{said}\n\n</details>"
    ]


READING = (
    "P@k: of the first k labels, how many are right, in percent; PSP@5 counts rare labels more "
    "([metrics](docs/how-to/scores-and-metrics.md)); ± is half of a 95 % interval. ms/text: one "
    "text at a time, median."
)
GIVEN = (
    "Linear peers are given {} TF-IDF features: making them is not in their time, nor a vocabulary "
    "in their MB; ours start from raw text."
)


def in_short(cells: Cells, plot: str, more: str) -> str:
    """For the README: our best, linear trees and the best peers, on one data set."""
    rows = shown_in_short(cells)
    if not rows:
        return ""
    data = rows[0][1]["data"]
    shown = len(QUALITY) + IN_SHORT
    lines = [[_name(key, row), *_figures(key, row, QUALITY)[:shown]] for key, row, _ in rows]
    machines = dict.fromkeys(
        f"{record['machine']['cores']} cores of {record['machine']['cpu']}" for _, _, record in rows
    )
    alike = all(same_features(key, row) for key, row, _ in rows)
    given = GIVEN.format("the same" if alike else "nearly the same (‡: without words of one text)")
    older = any(not same_defaults(row) for key, row, _ in rows if key in results.OURS)
    then = "†: with default settings of before. " * older
    roughly = ": compare times across them roughly" if len(machines) > 1 else ""
    mixed = [
        f"The {_title(key)} weighs {_weights(row)}; its time is that of all "
        f"{len(row['weights'])} models that it was offered. "
        for key, row, _ in rows
        if "weights" in row
    ]
    table = markdown([f"{data}, test set", *QUALITY, *COSTS[:IN_SHORT]], lines)
    return "\n\n".join(
        [
            table,
            f"![P@5 by time of training]({plot})",
            f"{READING} On {' or '.join(machines)}, no graphics processor{roughly}. "
            f"{given} {then}{''.join(mixed)}[All that was measured, and how]({more}).",
        ]
    )


def _weights(row: Measurement) -> str:
    """What an ensemble gives to each member that it uses, the most first."""
    pairs = sorted(zip(row["weights"], row["members"], strict=True), reverse=True)
    return ", ".join(f"`{member}` {weight:.2f}" for weight, member in pairs if weight)


def shown_in_short(cells: Cells) -> list[Row]:
    """At most five of ours and three peers, best P@5 first."""
    for data in README_SET:
        rows = [row for row in measured(cells, data) if "failed" not in row[1]]
        ours = [row for row in rows if row[0] in results.OURS]
        peers = [row for row in rows if row[0] in results.PEERS]
        if ours and peers:
            best = [row for row in ours if row[0] not in QUICK][:2]
            best += [row for row in ours if row[0] in QUICK]
            return sorted(best + _one_each(peers)[:3], key=lambda row: -float(row[1]["P@5"]))
    return []


def _one_each(peers: Sequence[Row]) -> list[Row]:
    """The best of each package, however many trees."""
    found: dict[str, Row] = {}
    for row in peers:
        found.setdefault(row[0].partition("-")[0], row)
    return list(found.values())


def panels(cells: Cells, cost: str, names: Sequence[str] = DATA) -> dict[str, list[Point]]:
    """The points of each data set that has some."""
    found = {data: points(cells, data, cost) for data in names}
    return {data: some for data, some in found.items() if some}


def points(cells: Cells, data: str, cost: str) -> list[Point]:
    """Each system that has this cost and P@5, the cheapest first."""
    found = []
    for key, row, _ in measured(cells, data):
        value = train_seconds(row) if cost == "train_seconds" else row.get(cost)
        if value and "P@5" in row:
            name = _title(key) + _one(row)
            found.append(Point(name, key in results.OURS, float(value), float(row["P@5"])))
    return sorted(found, key=lambda point: point.cost)


def decile_rows(cells: Cells) -> dict[str, list[Row]]:
    """By data set, the best four of ours and two peers whose P@5 is known by label frequency."""
    found = {}
    for data in DATA:
        known = [row for row in measured(cells, data) if row[1].get("deciles")]
        ours = [row for row in known if row[0] in results.OURS]
        found[data] = ours[:4] + [row for row in known if row not in ours][:2]
    return {data: rows for data, rows in found.items() if rows}


def decile_lines(cells: Cells) -> dict[str, list[tuple[str, list[float]]]]:
    """What `plots.draw_deciles` draws."""
    return {
        data: [(_title(key), row["deciles"]) for key, row, _ in rows]
        for data, rows in decile_rows(cells).items()
    }


def frequencies(where: Path = RESULTS) -> list[tuple[Measurement, Record]]:
    """The newest row of label counts of each data set."""
    found: dict[str, Any] = {}
    for record in records("quality_label_frequency", where):
        for row in record["measurements"]:
            found.setdefault(row["data"], (row, record))
    return [found[data] for data in DATA if data in found]


def plots_of(cells: Cells, time: str, latency: str, deciles: str, zipf: str) -> str:
    """Those for which there are records."""
    wanted = {
        f"![P@5 by time of training, a panel for each data set]({time})": bool(cells),
        f"![P@5 by milliseconds for one text]({latency})": bool(cells),
        f"![what labels add to P@5, from frequent to rare]({deciles})": bool(decile_rows(cells)),
        f"![texts by rank of the label]({zipf})": bool(frequencies()),
    }
    left = {
        "P@5 by label frequency": (bool(decile_rows(cells)), f"{OWN.replace('_', ' ')}"),
        "label frequencies": (bool(frequencies()), "quality label_frequency"),
    }
    missing = [
        f"*Not measured yet: {what}, `python benchmarks/run.py {command}`.*"
        for what, (there, command) in left.items()
        if not there
    ]
    return "\n\n".join([*(line for line, there in wanted.items() if there), *missing])
