"""Annif short texts: text, a tab, and the URIs of its subjects in angle brackets."""

from __future__ import annotations

from pathlib import Path

from xmtc.core.dataset import Dataset
from xmtc.data.bad_lines import BadLine, excerpt
from xmtc.data.label_space import dataset_of_rows
from xmtc.data.lines import parsed_lines
from xmtc.data.options import ReadOptions
from xmtc.data.row import uris


def read_annif(path: Path, options: ReadOptions) -> Dataset:
    """One text per line; labels are called by their URIs."""
    return dataset_of_rows(parsed_lines(path, _text_and_uris, options.bad), path, options)


def is_annif(lines: list[str]) -> bool:
    """Whether the first line with a tab has URIs after it."""
    line = next((line for line in lines if "\t" in line), "")
    return line.count("\t") == 1 and bool(uris(line.partition("\t")[2]))


def _text_and_uris(line: str) -> tuple[str, list[str]]:
    text, tab, cell = line.partition("\t")
    names = uris(cell)
    if not tab or (cell.strip() and not names):
        raise BadLine(f"{excerpt(line)} is not text<TAB><uri> <uri>.")
    return text.strip(), names
