"""What the labels say: the file of label texts that lies beside the data, and its use."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.core.labels import LabelSpace
from xmtc.data.bad_lines import BadLine, BadLines, excerpt
from xmtc.data.builder import DatasetBuilder, number_names
from xmtc.data.formats.json_list import is_json_list, parsed_items
from xmtc.data.lines import data_path, parsed_lines, read_lines, require_regular
from xmtc.data.options import ReadOptions

BESIDE = ("lbl.json", "Yf.txt", "labels.jsonl", "labels.json", "labels.tsv")  # each also .gz
MOST_LABELS = 20_000_000  # one wrong digit must not make us name two thousand million labels


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
        pairs = zip(self.names, self.texts, strict=True) if self.names else ()
        return {name: text for name, text in pairs if text}


def finish(builder: DatasetBuilder, path: Path, options: ReadOptions) -> Dataset:
    """The data set that was read from `path`, with the label texts given or found beside it."""
    require_rows(len(builder.texts), path, options.bad)
    file = label_file_for(path, options)
    if builder.numbered() and _numbers_are_positions(file, options):
        space = _numbered_space(path, file, _label_count(file, options), options)
        _check_range(builder, len(space), file, path)
        return builder.by_number(space)
    dataset = builder.named()
    texts = _given(options) or (file.text_of_name() if file else {})
    return replace(dataset, labels=with_some_texts(dataset.labels, texts))


def labels_by_number(path: Path, count: int, options: ReadOptions) -> LabelSpace:
    """`count` numbered labels, called by their texts where a file beside `path` has them."""
    return _numbered_space(path, label_file_for(path, options), count, options)


def _numbered_space(
    path: Path, file: LabelFile | None, count: int, options: ReadOptions
) -> LabelSpace:
    if count > MOST_LABELS:
        raise DataError(
            f"{path}: label id {count - 1} is too large to be the number of a label. Number the "
            "labels from 0, or write them as names."
        )
    if file is None or file.numbered:
        space = LabelSpace(tuple(map(str, range(count))))
        return with_some_texts(space, _given(options) or (file.text_of_name() if file else {}))
    if len(file.texts) != count:
        raise DataError(
            f"{file.path} describes {len(file.texts)} labels but {path} has {count}. "
            f"{_advice(file.path)}"
        )
    return file.space()


def with_some_texts(labels: LabelSpace, texts: Mapping[str, str]) -> LabelSpace:
    """The same labels with these texts; none at all when no label is among them."""
    return labels.with_texts(dict(texts)) if any(n in texts for n in labels.names) else labels


def require_rows(count: int, path: Path, bad: BadLines) -> None:
    """A data set has at least one row."""
    if not count:
        why = f" All lines are bad; {bad.first[0]}" if bad.first else " The file has no rows."
        raise DataError(f"no texts in {path}.{why}")


def label_file_for(path: Path, options: ReadOptions) -> LabelFile | None:
    """The file named in `label_texts`, or else the one that lies beside the data."""
    if options.label_texts is None:
        beside = (path.parent / (name + end) for name in BESIDE for end in (".gz", ""))
        found = (read_label_file(file, _advice(file)) for file in beside if _usable(file, path))
        return next(found, None)
    if isinstance(options.label_texts, Mapping):
        return None
    return read_label_file(Path(options.label_texts))


def read_label_file(path: str | Path, advice: str = "Mend the line.") -> LabelFile:
    """Label texts from JSON objects (a list or lines), name<TAB>text lines, or plain lines."""
    path = Path(path)
    bad = BadLines(strict=True, advice=advice)
    require_regular(path)
    if not path.is_file():
        raise DataError(f"there is no file {path} of label texts.")
    if data_path(path).suffix == ".tsv":
        return _label_file(path, parsed_lines(path, _tsv_label, bad))
    if data_path(path).suffix not in (".json", ".jsonl"):
        return LabelFile(path, text_lines(path), [])
    if is_json_list(path):
        return _label_file(path, parsed_items(path, _json_label, bad))
    return _label_file(path, parsed_lines(path, lambda line: _json_label(_load(line)), bad))


def _advice(path: Path) -> str:
    return (
        f"If {path.name} does not belong to this data, rename it or move it away (in Python, "
        "label_texts={} reads the data without it)."
    )


def text_lines(path: Path, encoding: str | None = None) -> list[str]:
    """All lines, blank ones too: UTF-8, or Latin-1 where a line is not UTF-8."""
    lines = [line.rstrip(b"\r\n") for _, line in read_lines(path, BadLines(strict=True))]
    try:
        return [line.decode(encoding or "utf-8") for line in lines]
    except UnicodeDecodeError:
        return [line.decode("latin-1") for line in lines]


def _usable(file: Path, data: Path) -> bool:
    return file.is_file() and file != data


def _given(options: ReadOptions) -> Mapping[str, str]:
    return options.label_texts if isinstance(options.label_texts, Mapping) else {}


def _numbers_are_positions(file: LabelFile | None, options: ReadOptions) -> bool:
    return options.label_count is not None or (file is not None and not file.numbered)


def _label_count(file: LabelFile | None, options: ReadOptions) -> int:
    return options.label_count or (len(file.texts) if file else 0)


def _check_range(builder: DatasetBuilder, count: int, file: LabelFile | None, path: Path) -> None:
    wrong = next((name for name in builder.seen if not 0 <= int(name) < count), None)
    if wrong is not None:
        row = bisect_right(builder.rows.ends, builder.rows.ids.index(builder.seen[wrong]))
        promise = f"{file.path} describes" if file else "label_count promises"
        raise DataError(
            f"{path}: text {row} has label id {wrong} but {promise} {count} labels (0 to "
            f"{count - 1}). Fix the id. {_advice(file.path) if file else ''}".rstrip()
        )


def _label_file(path: Path, pairs: Iterable[tuple[str | int, str]]) -> LabelFile:
    names = []
    texts = []
    kinds = set()
    for name, text in pairs:
        kinds.add(type(name))
        names.append(str(name))
        texts.append(text)
    return LabelFile(path, texts, names, numbered=kinds == {int})


def _load(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise BadLine(f"not JSON ({problem}): {excerpt(line)}.") from None


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
