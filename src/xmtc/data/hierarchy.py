"""Reads which label stands above which: from a table, from JSON, or from a SKOS thesaurus."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xmtc.core.errors import DataError
from xmtc.data.bad_lines import excerpt
from xmtc.data.lines import BROKEN_GZIP, data_path, open_bytes

SKOS = "http://www.w3.org/2004/02/skos/core#"
ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
TRIPLE = re.compile(r"<([^>]*)>\s+<([^>]*)>\s+(?:<([^>]*)>|\"((?:[^\"\\]|\\.)*)\"(?:@([\w-]+))?)")


def read_parents(path: str | Path, language: str = "en") -> dict[str, str]:
    """Name -> name of its parent. Of several parents the first one named is taken.

    `.tsv`, `.txt`: a label, a tab and its parent on each line.
    `.json`: an object {label: parent}, or a list of {"name": ..., "parents": [...]}.
    `.nt`: a SKOS thesaurus as N-Triples; concepts are called by their prefLabel in `language`, or
    by their URI where they have none.
    """
    path = Path(path)
    try:
        if data_path(path).suffix == ".json":
            return _from_json(path)
        pairs = _from_skos(path, language) if data_path(path).suffix == ".nt" else _from_table(path)
        return _first(pairs)
    except (OSError, *BROKEN_GZIP) as error:
        said = getattr(error, "strerror", None) or error
        raise DataError(f"cannot read {path}: {said}") from None


def _first(pairs: Iterator[tuple[str, str]]) -> dict[str, str]:
    parents: dict[str, str] = {}
    for child, parent in pairs:
        if child != parent:
            parents.setdefault(child, parent)
    return parents


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with open_bytes(path) as file:
        for number, line in enumerate(file, 1):
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                raise DataError(f"{path}:{number}: not UTF-8. Convert the file.") from None


def _from_table(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in _lines(path):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != 2 or not all(cell.strip() for cell in cells):
            raise DataError(
                f"{path}:{number}: {excerpt(line)} is not a label, a tab and its parent. "
                "Leave out labels without a parent."
            )
        yield cells[0].strip(), cells[1].strip()


def _from_json(path: Path) -> dict[str, str]:
    with open_bytes(path) as file:
        try:
            value = json.loads(file.read())
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path} is not JSON ({error}).") from None
    if isinstance(value, dict):
        items = ({"name": child, "parent": parent} for child, parent in value.items())
        return _first(pair for item in items for pair in _of_item(path, item))
    if isinstance(value, list):
        return _first(pair for item in value for pair in _of_item(path, item))
    raise DataError(f"{path} holds neither an object nor a list.")


def _of_item(path: Path, item: Any) -> Iterator[tuple[str, str]]:
    name = (item.get("name") or item.get("label")) if isinstance(item, dict) else None
    if not isinstance(name, str):
        raise DataError(f'{path}: {excerpt(item)} has no "name". Give each label one.')
    parents = item.get("parents", item.get("parent"))
    for parent in parents if isinstance(parents, list) else [parents]:
        if not isinstance(parent, str | int | None):
            raise DataError(f"{path}: {excerpt(parent)} is not the name of a parent of {name!r}.")
        if parent is not None:
            yield name, str(parent)


def _from_skos(path: Path, language: str) -> Iterator[tuple[str, str]]:
    names: dict[str, str] = {}
    broader: list[tuple[str, str]] = []
    for number, line in _lines(path):
        if not line.strip() or line.startswith("#"):
            continue
        match = TRIPLE.match(line)
        if match is None and "_:" not in line and "^^" not in line:
            raise DataError(f"{path}:{number}: {excerpt(line)} is not a triple of N-Triples.")
        if match is None:
            continue
        subject, predicate, target, text, tag = match.groups()
        if predicate == SKOS + "broader" and target:
            broader.append((subject, target))
        elif predicate == SKOS + "narrower" and target:
            broader.append((target, subject))
        elif predicate == SKOS + "prefLabel" and text and (tag or language) == language:
            names.setdefault(subject, ESCAPED.sub(_character, text))
    yield from ((names.get(child, child), names.get(parent, parent)) for child, parent in broader)


def _character(match: re.Match[str]) -> str:
    """What an escape of N-Triples stands for."""
    code = int(match[1] or match[2] or "0", 16)
    if not match[3]:
        return chr(code) if code <= sys.maxunicode else "\ufffd"
    return SHORT.get(match[3], match[3])
