"""Tables of docs/models/lightxml.md, made from the newest records like those of `tables.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.kit import Claim, Measurement
from benchmarks.quality import auto, lightxml, negatives, xr_transformer
from benchmarks.record import Record
from benchmarks.tables import captions, claims_table, markdown, none_yet, short

COLUMNS = [
    "test set",
    "system",
    "trained min (epochs)",
    "texts/s",
    "one text ms, p50 / p99",
    "MB",
    "peak MB",
    "P@1/3/5",
    "nDCG@5",
    "PSP@1/3/5",
]
Cells = dict[tuple[str, str], tuple[Measurement, Record]]  # data set and system


def newest(found: Sequence[Record], order: Sequence[str]) -> Cells:
    """Each cell's newest row, by data set and in this order of systems.

    A model that was trained from changed code is not shown, whenever it was measured.
    """
    cells: Cells = {}
    for record in found:
        for row in record["measurements"]:
            if not row.get("trained_dirty"):
                cells.setdefault((row["data"], row["system"]), (row, record))
    sets = sorted({data for data, _ in cells})
    known = [(data, system) for data in sets for system in order]
    return {cell: cells[cell] for cell in known if cell in cells}


def beside_peers(found: Sequence[Record], plot: str) -> str:
    """lightxml, linear_tree, both together, XR-Transformer; claims; learning curves."""
    cells = newest(found, list(lightxml.SYSTEMS.values()))
    if not cells:
        return none_yet("quality lightxml")
    rows = [row for row, _ in cells.values()]
    curves = (
        [f"![P@k on validation texts by minute of training]({plot})"] if curves_of(found) else []
    )
    return "\n\n".join(
        [
            markdown(COLUMNS, system_lines(rows)),
            *_standing(rows),
            *curves,
            claims_table(lightxml.check(rows)),
            captions(record for _, record in cells.values()),
        ]
    )


def xr_beside_peers(found: Sequence[Record]) -> str:
    """xr_transformer, read and taught, linear_tree, XR-Transformer; claims."""
    cells = newest(found, list(xr_transformer.SYSTEMS.values()))
    if not cells:
        return none_yet("quality xr_transformer")
    rows = [row for row, _ in cells.values()]
    return "\n\n".join(
        [
            markdown(COLUMNS, system_lines(rows)),
            claims_table(xr_transformer.check(rows)),
            captions(record for _, record in cells.values()),
        ]
    )


def auto_beside_linear_tree(standing: Cells) -> str:
    """What auto tried on each set, then what it kept beside linear_tree on test texts; claims: of
    the cells of all systems those that count."""
    sets = [data for data, system in standing if system == auto.AUTO]
    cells = {
        (data, key): standing[data, key]
        for data in sets
        for key in auto.SYSTEMS
        if (data, key) in standing
    }
    if not cells:
        return none_yet("quality auto")
    rows = [row for row, _ in cells.values()]
    tried = [line for row in rows if row["system"] == auto.AUTO for line in _tried(row)]
    columns = ["data set", "tried", "minutes", "P@1/3/5 on held-out texts", ""]
    return "\n\n".join(
        [
            markdown(columns, tried),
            markdown(COLUMNS, system_lines(rows)),
            claims_table(auto.check(rows)),
            captions(record for _, record in cells.values()),
        ]
    )


def _tried(row: Measurement) -> list[list[str]]:
    lines = []
    shown = f"{row['data']}, {row['minutes']:g} min"
    for each in row["tried"]:
        figures = "/".join(f"{each['figures'][f'P@{k}']:.1f}" for k in (1, 3, 5) if each["figures"])
        notes = ["kept"] * (each["name"] == row["kept"]) + [each["note"]] * bool(each["note"])
        minutes = f"{each['minutes']:.1f}" if each["figures"] else ""
        lines.append([shown, each["name"], minutes, figures, ": ".join(notes)])
        shown = ""
    return lines


def curves_of(found: Sequence[Record]) -> list[tuple[Measurement, Record]]:
    """The rows that have a learning curve."""
    cells = newest(found, [lightxml.NEURAL])
    return [cell for cell in cells.values() if cell[0].get("curve")]


def _standing(rows: Sequence[Measurement]) -> list[str]:
    """Where lightxml alone stands."""
    sentences = []
    for name in dict.fromkeys(row["data"] for row in rows):
        found = {row["system"]: row for row in rows if row["data"] == name}
        if {lightxml.NEURAL, lightxml.TREE} <= found.keys():
            neural = found[lightxml.NEURAL]
            tree = found[lightxml.TREE]
            points = [neural[f"P@{k}"] - tree[f"P@{k}"] for k in (1, 3, 5)]
            said = "/".join(f"{point:+.1f}" for point in points)
            sentences.append(f"On {name}, `lightxml` alone beside `linear_tree`: P@1/3/5 {said}.")
    return [" ".join(sentences)] if sentences else []


def system_lines(rows: Sequence[Measurement]) -> list[list[str]]:
    """Costs and figures of each system, as `COLUMNS` names them."""
    lines = []
    before = ""
    for row in rows:
        shown = row["data"] if row["data"] != before else ""
        lines.append([shown, row["system"], *_figures(row)])
        before = row["data"]
    return lines


def _figures(row: Measurement) -> list[str]:
    if "failed" in row:
        return [row["failed"], *[""] * 7]
    epochs = f" ({row['epochs']:g})" if row.get("epochs") else ""
    return [
        f"{row['train_seconds'] / 60:.1f}{epochs}",
        short(row["texts_per_second"]),
        f"{short(row['single_p50_ms'])} / {short(row['single_p99_ms'])}",
        short(row["model_mb"]),
        short(row["peak_mb"]),
        *qualities(row),
    ]


def qualities(row: Measurement) -> list[str]:
    """P, nDCG and PSP."""
    many = ["/".join(f"{row[f'{name}@{k}']:.1f}" for k in (1, 3, 5)) for name in ("P", "PSP")]
    return [many[0], f"{row['nDCG@5']:.1f}", many[1]]


def static_beside_dynamic(found: Sequence[Record], plot: str) -> str:
    """The ablation, as a table and as bars."""
    cells = newest(found, list(negatives.VARIANTS.values()))
    if not cells:
        return none_yet("quality negatives")
    rows = [row for row, _ in cells.values()]
    columns = [
        "test set",
        "negatives",
        "training texts",
        "labels",
        "seeds",
        "trained min",
        "P@1/3/5",
        "nDCG@5",
        "PSP@1/3/5",
    ]
    lines = [
        [
            row["data"],
            row["system"],
            *(short(row[name]) for name in ("train_texts", "labels", "seeds")),
            f"{row['train_seconds'] / 60:.1f}",
            *qualities(row),
        ]
        for row in rows
    ]
    return "\n\n".join(
        [
            f"![P@k of dynamic and static negatives]({plot})",
            markdown(columns, lines),
            claims_table(negatives.check(rows)),
            captions(record for _, record in cells.values()),
        ]
    )


def training_speed(found: Sequence[Record]) -> str:
    """Texts per second, from one record."""
    if not found:
        return none_yet("speed neural_training")
    columns = {"texts_per_second": "texts/s in an epoch", "with_reading": "reading included"}
    lines = [
        [row["data"], row["system"], *(short(row[name]) if name in row else "" for name in columns)]
        for row in found[0]["measurements"]
    ]
    table = markdown(["texts of", "system", *columns.values()], lines)
    return "\n\n".join([table, claims_table(claims_of(found[0])), captions(found[:1])])


def many_labels(found: Sequence[Record]) -> str:
    """Memory of training and time of one text, from one record."""
    if not found:
        return none_yet("memory lightxml_rust")
    training, *ranking = found[0]["measurements"]
    minutes = training["train_seconds"] / 60
    size = short(training["model_mb"])
    config = training["config"]
    sentence = (
        f"{training['train_texts']:,} texts and {training['labels']:,} labels: trained in "
        f"{minutes:.1f} minutes with {short(training['peak_mb'])} MB of memory at the "
        f"peak; the model takes {size} MB. Only to see memory and speed: "
        f"{config['encoder']['max_tokens']} tokens of a text, "
        f"{config['encoder']['trainable_layers']} layer and "
        f"{config['training']['epochs']} epoch of learning."
    )
    lines = [
        [row["what"], short(row["single_p50_ms"]), short(row["single_p99_ms"])] for row in ranking
    ]
    table = markdown(["one text at a time, int8", "ms, p50", "p99"], lines)
    return "\n\n".join([sentence, table, claims_table(claims_of(found[0])), captions(found[:1])])


def claims_of(record: Record) -> list[Claim]:
    """As they were when it was recorded."""
    return [Claim(**claim) for claim in record["claims"]]


def records_of(cells: Sequence[tuple[Any, ...]]) -> list[Record]:
    """The records of these cells, each once: what comes last in each."""
    found: list[Record] = []
    for *_, record in cells:
        if record not in found:
            found.append(record)
    return found
