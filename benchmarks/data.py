"""The data sets, by name: a folder each, below the folder that $XMTC_DATA names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.experiment import ROOT, BenchmarkError, Options

if TYPE_CHECKING:
    from xmtc import Dataset


def folder() -> Path:
    """Of all data sets; `shared/data` next to the repository unless XMTC_DATA is set."""
    return Path(os.environ.get("XMTC_DATA") or ROOT.parent / "shared" / "data")


def file_of(name: str, part: str) -> Path:
    """The file of one part: trn, tst or dev."""
    path = folder() / name / f"{part}.jsonl.gz"
    if not path.is_file():
        raise BenchmarkError(
            f"no file {name}/{path.name}: set XMTC_DATA to the folder that holds the data sets."
        )
    return path


def has_dev(name: str) -> bool:
    """Whether the data set has a part for validation."""
    return (folder() / name / "dev.jsonl.gz").is_file()


def training(name: str, options: Options) -> Dataset:
    """The training part, or the first `subset` texts of it, with the labels that texts carry."""
    from xmtc import read_dataset

    texts = read_dataset(file_of(name, "trn"))
    if options.subset is not None and options.subset < len(texts):
        texts = texts.take(range(options.subset))
    return with_texts(texts)


def test(name: str, options: Options) -> Dataset:
    """The test part; for a quick try only as many texts as are trained on."""
    from xmtc import read_dataset

    texts = read_dataset(file_of(name, "tst"))
    return texts.take(range(min(len(texts), options.subset))) if options.subset else texts


def dev(name: str, options: Options, texts: int | None = None) -> Dataset:
    """The part for validation, or so many texts of it, drawn with the seed."""
    from xmtc import read_dataset

    return with_texts(drawn(read_dataset(file_of(name, "dev")), texts, options.seed))


def drawn(texts: Dataset, count: int | None, seed: int = 0) -> Dataset:
    """So many texts, drawn, with all labels."""
    if count is None or count >= len(texts):
        return texts
    sample = np.random.default_rng(seed).choice(len(texts), count, replace=False)
    return texts.take(np.sort(sample))


def with_texts(texts: Dataset) -> Dataset:
    """Without the labels that no text carries, which a subset has."""
    carried = np.bincount(texts.relevant.indices, minlength=len(texts.labels)) > 0
    if carried.all():
        return texts
    return replace(texts, relevant=texts.relevant[:, carried], labels=texts.labels.only(carried))


def chosen(asked: Sequence[str], available: Sequence[str], option: str) -> list[str]:
    """The names that were asked for, in the order of the experiment; all when none was."""
    unknown = [name for name in asked if name not in available]
    if unknown:
        raise BenchmarkError(f"{option} {unknown[0]}: available: {', '.join(available)}.")
    return [name for name in available if not asked or name in asked]


def given(features: Any, relevant: Any) -> Dataset:
    """Features instead of texts; labels are called by their numbers."""
    import xmtc

    names = tuple(map(str, range(relevant.shape[1])))
    return xmtc.Dataset((), relevant, xmtc.LabelSpace(names), features)
