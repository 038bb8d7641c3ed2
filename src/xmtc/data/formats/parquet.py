"""Parquet tables: a column of texts and a column of label lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError, MissingExtra
from xmtc.core.files import written
from xmtc.core.progress import track
from xmtc.data.builder import Name
from xmtc.data.formats.jsonl import named_rows
from xmtc.data.lines import parsed_rows, require_regular
from xmtc.data.options import ReadOptions
from xmtc.data.row import columns_of, labels_of, text_of

BATCH = 1024  # rows unpacked at a time


def parquet_rows(
    path: Path, options: ReadOptions, labelled: bool = True
) -> Iterator[tuple[str, list[Name]]]:
    """(text, labels) of each row; a label cell is a list, or one label."""
    require_regular(path)
    pyarrow, parquet = _pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            texts, label = columns_of(file.schema_arrow.names, options, path, labelled)
            names = [*texts] if label is None else [*texts, label]

            def parse(row: dict[str, Any]) -> tuple[str, list[Name]]:
                cell = None if label is None else row[label]
                return text_of(row, texts), labels_of(cell, options.label_separator)

            yield from parsed_rows(_rows(file, names, path), parse, path, options.bad)
    except pyarrow.ArrowException as problem:
        raise DataError(f"{path} is not a Parquet file we can read: {problem}") from None


def _rows(file: Any, names: list[str], path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(row number from 1, name -> cell)"""
    number = 0
    with track(f"reading {path.name}", file.metadata.num_rows) as advance:
        for batch in file.iter_batches(batch_size=BATCH, columns=names):
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
    with written(path) as draft:
        parquet.write_table(table, draft)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra(
            "Parquet files need pyarrow. Install it with: pip install 'xmtc[parquet]'"
        ) from None
    return pyarrow, pyarrow.parquet
