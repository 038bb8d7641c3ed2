"""Folders that published systems keep their data in, and how each is recognised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.data.formats.folder_readers import (
    read_label_lines,
    read_mlc2seq,
    read_npz_folder,
    read_with_label_list,
    read_with_spaced_labels,
)
from xmtc.data.formats.xc_split import read_split
from xmtc.data.options import ReadOptions

FileReader: TypeAlias = Callable[[Path, ReadOptions], Dataset]
FolderReader: TypeAlias = Callable[[tuple[Path, ...], ReadOptions], Dataset]
Choice: TypeAlias = tuple[str, ...]  # names that one file may have

STEMS: dict[str, Choice] = {
    "train": ("trn", "train"),
    "test": ("tst", "test"),
    "validation": ("dev", "val", "valid", "validation"),
}
ENDINGS = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".txt")


@dataclass(frozen=True)
class Layout:
    """A kind of folder: for each part the files it needs, and who reads them."""

    name: str
    parts: dict[str, tuple[Choice, ...]]
    read: FolderReader

    def found(self, folder: Path) -> dict[str, tuple[Path, ...]]:
        """The parts that are there, with their files."""
        files = {part: _files(folder, choices) for part, choices in self.parts.items()}
        return {part: found for part, found in files.items() if found}


def _files(folder: Path, choices: tuple[Choice, ...]) -> tuple[Path, ...]:
    """One existing file for every choice, or nothing."""
    names = [next((n for n in choice if (folder / n).is_file()), None) for choice in choices]
    return tuple(folder / name for name in names if name) if all(names) else ()


def layouts(read_file: FileReader) -> tuple[Layout, ...]:
    """All kinds of folders, texts before features and the most particular first."""
    return (
        Layout("xbert", _xbert_parts(), read_mlc2seq),
        Layout("pecos", _parts("X.{0}.txt", "Y.{0}.npz"), read_npz_folder),
        Layout("xtransformer", _parts("{1}_raw_texts.txt", "Y.{0}.npz"), read_npz_folder),
        Layout("attentionxml", _attentionxml_parts(), read_label_lines),
        Layout("aplc", _aplc_parts(), read_with_label_list),
        Layout("gudn", _parts("{1}.csv", "labels.txt"), read_with_spaced_labels),
        Layout("gudn", _parts("processed_{1}.json"), read_with_spaced_labels),
        Layout("folder", _plain_parts(), lambda files, options: read_file(files[0], options)),
        Layout("xc_split", _split_parts(), lambda files, options: read_split(files[0], options)),
    )


def read_folder(folder: Path, layout: Layout, options: ReadOptions) -> Dataset:
    """The part of the folder that `options.split` names."""
    found = layout.found(folder)
    if options.split not in found:
        raise DataError(
            f"{folder} ({layout.name}) has no part {options.split!r}. "
            f"It has: {', '.join(found) or 'none'}. Pass split=..."
        )
    return layout.read(found[options.split], options)


def expected_files(kinds: tuple[Layout, ...]) -> str:
    """What a folder may hold, in words."""
    lines = {
        kind.name: " + ".join(choice[0] for choice in next(iter(kind.parts.values())))
        for kind in reversed(kinds)
    }
    return "; ".join(f"{name}: {files}" for name, files in reversed(lines.items()))


def _parts(*patterns: str) -> dict[str, tuple[Choice, ...]]:
    names = {"train": ("trn", "train"), "test": ("tst", "test")}
    return {part: tuple((p.format(*stems),) for p in patterns) for part, stems in names.items()}


def _xbert_parts() -> dict[str, tuple[Choice, ...]]:
    names = {"train": "train", "test": "test", "validation": "valid"}
    return {part: ((f"mlc2seq/{name}.txt",),) for part, name in names.items()}


def _attentionxml_parts() -> dict[str, tuple[Choice, ...]]:
    return {
        part: ((f"{part}_raw_texts.txt", f"{part}_texts.txt"), (f"{part}_labels.txt",))
        for part in ("train", "test")
    }


def _split_parts() -> dict[str, tuple[Choice, ...]]:
    return {
        part: tuple((f"{stem}{end}", f"{stem}{end}.gz") for end in ("_X_Xf.txt", "_X_Y.txt"))
        for part, stem in {"train": "trn", "test": "tst", "validation": "val"}.items()
    }


def _aplc_parts() -> dict[str, tuple[Choice, ...]]:
    """The authors test on dev.csv; requiring it for training tells APLC from GUDN."""
    return {
        "train": (("train.csv",), ("labels.txt",), ("dev.csv",)),
        "test": (("dev.csv",), ("labels.txt",)),
    }


def _plain_parts() -> dict[str, tuple[Choice, ...]]:
    return {
        part: (tuple(s + end + gz for s in stems for end in ENDINGS for gz in ("", ".gz")),)
        for part, stems in STEMS.items()
    }
