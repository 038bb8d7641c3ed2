"""Labels that share one cell of a table: a list, URIs, or names between separators."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable
from typing import Any

from xmtc.data.bad_lines import BadLine, excerpt
from xmtc.data.builder import Name
from xmtc.data.formats.annif import uris
from xmtc.data.row import names_of

SEPARATORS = (";", "|", ",")  # tried in this order
_PRINTED_ARRAY = re.compile(r"""(['"])\s+\1""")


def find_separator(cells: Iterable[str]) -> str:
    """The first of `;`, `|` and `,` that occurs in a cell that is not a list; "" if none does."""
    plain = [cell for cell in cells if not cell.lstrip().startswith(("[", "<"))]
    return next((mark for mark in SEPARATORS if any(mark in cell for cell in plain)), "")


def labels_of_cell(cell: str, separator: str) -> list[Name]:
    """The labels in a cell; names lose the space around them, empty ones are dropped."""
    items = list_in(cell)
    if items is not None:
        return names_of(items)
    if found := uris(cell):
        return list(found)
    names = cell.split(separator) if separator else [cell]
    return [name for name in map(str.strip, names) if name]


def labels_of(value: Any, separator: str | None) -> list[Name]:
    """Labels from JSON or Parquet; a single string is cut only where a separator is given."""
    if isinstance(value, str) and separator is not None:
        return labels_of_cell(value, separator)
    return names_of(value)


def list_in(cell: str) -> list[Any] | None:
    """The JSON or Python list that the cell holds, if it holds one."""
    cell = cell.strip()
    if not (cell.startswith("[") and cell.endswith("]")):
        return None
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        value = _python_list(cell)
    return value if isinstance(value, list) else None


def _python_list(cell: str) -> Any:
    """What pandas writes for a list; only literals are read, nothing is run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd backslashes in a label
            value = ast.literal_eval(cell)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    if _PRINTED_ARRAY.search(cell):
        raise BadLine(f"{excerpt(cell)} is a printed array. Write lists with json.dumps.")
    return value
