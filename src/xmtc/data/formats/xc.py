"""The Extreme Classification Repository's sparse text: labels and features in one file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.data.bad_lines import BadLine, BadLines, excerpt
from xmtc.data.builder import LabelRows
from xmtc.data.formats.jsonl import open_for_writing
from xmtc.data.formats.sparse_pairs import MAX_COLUMNS, SparseRows
from xmtc.data.label_space import labels_by_number
from xmtc.data.lines import decode, first_lines, read_lines
from xmtc.data.options import ReadOptions

_ROW = re.compile(r"\s*(\d+(,\d+)*)?\s*\d+:[-+.\deE]+(\s|$)")


@dataclass(frozen=True)
class SparseHeader:
    """What the first line promises; None where a file has no header."""

    rows: int | None = None
    features: int | None = None
    labels: int | None = None

    @property
    def lines(self) -> int:
        """How many lines the header takes."""
        return 0 if self.rows is None else 1


def read_xc(path: Path, options: ReadOptions) -> Dataset:
    """Lines `label,label feature:value feature:value`; a data set of features without texts."""
    header = xc_header(first_lines(path, 1))
    count = options.label_count or header.labels
    labels = LabelRows()
    features = SparseRows(options.feature_count or header.features)
    for number, line in data_rows(path, header, options.bad):
        try:
            text = decode(line)
            ids, _, pairs = text.partition(" ")
            if ":" in ids:  # without labels, a line starts with a space or with a feature
                ids = ""
                pairs = text
            row = _label_ids(ids, count)
            features.add(pairs)
            labels.add(row)
        except BadLine as problem:
            options.bad.add(path, number, problem)
    options.bad.require_rows(len(labels), path)
    count = count or max(labels.ids, default=-1) + 1
    space = labels_by_number(path, count, options)
    return Dataset((), labels.relevant(count), space, features.matrix())


def xc_header(lines: list[str]) -> SparseHeader:
    """The three numbers of `texts features labels`, when the first line is just these."""
    numbers = header_numbers(lines, 3)
    return SparseHeader(*numbers) if numbers else SparseHeader()


def header_numbers(lines: list[str], count: int) -> list[int]:
    """The first line as `count` sizes that can be; nothing when it is anything else."""
    words = lines[0].split() if lines else []
    fits = all(word.isdecimal() and len(word) <= 10 and int(word) <= MAX_COLUMNS for word in words)
    return [int(word) for word in words] if fits and len(words) == count else []


def is_xc(lines: list[str]) -> bool:
    """Whether these look like the first lines of sparse text."""
    return xc_header(lines).rows is not None or bool(_ROW.match(lines[0]))


def data_rows(path: Path, header: SparseHeader, bad: BadLines) -> Iterator[tuple[int, bytes]]:
    """(line number, line) of every row, blank ones too; complains when rows are missing."""
    rows = 0
    for number, line in read_lines(path, bad):
        if number <= header.lines or (rows == header.rows and line.isspace()):
            continue
        rows += 1
        yield number, line
    if header.rows is not None and rows != header.rows:
        what = f"the header promises {header.rows} rows but the file has {rows}."
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
