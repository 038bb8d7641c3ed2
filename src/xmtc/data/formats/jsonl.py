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
from xmtc.data.bad_lines import BadLine, excerpt
from xmtc.data.builder import DatasetBuilder, Name
from xmtc.data.cells import labels_of
from xmtc.data.formats.json_list import is_json_list, parsed_items
from xmtc.data.label_file import finish
from xmtc.data.lines import parsed_lines
from xmtc.data.options import ReadOptions
from xmtc.data.row import LABEL_FIELDS, label_field, text_fields, text_of


def read_jsonl(path: Path, options: ReadOptions) -> Dataset:
    """A file of JSON objects, one per line or as one list."""
    builder = DatasetBuilder()
    add_jsonl(builder, path, options)
    return finish(builder, path, options)


def add_jsonl(builder: DatasetBuilder, path: Path, options: ReadOptions) -> None:
    """Append all rows of a file."""
    parser = _Parser(options)
    rows = (
        parsed_items(path, parser.item, options.bad)
        if is_json_list(path)
        else parsed_lines(path, parser.line, options.bad)
    )
    for text, names in rows:
        builder.add(text, names)


class _Parser:
    """Takes rows apart; a row with the fields of the row before costs no thought."""

    def __init__(self, options: ReadOptions) -> None:
        self.asked_text = options.text_column
        self.asked_label = options.label_column
        self.separator = options.label_separator
        self.fields: list[str] | None = None  # those of the row before
        self.texts: tuple[str, ...] = ()
        self.label = ""

    def line(self, line: str) -> tuple[str, list[Name]]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as problem:
            raise BadLine(f"not JSON ({problem}): {excerpt(line)}.") from None
        text, names = self.row(row)
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
            self._learn(row)
        return text_of(row, self.texts), labels_of(row[self.label], self.separator)

    def _learn(self, row: dict[str, Any]) -> None:
        self.fields = None
        self.texts = text_fields(row, self.asked_text)
        self.label = label_field(row, self.asked_label)
        if not self.texts or not self.label:
            raise BadLine(self._missing(row))
        self.fields = list(row)

    def _missing(self, row: dict[str, Any]) -> str:
        has = ", ".join(row) or "nothing"
        if not self.texts:
            return f"no field {self.asked_text or 'text'!r} among {has}. Pass text_column=..."
        return (
            f"no field {self.asked_label or LABEL_FIELDS[0]!r} among {has}. Pass "
            'label_column=..., or write "labels": [] for a text without labels.'
        )


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
    """A plain or packed file; the same content always gives the same bytes."""
    with path.open("wb") as file:
        if path.suffix != ".gz":
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            yield packed  # type: ignore[misc]
