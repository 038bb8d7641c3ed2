"""Folders of published systems: which files each has, and who reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.data.formats.file_formats import read_file
from xmtc.data.formats.folder_readers import (
    read_label_lines,
    read_mlc2seq,
    read_npz_folder,
    read_with_label_list,
    read_with_spaced_labels,
)
from xmtc.data.formats.xc_split import read_split
from xmtc.data.options import ReadOptions

FolderReader: TypeAlias = Callable[[tuple[Path, ...], ReadOptions], Dataset]
FileNames: TypeAlias = tuple[str, ...]  # that one file may have


@dataclass(frozen=True)
class FolderLayout:
    """A kind of folder: for each part the files it needs, and who reads them."""

    name: str
    parts: dict[str, tuple[FileNames, ...]]
    read: FolderReader

    def found(self, folder: Path) -> dict[str, tuple[Path, ...]]:
        """The parts that are there, with one existing file for each that they need."""
        parts = {}
        for part, needed in self.parts.items():
            existing = [
                [file for name in names if (file := folder / name).is_file()] for names in needed
            ]
            if all(existing):
                parts[part] = tuple(files[0] for files in existing)
        return parts


def _parts(stems: Mapping[str, FileNames], *files: str) -> dict[str, tuple[FileNames, ...]]:
    """`{0}`, `{1}` in a file's name are the stems of the part; `|` separates names it may have."""
    return {
        part: tuple(tuple(name.format(*names) for name in file.split("|")) for file in files)
        for part, names in stems.items()
    }


_TWO_PARTS = {"train": ("trn", "train"), "test": ("tst", "test")}
_SPLIT_PARTS = {"train": ("trn",), "test": ("tst",), "validation": ("val",)}
_XBERT_PARTS = {"train": ("train",), "test": ("test",), "validation": ("valid",)}
_PLAIN_PARTS = {**_TWO_PARTS, "validation": ("dev", "val", "valid", "validation")}
_PLAIN_ENDINGS = [
    ending + packed
    for ending in (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".txt")
    for packed in ("", ".gz")
]

# Texts before features, and the most particular first.
FOLDERS = (
    FolderLayout("xbert", _parts(_XBERT_PARTS, "mlc2seq/{0}.txt"), read_mlc2seq),
    FolderLayout("pecos", _parts(_TWO_PARTS, "X.{0}.txt", "Y.{0}.npz"), read_npz_folder),
    FolderLayout(
        "xtransformer", _parts(_TWO_PARTS, "{1}_raw_texts.txt", "Y.{0}.npz"), read_npz_folder
    ),
    FolderLayout(
        "attentionxml",
        _parts(_TWO_PARTS, "{1}_raw_texts.txt|{1}_texts.txt", "{1}_labels.txt"),
        read_label_lines,
    ),
    FolderLayout(
        "aplc",  # the authors test on dev.csv; requiring it for training tells APLC from GUDN
        {
            "train": (("train.csv",), ("labels.txt",), ("dev.csv",)),
            "test": (("dev.csv",), ("labels.txt",)),
        },
        read_with_label_list,
    ),
    FolderLayout("gudn", _parts(_TWO_PARTS, "{1}.csv", "labels.txt"), read_with_spaced_labels),
    FolderLayout("gudn", _parts(_TWO_PARTS, "processed_{1}.json"), read_with_spaced_labels),
    FolderLayout(
        "folder",
        {
            part: (tuple(f"{stem}{end}" for stem in stems for end in _PLAIN_ENDINGS),)
            for part, stems in _PLAIN_PARTS.items()
        },
        lambda files, options: read_file(files[0], options),
    ),
    FolderLayout(
        "xc_split",
        _parts(_SPLIT_PARTS, *(f"{{0}}{end}|{{0}}{end}.gz" for end in ("_X_Xf.txt", "_X_Y.txt"))),
        lambda files, options: read_split(files[0], options),
    ),
)


def read_folder(folder: Path, layout: FolderLayout, options: ReadOptions) -> Dataset:
    """The part of the folder that `options.split` names."""
    found = layout.found(folder)
    if options.split not in found:
        raise DataError(
            f"{folder} ({layout.name}) has no part {options.split!r}. Available: "
            f"{', '.join(found) or 'none'}. Pass split=..."
        )
    return layout.read(found[options.split], options)


def folder_layout(folder: Path, layouts: tuple[FolderLayout, ...] = FOLDERS) -> FolderLayout:
    """The first of the layouts that the folder has."""
    for layout in layouts:
        if layout.found(folder):
            return layout
    expected = "; ".join(
        f"{layout.name}: {' + '.join(names[0] for names in next(iter(layout.parts.values())))}"
        for layout in layouts
    )
    raise DataError(
        f"{folder} is not a data folder we know. Expected: {expected}. Give a file, or see "
        "docs/formats.md."
    )
