"""The data set that comes with xmtc: Debian packages and what they depend on."""

from __future__ import annotations

from pathlib import Path

from xmtc.core.dataset import Dataset
from xmtc.data.read import read_dataset

__all__ = ["debian"]

FOLDER = Path(__file__).parent / "data" / "debian"


def debian() -> tuple[Dataset, Dataset]:
    """(training, test): package descriptions, labelled with the packages they depend on.

    Each label's text is that package's own one-line description. How the set was made and what is
    in it: `src/xmtc/data/debian/README.md`.
    """
    return read_dataset(FOLDER / "trn.jsonl.gz"), read_dataset(FOLDER / "tst.jsonl.gz")
