"""Reads which label stands above which: from a table, from JSON, or from a SKOS thesaurus."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xmtc.core.errors import DataError
from xmtc.data.bad_lines import BadLine, BadLines, excerpt
from xmtc.data.lines import BROKEN_GZIP, data_path, open_bytes, parsed_lines

SKOS = "http://www.w3.org/2004/02/skos/core#"
ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
TRIPLE = re.compile(r"<([^>]*)>\s+<([^>]*)>\s+(?:<([^>]*)>|\"((?:[^\"\\]|\\.)*)\"(?:@([\w-]+))?)")


def read_parents(path: str | Path) -> dict[str, str]:
    """Name -> name of its parent. Of several parents the first one named is taken.

    `.tsv`, `.txt`: a label, a tab and its parent on each line.
    `.json`: an object {label: parent}, or a list of {"name": ..., "parents": [...]}.
    `.nt`: a SKOS thesaurus as N-Triples; concepts are called by their English prefLabel, or by
    their URI where they have none.
    """
    path = Path(path)
    bad = BadLines(strict=True, advice="Fix the line.")
    ending = data_path(path).suffix
    try:
        if ending == ".json":
            pairs = _json_pairs(path)
        elif ending == ".nt":
            pairs = _skos_pairs(path, bad)
        else:
            pairs = parsed_lines(path, _table_pair, bad)
        parents: dict[str, str] = {}
        for child, parent in pairs:
            if child != parent:
                parents.setdefault(child, parent)
        return parents
    except (OSError, *BROKEN_GZIP) as error:
        problem = getattr(error, "strerror", None) or error
        raise DataError(f"cannot read {path}: {problem}") from None


def _table_pair(line: str) -> tuple[str, str]:
    cells = [cell.strip() for cell in line.split("\t")]
    if len(cells) != 2 or not all(cells):
        raise BadLine(
            f"{excerpt(line)} is not a label, a tab and its parent. Leave out labels without a "
            "parent."
        )
    return cells[0], cells[1]


def _json_pairs(path: Path) -> Iterator[tuple[str, str]]:
    with open_bytes(path) as file:
        try:
            items = json.loads(file.read())
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path} is not JSON ({error}).") from None
    if isinstance(items, dict):
        items = [{"name": child, "parent": parent} for child, parent in items.items()]
    if not isinstance(items, list):
        raise DataError(f"{path}: expected an object or a list, got {excerpt(items)}.")
    for item in items:
        name = (item.get("name") or item.get("label")) if isinstance(item, dict) else None
        if not isinstance(name, str):
            raise DataError(f'{path}: {excerpt(item)} has no "name". Give each label one.')
        parents: Any = item.get("parents", item.get("parent"))
        for parent in parents if isinstance(parents, list) else [parents]:
            if not isinstance(parent, str | int | None):
                raise DataError(
                    f"{path}: the parent of {name!r} is {excerpt(parent)}, not the name of a label."
                )
            if parent is not None:
                yield name, str(parent)


def _skos_pairs(path: Path, bad: BadLines) -> Iterator[tuple[str, str]]:
    def unescaped(match: re.Match[str]) -> str:
        code = int(match[1] or match[2] or "0", 16)
        if match[3]:
            return SHORT.get(match[3], match[3])
        return chr(code) if code <= sys.maxunicode else "\ufffd"

    names: dict[str, str] = {}
    broader: list[tuple[str, str]] = []
    for match in parsed_lines(path, _triple, bad):
        if match is None:
            continue
        subject, predicate, target, text, tag = match.groups()
        if predicate == SKOS + "broader" and target:
            broader.append((subject, target))
        elif predicate == SKOS + "narrower" and target:
            broader.append((target, subject))
        elif predicate == SKOS + "prefLabel" and text and tag in (None, "en"):
            names.setdefault(subject, ESCAPED.sub(unescaped, text))
    yield from ((names.get(child, child), names.get(parent, parent)) for child, parent in broader)


def _triple(line: str) -> re.Match[str] | None:
    """None for comments, blank nodes and typed values, which say nothing of parents."""
    match = TRIPLE.match(line)
    if match is None and not line.startswith("#") and "_:" not in line and "^^" not in line:
        raise BadLine(f"{excerpt(line)} is not a triple of N-Triples.")
    return match
