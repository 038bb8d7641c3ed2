"""Reads one part of a published system's folder from the files that were found in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from xmtc.core.arrays import Csr, as_csr
from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.core.labels import LabelSpace
from xmtc.data.bad_lines import BadLine, BadLines, excerpt
from xmtc.data.builder import DatasetBuilder, number_names, ones
from xmtc.data.formats.jsonl import add_jsonl
from xmtc.data.formats.sparse_pairs import read_npz
from xmtc.data.formats.table import add_table, header_of
from xmtc.data.label_file import finish, labels_by_number, require_rows, text_lines
from xmtc.data.lines import data_path, decode, read_lines
from xmtc.data.options import ReadOptions
from xmtc.data.row import label_field, text_fields

Files = tuple[Path, ...]
PARTS = {"train": "trn", "test": "tst", "validation": "val"}


def read_label_lines(files: Files, options: ReadOptions) -> Dataset:
    """AttentionXML and LightXML: a text per line in one file, its label words in the other."""
    builder = DatasetBuilder()
    for text, words in _side_by_side(files[0], files[1], options.bad):
        builder.add(text, words.split())
    return finish(builder, files[1], options)


def _side_by_side(texts: Path, labels: Path, bad: BadLines) -> Iterator[tuple[str, str]]:
    """Line n of both files, for every n; bytes that are not UTF-8 in either are a bad line."""
    # One bar for both files: bars are nested, and these two would not close in order.
    for rows, (first, second) in enumerate(
        zip_longest(read_lines(texts, bad), read_lines(labels, bad, bar=False))
    ):
        if first is None or second is None:
            short, long = (texts, labels) if first is None else (labels, texts)
            raise DataError(
                f"{short} ends after {rows} lines but {long} goes on. "
                "Line n of one must belong to line n of the other; fetch both again."
            )
        try:
            yield decode(first[1]), decode(second[1])
        except BadLine as problem:
            bad.add(texts, rows + 1, problem)


def read_npz_folder(files: Files, options: ReadOptions) -> Dataset:
    """X-Transformer and PECOS: texts, a matrix of labels, and features where they are there."""
    folder = files[1].parent
    truth = read_npz(files[1])
    rows, texts = _numbered_texts(files[0], options.bad)
    require_rows(len(rows), files[0], options.bad)
    if truth.shape[0] != rows[-1] + 1:
        raise DataError(
            f"{files[0]} has {rows[-1] + 1} lines but {files[1]} has {truth.shape[0]} rows. "
            "They must come from the same download."
        )
    truth.eliminate_zeros()
    labels = _numbered_labels(folder, files[0], truth.shape[1], options)
    features = _features(folder, options.split, truth.shape[0], rows)
    return Dataset(texts, ones(as_csr(truth[rows])), labels, features)


def _numbered_texts(path: Path, bad: BadLines) -> tuple[list[int], list[str]]:
    """(row numbers from 0, texts) of the lines that are UTF-8."""
    rows = []
    texts = []
    for number, line in read_lines(path, bad):
        try:
            texts.append(decode(line))
            rows.append(number - 1)
        except BadLine as problem:
            bad.add(path, number, problem)
    return rows, texts


def _numbered_labels(folder: Path, data: Path, count: int, options: ReadOptions) -> LabelSpace:
    """Label texts from `label_map.txt` (Latin-1), or PECOS's `output-items.txt`."""
    names = {"label_map.txt": "latin-1", "output-items.txt": None, "Z.all.txt": None}
    file = next((folder / name for name in names if (folder / name).is_file()), None)
    if file is None or options.label_texts is not None:
        return labels_by_number(data, count, options)
    texts = [text.strip() for text in text_lines(file, names[file.name])]
    if len(texts) != count:
        raise DataError(
            f"{file} describes {len(texts)} labels but the matrix has {count} columns. "
            "To call labels by their numbers, rename it or move it away (in Python, pass "
            "label_texts={})."
        )
    return number_names(texts)


def _features(folder: Path, split: str, lines: int, rows: list[int]) -> Csr | None:
    """The rows of the feature matrix that belong to the texts we kept."""
    part = PARTS[split]
    names = (f"X.{part}.npz", f"tfidf-attnxml/X.{part}.npz")
    file = next((folder / name for name in names if (folder / name).is_file()), None)
    if file is None:
        return None
    features = read_npz(file)
    if features.shape[0] != lines:
        raise DataError(f"{file} has {features.shape[0]} rows but there are {lines} texts.")
    return as_csr(features[rows])


def read_mlc2seq(files: Files, options: ReadOptions) -> Dataset:
    """X-BERT of 2019: lines `id,id<TAB>text`, and `count<TAB>label text` in label_vocab.txt."""
    path = files[0]
    builder = DatasetBuilder()
    rows = []
    number = 0
    for number, line in read_lines(path, options.bad):
        try:
            builder.add(*_mlc2seq_row(decode(line)))
            rows.append(number - 1)
        except BadLine as problem:
            options.bad.add(path, number, problem)
    require_rows(len(rows), path, options.bad)
    dataset = builder.by_number(_vocabulary(path, builder, options))
    return replace(dataset, features=_features(path.parent.parent, options.split, number, rows))


def _mlc2seq_row(line: str) -> tuple[str, list[int]]:
    ids, tab, text = line.partition("\t")
    try:
        labels = [int(label) for label in ids.split(",") if label]
    except ValueError:
        labels = [-1]
    if not tab or any(label < 0 for label in labels):
        raise BadLine(f"{excerpt(line)} is not id,id<TAB>text.")
    return text, labels


def _vocabulary(path: Path, builder: DatasetBuilder, options: ReadOptions) -> LabelSpace:
    file = path.with_name("label_vocab.txt")
    most = max(map(int, builder.seen), default=-1) + 1
    if not file.is_file() or options.label_texts is not None:
        return labels_by_number(path, options.label_count or most, options)
    texts = [line.partition("\t")[2].strip() for line in text_lines(file)]
    if most > len(texts):
        raise DataError(f"{path} has label id {most - 1} but {file} has {len(texts)} lines.")
    return number_names(texts)


def read_with_label_list(files: Files, options: ReadOptions) -> Dataset:
    """APLC-XLNet: a table of id, text, `name,name`; labels.txt gives the order of the labels."""
    builder = DatasetBuilder()
    if data_path(files[0]).suffix == ".json":
        add_jsonl(builder, files[0], options)
    else:
        add_table(builder, files[0], _by_position(files[0], options))
    require_rows(len(builder.texts), files[0], options.bad)
    listed = [name.strip() for name in text_lines(files[1])] if len(files) > 1 else []
    return builder.named(first=[name for name in listed if name])


def read_with_spaced_labels(files: Files, options: ReadOptions) -> Dataset:
    """GUDN: as APLC-XLNet; names have underscores for spaces, so their texts get the spaces."""
    beside = files[0].with_name("labels.txt")
    files = (files[0], beside) if beside.is_file() else files[:1]
    dataset = read_with_label_list(files, options)
    texts = tuple(name.replace("_", " ") for name in dataset.labels.names)
    return replace(dataset, labels=LabelSpace(dataset.labels.names, texts))


def _by_position(path: Path, options: ReadOptions) -> ReadOptions:
    """Columns two and three where the header has none of the usual names."""
    header = header_of(path)
    text = options.text_column
    label = options.label_column
    if len(header) == 3 and not text_fields(header, text):
        text = header[1]
    if len(header) == 3 and not label_field(header, label):
        label = header[2]
    separator = "," if options.label_separator is None else options.label_separator
    return replace(options, text_column=text, label_column=label, label_separator=separator)
