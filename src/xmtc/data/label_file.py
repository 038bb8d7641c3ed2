"""Files of label texts: found next to the data or named, and read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xmtc.core.errors import DataError
from xmtc.core.labels import LabelSpace
from xmtc.data.bad_lines import BadLine, BadLines, excerpt
from xmtc.data.json_list import is_json_list, parsed_items
from xmtc.data.lines import data_path, parsed_lines, require_regular, text_lines
from xmtc.data.options import ReadOptions
from xmtc.data.row import parse_json

USUAL_NAMES = ("lbl.json", "Yf.txt", "labels.jsonl", "labels.json", "labels.tsv")  # each also .gz


@dataclass(frozen=True)
class LabelFile:
    """Line `i` describes label number `i`."""

    path: Path
    texts: list[str]
    names: list[str]  # empty when the file gives texts only
    numbered: bool = False  # the names are numbers, so a number in the data is a name

    def space(self) -> LabelSpace:
        """The labels in the order of the file."""
        distinct = self.names and len(set(self.names)) == len(self.names)
        if not distinct:
            return number_names(self.texts)
        return LabelSpace(tuple(self.names), tuple(self.texts) if any(self.texts) else None)

    def text_of_name(self) -> dict[str, str]:
        """Name -> text, where there is one."""
        return {name: text for name, text in zip(self.names, self.texts, strict=False) if text}


def number_names(texts: Sequence[str]) -> LabelSpace:
    """Numbered labels are called by their texts where these differ, by their numbers otherwise."""
    distinct = len(set(texts)) == len(texts) and "" not in texts
    names = tuple(texts) if distinct else tuple(map(str, range(len(texts))))
    return LabelSpace(names, tuple(texts))


def label_file_for(path: Path, options: ReadOptions) -> LabelFile | None:
    """The file named in `label_texts`, or else the one that lies next to the data."""
    if options.label_texts is None:
        for name in USUAL_NAMES:
            for file in (path.with_name(f"{name}.gz"), path.with_name(name)):
                if file.is_file() and file != path:
                    return read_label_file(file, without_label_file(file))
        return None
    if isinstance(options.label_texts, Mapping):
        return None
    return read_label_file(Path(options.label_texts))


def without_label_file(path: Path) -> str:
    """Advice: how to read the data without this label file."""
    return (
        f"If {path.name} does not belong to this data, rename it or move it away (in Python, "
        "label_texts={} reads the data without it)."
    )


def read_label_file(path: str | Path, advice: str = "Fix the line.") -> LabelFile:
    """Label texts from JSON objects (a list or lines), name<TAB>text lines, or plain lines."""
    path = Path(path)
    bad = BadLines(strict=True, advice=advice)
    require_regular(path)
    if not path.is_file():
        raise DataError(f"there is no file {path} of label texts. Check label_texts=...")
    pairs: Iterable[tuple[str | int, str]]
    if data_path(path).suffix == ".tsv":
        pairs = parsed_lines(path, _tsv_label, bad)
    elif data_path(path).suffix not in (".json", ".jsonl"):
        return LabelFile(path, text_lines(path), [])
    elif is_json_list(path):
        pairs = parsed_items(path, _json_label, bad)
    else:
        pairs = parsed_lines(path, lambda line: _json_label(parse_json(line)), bad)
    labels = list(pairs)
    return LabelFile(
        path,
        texts=[text for _, text in labels],
        names=[str(name) for name, _ in labels],
        numbered={type(name) for name, _ in labels} == {int},
    )


def _json_label(item: Any) -> tuple[str | int, str]:
    """{"label" or "name", "text"}, or the {"title"} of the LF data sets, which is both."""
    fields = item if isinstance(item, dict) else {}
    name = next((fields[key] for key in ("label", "name", "title") if key in fields), None)
    text = fields.get("text", fields.get("title", ""))
    if not isinstance(name, str | int) or not isinstance(text, str):
        raise BadLine(f'{excerpt(item)} is not like {{"label": ..., "text": ...}}.')
    return name, text


def _tsv_label(line: str) -> tuple[str, str]:
    name, _, text = line.partition("\t")
    return name.strip().removeprefix("<").removesuffix(">"), text.split("\t")[0].strip()
