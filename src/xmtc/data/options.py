"""What a reader may be told about a file: one frozen object instead of ten arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from xmtc.data.bad_lines import BadLines

LabelTexts: TypeAlias = Mapping[str, str] | str | Path


@dataclass(frozen=True)
class ReadOptions:
    """The keywords of `read_dataset`, as the readers see them."""

    split: str = "train"
    text_column: str | None = None  # None: the usual names
    label_column: str | None = None
    label_separator: str | None = None  # None: found in the first rows; "": one label per cell
    label_texts: LabelTexts | None = None  # None: the label file beside the data; {}: none
    label_count: int | None = None  # for numbered labels; None: what the header or file says
    feature_count: int | None = None
    bad: BadLines = field(default_factory=lambda: BadLines(strict=True))
