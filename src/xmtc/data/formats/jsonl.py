"""JSON lines: one object per line with a text and its labels."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.core.files import written
from xmtc.core.provenance import Reading
from xmtc.data.bad_lines import BadLine, excerpt
from xmtc.data.builder import Name
from xmtc.data.json_list import is_json_list, parsed_items
from xmtc.data.lines import parsed_lines
from xmtc.data.options import ReadOptions
from xmtc.data.row import Columns, columns_of, labels_of, parse_json, text_of


def jsonl_rows(path: Path, options: ReadOptions) -> Iterator[tuple[str, list[Name]]]:
    """(text, labels) of each JSON object, one per line or all in one list."""
    parser = _Parser(options)
    if is_json_list(path):
        return parsed_items(path, parser.item, options.bad)
    return parsed_lines(path, parser.line, options.bad)


class _Parser:
    """Takes rows apart; the columns are looked up again when a row has other fields."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.fields: list[str] | None = None  # those of the row before
        self.columns = Columns((), None)

    def line(self, line: str) -> tuple[str, list[Name]]:
        text, names = self.row(parse_json(line))
        if "\\" in line and ("\\ud" in line or "\\uD" in line):
            _check_characters(text, names)
        return text, names

    def item(self, row: Any) -> tuple[str, list[Name]]:
        text, names = self.row(row)
        _check_characters(text, names)
        return text, names

    def row(self, row: Any) -> tuple[str, list[Name]]:
        if not isinstance(row, dict):
            raise BadLine(f'{excerpt(row)} is not an object like {{"text": ..., "labels": [...]}}.')
        if list(row) != self.fields:
            self.columns = columns_of(row, self.reading)
            self.fields = list(row)
        texts, labels = self.columns
        return text_of(row, texts), labels_of(row[labels], self.reading.label_separator)


def _check_characters(text: str, names: list[Name]) -> None:
    """JSON can spell half a character (a lone surrogate), which no file or model can hold."""
    for part in (text, *map(str, names)):
        try:
            part.encode()
        except UnicodeEncodeError as problem:
            raise BadLine(
                f"half a character (\\u{ord(part[problem.start]):x}) in {excerpt(part)}. "
                "Write both halves, or leave it out."
            ) from None


def write_jsonl(dataset: Dataset, path: str | Path) -> None:
    """One line `{"text": ..., "labels": [...]}` per text; packed when the name ends in .gz."""
    with open_for_writing(Path(path)) as file:
        for text, names in named_rows(dataset):
            row = {"text": text, "labels": names}
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def named_rows(dataset: Dataset) -> Iterator[tuple[str, list[str]]]:
    """Each text with the names of its labels."""
    if len(dataset) and not dataset.texts:
        raise DataError("this data set has features and no texts; only texts can be written.")
    names = dataset.labels.names
    relevant = dataset.relevant
    for row, text in enumerate(dataset.texts):
        ids = relevant.indices[relevant.indptr[row] : relevant.indptr[row + 1]]
        yield text, [names[label] for label in ids]


@contextmanager
def open_for_writing(path: Path) -> Iterator[IO[bytes]]:
    """A plain or packed file, whole or not at all; the same content gives the same bytes."""
    with written(path) as draft, draft.open("wb") as file:
        if path.suffix == ".gz":
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                yield packed  # type: ignore[misc]
        else:
            yield file
