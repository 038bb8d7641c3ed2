"""How a file of training data is read, and what a model remembers of it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from xmtc.core import config
from xmtc.core.config import setting


@dataclass(frozen=True)
class Reading:
    """The keywords of `read_dataset` that a command line has and a model remembers."""

    split: str = setting("train", "Part of a data folder: train, test or validation.")
    format: str | None = setting(None, "Format of the file, if it is not recognised.")
    text_column: str | None = setting(None, "Name of the field or column with the text.")
    label_column: str | None = setting(None, "Name of the field or column with the labels.")
    label_separator: str | None = setting(None, "What separates labels in a cell of a table.")
    skip_bad: bool = setting(False, "Skip bad lines, and report how many.")


@dataclass(frozen=True)
class Provenance(Reading):
    """A file or folder, how it was read, and the fingerprint of what was in it."""

    path: str = ""
    texts: int = 0
    sha256: str = ""  # of texts and label names

    def __str__(self) -> str:
        return f"{self.path} ({self.texts:,} texts)"

    def reading(self) -> dict[str, Any]:
        """The keywords of `read_dataset` that read the file again."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(Reading)}


def provenance_from_dict(values: Any) -> Provenance:
    """The reverse of `dataclasses.asdict`; wrong types are refused."""
    known = config.from_dict(Provenance, values if isinstance(values, dict) else {"": values})
    # A column may be called "none", which settings read as None.
    texts: dict[str, Any] = {
        name: value for name, value in values.items() if isinstance(value, str)
    }
    return dataclasses.replace(known, **texts)
