"""Training data that a model remembers: noted when it is read, found again when it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from xmtc.core.dataset import Dataset
from xmtc.core.errors import DataError
from xmtc.core.provenance import Provenance
from xmtc.data.read import read_dataset


def source_of(path: str | Path, dataset: Dataset, **reading: Any) -> Provenance:
    """What a model remembers of data that was read with these keywords of `read_dataset`."""
    where = str(Path(path).absolute())
    return Provenance(where, **reading, texts=len(dataset), sha256=dataset.fingerprint)


def read_again(sources: Sequence[Provenance]) -> Dataset:
    """All texts a model was trained on, in their order; they must be what they were."""
    if not sources:
        raise DataError(
            "the model does not say where its training data is: it was trained on data in memory "
            "or by an older xmtc. Give the data with train=..."
        )
    return reduce(Dataset.concat, map(_read, sources))


def check_same(known: Sequence[Provenance], given: Sequence[Provenance]) -> None:
    """Raise when data that is given instead of the known is not the same; files may be joined."""
    for was, now in zip(known, given, strict=True) if len(known) == len(given) else ():
        if was.sha256 and was.sha256 != now.sha256:
            raise DataError(
                f"the model was trained on {was}, and {now} has other texts or labels. Give the "
                "data it was trained on, or train it again."
            )


def _read(source: Provenance) -> Dataset:
    if not Path(source.path).exists():
        raise DataError(
            f"the model was trained on {source}, which is not there any more. "
            "Say where it is now with train=..."
        )
    dataset = read_dataset(source.path, **source.reading())
    if len(dataset) != source.texts or dataset.fingerprint != source.sha256:
        found = f"{len(dataset):,} texts" if len(dataset) != source.texts else "other content"
        raise DataError(
            f"the model was trained on {source}, but the file now has {found}. Give the data it "
            "was trained on with train=..., or train it again."
        )
    return dataset
