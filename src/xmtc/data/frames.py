"""Data sets from lists and from tables: pandas and polars frames, Hugging Face datasets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.core.provenance import Reading
from xmtc.data.bad_lines import BadLine
from xmtc.data.builder import DatasetBuilder, Name
from xmtc.data.row import columns_of, labels_of, text_of


def dataset_of(
    texts: Any,
    labels: Iterable[Any] | None = None,
    label_texts: dict[str, str] | None = None,
    reading: Reading | None = None,
) -> Dataset:
    """What `Dataset.of` does: texts with a list of labels for each, or a table of both."""
    if isinstance(texts, str):
        raise DataError("expected a list of texts, got a string. Put the one text into a list.")
    reading = reading or Reading()
    if labels is None:
        columns, rows, cells = _table(texts, reading)
    else:
        columns = ("text",)
        rows = [(text,) for text in texts]
        cells = list(map(_as_json, labels))
    if len(rows) != len(cells):
        raise DataError(f"{len(rows)} texts but labels for {len(cells)}. Give each text a list.")

    def parsed() -> Iterator[tuple[str, list[Name]]]:
        for position, (row, cell) in enumerate(zip(rows, cells, strict=True)):
            try:
                text = text_of(dict(zip(columns, row, strict=True)), columns)
                yield text, labels_of(cell, reading.label_separator)
            except BadLine as problem:
                raise DataError(f"row {position}: {problem}") from None

    dataset = DatasetBuilder(parsed()).named()
    space = dataset.labels.with_texts(label_texts) if label_texts else dataset.labels
    return replace(dataset, labels=space)


def _table(
    table: Any, reading: Reading
) -> tuple[tuple[str, ...], list[tuple[Any, ...]], list[Any]]:
    """(text columns, their cells in each row, the labels of each row)."""
    names = getattr(table, "column_names", None)  # Hugging Face, or a frame's column of that name
    names = names if isinstance(names, list) else getattr(table, "columns", None)
    if names is None:
        raise DataError(
            f"Dataset.of got a {type(table).__name__} and no labels. Give texts and a list of "
            "labels for each, or a pandas, polars or Hugging Face table."
        )
    texts, label = columns_of(list(map(str, names)), reading, type(table).__name__)
    rows = list(zip(*(table[column] for column in texts), strict=True))
    cells = list(map(_as_json, table[label]))
    features = getattr(table, "features", None)  # Hugging Face: what the columns hold
    feature = features.get(label) if isinstance(features, dict) else None
    class_names = getattr(getattr(feature, "feature", feature), "names", None)
    if class_names:
        lists = (
            [] if cell is None else cell if isinstance(cell, list) else [cell] for cell in cells
        )
        # -1: not labelled
        cells = [[class_names[number] for number in each if number >= 0] for each in lists]
    return texts, rows, cells


def _as_json(cell: Any) -> Any:
    """The labels of a row as JSON has them: None where missing, lists, Python's own numbers."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if cell is None or (isinstance(cell, float) and np.isnan(cell)):
        return None
    if isinstance(cell, str | bytes | Mapping) or not isinstance(cell, Iterable):
        return cell
    return [item.item() if isinstance(item, np.generic) else item for item in cell]
