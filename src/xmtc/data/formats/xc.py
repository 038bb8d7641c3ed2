"""The Extreme Classification Repository's sparse text: labels and features in one file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.data.bad_lines import BadLine, BadLines, excerpt
from xmtc.data.builder import IdRows
from xmtc.data.formats.jsonl import open_for_writing
from xmtc.data.formats.sparse_pairs import MAX_COLUMNS, SparseRows
from xmtc.data.label_space import labels_by_number
from xmtc.data.lines import decode, first_lines, read_lines
from xmtc.data.options import ReadOptions

_ROW = re.compile(r"\s*(\d+(,\d+)*)?\s*\d+:[-+.\deE]+(\s|$)")


def read_xc(path: Path, options: ReadOptions) -> Dataset:
    """Lines `label,label feature:value feature:value`; a data set of features without texts."""
    rows, columns, count = xc_header(path, 3) or (None, None, None)
    count = options.label_count or count
    labels = IdRows()
    features = SparseRows(options.feature_count or columns)
    for number, line in data_rows(path, rows, options.bad):
        try:
            text = decode(line)
            ids, _, pairs = text.partition(" ")
            if ":" in ids:  # without labels, a line starts with a space or with a feature
                ids = ""
                pairs = text
            row = _label_ids(ids, count)
            features.add_pairs(pairs)
            labels.add(row)
        except BadLine as problem:
            options.bad.add(path, number, problem)
    options.bad.require_rows(len(labels), path)
    count = count or max(labels.ids, default=-1) + 1
    space = labels_by_number(path, count, options)
    return Dataset((), labels.relevant(count), space, features.matrix())


def xc_header(path: Path, count: int) -> list[int]:
    """The first line as `count` sizes, such as `texts features labels`; else nothing."""
    words = "".join(first_lines(path, 1)).split()
    fits = all(word.isdecimal() and len(word) <= 10 and int(word) <= MAX_COLUMNS for word in words)
    return [int(word) for word in words] if fits and len(words) == count else []


def is_xc(path: Path, lines: list[str]) -> bool:
    """Whether these look like the first lines of sparse text."""
    return bool(xc_header(path, 3) or _ROW.match(lines[0]))


def data_rows(path: Path, promised: int | None, bad: BadLines) -> Iterator[tuple[int, bytes]]:
    """(line number, line) of every row, blank ones too; None promised: there is no header."""
    rows = 0
    for number, line in read_lines(path, bad):
        if promised is not None and (number == 1 or (rows == promised and line.isspace())):
            continue
        rows += 1
        yield number, line
    if promised is not None and rows != promised:
        what = f"the header promises {promised} rows but the file has {rows}."
        bad.add(path, 1, f"{what} Fetch the file again, or fix the first number.")


def _label_ids(ids: str, count: int | None) -> list[int]:
    try:
        labels = [int(label) for label in ids.split(",")] if ids else []
    except ValueError:
        raise BadLine(f"the labels {excerpt(ids)} are not numbers with commas between.") from None
    wrong = next((label for label in labels if not 0 <= label < (count or MAX_COLUMNS)), None)
    if wrong is None:
        return labels
    if count is None or wrong < 0:
        raise BadLine(f"label id {wrong}; ids start at 0.")
    raise BadLine(
        f"label id {wrong} but the header promises {count} labels (0 to {count - 1}). "
        f"Fix the header's third number (in Python, label_count={wrong + 1} does it too)."
    )


def write_xc(dataset: Dataset, path: str | Path) -> None:
    """Sparse text with a header; for data sets that have features."""
    features = dataset.features
    relevant = dataset.relevant
    if features is None:
        raise DataError("the xc format holds features; this data set has texts only. Write JSONL.")
    with open_for_writing(Path(path)) as file:
        file.write(f"{len(dataset)} {features.shape[1]} {len(dataset.labels)}\n".encode())
        for row in range(len(dataset)):
            ids = relevant.indices[relevant.indptr[row] : relevant.indptr[row + 1]]
            at = slice(features.indptr[row], features.indptr[row + 1])
            pairs = zip(features.indices[at], features.data[at], strict=True)
            line = ",".join(map(str, ids)) + "".join(f" {i}:{value:.9g}" for i, value in pairs)
            file.write((line or " ").encode() + b"\n")
