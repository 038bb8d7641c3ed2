"""Writes data sets in the format that the ending of the name stands for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.data.formats.jsonl import write_jsonl
from xmtc.data.formats.parquet import write_parquet
from xmtc.data.formats.table import write_csv
from xmtc.data.lines import data_path

WRITERS: dict[str, Callable[[Dataset, str | Path], None]] = {
    ".jsonl": write_jsonl,
    ".csv": write_csv,
    ".tsv": write_csv,
    ".parquet": write_parquet,
}


def write_dataset(dataset: Dataset, path: str | Path) -> None:
    """Write a `.jsonl`, `.csv` or `.tsv` file, each also with `.gz`, or a `.parquet` file."""
    writer_for(path)(dataset, path)


def writer_for(path: str | Path) -> Callable[[Dataset, str | Path], None]:
    """The writer of files with this ending."""
    ending = data_path(Path(path)).suffix
    if ending not in WRITERS:
        known = ", ".join(WRITERS)
        raise DataError(f"cannot tell the format of {path} from its name. End it in {known}.")
    return WRITERS[ending]
