"""Reads only the texts of a table: what is to be tagged need not carry labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from xmtc.core.errors import DataError
from xmtc.data.bad_lines import BadLines
from xmtc.data.formats.parquet import parquet_rows
from xmtc.data.formats.table import table_rows
from xmtc.data.lines import data_path
from xmtc.data.row import no_column, text_fields, text_of

TABLES = (".csv", ".tsv", ".parquet", ".pq")


def read_texts(path: str | Path, text_column: str | None = None) -> Iterator[str]:
    """The texts of a `.csv`, `.tsv` or `.parquet` file, in order."""
    path = Path(path)
    bad = BadLines(strict=True, advice="Mend the row.")
    is_parquet = data_path(path).suffix in (".parquet", ".pq")
    names, rows = parquet_rows(path) if is_parquet else table_rows(path, bad)
    fields = text_fields(names, text_column)
    if not fields:
        raise DataError(f"{path}: {no_column(text_column or 'text', names, 'text_column')}")
    return (text_of(row, fields) for row in rows)
