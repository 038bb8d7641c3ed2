"""Tables for the docs, made from the newest records; `make docs` puts them between their marks.

A cell without a record that is fit to be shown is left out. What is said about the figures is made
from the claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.kit import Claim, Measurement
from benchmarks.memory.plan import WITHIN
from benchmarks.quality import linear_tree
from benchmarks.quality._tree_claims import RAW, check
from benchmarks.record import Record

Cell = tuple[str, str, int]  # data set, system, trees


def none_yet(name: str) -> str:
    """What stands where a table will be."""
    return f"*Not measured yet: `python benchmarks/run.py {name}`.*"


def peers(found: Sequence[Record]) -> str:
    """linear_tree beside its peers: a table per number of trees, claims, where it comes from."""
    cells = newest_cells(found)
    if not cells:
        return none_yet("quality linear_tree")
    rows = [cells[cell][0] for cell in sorted(cells, key=_order)]
    one = [row for row in rows if row["trees"] < 3 and row["system"] != RAW]
    three = [row for row in rows if row["trees"] == 3]
    return "\n\n".join(
        [
            *(
                f"{title}:\n\n{_peers_table(part)}"
                for title, part in (("One tree", one), ("Three trees", three))
                if part
            ),
            *map(_raw_sentence, (row for row in rows if row["system"] == RAW)),
            claims_table(check(rows)),
            captions(record for _, record in cells.values()),
        ]
    )


def newest_cells(found: Sequence[Record]) -> dict[Cell, tuple[Measurement, Record]]:
    """Each cell's newest row, and the record it is from."""
    cells: dict[Cell, tuple[Measurement, Record]] = {}
    for record in found:
        for row in record["measurements"]:
            if "trees" in row:  # the first records have one number of trees and fewer figures
                cells.setdefault((row["data"], row["system"], row["trees"]), (row, record))
    return cells


def _order(cell: Cell) -> tuple[int, int, int]:
    names = [system.name for system in linear_tree.CONTENDERS.values()]
    data, system, trees = cell
    place = names.index(system) if system in names else len(names)
    return linear_tree.SETTINGS["data"].index(data), place, trees


def _peers_table(rows: Sequence[Measurement]) -> str:
    columns = [
        "test set",
        "system",
        "fit s (cpu s)",
        "rank s",
        "one text ms, p50 / p99",
        "MB",
        "peak MB",
        "P@1/3/5",
        "nDCG@5",
        "PSP@1/3/5",
    ]
    lines = []
    before = ""
    for row in rows:
        shown = row["data"] if row["data"] != before else ""
        lines.append([shown, f"{row['system']} {_version(row)}".strip(), *_figures(row)])
        before = row["data"]
    return markdown(columns, lines)


def _version(row: Measurement) -> str:
    return str(row.get("version", "")).rpartition(" ")[2]


def _figures(row: Measurement) -> list[str]:
    if "failed" in row:
        return [row["failed"], *[""] * 7]
    many = {name: "/".join(f"{row[f'{name}@{k}']:.1f}" for k in (1, 3, 5)) for name in ("P", "PSP")}
    return [
        f"{short(row['fit_seconds'])} ({short(row['fit_cpu_seconds'])})",
        short(row["rank_seconds"]),
        f"{short(row['single_p50_ms'])} / {short(row['single_p99_ms'])}",
        short(row["model_mb"]),
        short(row["peak_mb"]) if "peak_mb" in row else "",
        many["P"],
        f"{row['nDCG@5']:.1f}",
        many["PSP"],
    ]


def _raw_sentence(row: Measurement) -> str:
    return (
        f"From raw text, one at a time, on one thread ({row['data']}, `xmtc.predict`): p50 "
        f"{short(row['single_p50_ms'])} ms, p99 {short(row['single_p99_ms'])} ms."
    )


def growth(found: Sequence[Record], plot: str) -> str:
    """Costs by size, from one record."""
    if not found:
        return none_yet("speed growth")
    record = found[0]
    columns = {"texts": "texts and labels", "nonzeros": "non-zeros", "fit_seconds": "fit s"}
    columns |= {"fit_cpu_seconds": "cpu s", "peak_mb": "peak MB", "rank_ms": "ms per text"}
    lines = [[short(row[name]) for name in columns] for row in record["measurements"]]
    claims = [Claim(**claim) for claim in record["claims"]]
    return "\n\n".join(
        [
            f"![training time, memory and time per text by size]({plot})",
            markdown(list(columns.values()), lines),
            claims_table(claims),
            captions([record]),
        ]
    )


def clustering(found: Sequence[Record]) -> str:
    """One sentence."""
    if not found:
        return none_yet("speed clustering")
    (row,) = found[0]["measurements"]
    return (
        f"{row['labels']:,} labels described by {row['nonzeros']:,} non-zeros in "
        f"{row['features']:,} features: clustered in {short(row['seconds'])} s "
        f"({short(row['cpu_seconds'])} cpu s), with {short(row['peak_mb'])} MB beside the "
        f"{short(row['vectors_mb'])} MB of the vectors.\n\n{captions(found[:1])}"
    )


def plan(found: Sequence[Record]) -> str:
    """What was told of trainings beside what they took, from one record."""
    if not found:
        return none_yet("memory plan")
    columns = [
        "kind",
        "data",
        "plan itself, cpu s",
        "training told / true, cpu s",
        "peak told / true, MB",
    ]
    lines = []
    for row in found[0]["measurements"]:
        cells = []
        for what, told, true in (
            ("time", "told_cpu_s", "train_cpu_s"),
            ("memory", "told_mb", "peak_mb"),
        ):
            ratio = row[f"{what}_ratio"]
            shown = f"{ratio:.2f}" if WITHIN[0] <= ratio <= WITHIN[1] else f"**{ratio:.2f}**"
            cells.append(f"{short(row[told])} / {short(row[true])} ({shown})")
        lines.append([f"`{row['kind']}`", row["data"], short(row["plan_cpu_s"]), *cells])
    return "\n\n".join([markdown(columns, lines), captions(found[:1])])


def demo(found: Sequence[Record]) -> str:
    """The newest recorded run of `xmtc demo`."""
    if not found:
        return ""
    rows = found[0]["measurements"]
    columns = [name for name in rows[0] if name != "model"]
    lines = [[f"`{row['model']}`", *(str(row[name]) for name in columns)] for row in rows]
    table = markdown(["Debian packages, test set", *columns], lines)
    return f"{table}\n\n{captions(found[:1])}"


def claims_table(claims: Sequence[Claim]) -> str:
    """What we aim for and what was measured: `SUBJECT: sentence` in a column of its subject."""
    split = [claim.sentence.rpartition(": ")[::2] for claim in claims]
    subjects = list(dict.fromkeys(subject for subject, _ in split))
    lines = []
    for aim in dict.fromkeys(aim for _, aim in split):
        cells = dict.fromkeys(subjects, "")
        for claim, (subject, sentence) in zip(claims, split, strict=True):
            if sentence == aim:
                cells[subject] = f"{claim.figure:.2f} {'holds' if claim.holds else '**fails**'}"
        lines.append([aim, *cells.values()])
    return markdown(["what we aim for", *(subject or "all" for subject in subjects)], lines)


def captions(found: Iterable[Record]) -> str:
    """Where figures come from: each record once."""
    return "\n".join(dict.fromkeys(map(_caption, found)))


def _caption(record: Record) -> str:
    machine = record["machine"]
    return (
        f"*`{record['command']}`, commit {record['commit'][:9]}, {record['date'][:10]}, "
        f"{machine['cores']} cores of {machine['cpu']}, seed {record['seed']}.*"
    )


def markdown(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table."""
    rows = [f"| {' | '.join(row)} |" for row in (columns, *lines)]
    return "\n".join([rows[0], "|" + "---|" * len(columns), *rows[1:]])


def short(value: float) -> str:
    """Three digits that count."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"
