"""Makes a data set of the rows of a file: what its labels are called and which texts they have."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.core.labels import LabelSpace
from xmtc.data.builder import DatasetBuilder, Name
from xmtc.data.label_file import LabelFile, label_file_for, without_label_file
from xmtc.data.options import ReadOptions

MAX_LABELS = 20_000_000  # one wrong digit must not make us name two thousand million labels


def dataset_of_rows(
    rows: Iterable[tuple[str, Sequence[Name]]], path: Path, options: ReadOptions
) -> Dataset:
    """The rows that were read from `path`, with the label texts given or found next to it."""
    builder = DatasetBuilder(rows)
    options.bad.require_rows(len(builder.texts), path)
    file = label_file_for(path, options)
    count = options.label_count
    if count is None and file is not None and not file.numbered:
        count = len(file.texts)
    if count is not None and builder.numbered():
        wrong = next((name for name in builder.seen if not 0 <= int(name) < count), None)
        if wrong is None:
            return builder.by_number(_numbered_space(path, file, count, options))
        row = bisect_right(builder.rows.ends, builder.rows.ids.index(builder.seen[wrong]))
        promise = f"{file.path} describes" if file else "label_count promises"
        raise DataError(
            f"{path}: text {row} has label id {wrong} but {promise} {count} labels (0 to "
            f"{count - 1}). Fix the id. {without_label_file(file.path) if file else ''}".rstrip()
        )
    dataset = builder.named()
    return replace(dataset, labels=_with_texts(dataset.labels, file, options))


def labels_by_number(path: Path, count: int, options: ReadOptions) -> LabelSpace:
    """`count` numbered labels, called by their texts where a file next to `path` has them."""
    return _numbered_space(path, label_file_for(path, options), count, options)


def _numbered_space(
    path: Path, file: LabelFile | None, count: int, options: ReadOptions
) -> LabelSpace:
    if count > MAX_LABELS:
        raise DataError(
            f"{path}: label id {count - 1} is too large to be the number of a label. Number the "
            "labels from 0, or write them as names."
        )
    if file is None or file.numbered:
        return _with_texts(LabelSpace(tuple(map(str, range(count)))), file, options)
    if len(file.texts) != count:
        raise DataError(
            f"{file.path} describes {len(file.texts)} labels but {path} has {count}. "
            f"{without_label_file(file.path)}"
        )
    return file.space()


def _with_texts(labels: LabelSpace, file: LabelFile | None, options: ReadOptions) -> LabelSpace:
    """The same labels with the texts given, or those of the file; None if no label has one."""
    given = options.label_texts if isinstance(options.label_texts, Mapping) else {}
    texts = dict(given) or (file.text_of_name() if file else {})
    return labels.with_texts(texts) if any(name in texts for name in labels.names) else labels
