"""read_dataset: finds out what a file or folder is, and reads it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from xmtc.core.dataset import Dataset
from xmtc.core.errors import ConfigError, DataError, did_you_mean
from xmtc.data.bad_lines import BadLines
from xmtc.data.formats.file_formats import FILE_FORMATS, read_file
from xmtc.data.formats.folders import FOLDERS, folder_layout, read_folder
from xmtc.data.formats.parquet import parquet_rows
from xmtc.data.formats.table import table_rows
from xmtc.data.lines import data_path
from xmtc.data.options import LabelTexts, ReadOptions


def read_dataset(
    path: str | Path,
    *,
    split: str = "train",
    format: str | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    label_separator: str | None = None,
    skip_bad: bool = False,
    label_texts: LabelTexts | None = None,
    label_count: int | None = None,
    feature_count: int | None = None,
    bad: BadLines | None = None,
) -> Dataset:
    """Read a file or folder; docs/formats.md lists the formats and how each is recognised.

    split: which part of a folder: "train", "test" or "validation".
    format: the name of the format, where name and content do not show it.
    text_column, label_column: columns or fields, where they have unusual names.
    label_separator: what stands between the labels in one cell of a table.
    skip_bad: leave out bad lines and log how many there were; `bad` collects them.
    label_texts: name -> text, or a file of label texts; {} reads none. Without it, a file of
        label texts next to the data is used.
    label_count, feature_count: how many there are, where labels and features are numbers.
    """
    path = Path(path)
    options = ReadOptions(
        split=split,
        format=format,
        text_column=text_column,
        label_column=label_column,
        label_separator=label_separator,
        skip_bad=skip_bad,
        label_texts=label_texts,
        label_count=label_count,
        feature_count=feature_count,
        bad=BadLines(strict=not skip_bad) if bad is None else bad,
    )
    try:
        dataset = _read(path, options)
    except OSError as problem:
        raise DataError(f"cannot read {path}: {problem.strerror or problem}") from None
    if options.bad.count and bad is None:
        logging.getLogger("xmtc").warning("%s: %s", path, options.bad)
    return dataset


def _read(path: Path, options: ReadOptions) -> Dataset:
    if not path.exists():
        siblings = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
        where = "" if siblings else f" The folder {path.parent} is not there or empty."
        hint = did_you_mean(path.name, siblings) or "."
        raise DataError(f"no file or folder {path}{hint}{where}")
    name = options.format
    if path.is_dir():
        layouts = tuple(layout for layout in FOLDERS if name in (None, layout.name))
        if name is not None and not layouts:
            raise _no_format(name, "folder", [layout.name for layout in FOLDERS])
        return read_folder(path, folder_layout(path, layouts), options)
    if name is not None and name not in FILE_FORMATS:
        raise _no_format(name, "file", FILE_FORMATS)
    return read_file(path, options)


def read_texts(path: str | Path, text_column: str | None = None) -> Iterator[str]:
    """The texts of a table, in order: what is to be tagged need not have labels."""
    path = Path(path)
    bad = BadLines(strict=True, advice="Fix the row.")
    read = parquet_rows if data_path(path).suffix in (".parquet", ".pq") else table_rows
    rows = read(path, ReadOptions(text_column=text_column, bad=bad), labelled=False)
    return (text for text, _ in rows)


def is_table(path: str | Path) -> bool:
    """Whether `read_texts` reads this file."""
    return data_path(Path(path)).suffix in (".csv", ".tsv", ".parquet", ".pq")


def _no_format(name: str, of: str, names: Iterable[str]) -> ConfigError:
    known = list(dict.fromkeys(names))
    hint = did_you_mean(name, known) or "."
    return ConfigError(f"no {of} format {name!r}{hint} Available: {', '.join(known)}")
