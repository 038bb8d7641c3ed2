"""The tables of docs/results.md, of the README and of docs/how-to/auto.md, from standing rows."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.experiment import Row
from benchmarks.published import published
from benchmarks.record import Record
from benchmarks.render import (
    caption,
    captions,
    columns_of,
    formatted,
    is_archived,
    markdown,
    results_table,
    table,
)
from benchmarks.standing import (
    DATA,
    EXPERIMENT,
    FIRST,
    OURS,
    TIMED,
    Cells,
    Standing,
    full_vocabulary,
    of_data,
    standing,
)

PARTS = {"eurlex57k": (45_000, 6_000)}  # training and test texts, where figures are published
ONE = " ¹"  # on one thread
GIVEN = " °"  # given features
FEWER = " ‡"  # given features of a smaller vocabulary
MEANINGS = {
    ONE: "one thread, in training and in ms/text.",
    GIVEN: "given TF-IDF features: making them is not in training and ms/text, nor a vocabulary "
    "in MB.",
    FEWER: "features without words that occur in a single text, which our systems read.",
}
README_DATA = "eurlex57k"
IN_README = (
    *("auto", "xr_transformer", "one_vs_all", "linear_tree", "linear_tree-3"),
    *("sklearn", "pecos-3", "omikuji-bonsai-3"),
)


ALL = columns_of("results")
TRIED = columns_of("tried")


def texts() -> dict[tuple[str, str], str]:
    """(page below docs/, mark) -> the generated text."""
    cells = standing()
    return {
        ("results.md", "in sum"): in_sum(cells),
        ("results.md", "results"): results(cells),
        ("../README.md", "results"): in_short(cells),
        ("how-to/auto.md", "auto"): auto(cells),
    }


def title(key: str) -> str:
    """The name of a system."""
    return EXPERIMENT.systems[key].title


def name_of(key: str, row: Row, record: Record) -> str:
    """Ours as code; other packages with their version, and marks for what they were given."""
    if key in OURS:
        kind, comma, rest = title(key).partition(",")
        return (kind if " " in kind else f"`{kind}`") + comma + rest
    name = f"{title(key)} {str(row.get('version', '')).rpartition(' ')[2]}".strip()
    return name + GIVEN * is_given(row) + FEWER * (not full_vocabulary(key, record, row))


def is_given(row: Row) -> bool:
    """Whether the system starts from features, not from text."""
    return "fit_seconds" in row and not str(row.get("version", "")).startswith("fasttext")


def as_rows(data: str, rows: Sequence[Standing]) -> list[Row]:
    """Rows with what columns and claims need."""
    found = []
    for key, row, record in rows:
        more: Row = {"data": data, "key": key, "name": name_of(key, row, record)}
        low, high = row.get("intervals", {}).get("P@5", (0, 0))
        if "P@5" in row:
            more["P@5 ±"] = f"{row['P@5']:.1f}" + (f" ± {(high - low) / 2:.1f}" if high else "")
            more["training"] = training(row)
        if data not in PARTS:
            more["RP@5"] = None
        more["added_mb" if "fit_seconds" in row else "whole_mb"] = row.get("peak_mb")
        more["allowed"] = row.get("minutes") if key in TIMED else None
        found.append(row | more)
    return found


def training(row: Row) -> str:
    """Its duration, from text or from features, with a mark for one thread."""
    seconds = row.get("train_seconds", row.get("fit_seconds"))
    return formatted(seconds, "time") + ONE * (row.get("threads") == 1) if seconds else ""


def in_sum(cells: Cells) -> str:
    """P@5 and training of our best, of one tree and of the best peer, on each data set."""
    lines = []
    for data in DATA:
        done = [row for row in of_data(cells, data) if "failed" not in row[1]]
        ours = next((row for row in done if row[0] in OURS), None)
        peer = next((row for row in done if row[0] not in OURS), None)
        tree = next((row for row in done if row[0] == "linear_tree"), None)
        if ours and peer and tree:
            lead = round(float(ours[1]["P@5"]) - float(peer[1]["P@5"]), 1)
            lines.append(
                [
                    f"[{data}](#{data})",
                    f"{name_of(*ours)} {reached(ours)}",
                    reached(tree),
                    f"{title(peer[0])} {reached(peer)}",
                    f"{lead:+.1f}" if lead else "level",
                ]
            )
    heads = ["P@5 (training)", "best of ours", "one `linear_tree`", "best peer", "ours ahead by"]
    return markdown(heads, lines)


def reached(standing: Standing) -> str:
    """`63.5 (27.4 min)`"""
    return f"{standing[1]['P@5']:.1f} ({training(standing[1])})"


def results(cells: Cells) -> str:
    """A table for each data set; below them marks, claims and sources."""
    sections = [section(data, cells) for data in DATA]
    shown = [row for data in DATA for row in as_rows(data, of_data(cells, data))]
    rows = [row for data in DATA for row in of_data(cells, data)]
    claims = results_table(EXPERIMENT.results(shown))
    return "\n\n".join([*sections, "## Claims and sources", notes(rows), claims, sources(rows)])


def section(data: str, cells: Cells) -> str:
    """The table of one data set, with published figures and what is missing."""
    rows = of_data(cells, data)
    shown = as_rows(data, rows)
    wanted = EXPERIMENT.systems_on.get(data, tuple(EXPERIMENT.systems))
    left = [title(key) for key in wanted if (data, key) not in cells]
    papers = published(data, *PARTS[data]) if data in PARTS else []
    for each in papers:
        figures = {**each.metrics, "P@5 ±": each.metrics.get("P@5")}
        shown.append({"data": data, "name": f"*published: {each.system}*", **figures})
    quoted = " ".join(dict.fromkeys(f"Published: {each.source}." for each in papers))
    missing = f"Not measured yet: {'; '.join(left)}." if left else ""
    parts = [f"## {data}", table(ALL, shown), quoted, missing]
    return "\n\n".join(part for part in parts if part)


def notes(rows: Sequence[Standing]) -> str:
    """The meaning of the marks that occur."""
    occurs = {
        ONE: any(row.get("threads") == 1 for _, row, _ in rows),
        GIVEN: any(is_given(row) for _, row, _ in rows),
        FEWER: not all(full_vocabulary(key, record, row) for key, row, record in rows),
    }
    return " ".join(f"{mark.strip()} {MEANINGS[mark]}" for mark in occurs if occurs[mark])


def sources(rows: Sequence[Standing]) -> str:
    """Command, commit, machine and seed of all rows; archived ones with the rows they made."""
    notes: dict[str, list[str]] = {}  # what is true of some rows only
    for key, row, record in rows:
        name = f"{title(key)} ({row.get('data', FIRST)})"
        commit = str(row.get("trained_commit", record["commit"]))
        if "weights" not in row and not record["commit"].startswith(commit):
            notes.setdefault(f"trained at {commit}.", []).append(name)
        if is_archived(record):
            notes.setdefault(caption(record), []).append(name)
    live = captions(record for *_, record in rows if not is_archived(record)).splitlines()
    lines = [*live, *(f"{'; '.join(names)}: {note}" for note, names in notes.items())]
    summary = "<summary>Commands, commits, machine and seed</summary>"
    listed = "\n".join(f"- {line}" for line in lines)
    return f"<details>{summary}\n\n{listed}\n\n</details>"


def in_short(cells: Cells) -> str:
    """For the README: five of ours and three packages, on one data set."""
    shown = [row for row in of_data(cells, README_DATA) if row[0] in IN_README]
    machines = dict.fromkeys(
        f"{record['machine']['cores']} cores of {record['machine']['cpu']}"
        for _, _, record in shown
    )
    columns = [ALL[0]._replace(head=f"{README_DATA}, test set"), *ALL[1:6], *ALL[7:10]]
    sentence = (
        "P@k: percent of the first k labels that are right; PSP@5 counts rare labels more "
        "([metrics](docs/how-to/scores-and-metrics.md)); ± is half of a 95 % interval. ms/text: "
        "one text at a time, median. Other packages' times exclude feature extraction and their "
        f"sizes the vocabulary; ours include both. On {' or '.join(machines)}, no graphics "
        "processor. [All results, and how they were measured](docs/results.md)."
    )
    rows = [row | {"name": row["name"].removesuffix(GIVEN)} for row in as_rows(README_DATA, shown)]
    return f"{table(columns, rows)}\n\n{sentence}"


def auto(cells: Cells) -> str:
    """The models that auto tried on each data set."""
    tried: list[Row] = []
    found = [(name, *cell) for (name, key), cell in cells.items() if key == "auto"]
    for name, row, _ in found:
        for each in row["tried"]:
            notes = ["chosen"] * (each["name"] == row["selected"])
            notes += [each["note"]] * bool(each["note"])
            times = {"minutes": each["minutes"], **each["figures"]} if each["figures"] else {}
            line = {"data": name, "allowed": row["minutes"], "name": each["name"], **times}
            tried.append({**line, "note": ": ".join(notes)})
    return f"{table(TRIED, tried, merged=True)}\n\n{captions(record for *_, record in found)}"
