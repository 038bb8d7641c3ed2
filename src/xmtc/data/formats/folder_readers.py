"""Reads one part of a published system's folder from the files that were found in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from xmtc.core.arrays import Csr, as_csr
from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.core.labels import LabelSpace
from xmtc.data.bad_lines import BadLine, BadLines, excerpt
from xmtc.data.builder import DatasetBuilder, Name, ones
from xmtc.data.formats.jsonl import jsonl_rows
from xmtc.data.formats.sparse_pairs import read_npz
from xmtc.data.formats.table import header_of, table_rows
from xmtc.data.label_file import number_names
from xmtc.data.label_space import dataset_of_rows, labels_by_number
from xmtc.data.lines import Parsed, data_path, decode, parsed_rows, read_lines, text_lines
from xmtc.data.options import ReadOptions
from xmtc.data.row import usual_label_column, usual_text_columns

Files = tuple[Path, ...]
PARTS = {"train": "trn", "test": "tst", "validation": "val"}


def read_label_lines(files: Files, options: ReadOptions) -> Dataset:
    """AttentionXML and LightXML: a text per line in one file, its label words in the other."""
    texts, labels = files
    bad = options.bad

    def parse(lines: tuple[Any, Any]) -> tuple[str, list[str]]:
        text, names = lines  # (line number, line) of both files, None after the end of one
        if text is None or names is None:
            short, long = (texts, labels) if text is None else (labels, texts)
            raise DataError(
                f"{short} ends after {(text or names)[0] - 1} lines but {long} goes on. "
                "Line n of one must belong to line n of the other; fetch both again."
            )
        return decode(text[1]), decode(names[1]).split()

    # One bar for both files: bars are nested, and these two would not close in order.
    lines = zip_longest(read_lines(texts, bad), read_lines(labels, bad, bar=False))
    rows = parsed_rows(enumerate(lines, 1), parse, texts, bad)
    return dataset_of_rows(rows, labels, options)


def _good_lines(
    path: Path, parse: Callable[[str], Parsed], bad: BadLines
) -> tuple[list[int], list[Parsed], int]:
    """(row numbers of the good lines, what `parse` makes of them, how many lines there are)."""
    rows = []
    values = []
    number = 0
    for number, line in read_lines(path, bad):
        try:
            values.append(parse(decode(line)))
            rows.append(number - 1)
        except BadLine as problem:
            bad.add(path, number, problem)
    bad.require_rows(len(rows), path)
    return rows, values, number


def read_npz_folder(files: Files, options: ReadOptions) -> Dataset:
    """X-Transformer and PECOS: texts, a matrix of labels, and features where they are there."""
    path = files[0]
    rows, texts, lines = _good_lines(path, str, options.bad)
    truth = _matrix(files[1], path, lines)
    truth.eliminate_zeros()
    # Label texts: X-Transformer's in Latin-1, PECOS's in UTF-8
    encodings = {"label_map.txt": "latin-1", "output-items.txt": "utf-8", "Z.all.txt": "utf-8"}
    file = next((file for name in encodings if (file := path.with_name(name)).is_file()), None)
    if file is None or options.label_texts is not None:
        labels = labels_by_number(path, truth.shape[1], options)
    else:
        labels = number_names([text.strip() for text in text_lines(file, encodings[file.name])])
    if len(labels) != truth.shape[1]:
        raise DataError(
            f"{file} describes {len(labels)} labels but the matrix has {truth.shape[1]} columns. "
            "To call labels by their numbers, rename it or move it away (in Python, pass "
            "label_texts={})."
        )
    features = _features(path.parent, options.split, path, lines, rows)
    return Dataset(texts, ones(as_csr(truth[rows])), labels, features)


def _matrix(file: Path, texts: Path, lines: int) -> Csr:
    """The matrix of a file, with a row for each line of `texts`."""
    matrix = read_npz(file)
    if matrix.shape[0] != lines:
        raise DataError(
            f"{texts} has {lines} lines but {file} has {matrix.shape[0]} rows. "
            "They must come from the same download."
        )
    return matrix


def _features(folder: Path, split: str, texts: Path, lines: int, rows: list[int]) -> Csr | None:
    """The rows of the feature matrix that belong to the good lines."""
    for name in (f"X.{PARTS[split]}.npz", f"tfidf-attnxml/X.{PARTS[split]}.npz"):
        if (folder / name).is_file():
            return as_csr(_matrix(folder / name, texts, lines)[rows])
    return None


def read_mlc2seq(files: Files, options: ReadOptions) -> Dataset:
    """X-BERT of 2019: lines `id,id<TAB>text`, and `count<TAB>label text` in label_vocab.txt."""
    path = files[0]
    rows, values, lines = _good_lines(path, _mlc2seq_row, options.bad)
    builder = DatasetBuilder(values)
    file = path.with_name("label_vocab.txt")
    count = max(map(int, builder.seen), default=-1) + 1
    if not file.is_file() or options.label_texts is not None:
        labels = labels_by_number(path, options.label_count or count, options)
    else:
        labels = number_names([line.partition("\t")[2].strip() for line in text_lines(file)])
    if count > len(labels):
        raise DataError(
            f"{path} has label id {count - 1} but there are {len(labels)} labels (0 to "
            f"{len(labels) - 1}). Fetch {file.name} again, or fix label_count=..."
        )
    features = _features(path.parent.parent, options.split, path, lines, rows)
    return replace(builder.by_number(labels), features=features)


def _mlc2seq_row(line: str) -> tuple[str, list[Name]]:
    ids, tab, text = line.partition("\t")
    labels = [label.strip() for label in ids.split(",") if label]
    if not tab or not all(map(str.isdecimal, labels)):
        raise BadLine(f"{excerpt(line)} is not id,id<TAB>text.")
    return text, [int(label) for label in labels]


def read_with_label_list(files: Files, options: ReadOptions) -> Dataset:
    """APLC-XLNet: a table of id, text, `name,name`; labels.txt gives the order of the labels."""
    path = files[0]
    if data_path(path).suffix == ".json":
        builder = DatasetBuilder(jsonl_rows(path, options))
    else:
        builder = DatasetBuilder(table_rows(path, _by_position(path, options)))
    options.bad.require_rows(len(builder.texts), path)
    names = [name.strip() for name in text_lines(files[1])] if len(files) > 1 else []
    return builder.named(first=[name for name in names if name])


def _by_position(path: Path, options: ReadOptions) -> ReadOptions:
    """Columns two and three where the header has none of the usual names."""
    header = header_of(path)
    text = options.text_column
    label = options.label_column
    if len(header) == 3 and text is None and not usual_text_columns(header):
        text = header[1]
    if len(header) == 3 and label is None and not usual_label_column(header):
        label = header[2]
    separator = "," if options.label_separator is None else options.label_separator
    return replace(options, text_column=text, label_column=label, label_separator=separator)


def read_with_spaced_labels(files: Files, options: ReadOptions) -> Dataset:
    """GUDN: as APLC-XLNet; names have underscores for spaces, so their texts get the spaces."""
    label_list = files[0].with_name("labels.txt")
    dataset = read_with_label_list(
        (files[0], label_list) if label_list.is_file() else files[:1], options
    )
    texts = tuple(name.replace("_", " ") for name in dataset.labels.names)
    return replace(dataset, labels=LabelSpace(dataset.labels.names, texts))
