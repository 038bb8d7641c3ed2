"""Tables of docs/models/aplc.md, made from the newest records like those of `tables.py`."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.neural_tables import COLUMNS, Cells, claims_of, newest, qualities, system_lines
from benchmarks.quality import aplc, aplc_ablation
from benchmarks.record import Record
from benchmarks.speed import adaptive
from benchmarks.tables import captions, claims_table, markdown, none_yet, short


def beside_others(found: Sequence[Record]) -> str:
    """aplc, the plain layer, lightxml, linear_tree."""
    cells = newest(found, list(aplc.SYSTEMS.values()))
    if not cells:
        return none_yet("quality aplc")
    rows = [row for row, _ in cells.values()]
    skipped = [
        f"On {row['data']}, {row['tails_skipped']:.0%} of all tails stay shut when ten labels are "
        "asked for."
        for row in rows
        if "tails_skipped" in row
    ]
    return "\n\n".join(
        [
            markdown(COLUMNS, system_lines(rows)),
            *skipped,
            claims_table(aplc.check(rows)),
            captions(record for _, record in cells.values()),
        ]
    )


def partitions(found: Sequence[Record], plot: str) -> str:
    """Both ablations, as a table and as a figure."""
    cells = ablation_cells(found)
    if not cells:
        return none_yet("quality aplc_ablation")
    rows = [row for row, _ in cells.values()]
    columns = [
        "clusters",
        "P@1/3/5",
        "nDCG@5",
        "PSP@1/3/5",
        "P@1 between seeds",
        "tails left shut",
        "trained min",
    ]
    lines = [
        [
            _shares(row["system"]),
            *qualities(row),
            f"{row['spread']:.1f}",
            f"{row['tails_skipped']:.0%}",
            f"{row['train_seconds'] / 60:.1f}",
        ]
        for row in rows
    ]
    about = f"{rows[0]['data']}, {rows[0]['train_texts']:,} texts, {rows[0]['seeds']} seeds:"
    return "\n\n".join(
        [
            f"![P@1 by number of clusters and by partition]({plot})",
            about,
            markdown(columns, lines),
            claims_table(aplc_ablation.check(rows)),
            captions(record for _, record in cells.values()),
        ]
    )


def ablation_cells(found: Sequence[Record]) -> Cells:
    """The newest row of each partition."""
    return newest(found, list(aplc_ablation.PARTITIONS))


def layer(found: Sequence[Record], plot: str) -> str:
    """Time, memory and parameters beside a linear layer, from one record."""
    if not found:
        return none_yet("speed adaptive")
    rows = found[0]["measurements"]
    columns = {"seconds": "s", "cpu_seconds": "cpu s", "memory_mb": "MB", "parameters": "weights"}
    lines = []
    for count in dict.fromkeys(row["labels"] for row in rows):
        both = {row["layer"]: row for row in rows if row["labels"] == count}
        lines.append(
            [
                f"{count:,}",
                *(
                    f"{short(both[adaptive.OURS][what])} / {short(both[adaptive.LINEAR][what])}"
                    for what in columns
                ),
            ]
        )
    return "\n\n".join(
        [
            f"![time, memory and weights by number of labels]({plot})",
            markdown(["labels", *(f"{name}, ours / linear" for name in columns.values())], lines),
            claims_table(claims_of(found[0])),
            captions(found[:1]),
        ]
    )


def many_labels(found: Sequence[Record]) -> str:
    """Memory of training with 100,978 labels, and what skipping tails saves, from one record."""
    if not found:
        return none_yet("memory aplc_rust")
    training, asked, pruned, whole = found[0]["measurements"]
    sentence = (
        f"{training['train_texts']:,} texts and {training['labels']:,} labels: trained in "
        f"{training['train_seconds'] / 60:.1f} minutes with {short(training['peak_mb'])} MB of "
        f"memory at the peak; the model takes {short(training['model_mb'])} MB. Of all tails "
        f"{asked['tails_skipped']:.0%} stay shut when five labels are asked for; one text's labels "
        f"take {short(pruned['single_p50_ms'])} ms, {short(whole['single_p50_ms'])} ms with every "
        "tail opened (p50)."
    )
    return "\n\n".join([sentence, claims_table(claims_of(found[0])), captions(found[:1])])


def _shares(system: str) -> str:
    return system if " " in system else f"{system}, even"
