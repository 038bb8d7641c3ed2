"""Takes the text and the labels out of one row: a JSON object, a table's row, a frame's row."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from xmtc.core.errors import DataError, did_you_mean
from xmtc.core.provenance import Reading
from xmtc.data.bad_lines import BadLine, excerpt
from xmtc.data.builder import Name
from xmtc.data.lines import decode

# subject_uris: Annif's CSV files
LABEL_COLUMNS = ("labels", "label", "target_ind", "tags", "subjects", "subject_uris")
SEPARATORS = (";", "|", ",")  # tried in this order
_PRINTED_ARRAY = re.compile(r"""(['"])\s+\1""")
_URIS = re.compile(r"(<[^<>\s]+>|https?://\S+)(\s+(<[^<>\s]+>|https?://\S+))*")


class Columns(NamedTuple):
    """Which fields or columns of a row are read."""

    texts: tuple[str, ...]  # several are one text, with a space between
    labels: str | None  # None: rows to tag


def columns_of(
    names: Collection[str], reading: Reading, path: object = None, labelled: bool = True
) -> Columns:
    """The columns asked for, or else those with the usual names.

    path: of a table, which cannot be read without them; None: of one row that can be skipped.
    labelled: whether labels are needed; rows to tag have none.
    """
    asked = reading.text_column
    texts = usual_text_columns(names) if asked is None else (asked,) if asked in names else ()
    if not texts:
        raise _no_column(asked or "text", names, "text_column=...", path)
    asked = reading.label_column
    label = asked if asked in names else None if asked else usual_label_column(names)
    if labelled and label is None:
        advice = "label_column=...; a text without labels has an empty list or cell there."
        raise _no_column(asked or "labels", names, advice, path)
    return Columns(texts, label if labelled else None)


def usual_text_columns(names: Collection[str]) -> tuple[str, ...]:
    """`text`; or `title` and `content`; or another that texts are usually in; or none."""
    for columns in (("text",), ("title", "content"), ("document",), ("abstract",)):
        if found := tuple(name for name in columns if name in names):
            return found
    return ()


def usual_label_column(names: Collection[str]) -> str | None:
    """The first of the names that labels usually have."""
    return next((name for name in LABEL_COLUMNS if name in names), None)


def _no_column(wanted: str, names: Collection[str], advice: str, path: object) -> Exception:
    hint = did_you_mean(wanted, names).rstrip("?")
    what = f"no column {wanted!r} among {', '.join(names) or 'none'}{hint}. Pass {advice}"
    return BadLine(what) if path is None else DataError(f"{path}: {what}")


def text_of(row: Mapping[str, Any], columns: tuple[str, ...]) -> str:
    """The text of a row."""
    if len(columns) > 1:
        return " ".join(text_of(row, (column,)) for column in columns if row[column] != "")
    text = row[columns[0]]
    if isinstance(text, str):
        return text
    raise BadLine(f'{columns[0]!r} is {excerpt(text)}, not a string. Write "" for none.')


def labels_of(value: Any, separator: str | None) -> list[Name]:
    """Labels as JSON, Parquet and frames give them: a list of names or numbers, or one of them.

    A single string is cut only where a separator is given.
    """
    if isinstance(value, list):
        return [item if type(item) is str else _name(item) for item in value]
    if isinstance(value, str) and separator is not None:
        return labels_of_cell(value, separator)
    return [] if value is None else [_name(value)]


def _name(item: Any) -> Name:
    if isinstance(item, str) or (isinstance(item, int) and not isinstance(item, bool)):
        return item
    if isinstance(item, dict):  # Annif: {"uri": ..., "label": ...}
        for key in ("label", "uri"):
            if isinstance(item.get(key), str):
                return str(item[key])
    raise BadLine(f"the label {excerpt(item)} is neither a name nor a number.")


def labels_of_cell(cell: str, separator: str) -> list[Name]:
    """The labels in a cell of text: a list, URIs, or names between separators.

    Names lose the space around them; empty ones are dropped.
    """
    items = _list_in(cell.strip())
    if items is not None:
        return labels_of(items, None)
    if found := uris(cell):
        return list(found)
    names = cell.split(separator) if separator else [cell]
    return [name for name in map(str.strip, names) if name]


def find_separator(cells: Iterable[str]) -> str:
    """The first of `;`, `|` and `,` that occurs in a cell that is not a list; "" if none does."""
    plain = [cell for cell in cells if not cell.lstrip().startswith(("[", "<"))]
    return next((mark for mark in SEPARATORS if any(mark in cell for cell in plain)), "")


def uris(cell: str) -> list[str]:
    """The URIs of a cell without their brackets; none when it holds anything else."""
    found = _URIS.fullmatch(cell.strip())
    return [word.removeprefix("<").removesuffix(">") for word in cell.split()] if found else []


def _list_in(cell: str) -> list[Any] | None:
    """The JSON list that the cell holds, or the Python list, as pandas writes it."""
    if not (cell.startswith("[") and cell.endswith("]")):
        return None
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # odd backslashes in a label
                value = ast.literal_eval(cell)  # only literals are read, nothing is run
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
        if _PRINTED_ARRAY.search(cell):
            raise BadLine(
                f"{excerpt(cell)} is a printed array. Write lists with json.dumps."
            ) from None
    return value if isinstance(value, list) else None


def parse_json(line: str, **how: Any) -> Any:
    """The value in a line of JSON; `how` goes to `json.loads`."""
    try:
        return json.loads(line, **how)
    except (ValueError, RecursionError) as problem:
        raise BadLine(f"not JSON ({problem}): {excerpt(line)}.") from None


def text_row(line: bytes, text_column: str | None = None) -> dict[str, Any]:
    """{"text": ...} of a line to tag: a JSON object, whose id or uid is added, or a plain text."""
    text = decode(line).removeprefix("\ufeff")
    if not text.lstrip().startswith("{"):
        return {"text": text}

    def refuse(constant: str) -> None:
        raise ValueError(f"it has {constant}")

    row = parse_json(text, parse_constant=refuse)
    columns = columns_of(row, Reading(text_column=text_column), labelled=False)
    ids = {name: row[name] for name in ("id", "uid") if name in row}
    return {**ids, "text": text_of(row, columns.texts)}
