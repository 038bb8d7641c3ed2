"""Which reader a file needs: by the ending of its name, else by its first lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.data.formats.annif import is_annif, read_annif
from xmtc.data.formats.fasttext import is_fasttext, read_fasttext
from xmtc.data.formats.jsonl import read_jsonl
from xmtc.data.formats.parquet import read_parquet
from xmtc.data.formats.table import read_table
from xmtc.data.formats.xc import is_xc, read_xc
from xmtc.data.formats.xc_split import read_split, split_files
from xmtc.data.lines import data_path, first_lines
from xmtc.data.options import ReadOptions

FILE_FORMATS: dict[str, Callable[[Path, ReadOptions], Dataset]] = {
    "jsonl": read_jsonl,
    "csv": read_table,
    "tsv": read_table,
    "parquet": read_parquet,
    "xc": read_xc,
    "xc_split": read_split,
    "fasttext": read_fasttext,
    "annif": read_annif,
}
FORMAT_OF_ENDING = {
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def read_file(path: Path, options: ReadOptions) -> Dataset:
    """A file in the format that its name or its first lines show."""
    return FILE_FORMATS[file_format(path)](path, options)


def file_format(path: Path) -> str:
    """The name of the format of this file."""
    if split_files(path):
        return "xc_split"
    ending = data_path(path).suffix.lower()
    if ending in FORMAT_OF_ENDING:
        return FORMAT_OF_ENDING[ending]
    lines = [line for line in first_lines(path) if line.strip()]
    if not lines:
        raise DataError(f"{path} is empty. Check that it was written or downloaded completely.")
    signs = {
        "fasttext": is_fasttext(lines),
        "annif": is_annif(lines),
        "tsv": ending == ".tsv",
        "jsonl": lines[0].lstrip().startswith(("{", "[")),
        "xc": is_xc(path, lines),
    }
    if any(signs.values()):
        return next(name for name, seen in signs.items() if seen)
    raise DataError(
        f"cannot tell the format of {path} from its name or its first line {lines[0][:60]!r}. "
        f"Pass format=... Available: {', '.join(FILE_FORMATS)}."
    )
