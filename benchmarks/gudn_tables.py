"""Tables of docs/models/gudn.md, made from the newest records like those of `tables.py`."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.kit import Claim, Measurement
from benchmarks.neural_tables import Cells, newest
from benchmarks.quality import gudn, new_labels
from benchmarks.record import Record
from benchmarks.tables import captions, claims_table, markdown, none_yet, short

KS = (1, 3, 5)


def cells_of(found: Sequence[Record]) -> Cells:
    """The guides one by one."""
    return newest(found, list(gudn.SYSTEMS.values()))


def guides(found: Sequence[Record], plot: str) -> str:
    """Like Tables 3 and 4 of the paper, and its Figure 3."""
    cells = cells_of(found)
    if not cells:
        return none_yet("quality gudn")
    rows = [row for row, _ in cells.values()]
    columns = [
        "test set",
        "system",
        "epochs",
        "seeds",
        "trained min",
        "ms per text in a step",
        "P@1/3/5",
        "spread",
        "beside the encoder only",
    ]
    figure = (
        [f"![feature loss by epoch, label texts and one-hot]({plot})"] if curves_of(found) else []
    )
    return "\n\n".join(
        [
            markdown(columns, [_line(row, rows) for row in rows]),
            *figure,
            claims_table(gudn.check(rows)),
            captions(record for _, record in cells.values()),
        ]
    )


def _line(row: Measurement, rows: Sequence[Measurement]) -> list[str]:
    plain = [
        each for each in rows if each["data"] == row["data"] and each["system"] == gudn.ENCODER
    ]
    beside = (
        ""
        if plain in ([], [row])
        else "/".join(f"{row[f'P@{k}'] - plain[0][f'P@{k}']:+.2f}" for k in KS)
    )
    spread = "/".join(f"{row[f'spread P@{k}']:.2f}" for k in KS) if row["seeds"] > 1 else ""
    return [
        row["data"],
        row["system"],
        f"{row['epochs']:g}",
        f"{row['seeds']}",
        f"{row['train_seconds'] / 60:.1f}",
        short(row["step_ms"]),
        "/".join(f"{row[f'P@{k}']:.2f}" for k in KS),
        spread,
        beside,
    ]


def curves_of(found: Sequence[Record]) -> list[tuple[Measurement, Record]]:
    """Rows whose feature loss is drawn: label texts, and the network of the ablation."""
    wanted = (gudn.FEATURE, gudn.ONE_HOT)
    return [
        cell
        for (_, system), cell in cells_of(found).items()
        if system in wanted and cell[0].get("feature_curve")
    ]


def unseen(found: Sequence[Record]) -> str:
    """Labels added by their text alone."""
    cells = newest(found, list(new_labels.SYSTEMS.values()))
    if not cells:
        return none_yet("quality new_labels")
    rows = [row for row, _ in cells.values()]
    columns = [
        "test set",
        "system",
        "new labels",
        "test texts with one",
        "P@1, R@5 among them",
        "R@5 by chance",
        "R@5 among all labels",
        "other texts, P@1/3/5 before",
        "after",
    ]
    lines = [
        [
            row["data"],
            row["system"],
            short(row["added"]),
            short(row["test_texts"]),
            f"{row['new P@1']:.1f}, {row['new R@5']:.1f}",
            f"{row['by_chance']:.1f}",
            f"{row['among_all R@5']:.1f}",
            *(
                "/".join(f"{row[f'{when} P@{k}']:.1f}" for k in KS)
                for when in ("elsewhere", "elsewhere after")
            ),
        ]
        for row in rows
    ]
    return "\n\n".join(
        [
            markdown(columns, lines),
            claims_table(new_labels.check(rows)),
            captions(record for _, record in cells.values()),
        ]
    )


def costs(found: Sequence[Record]) -> str:
    """A step and a ranking, from one record."""
    if not found:
        return none_yet("speed gudn")
    lines = [
        [row["system"], short(row["step_ms"]), short(row["rank_ms"]), f"{row['parameters']:,}"]
        for row in found[0]["measurements"]
    ]
    table = markdown(
        ["system", "training, ms per text", "ranking, ms per text", "parameters"], lines
    )
    claims = [Claim(**claim) for claim in found[0]["claims"]]
    return "\n\n".join([table, claims_table(claims), captions(found[:1])])
