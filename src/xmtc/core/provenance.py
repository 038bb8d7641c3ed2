"""Provenance: where a model's training texts came from, and their fingerprint."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from xmtc.core import config


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
        """The keywords of `read_dataset` that read the file again."""
        known = ("path", "texts", "sha256")
        return {name: value for name, value in asdict(self).items() if name not in known}


def provenance_from_dict(values: Any) -> Provenance:
    """The reverse of `dataclasses.asdict`; wrong types are refused."""
    return config.from_dict(Provenance, values if isinstance(values, dict) else {"": values})
