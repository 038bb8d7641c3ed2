"""Annif short texts: text, a tab, and the URIs of its subjects in angle brackets."""

from __future__ import annotations

import re
from pathlib import Path

from xmtc.core.dataset import Dataset
from xmtc.data.bad_lines import BadLine, excerpt
from xmtc.data.builder import DatasetBuilder
from xmtc.data.label_file import finish
from xmtc.data.lines import parsed_lines
from xmtc.data.options import ReadOptions

_URIS = re.compile(r"(<[^<>\s]+>|https?://\S+)(\s+(<[^<>\s]+>|https?://\S+))*")


def read_annif(path: Path, options: ReadOptions) -> Dataset:
    """One text per line; labels are called by their URIs."""
    builder = DatasetBuilder()
    for text, names in parsed_lines(path, _parse, options.bad):
        builder.add(text, names)
    return finish(builder, path, options)


def is_annif(lines: list[str]) -> bool:
    """Whether the first line with a tab has URIs after it."""
    line = next((line for line in lines if "\t" in line), "")
    return line.count("\t") == 1 and bool(uris(line.partition("\t")[2]))


def uris(cell: str) -> list[str]:
    """The URIs of a cell without their brackets; none when it holds anything else."""
    found = _URIS.fullmatch(cell.strip())
    return [word.removeprefix("<").removesuffix(">") for word in cell.split()] if found else []


def _parse(line: str) -> tuple[str, list[str]]:
    text, tab, cell = line.partition("\t")
    names = uris(cell)
    if not tab or (cell.strip() and not names):
        raise BadLine(f"{excerpt(line)} is not text<TAB><uri> <uri>.")
    return text.strip(), names
