"""How results look: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from xmtc.core.escape import printable

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")

int8_option = click.option(
    "--int8",
    is_flag=True,
    help="The encoder reads with 8-bit weights: faster, a little less exact.",
)


def print_json(value: Any) -> None:
    """One line of JSON on standard output."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        line.encode()
    except UnicodeEncodeError:  # half a character: spelt out, as it came in
        line = json.dumps(value, allow_nan=False)
    click.echo(line)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None, words: int = 1
) -> None:
    """A table; the first `words` columns are text, the others numbers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
    )
    for place, column in enumerate(columns):
        is_text = place < words
        table.add_column(
            _plain(column), justify="left" if is_text else "right", no_wrap=not is_text
        )
    for row in rows:
        table.add_row(*map(_plain, row))
    # A table that goes into a file is not folded to 80 columns.
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table)
    console.print()


def _plain(cell: str) -> str:
    from rich.markup import escape

    return escape(printable(cell))


def counted(number: int, thing: str) -> str:
    """How many there are: "1 label", "2,000 labels"."""
    return f"{number:,} {thing if number == 1 else f'{thing}s'}"


def megabytes(size: int) -> str:
    """Bytes as MB, or kB where that would be 0."""
    if size < 1e5:
        return f"{size / 1e3:.1f} kB"
    return f"{size / 1e6:.1f} MB" if size < 1e8 else f"{size / 1e6:,.0f} MB"


def seconds(duration: float) -> str:
    """A duration that is easy to read."""
    return f"{duration:.1f} s" if duration < 120 else f"{duration / 60:.1f} min"
