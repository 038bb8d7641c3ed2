"""Which reader a file needs: by the ending of its name, else by its first lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.data.builder import Name
from xmtc.data.formats.annif import annif_row, is_annif
from xmtc.data.formats.fasttext import fasttext_row, is_fasttext
from xmtc.data.formats.jsonl import jsonl_rows
from xmtc.data.formats.parquet import parquet_rows
from xmtc.data.formats.table import table_rows
from xmtc.data.formats.xc import is_xc, read_xc
from xmtc.data.formats.xc_split import read_split, split_files
from xmtc.data.label_space import dataset_of_rows
from xmtc.data.lines import data_path, first_lines, parsed_lines
from xmtc.data.options import ReadOptions

LINE_FORMATS = {"fasttext": fasttext_row, "annif": annif_row}
ROW_FORMATS: dict[str, Callable[[Path, ReadOptions], Iterator[tuple[str, list[Name]]]]] = {
    "jsonl": jsonl_rows,
    "csv": table_rows,
    "tsv": table_rows,
    "parquet": parquet_rows,
}
FEATURE_FORMATS = {"xc": read_xc, "xc_split": read_split}
FILE_FORMATS = (*ROW_FORMATS, *FEATURE_FORMATS, *LINE_FORMATS)
FORMAT_OF_ENDING = {
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def read_file(path: Path, options: ReadOptions) -> Dataset:
    """A file in the format given, or else in the one that its name or its first lines show."""
    name = options.format if options.format in FILE_FORMATS else file_format(path)
    if name in FEATURE_FORMATS:
        return FEATURE_FORMATS[name](path, options)
    if name in LINE_FORMATS:
        rows = parsed_lines(path, LINE_FORMATS[name], options.bad)
    else:
        rows = ROW_FORMATS[name](path, options)
    return dataset_of_rows(rows, path, options)


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
