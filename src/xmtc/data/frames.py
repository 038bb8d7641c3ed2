"""Data sets from lists and from tables: pandas and polars frames, Hugging Face datasets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.core.provenance import Reading
from xmtc.data.bad_lines import BadLine
from xmtc.data.builder import DatasetBuilder
from xmtc.data.row import columns_of, labels_of, text_of


def dataset_of(
    texts: Any,
    labels: Iterable[Any] | None = None,
    *,
    label_texts: dict[str, str] | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    label_separator: str | None = None,
) -> Dataset:
    """What `Dataset.of` does: texts with a list of labels for each, or a table of both."""
    if isinstance(texts, str):
        raise DataError("expected a list of texts, got a string. Put the one text into a list.")
    columns: tuple[str, ...] = ("text",)
    class_names: list[str] = []
    if labels is None:
        reading = Reading(text_column=text_column, label_column=label_column)
        columns, label = columns_of(_column_names(texts), reading, type(texts).__name__)
        class_names = _class_names(texts, label)
        labels = texts[label]
        rows = list(zip(*(texts[column] for column in columns), strict=True))
    else:
        rows = [(text,) for text in texts]
    cells = list(labels)
    if len(rows) != len(cells):
        raise DataError(f"{len(rows)} texts but labels for {len(cells)}. Give each text a list.")
    builder = DatasetBuilder()
    for position, (row, cell) in enumerate(zip(rows, cells, strict=True)):
        try:
            text = text_of(dict(zip(columns, row, strict=True)), columns)
            builder.add(text, labels_of(_as_json(cell, class_names), label_separator))
        except BadLine as problem:
            raise DataError(f"row {position}: {problem}") from None
    dataset = builder.named()
    if not label_texts:
        return dataset
    return replace(dataset, labels=dataset.labels.with_texts(label_texts))


def _column_names(table: Any) -> list[str]:
    """Hugging Face has a list `column_names`; a frame may have a column of that name."""
    names = getattr(table, "column_names", None)
    names = names if isinstance(names, list) else getattr(table, "columns", None)
    if names is None:
        raise DataError(
            f"Dataset.of got a {type(table).__name__} and no labels. Give texts and a list of "
            "labels for each, or a pandas, polars or Hugging Face table."
        )
    return [str(name) for name in names]


def _class_names(table: Any, column: str) -> list[str]:
    """Hugging Face has class names for columns of integers; other tables have none."""
    features = getattr(table, "features", None)
    feature = features.get(column) if isinstance(features, dict) else None
    feature = getattr(feature, "feature", feature)
    return list(getattr(feature, "names", None) or [])


def _as_json(cell: Any, class_names: list[str]) -> Any:
    """The labels of a row as JSON has them: None where missing, lists, Python's own numbers."""
    if cell is None or (isinstance(cell, float) and np.isnan(cell)):
        return None
    several = isinstance(cell, Iterable) and not isinstance(cell, str | bytes | Mapping)
    items = list(cell) if several else [cell]
    items = [item.item() if isinstance(item, np.generic) else item for item in items]
    if class_names:
        return [class_names[number] for number in items if number >= 0]  # -1: not labelled
    return items if several else items[0]
