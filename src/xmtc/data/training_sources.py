"""Where a model's training data came from: noted when it is read, read again for an update."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.core.provenance import Provenance
from xmtc.data.read import read_dataset


def provenance_of(path: str | Path, dataset: Dataset, **reading: Any) -> Provenance:
    """The provenance of data that was read with these keywords of `read_dataset`."""
    place = str(Path(path).absolute())
    return Provenance(path=place, **reading, texts=len(dataset), sha256=dataset.fingerprint)


def read_again(sources: Sequence[Provenance]) -> Dataset:
    """All texts a model was trained on, in their order; they must be unchanged."""
    if not sources:
        raise DataError(
            "the model does not know where its training data is: it was trained on data in "
            "memory. Give the data with train=..."
        )
    return reduce(Dataset.concat, map(read_unchanged, sources))


def read_unchanged(source: Provenance) -> Dataset:
    """The data as it was in training; raises when it is gone or changed."""
    if not Path(source.path).exists():
        raise DataError(
            f"the model was trained on {source}, which does not exist. Give its new place with "
            "train=..."
        )
    dataset = read_dataset(source.path, **source.reading())
    if len(dataset) != source.texts or dataset.fingerprint != source.sha256:
        found = f"{len(dataset):,} texts" if len(dataset) != source.texts else "other content"
        raise DataError(
            f"the model was trained on {source}, but the file now has {found}. Give the data it "
            "was trained on with train=..., or train it again."
        )
    return dataset


def check_same(stored: Sequence[Provenance], given: Sequence[Provenance]) -> None:
    """Raise when other data than the stored is given; several files may have become one."""
    if len(stored) != len(given):
        return
    for before, now in zip(stored, given, strict=True):
        if before.sha256 and before.sha256 != now.sha256:
            raise DataError(
                f"the model was trained on {before}, and {now} has other texts or labels. Give the "
                "data it was trained on, or train it again."
            )
