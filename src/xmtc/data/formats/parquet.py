"""Parquet tables: a column of texts and a column of label lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError, MissingExtra
from xmtc.core.progress import track
from xmtc.data.bad_lines import BadLine
from xmtc.data.builder import DatasetBuilder
from xmtc.data.cells import labels_of
from xmtc.data.formats.jsonl import named_rows
from xmtc.data.label_file import finish
from xmtc.data.lines import require_regular
from xmtc.data.options import ReadOptions
from xmtc.data.row import columns, text_of

BATCH = 1024  # rows unpacked at a time


def read_parquet(path: Path, options: ReadOptions) -> Dataset:
    """A `.parquet` file; a label cell is a list, or one label."""
    require_regular(path)
    builder = DatasetBuilder()
    pyarrow, parquet = _pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            texts, label = columns(
                file.schema_arrow.names, options.text_column, options.label_column, path
            )
            for number, row in _rows(file, [*texts, label], path):
                try:
                    builder.add(text_of(row, texts), labels_of(row[label], options.label_separator))
                except BadLine as problem:
                    options.bad.add(path, number, problem)
    except pyarrow.ArrowException as problem:
        raise DataError(f"{path} is not a Parquet file we can read: {problem}") from None
    return finish(builder, path, options)


def parquet_rows(path: Path) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """The names of the columns, and the rows as name -> cell."""
    require_regular(path)
    pyarrow, parquet = _pyarrow()
    try:
        file = parquet.ParquetFile(path)
    except pyarrow.ArrowException as problem:
        raise DataError(f"{path} is not a Parquet file we can read: {problem}") from None
    names = list(file.schema_arrow.names)
    return names, (row for _, row in _rows(file, names, path))


def _rows(file: Any, names: list[str], path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    with track(f"reading {path.name}", file.metadata.num_rows) as advance:
        for batch in file.iter_batches(batch_size=BATCH, columns=names):
            cells = [batch.column(name).to_pylist() for name in names]
            for row in zip(*cells, strict=True):
                number += 1
                yield number, dict(zip(names, row, strict=True))
            advance(len(batch))


def write_parquet(dataset: Dataset, path: str | Path) -> None:
    """Columns `text` (string) and `labels` (list of strings)."""
    pyarrow, parquet = _pyarrow()
    schema = pyarrow.schema(
        [("text", pyarrow.string()), ("labels", pyarrow.list_(pyarrow.string()))]
    )
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
