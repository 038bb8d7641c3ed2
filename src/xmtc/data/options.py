"""The keywords of `read_dataset`, as the readers see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from xmtc.core.provenance import Reading
from xmtc.data.bad_lines import BadLines

LabelTexts: TypeAlias = Mapping[str, str] | str | Path


@dataclass(frozen=True)
class ReadOptions(Reading):
    """One frozen object instead of ten arguments."""

    label_texts: LabelTexts | None = None  # None: the label file next to the data; {}: none
    label_count: int | None = None  # for numbered labels; None: what the header or file says
    feature_count: int | None = None
    bad: BadLines = field(default_factory=lambda: BadLines(strict=True))
