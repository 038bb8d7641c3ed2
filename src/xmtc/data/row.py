"""Takes the text and the labels out of one row that has named fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from xmtc.core.dataset import LABEL_COLUMNS, text_fields
from xmtc.core.errors import DataError, did_you_mean
from xmtc.data.bad_lines import BadLine, excerpt
from xmtc.data.builder import Name

__all__ = ["columns", "label_field", "names_of", "no_column", "text_fields", "text_of"]

LABEL_FIELDS = (*LABEL_COLUMNS, "subject_uris")  # Annif's CSV files say subject_uris


def label_field(names: Iterable[str], asked: str | None) -> str:
    """The field that holds the labels; "" when there is none."""
    known = list(names)
    return next((name for name in ((asked,) if asked else LABEL_FIELDS) if name in known), "")


def columns(
    names: list[str], text: str | None, label: str | None, place: object
) -> tuple[tuple[str, ...], str]:
    """Which columns of a table hold the text and the labels."""
    texts = text_fields(names, text)
    labels = label_field(names, label)
    if not texts:
        raise DataError(f"{place}: {no_column(text or 'text', names, 'text_column')}")
    if not labels:
        raise DataError(f"{place}: {no_column(label or 'labels', names, 'label_column')}")
    return texts, labels


def no_column(wanted: str, names: list[str], option: str) -> str:
    """What to say when a table lacks a column."""
    hint = did_you_mean(wanted, names).rstrip("?")
    return f"no column {wanted!r} among {', '.join(names)}{hint}. Pass {option}=..."


def text_of(row: Mapping[str, Any], fields: tuple[str, ...]) -> str:
    """The text of a row."""
    if len(fields) > 1:
        return " ".join(text_of(row, (field,)) for field in fields if row[field] != "")
    text = row[fields[0]]
    if isinstance(text, str):
        return text
    raise BadLine(f'{fields[0]!r} is {excerpt(text)}, not a string. Write "" for none.')


def names_of(value: Any) -> list[Name]:
    """Labels as JSON or Parquet give them: a list of names or numbers, or one of them."""
    if value is None:
        return []
    if not isinstance(value, list):
        return [_name(value)]
    return [item if type(item) is str else _name(item) for item in value]


def _name(item: Any) -> Name:
    if isinstance(item, str) or (isinstance(item, int) and not isinstance(item, bool)):
        return item
    if isinstance(item, dict):  # Annif: {"uri": ..., "label": ...}
        for key in ("label", "uri"):
            if isinstance(item.get(key), str):
                return str(item[key])
    raise BadLine(f"the label {excerpt(item)} is neither a name nor a number.")
