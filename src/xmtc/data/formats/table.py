"""CSV and TSV tables with a header row: a column of texts and a column of labels."""

from __future__ import annotations

import csv
import io
import json
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.data.bad_lines import BadLine, BadLines, excerpt
from xmtc.data.builder import Name
from xmtc.data.formats.jsonl import named_rows, open_for_writing
from xmtc.data.lines import data_path, decode, first_lines, parsed_rows, read_lines
from xmtc.data.options import ReadOptions
from xmtc.data.row import columns_of, find_separator, labels_of_cell

SAMPLE = 1000  # rows in which the separator of the labels is looked for
DELIMITERS = (",", ";", "\t")


def table_rows(
    path: Path, options: ReadOptions, labelled: bool = True
) -> Iterator[tuple[str, list[Name]]]:
    """(text, labels) of each row of a table; its first row names the columns."""
    with closing(_rows(path, options.bad)) as rows:
        header = _header(rows)
        columns = columns_of(header, options, path, labelled)
        texts = [header.index(name) for name in columns.texts]
        labels = len(header) if columns.labels is None else header.index(columns.labels)
        sample = deque(islice(rows, SAMPLE))
        separator = options.label_separator
        if separator is None:
            separator = find_separator(cells[labels] for _, cells in sample if len(cells) > labels)

        def parse(cells: list[str]) -> tuple[str, list[Name]]:
            if len(cells) != len(header):
                raise BadLine(
                    f"{len(cells)} cells but the header names {len(header)} columns: "
                    f"{excerpt(' '.join(cells))}. Quote cells that contain the delimiter."
                )
            text = " ".join(cells[column] for column in texts if cells[column])
            return text, labels_of_cell(cells[labels], separator) if labelled else []

        sampled = (sample.popleft() for _ in range(len(sample)))  # each freed once it was used
        yield from parsed_rows(chain(sampled, rows), parse, path, options.bad)


def _header(rows: Iterator[tuple[int, list[str]]]) -> list[str]:
    _, names = next(rows, (0, []))
    return [name.strip() for name in names]


def header_of(path: Path) -> list[str]:
    """The names of the columns."""
    with closing(_rows(path, BadLines())) as rows:
        return _header(rows)


def _rows(path: Path, bad: BadLines) -> Generator[tuple[int, list[str]], None, None]:
    """(line number, cells) of each row that is not blank."""
    number = 0

    def lines() -> Iterator[str]:
        nonlocal number
        for number, line in read_lines(path, bad):
            try:
                yield decode(line, ending="")
            except BadLine as problem:
                bad.add(path, number, problem)

    reader = csv.reader(lines(), delimiter=_delimiter(path), strict=True)
    # The csv module refuses cells over 128 KB unless told otherwise, for the whole process.
    limit = csv.field_size_limit(2**31 - 1)
    try:
        while True:
            start = number + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as problem:
                advice = 'Put a cell with quotes or line breaks in quotes, and double the " inside.'
                lost = f", lines {start} to {number}" if number > start else ""
                bad.add(path, start, f"not a row of a table ({problem}{lost}). {advice}")
                continue
            if cells:
                yield start, cells
    finally:
        csv.field_size_limit(limit)


def _delimiter(path: Path) -> str:
    if data_path(path).suffix == ".tsv":
        return "\t"
    header = "".join(first_lines(path, 1))
    return max(DELIMITERS, key=header.count)  # the comma when none occurs


def write_csv(dataset: Dataset, path: str | Path) -> None:
    """Columns `text` and `labels`, the labels as a JSON list; tabs when the name ends in .tsv."""
    path = Path(path)
    delimiter = "\t" if data_path(path).suffix == ".tsv" else ","
    with open_for_writing(path) as raw, io.TextIOWrapper(raw, "utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["text", "labels"])
        for text, names in named_rows(dataset):
            if "\0" in text:
                raise DataError(
                    f"a CSV file cannot hold the NUL in {excerpt(text)}. Remove it, or write JSONL."
                )
            writer.writerow([text, json.dumps(names, ensure_ascii=False)])
