"""CSV and TSV tables with a header row: a column of texts and a column of labels."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from itertools import chain, islice
from pathlib import Path

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.data.bad_lines import BadLine, BadLines, excerpt
from xmtc.data.builder import DatasetBuilder
from xmtc.data.cells import find_separator, labels_of_cell
from xmtc.data.formats.jsonl import named_rows, open_for_writing
from xmtc.data.label_file import finish
from xmtc.data.lines import data_path, first_lines, read_lines
from xmtc.data.options import ReadOptions
from xmtc.data.row import columns

LOOK_AT = 1000  # rows in which the separator of the labels is looked for
DELIMITERS = (",", ";", "\t")

Row = tuple[int, list[str]]  # line number, cells


def read_table(path: Path, options: ReadOptions) -> Dataset:
    """A `.csv` or `.tsv` file."""
    builder = DatasetBuilder()
    add_table(builder, path, options)
    return finish(builder, path, options)


def add_table(builder: DatasetBuilder, path: Path, options: ReadOptions) -> None:
    """Append all rows of a table; its first row names the columns."""
    with _long_cells(), closing(_rows(path, options.bad)) as rows:
        _, header = next(rows, (0, []))
        texts, labels = _positions(header, path, options)
        seen = list(islice(rows, LOOK_AT))
        separator = options.label_separator
        if separator is None:
            separator = find_separator(cells[labels] for _, cells in seen if len(cells) > labels)
        for line, cells in chain(_emptied(seen), rows):
            try:
                _check_width(cells, header)
                text = " ".join(cells[column] for column in texts if cells[column])
                builder.add(text, labels_of_cell(cells[labels], separator))
            except BadLine as problem:
                options.bad.add(path, line, problem)


def _positions(header: list[str], path: Path, options: ReadOptions) -> tuple[list[int], int]:
    names = [name.strip() for name in header]
    texts, label = columns(names, options.text_column, options.label_column, path)
    return [names.index(name) for name in texts], names.index(label)


def _rows(path: Path, bad: BadLines) -> Generator[Row, None, None]:
    lines = _Lines(path, bad)
    reader = csv.reader(lines, delimiter=_delimiter(path), strict=True)
    while True:
        start = lines.number + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            advice = 'Put a cell with quotes or line breaks in quotes, and double the " inside.'
            lost = f", lines {start} to {lines.number}" if lines.number > start else ""
            bad.add(path, start, f"not a row of a table ({problem}{lost}). {advice}")
            continue
        if cells:
            yield start, cells


class _Lines:
    """The decoded lines of a file, with their endings, and the number of the last one."""

    def __init__(self, path: Path, bad: BadLines) -> None:
        self.path = path
        self.bad = bad
        self.number = 0
        self.lines = read_lines(path, bad)

    def __iter__(self) -> Iterator[str]:
        for number, line in self.lines:
            self.number = number
            try:
                yield line.decode()
            except UnicodeDecodeError as problem:
                seen = line[max(0, problem.start - 20) : problem.start + 10]
                what = f"not UTF-8 (near {seen!r}). Save the file as UTF-8."
                self.bad.add(self.path, self.number, what)


def table_rows(path: Path, bad: BadLines) -> tuple[list[str], Iterator[dict[str, str]]]:
    """The names of the columns, and the rows as name -> cell."""
    rows = _rows(path, bad)
    _, header = next(rows, (0, []))
    names = [name.strip() for name in header]

    def cells() -> Iterator[dict[str, str]]:
        with _long_cells():
            for line, row in rows:
                try:
                    _check_width(row, header)
                    yield dict(zip(names, row, strict=True))
                except BadLine as problem:
                    bad.add(path, line, problem)

    return names, cells()


def header_of(path: Path) -> list[str]:
    """The names of the columns."""
    rows = csv.reader(first_lines(path, 1), delimiter=_delimiter(path))
    return [name.strip() for name in next(rows, [])]


def _delimiter(path: Path) -> str:
    if data_path(path).suffix == ".tsv":
        return "\t"
    header = "".join(first_lines(path, 1))
    return max(DELIMITERS, key=header.count)  # the comma when none occurs


def _check_width(cells: list[str], header: list[str]) -> None:
    if len(cells) != len(header):
        raise BadLine(
            f"{len(cells)} cells but the header names {len(header)} columns: "
            f"{excerpt(' '.join(cells))}. Quote cells that contain the delimiter."
        )


def _emptied(rows: list[Row]) -> Iterator[Row]:
    """The rows from first to last, each let go once it was used."""
    rows.reverse()
    while rows:
        yield rows.pop()


@contextmanager
def _long_cells() -> Iterator[None]:
    """The csv module refuses cells over 128 KB unless told otherwise, for the whole process."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def write_csv(dataset: Dataset, path: str | Path) -> None:
    """Columns `text` and `labels`, the labels as a JSON list; tabs when the name ends in .tsv."""
    path = Path(path)
    delimiter = "\t" if data_path(path).suffix == ".tsv" else ","
    with open_for_writing(path) as raw, io.TextIOWrapper(raw, "utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["text", "labels"])
        for text, names in named_rows(dataset):
            if "\0" in text:
                raise DataError(f"a CSV file cannot hold the NUL in {excerpt(text)}.")
            writer.writerow([text, json.dumps(names, ensure_ascii=False)])
