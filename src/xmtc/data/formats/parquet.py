"""Parquet tables: a column of texts and a column of label lists."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError, MissingExtra
from xmtc.core.progress import track
from xmtc.data.bad_lines import BadLines
from xmtc.data.builder import Name
from xmtc.data.formats.jsonl import named_rows
from xmtc.data.label_space import dataset_of_rows
from xmtc.data.lines import parsed_rows, require_regular
from xmtc.data.options import ReadOptions
from xmtc.data.row import columns_of, labels_of, text_columns, text_of

BATCH = 1024  # rows unpacked at a time


def read_parquet(path: Path, options: ReadOptions) -> Dataset:
    """A `.parquet` file; a label cell is a list, or one label."""
    return dataset_of_rows(_texts_and_labels(path, options), path, options)


def _texts_and_labels(path: Path, options: ReadOptions) -> Iterator[tuple[str, list[Name]]]:
    def parse(row: dict[str, Any]) -> tuple[str, list[Name]]:
        return text_of(row, columns.texts), labels_of(row[columns.labels], options.label_separator)

    with _opened(path) as file:
        columns = columns_of(file.schema_arrow.names, options, path)
        rows = _rows(file, (*columns.texts, columns.labels), path)
        yield from parsed_rows(rows, parse, path, options.bad)


def parquet_texts(path: Path, text_column: str | None, bad: BadLines) -> Iterator[str]:
    """The texts alone: rows to tag need no labels."""
    with _opened(path) as file:
        columns = text_columns(file.schema_arrow.names, text_column, path)
        rows = _rows(file, columns, path)
        yield from parsed_rows(rows, lambda row: text_of(row, columns), path, bad)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    require_regular(path)
    pyarrow, parquet = _pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except pyarrow.ArrowException as problem:
        raise DataError(f"{path} is not a Parquet file we can read: {problem}") from None


def _rows(file: Any, names: tuple[str, ...], path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(row number from 1, name -> cell)"""
    number = 0
    with track(f"reading {path.name}", file.metadata.num_rows) as advance:
        for batch in file.iter_batches(batch_size=BATCH, columns=list(names)):
            columns = [batch.column(name).to_pylist() for name in names]
            for cells in zip(*columns, strict=True):
                number += 1
                yield number, dict(zip(names, cells, strict=True))
            advance(len(batch))


def write_parquet(dataset: Dataset, path: str | Path) -> None:
    """Columns `text` (string) and `labels` (list of strings)."""
    pyarrow, parquet = _pyarrow()
    strings = pyarrow.string()
    schema = pyarrow.schema([("text", strings), ("labels", pyarrow.list_(strings))])
    names = [names for _, names in named_rows(dataset)]
    table = pyarrow.table({"text": list(dataset.texts), "labels": names}, schema=schema)
    parquet.write_table(table, path)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra(
            "Parquet files need pyarrow. Install it with: pip install 'xmtc[parquet]'"
        ) from None
    return pyarrow, pyarrow.parquet
