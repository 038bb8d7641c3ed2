"""Annif short texts: text, a tab, and the URIs of its subjects in angle brackets."""

from __future__ import annotations

from xmtc.data.bad_lines import BadLine, excerpt
from xmtc.data.builder import Name
from xmtc.data.row import uris


def is_annif(lines: list[str]) -> bool:
    """Whether the first line with a tab has URIs after it."""
    line = next((line for line in lines if "\t" in line), "")
    return line.count("\t") == 1 and bool(uris(line.partition("\t")[2]))


def annif_row(line: str) -> tuple[str, list[Name]]:
    """(text, URIs of its labels)"""
    text, tab, cell = line.partition("\t")
    names = uris(cell)
    if not tab or (cell.strip() and not names):
        raise BadLine(f"{excerpt(line)} is not text<TAB><uri> <uri>.")
    return text.strip(), [*names]
