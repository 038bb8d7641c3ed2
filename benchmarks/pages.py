"""The measured tables of docs/, from records and the column lists of pages.toml.

Tables of finished ablations are made from their records too; their claims are those of the records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import results_page
from benchmarks.catalog import EXPERIMENTS
from benchmarks.experiment import KS, Result, Row, Rows
from benchmarks.record import Record, records
from benchmarks.render import (
    PAGES,
    Column,
    captions,
    filled,
    recorded_results,
    results_table,
    table,
)
from xmtc.core.config import read_toml

ENDS = ("low", "high")
Cells = Sequence[tuple[Row, Record]]  # rows, and the record that each is from


@dataclass(frozen=True)
class Table:
    """One table of a generated part of a page."""

    page: str  # below docs/
    mark: str
    record: str
    columns: tuple[Column, ...]
    title: str = ""  # a template of the rows' figures
    systems: Sequence[str] = ()
    key: Sequence[str] = ("data", "system")
    where: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    without: Sequence[str] = ()  # parts whose rows are left out
    above: str = ""  # a system: rows have the difference to it as `P@1 above` and so on
    claims: str = "records"

    def cells(self) -> Cells:
        """The rows that are shown."""
        found = records(self.record)
        if not self.systems:
            return [(row, found[0]) for row in found[0]["measurements"]] if found else []
        chosen: dict[tuple[Any, ...], tuple[Row, Record]] = {}
        for record in found:
            for row in record["measurements"]:
                if self.wants(row):
                    chosen.setdefault(tuple(row.get(name) for name in self.key), (row, record))
        place = self.systems.index

        def order(cell: tuple[Row, Record]) -> tuple[str, int, int]:
            return cell[0]["data"], cell[0].get("trees") or 1, place(cell[0]["system"])

        return sorted(chosen.values(), key=order)

    def wants(self, row: Row) -> bool:
        """Whether a row is one of these; a model that was trained by changed code is not shown."""
        there = row.get("system") in self.systems and not row.get("trained_dirty")
        return there and all(row.get(name) in values for name, values in self.where.items())

    def text(self, cells: Cells) -> str:
        """Title and table."""
        rows = [{"version": ""} | row | ends(row) for row, _ in cells]
        if self.above:
            rows = compared(rows, self.above)
        merged: Row = {}
        for row in reversed(rows):
            merged |= row
        shown = [row for row in rows if row.get("what") not in self.without]
        parts = [filled(self.title, merged) or "", table(self.columns, shown, merged=True)]
        return "\n\n".join(part for part in parts if part)

    def results(self, cells: Cells) -> list[Result]:
        """The claims below it."""
        if self.claims == "none":
            return []
        if self.claims == "experiment":
            return EXPERIMENTS[self.record].results([row for row, _ in cells if "key" in row])
        return recorded_results(record for _, record in cells)


def read_tables(path: Path = PAGES) -> list[Table]:
    """All tables, with their columns by name or as head and template."""
    values = read_toml(path)
    named = {name: Column(*column) for name, column in values["columns"].items()}
    tables = []
    for each in values["table"]:
        columns = each.pop("columns")
        made = [named[name] if isinstance(name, str) else Column(*name) for name in columns]
        tables.append(Table(**each, columns=tuple(made)))
    return tables


def compared(rows: Rows, system: str) -> list[Row]:
    """Rows with the points and the percent that P@k is above that of a system."""
    base = {row["data"]: row for row in rows if row["system"] == system}
    found = []
    for row in rows:
        other = base.get(row["data"], row)
        more = {}
        for name in (f"P@{k}" for k in KS):
            if other is not row:
                more[f"{name} above"] = row[name] - other[name]
                more[f"{name} percent"] = 100 * (row[name] / other[name] - 1)
        found.append(row | more)
    return found


def ends(row: Row) -> Row:
    """The ends of a row's intervals, as `P@1 low` and `P@1 high`."""
    found = row.get("intervals", {}).items()
    return {
        f"{name} {end}": value
        for name, pair in found
        for end, value in zip(ENDS, pair, strict=True)
    }


def texts() -> dict[tuple[str, str], str]:
    """(page below docs/, mark) -> the generated text."""
    tables: dict[tuple[str, str], list[Table]] = {}
    for each in read_tables():
        tables.setdefault((each.page, each.mark), []).append(each)
    made = {place: part(each) for place, each in tables.items()}
    return made | results_page.texts()


def part(tables: Sequence[Table]) -> str:
    """The tables of one mark, their claims, and where they come from."""
    found = [(each, cells) for each in tables if (cells := each.cells())]
    if not found:
        return f"*Not measured yet: `python -m benchmarks {tables[0].record}`.*"
    every = [cell for _, cells in found for cell in cells]
    results = tables[0].results(every)
    parts = [each.text(cells) for each, cells in found]
    claims = [results_table(results)] if results else []
    return "\n\n".join([*parts, *claims, captions(record for _, record in every)])
