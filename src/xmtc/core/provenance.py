"""Source: where a model's training texts came from, and how to know them again."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from xmtc.core import config

if TYPE_CHECKING:
    from xmtc.core.dataset import Dataset


@dataclass(frozen=True)
class Provenance:
    """A file or folder, how it was read, and the fingerprint of what was in it."""

    path: str = ""
    split: str = "train"
    format: str | None = None
    text_column: str | None = None
    label_column: str | None = None
    label_separator: str | None = None
    skip_bad: bool = False
    texts: int = 0
    sha256: str = ""  # of texts and label names

    def __str__(self) -> str:
        return f"{self.path} ({self.texts:,} texts)"

    def reading(self) -> dict[str, Any]:
        """The keywords of `read_dataset` that read it again, but for the path."""
        known = ("path", "texts", "sha256")
        return {name: value for name, value in asdict(self).items() if name not in known}


def provenance_from_dict(values: Any) -> Provenance:
    """The source as `dataclasses.asdict` wrote it; wrong types are refused."""
    return config.from_dict(Provenance, values if isinstance(values, dict) else {"": values})


def fingerprint(dataset: Dataset) -> str:
    """A SHA-256 over every text with the names of its labels, in any order of the labels."""
    digest = hashlib.sha256()
    names = dataset.labels.names
    relevant = dataset.relevant
    for row in range(len(dataset)):
        ids = relevant.indices[relevant.indptr[row] : relevant.indptr[row + 1]]
        text = dataset.texts[row] if dataset.texts else ""
        parts = [text, *sorted(names[label] for label in ids)]
        digest.update(
            "".join(f"{len(part)}:{part}" for part in parts).encode(errors="surrogatepass")
        )
        digest.update(b"\n")
    if not dataset.texts and dataset.features is not None:
        for array in (dataset.features.indptr, dataset.features.indices, dataset.features.data):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
