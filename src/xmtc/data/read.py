"""read_dataset: finds out what a file or folder is, and reads it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from xmtc.core.dataset import Dataset
from xmtc.core.errors import ConfigError, DataError, did_you_mean
from xmtc.data.bad_lines import BadLines
from xmtc.data.formats.annif import is_annif, read_annif
from xmtc.data.formats.fasttext import is_fasttext, read_fasttext
from xmtc.data.formats.folders import Layout, expected_files, layouts, read_folder
from xmtc.data.formats.jsonl import read_jsonl
from xmtc.data.formats.parquet import read_parquet
from xmtc.data.formats.table import read_table
from xmtc.data.formats.xc import is_xc, read_xc
from xmtc.data.formats.xc_split import read_split, split_files
from xmtc.data.lines import data_path, first_lines
from xmtc.data.options import LabelTexts, ReadOptions

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
ENDINGS = {
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def read_dataset(
    path: str | Path,
    *,
    split: str = "train",
    format: str | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    label_separator: str | None = None,
    label_texts: LabelTexts | None = None,
    label_count: int | None = None,
    feature_count: int | None = None,
    skip_bad: bool = False,
    bad: BadLines | None = None,
) -> Dataset:
    """Read a file or folder; docs/formats.md lists the formats and how each is recognised.

    split: which part of a folder: "train", "test" or "validation".
    format: the name of the format, where name and content do not say it.
    text_column, label_column: columns or fields, where they have unusual names.
    label_separator: what stands between the labels in one cell of a table.
    label_texts: name -> text, or a file of label texts; {} reads none. Without it, a file of
        label texts beside the data is used.
    label_count, feature_count: how many there are, where labels and features are numbers.
    skip_bad: go on after bad lines and log how many there were; give `bad` to hear which.
    """
    path = Path(path)
    collector = bad if bad is not None else BadLines(strict=not skip_bad)
    options = ReadOptions(
        split=split,
        text_column=text_column,
        label_column=label_column,
        label_separator=label_separator,
        label_texts=label_texts,
        label_count=label_count,
        feature_count=feature_count,
        bad=collector,
    )
    try:
        _check_exists(path)
        dataset = _read(path, format, options)
    except OSError as problem:
        raise DataError(f"cannot read {path}: {problem.strerror or problem}") from None
    if collector.count and bad is None:
        logging.getLogger("xmtc").warning("%s: %s", path, collector)
    return dataset


def recognise(path: str | Path) -> str:
    """The name of the format of this file or folder."""
    path = Path(path)
    _check_exists(path)
    return _layout(path, None).name if path.is_dir() else _file_format(path)


def _read(path: Path, format: str | None, options: ReadOptions) -> Dataset:
    if path.is_dir():
        return read_folder(path, _layout(path, format), options)
    if format is not None and format not in FILE_FORMATS:
        raise ConfigError(_unknown(format, "file", FILE_FORMATS))
    return FILE_FORMATS[format or _file_format(path)](path, options)


def _read_file(path: Path, options: ReadOptions) -> Dataset:
    return FILE_FORMATS[_file_format(path)](path, options)


def _layout(folder: Path, format: str | None) -> Layout:
    kinds = layouts(_read_file)
    wanted = [kind for kind in kinds if format in (None, kind.name)]
    if not wanted:
        raise ConfigError(_unknown(str(format), "folder", (kind.name for kind in kinds)))
    found = next((kind for kind in wanted if kind.found(folder)), None)
    if found is None:
        raise DataError(
            f"{folder} is none of the folders we know. Looked for: "
            f"{expected_files(tuple(wanted))}. Give a file, or see docs/formats.md."
        )
    return found


def _file_format(path: Path) -> str:
    """By the ending of the name first, then by the first lines."""
    if split_files(path):
        return "xc_split"
    ending = data_path(path).suffix.lower()
    if ending in ENDINGS:
        return ENDINGS[ending]
    lines = [line for line in first_lines(path) if line.strip()]
    if not lines:
        raise DataError(f"{path} is empty. Check that it was written or downloaded completely.")
    if is_fasttext(lines):
        return "fasttext"
    if is_annif(lines):
        return "annif"
    if ending == ".tsv":
        return "tsv"
    return _by_content(path, lines)


def _by_content(path: Path, lines: list[str]) -> str:
    if lines[0].lstrip().startswith(("{", "[")):
        return "jsonl"
    if is_xc(lines):
        return "xc"
    raise DataError(
        f"cannot tell the format of {path} from its name or its first line {lines[0][:60]!r}. "
        f"Pass format=..., one of: {', '.join(FILE_FORMATS)}."
    )


def _unknown(format: str, of: str, names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    hint = did_you_mean(format, known) or "."
    return f"no {of} format {format!r}{hint} There are: {', '.join(known)}"


def _check_exists(path: Path) -> None:
    if path.exists():
        return
    beside = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    where = "" if beside else f" The folder {path.parent} is not there or empty."
    hint = did_you_mean(path.name, beside) or "."
    raise DataError(f"no file or folder {path}{hint}{where}")
